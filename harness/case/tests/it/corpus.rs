//! The corpus of this repository: it has no problems, and every case survives being printed and read again.

use std::collections::HashSet;
use std::path::Path;

use cerith_case::{Corpus, Input};

fn build_input(path: &str, text: &str) -> Input {
    Input {
        path: path.to_owned(),
        name: path.to_owned(),
        content: Ok(text.as_bytes().to_vec()),
    }
}

#[test]
fn every_case_is_good_and_is_itself_after_printing() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases");
    let corpus = Corpus::read(&root).expect("the corpus is there");
    let shown: Vec<_> = corpus
        .problems()
        .iter()
        .map(|problem| problem.render(corpus.sources(), false))
        .collect();
    assert!(shown.is_empty(), "{}", shown.join("\n"));
    let mut ids = HashSet::new();
    for entry in corpus.entries() {
        assert!(ids.insert(entry.id.clone()), "two cases with the id {}", entry.id);
        let case = entry.resolve().unwrap_or_else(|problems| {
            let shown: Vec<_> = problems
                .iter()
                .map(|problem| problem.render(corpus.sources(), false))
                .collect();
            panic!("{}\n{}", entry.id, shown.join("\n"))
        });
        let text = case
            .to_case_file()
            .unwrap_or_else(|| panic!("{} cannot be printed", entry.id));
        let folder = case.module.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let files = case
            .launches
            .iter()
            .flat_map(|launch| [Some(&launch.kernel), launch.host.as_ref()])
            .flatten()
            .map(|function| &function.module)
            .chain([&case.module])
            .flat_map(|module| {
                let imports = module.imports.iter().map(|(name, file)| {
                    build_input(&format!("{folder}/{}.py", name.replace('.', "/")), &file.text)
                });
                imports
                    .chain([build_input(&module.path, &module.file.text)])
                    .collect::<Vec<_>>()
            });
        let again = Corpus::load(files.chain([build_input(&format!("{folder}/printed.yaml"), &text)]));
        let problems: Vec<_> = again
            .problems()
            .iter()
            .map(|p| p.render(again.sources(), false))
            .collect();
        assert!(
            problems.is_empty(),
            "{}\n{text}\n{}",
            entry.id,
            problems.join("\n")
        );
        let printed = again
            .entries()
            .next()
            .expect("the printed case")
            .resolve()
            .unwrap_or_else(|problems| {
                let shown: Vec<_> = problems
                    .iter()
                    .map(|problem| problem.render(again.sources(), false))
                    .collect();
                panic!("{}\n{text}\n{}", entry.id, shown.join("\n"))
            });
        let (before, after) = (case.canonical(), printed.canonical());
        assert_eq!(before.launches.len(), after.launches.len());
        assert_eq!(before.expectations, after.expectations, "{}", entry.id);
        assert_eq!(
            before.hash, after.hash,
            "{}\n{text}\n{before:#?}\n{after:#?}",
            entry.id
        );
    }
    assert!(ids.len() >= 1000, "{} cases", ids.len());
}
