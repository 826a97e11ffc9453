use cerith_case::{Corpus, Input};
use cerith_tile::rules::{Rules, Version};

use super::*;

/// The functions of `standard.py` and `random.py` that are Triton code in each wheel, according to
/// `isinstance(value, JITFunction)`.
const WHEELS: &str = include_str!("wheels.txt");

#[test]
fn the_library_equals_that_of_each_wheel() {
    for line in WHEELS.lines() {
        let (version, names) = line.split_once(": ").expect(line);
        let version: Version = version.parse().expect(line);
        let known: Vec<&str> = LIBRARY
            .iter()
            .map(|&(name, _)| name)
            .filter(|name| is_triton_code(name, version))
            .collect();
        assert_eq!(known.join(" "), names, "{version}");
    }
}

#[test]
fn outcomes_come_from_the_code_that_raised_or_computed_them() {
    let check = |engine: &str, outcome: Outcome, through: &[&str], expected: bool| {
        let engine: EngineId = engine.parse().expect("an engine");
        let through: Vec<String> = through.iter().map(|&name| name.to_owned()).collect();
        let found = find_families(&engine, &outcome, &through);
        assert_eq!(found.has(Family::Language), expected, "{engine}: {outcome:?}");
    };
    let raised = |file: &str| {
        let mut complaint = Complaint::new("ValueError", "no");
        complaint.raised = Some(file.to_owned());
        Outcome::Trapped(Trap::Raised, Box::new(complaint))
    };
    let unknown = |kind: &str, message: &str| Outcome::Rejected(Box::new(Complaint::new(kind, message)));
    for engine in [
        "interpret@3.9.0",
        "cuda@3.9.0",
        "jit@3.6.0",
        "inductor@2.11.0+cuda",
    ] {
        check(engine, raised("triton/language/semantic.py"), &[], true);
        check(engine, raised("triton/runtime/autotuner.py"), &[], true);
        check(engine, raised("triton/runtime/jit.py"), &[], true);
        check(
            engine,
            raised("triton/runtime/interpreter.py"),
            &["tl.flip"],
            false,
        );
        check(
            engine,
            raised("triton/compiler/code_generator.py"),
            &["tl.flip"],
            false,
        );
        check(engine, raised(""), &[], true);
    }
    let in_a_launch = |file: &str| match raised(file) {
        Outcome::Trapped(trap, mut complaint) => {
            complaint.launch = Some(0);
            Outcome::Trapped(trap, complaint)
        }
        other => other,
    };
    check("interpret@3.9.0", in_a_launch(""), &["tl.flip"], false);
    check("jit@3.9.0", in_a_launch(""), &[], true);
    check("reference", raised("triton/language/core.py"), &[], false);
    check(
        "cuda@3.9.0",
        unknown("ValueError", "Shape element 0 must be a power of 2"),
        &[],
        true,
    );
    check(
        "cuda@3.9.0",
        unknown("RuntimeError", "PassManager::run failed: no"),
        &[],
        false,
    );
    check(
        "cuda@3.9.0",
        unknown("subprocess.CalledProcessError", "ptxas"),
        &[],
        false,
    );
    check(
        "cuda@3.9.0",
        unknown("triton.compiler.errors.UnsupportedLanguageConstruct", "Break"),
        &[],
        false,
    );
}

#[test]
fn triton_code_is_listed_by_version_with_and_without_a_trace() {
    let check = |line: &str, decorator: &str, version: &str, expected: &str| {
        let yaml = "about: x\nkernel: k.py:k\nstorages: { x: { dtype: f32, shape: [4], fill: arange } }\nlaunches: [{ grid: 1, \
                    args: [x] }]\n";
        let kernel = format!(
            "import triton\nimport triton.language as tl\n\n\n{decorator}@triton.jit\ndef k(x):\n    i = tl.arange(0, 4)\n    \
             {line}\n"
        );
        let corpus = Corpus::load([
            Input::from_text("c.yaml", yaml),
            Input::from_text("k.py", &kernel),
        ]);
        let case = corpus
            .entries()
            .next()
            .expect("a case")
            .resolve()
            .expect("a case");
        let rules = Rules::from_version(version.parse().expect("a version"));
        let reference = Reference::default();
        for reference in [Some(&reference), None] {
            let found = list_triton_code(&case, reference, rules).join(" ");
            assert_eq!(found, expected, "{line} in {version}, {}", reference.is_some());
        }
    };
    check("tl.store(x + i, tl.exp(tl.load(x + i)))", "", "3.9.0", "");
    check("tl.store(x + i, tl.flip(tl.load(x + i)))", "", "3.2.0", "tl.flip");
    check("tl.store(x, tl.load(x + i).sum())", "", "3.9.0", "tl.sum");
    check("tl.store(x, tl.xor_sum(i, 0))", "", "3.3.1", "tl.xor_sum");
    check(
        "tl.store(x + i, i)",
        "@triton.autotune(configs=[triton.Config({})], key=[])\n",
        "3.9.0",
        "triton.autotune",
    );
}
