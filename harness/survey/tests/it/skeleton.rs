//! Skeletons of case files: what is guessed of a kernel, and that what is written is a case file.

use cerith_case::{Corpus, Input};
use cerith_launcher::skeleton::write_skeleton;
use cerith_module::excerpt::Part;
use cerith_survey::{Reading, build_drafts};
use cerith_tile::source::{SourceFile, Sources};

const KERNELS: &str = include_str!("../skeletons/kernels.py");

fn build_skeleton(text: &str, kernel: &str) -> Result<String, String> {
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new("kernels.py", text));
    write_skeleton(source, text, "kernels.py", kernel).map_err(|problems| {
        problems
            .iter()
            .map(|problem| problem.render(&sources, false))
            .collect::<Vec<_>>()
            .join("\n")
    })
}

/// Reads a skeleton as the case file that it is to be.
fn check_resolves(text: &str, yaml: &str) {
    let input = |path: &str, text: &str| Input {
        path: path.to_owned(),
        name: path.to_owned(),
        content: Ok(text.as_bytes().to_vec()),
    };
    let corpus = Corpus::load([input("skeleton.yaml", yaml), input("kernels.py", text)]);
    assert_eq!(corpus.problems(), [], "{yaml}");
    for entry in corpus.entries() {
        if let Err(problems) = entry.resolve() {
            panic!("{problems:#?}\n{yaml}");
        }
    }
}

#[test]
fn what_a_kernel_does_with_its_parameters_is_read_off_its_text() {
    let mut all = String::new();
    for kernel in [
        "add_kernel",
        "softmax_kernel",
        "matmul_kernel",
        "dropout",
        "tma",
        "moved_on",
        "made.inner",
    ] {
        let yaml = build_skeleton(KERNELS, kernel).expect(kernel);
        check_resolves(KERNELS, &yaml);
        all.push_str(&yaml);
        all.push('\n');
    }
    insta::with_settings!({snapshot_path => "../../../../snapshots/case", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("skeletons", all);
    });
}

/// The case file with a matrix, of a kernel's text.
fn build_case_file(text: &str, kernel: &str) -> Option<String> {
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new("kernels.py", text));
    let part = Part {
        path: "kernels.py".to_owned(),
        origin: "kernels.py".to_owned(),
        text: text.to_owned(),
    };
    let drafts = build_drafts(source, &[part], text, &[kernel]).expect("a good file");
    drafts.first()?.case_file(&Reading::ALL[0])
}

#[test]
fn sizes_dtypes_and_padding_are_varied_in_a_matrix() {
    let mut all = String::new();
    for kernel in [
        "add_kernel",
        "softmax_kernel",
        "matmul_kernel",
        "dropout",
        "moved_on",
    ] {
        let yaml = build_case_file(KERNELS, kernel).expect(kernel);
        check_resolves(KERNELS, &yaml);
        all.push_str(&yaml);
        all.push('\n');
    }
    insta::with_settings!({snapshot_path => "../../../../snapshots/case", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("skeletons_varied", all);
    });
}

#[test]
fn what_has_no_launches_to_vary_has_no_matrix() {
    // The host creates the descriptor, and the text does not show its tensor.
    assert_eq!(build_case_file(KERNELS, "tma"), None);
    // A parameter has the name of a variable of the matrix.
    let taken = KERNELS.replace("n_elements", "padding");
    assert_ne!(taken, KERNELS);
    assert_eq!(build_case_file(&taken, "add_kernel"), None);
    // Parameters before `/` can only be passed by position.
    let positional = "\
@triton.jit
def k(x, /, n):
    at = tl.arange(0, 32)
    tl.store(x + at, 0.0, mask=at < n)
";
    assert_eq!(build_case_file(positional, "k"), None);
}

#[test]
fn what_cannot_be_made_is_said() {
    let check = |text: &str, kernel: &str, wanted: &str| {
        let error = build_skeleton(text, kernel).expect_err(kernel);
        assert!(error.contains(wanted), "{error}");
    };
    check(KERNELS, "ad_kernel", "did you mean `add_kernel`?");
    check(KERNELS, "nothing", "no kernel `nothing` in kernels.py");
    check(
        "def plain(x): pass\n",
        "k",
        "name a function with `@triton.jit` of this file",
    );
    check("def k(:\n", "k", "syntax error in a kernel file");
}

/// A skeleton is a valid case file for any kernel.
#[test]
fn odd_kernels_have_skeletons_too() {
    for text in [
        "@triton.jit\ndef k(): pass\n",
        "@triton.jit\ndef k(*args, **more): pass\n",
        "@triton.jit\ndef k(x, /, n, *, S: tl.constexpr): tl.store(x + n, S)\n",
        "@triton.jit\ndef k(min, max): tl.store(min, tl.load(max))\n",
        "@triton.jit\ndef k(x, A: tl.constexpr):\n    if A == \"it's {odd}\\té\":\n        tl.store(x, 1)\n",
        "@triton.jit\ndef k(x):\n    y = y + y\n    x = y\n    y = x\n    tl.store(y, 1)\n",
        "@triton.jit\ndef k(x, a): tl.store(x + tl.program_id(7) + tl.program_id(axis=2), a)\n",
    ] {
        check_resolves(text, &build_skeleton(text, "k").expect(text));
    }
}
