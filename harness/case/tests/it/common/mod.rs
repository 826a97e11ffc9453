//! The problems that reading a corpus reports, blessed under `snapshots/case`.

use cerith_case::{Corpus, Problems};

/// Renders all problems of a corpus, and the number of its good cases.
pub fn report(corpus: &Corpus) -> String {
    let mut problems = Problems::default();
    let mut good = 0;
    for entry in corpus.entries() {
        match entry.resolve() {
            Ok(_) => good += 1,
            Err(found) => problems.add(&entry.id, found),
        }
    }
    let found = corpus.problems().iter().cloned().chain(problems.finish());
    let mut shown: Vec<String> = found.map(|one| one.render(corpus.sources(), false)).collect();
    shown.push(format!("good cases: {good}"));
    shown.join("\n\n")
}

/// Compares the report with the snapshot of this name.
pub fn bless(name: &str, corpus: &Corpus) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../../../../snapshots/case");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, report(corpus)));
}
