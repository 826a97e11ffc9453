//! The corpus of this repository: it has no problems, and every case survives being printed and read again.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use cerith_case::{Corpus, Input, PythonFiles};

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

/// A corpus beside parsed files is the corpus of all files, except for the numbers of its sources.
#[test]
fn parsed_files_give_the_same_corpus() {
    let python = [
        build_input(
            "good.py",
            "import triton\nfrom helper import f\n\n@triton.jit\ndef kernel(x):\n    f(x)\n",
        ),
        build_input("helper.py", "import triton\n\n@triton.jit\ndef f(x):\n    pass\n"),
        build_input("bad.py", "def kernel(x:\n"),
    ];
    let write_case = |kernel: &str| {
        format!(
            "about: x\nkernel: {kernel}\nstorages:\n  x: {{ dtype: f32, shape: [4], fill: zeros }}\nlaunches: [{{ grid: 1, args: [x] }}]\n"
        )
    };
    let case = |kernel: &str| build_input("case.yaml", &write_case(kernel));
    let parsed = PythonFiles::parse(python.clone());
    for kernel in [
        "good.py:kernel",
        "good.py:kernle",
        "bad.py:kernel",
        "missing.py:kernel",
    ] {
        let whole = Corpus::load(python.iter().cloned().chain([case(kernel)]));
        let beside = Corpus::load_beside(&parsed, [case(kernel)]);
        let render = |corpus: &Corpus| -> Vec<String> {
            let problems = corpus.problems().iter();
            problems
                .map(|problem| problem.render(corpus.sources(), false))
                .collect()
        };
        assert_eq!(render(&whole), render(&beside), "{kernel}");
        assert_eq!(whole.files().len(), beside.files().len(), "{kernel}");
        assert_eq!(whole.hash(), beside.hash(), "{kernel}");
    }
    let find_module = |kernel: &str| {
        let corpus = Corpus::load_beside(&parsed, [case(kernel)]);
        let entry = corpus.entries().next().expect("a good case");
        entry.resolve().expect("it resolves").module
    };
    let [one, other] = [find_module("good.py:kernel"), find_module("good.py:kernel")];
    assert!(Arc::ptr_eq(&one.file, &other.file));
}
