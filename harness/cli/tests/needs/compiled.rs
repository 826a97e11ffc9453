//! Compilers without a GPU: rejected kernels are judged, bundled by name and recorded, but compiled kernels have no outcome.
//! These tests need an installed Triton.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command_output::CommandOutput;
use cerith_needs::{NEWEST, Need, Tests, named};
use serde_json::Value;
use tempfile::TempDir;

const KERNELS: &str = r#"
import triton
import triton.language as tl


@triton.jit
def add_one(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(x + offsets, tl.load(x + offsets, mask=mask) + 1, mask=mask)


@triton.jit
def convert(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), n.to(tl.int32))


@triton.jit
def three(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, 3), n)


@triton.jit
def assembly(x, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    twice = tl.inline_asm_elementwise("no.such.s32 $0, $1;", "=r,r", [tl.load(x + offsets)], tl.int32, True, 1)
    tl.store(x + offsets, twice)
"#;

/// A folder with a corpus, a case for each kernel, and one that launches nothing.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self {
            folder: TempDir::new().expect("a folder"),
        };
        fs::create_dir_all(place.join("cases/area")).expect("folders");
        fs::write(place.join("cases/area/k.py"), KERNELS).expect("a file");
        for kernel in ["add_one", "convert", "three", "assembly"] {
            let case = format!(
                "about: A case of {kernel}.\nkernel: k.py:{kernel}\nstorages:\n  x: {{ dtype: i32, shape: [16], fill: arange }}\n\
                 launches:\n  - {{ grid: [1], args: {{ x: x, n: 1, BLOCK: 16 }} }}\n"
            );
            fs::write(place.join("cases/area").join(kernel).with_extension("yaml"), case).expect("a file");
        }
        let import = "about: A module is imported.\nimport: k.py\n";
        fs::write(place.join("cases/area/import.yaml"), import).expect("a file");
        place
    }

    fn join(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Cerith on a machine without a GPU. `home` is where it looks for toolchains, if not in the usual place.
    fn run_cerith(&self, args: &[&str], home: Option<&Path>) -> CommandOutput {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cerith"));
        command
            .args(args)
            .current_dir(self.folder.path())
            .env("CUDA_VISIBLE_DEVICES", "-1")
            .env("CI", "1");
        if let Some(home) = home {
            command.env("CERITH_HOME", home);
        }
        CommandOutput::from_output(&command.output().expect("cerith starts"))
    }

    /// The verdict on a case in the stream of the last run.
    fn read_verdict(&self, case: &str) -> Value {
        let stream = fs::read_to_string(self.join("reports/run/events.jsonl")).expect("a stream");
        stream
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect(line))
            .find(|event| event["event"] == "verdict" && event["case"] == case)
            .expect(case)
    }
}

const RUN: [&str; 5] = ["run", "--engine", "reference", "--engine", "cuda@3.9.0"];
const CUDA: &str = "cuda@3.9.0";
const PTX: &str = "ptx@3.9.0";

fn a_rejection_is_an_outcome_without_a_gpu_and_a_wrong_one_is_blamed() {
    let place = Place::new();
    // An `int` of one has no `to`, though the language says that it is a tensor like any other.
    place
        .run_cerith(&[&RUN[..], &["area/convert"]].concat(), None)
        .assert_ends(
            1,
            &[
                "DIFFER area/convert  cuda@3.9.0 is wrong",
                "'int' object has no attribute 'to'",
                "NOT as expected: 1 unexpected",
            ],
            &[],
        );
    let verdict = place.read_verdict("area/convert");
    assert_eq!(verdict["blame"], Value::from(vec![CUDA]));
    assert_eq!(verdict["outcomes"][CUDA]["outcome"], "rejected");
    // Both reject it.
    place.run_cerith(&[&RUN[..], &["area/three"]].concat(), None);
    let verdict = place.read_verdict("area/three");
    let outcomes = &verdict["outcomes"];
    assert_eq!(
        (&verdict["verdict"], &outcomes[CUDA]["outcome"]),
        (&"agree".into(), &"rejected".into())
    );
    // Nothing is launched, so nothing of a GPU is missing.
    place.run_cerith(&[&RUN[..], &["area/import"]].concat(), None);
    let verdict = place.read_verdict("area/import");
    assert_eq!(
        (&verdict["verdict"], verdict["outcomes"].get(CUDA)),
        (&"agree".into(), None),
        "{verdict}"
    );
    // A compiled kernel has not been executed.
    place.run_cerith(&[&RUN[..], &["area/add_one"]].concat(), None);
    let outcome = &place.read_verdict("area/add_one")["outcomes"][CUDA];
    let message = outcome["message"].as_str().expect("a message");
    assert_eq!(
        (&outcome["outcome"], &outcome["error"]),
        (&"unavailable".into(), &"no-recording".into())
    );
    assert!(
        message.contains("without a record, and there is no GPU to execute it: `cerith bundle`"),
        "{message}"
    );
    // The result is the same without the compiler.
    place.run_cerith(
        &[&RUN[..], &["area/convert", "--offline"]].concat(),
        Some(&place.join("home")),
    );
    let outcome = &place.read_verdict("area/convert")["outcomes"][CUDA];
    let message = outcome["message"].as_str().expect("a message");
    assert_eq!(outcome["outcome"], "unavailable");
    assert!(
        message.contains("Triton 3.9.0 is not installed: `cerith toolchain add 3.9.0`"),
        "{message}"
    );
}

fn what_is_rejected_is_named_passed_on_and_put_on_record() {
    let place = Place::new();
    place
        .run_cerith(&["bundle", "--engine", CUDA, "-o", "all.cerith"], None)
        .assert_ends(
            0,
            &[
                "rejected: ValueError: arange's range must be a power of 2\n    area/three\n",
                "AttributeError(\"'int' object has no attribute 'to'\")\n    area/convert\n",
                "error   : Not a name of any known instruction: 'no'\n    area/assembly\n",
                "cuda@3.9.0: 5 cases, 2 compiled, 3 rejected; ",
            ],
            &[],
        );
    let rejected = ["area/convert", "area/three"];
    place
        .run_cerith(&[&["bundle", "-o", "cases.cerith"], &rejected[..]].concat(), None)
        .assert_ends(0, &["cuda@3.9.0: 2 cases, 0 compiled, 2 rejected; "], &[]);
    place
        .run_cerith(&["exec", "cases.cerith", "-o", "results.cerith"], None)
        .assert_ends(
            0,
            &["nothing is left to execute: 2 decided when they were compiled"],
            &[],
        );
    place.run_cerith(&["accept", "results.cerith"], None).assert_ends(
        0,
        &["cuda@3.9.0 sm_90: 2 recorded"],
        &[],
    );
    let record = fs::read_to_string(place.join("snapshots/cuda/sm_90/area/convert.snap")).expect("a record");
    assert!(record.contains("none: it ended when it was compiled"), "{record}");
    // Recorded outcomes need no compiler.
    place
        .run_cerith(&[&RUN[..], &rejected].concat(), Some(&place.join("home")))
        .assert_ends(
            1,
            &[
                "DIFFER area/convert  cuda@3.9.0 is wrong",
                "2 cases: 1 agree, 1 differ",
            ],
            &[],
        );
    // By default, only cases without a record are executed here.
    place.run_cerith(&["run", "--offline", "area/add_one", "area/convert"], None);
    let asked = |case: &str| place.read_verdict(case)["engines"].clone();
    let all = ["reference", "interpret@3.9.0", CUDA, PTX];
    assert_eq!(asked("area/add_one"), Value::from(all.to_vec()));
    assert_eq!(asked("area/convert"), Value::from(all[..3].to_vec()));
    // If a kernel has changed since it was recorded, the compiler runs again.
    let kernels = KERNELS.replace("n.to(tl.int32)", "n + BLOCK");
    fs::write(place.join("cases/area/k.py"), kernels).expect("a file");
    place.run_cerith(&[&RUN[..], &["area/convert"]].concat(), None);
    let outcome = &place.read_verdict("area/convert")["outcomes"][CUDA];
    let message = outcome["message"].as_str().expect("a message");
    assert_eq!(outcome["error"], "stale-recording");
    assert!(
        message.contains("without a record, and there is no GPU to execute it: `cerith bundle`"),
        "{message}"
    );
}

/// The compiler judges a corpus without records.
fn without_a_record_the_compiler_is_a_witness() {
    let place = Place::new();
    place
        .run_cerith(&["run", "--offline", "area/add_one"], None)
        .assert_ends(
            0,
            &[
                "1 case through reference, interpret@3.9.0, ptx@3.9.0",
                "1 case: 1 agree",
            ],
            &[],
        );
    // Without a toolchain, one sentence reports it.
    let nowhere = place.join("home");
    let done = place
        .run_cerith(&["run", "--offline", "area/add_one"], Some(&nowhere))
        .assert_ends(3, &["left out interpret@3.9.0"], &[]);
    assert!(!done.out.contains("ptx@"), "{}", done.out);
}

/// Two compilers are compared without a GPU and without records: the launch parameters and sizes of kernels.
fn a_bump_of_compilers_compares_what_they_make() {
    let place = Place::new();
    let bump = [
        "bump",
        "3.2.0",
        "3.9.0",
        "--engine",
        "cuda",
        "--offline",
        "area/add_one",
    ];
    place.run_cerith(&bump, None).assert_ends(
        // Nothing was executed, so nothing is right or wrong.
        3,
        &[
            "signature-changed: 1 case by 2 causes",
            "1  global scratch memory is a parameter",
            "1  profile scratch memory is a parameter",
            "machine code: ",
            "1 were compiled too rarely to compare",
            "not compared: 1 case: cuda@3.2.0 has no outcome, no-recording",
            "help: `cerith bundle`",
        ],
        &[],
    );
    let stream = fs::read_to_string(place.join("reports/bump/events.jsonl")).expect("a stream");
    let verdict = stream
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect(line))
        .find(|event| event["event"] == "verdict")
        .expect("a verdict");
    for (engine, scratch) in [("cuda@3.2.0", false), (CUDA, true)] {
        let compiled = &verdict["compiled"][engine];
        let kernel = &compiled["kernels"][0];
        assert_eq!(compiled["target"], "sm_90", "{compiled}");
        assert!(
            compiled["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0),
            "{compiled}"
        );
        // `n` is 1, which is folded as `BLOCK` is.
        assert_eq!(kernel["params"], Value::from(vec!["pointer"]), "{kernel}");
        assert_eq!(
            (&kernel["name"], &kernel["num_warps"]),
            (&"add_one".into(), &4.into())
        );
        assert_eq!(kernel["global_scratch"].is_object(), scratch, "{kernel}");
        let figure = |name: &str| kernel[name].as_u64().unwrap_or_default();
        assert!(
            figure("code") >= 128 && figure("code") < figure("cubin"),
            "{kernel}"
        );
        assert!((1..=255).contains(&figure("registers")), "{kernel}");
    }
    // A change of that kind is not a failure by default.
    place
        .run_cerith(
            &[
                &bump[..],
                &["--fail-on", "signature-changed", "--only", "signature-changed"],
            ]
            .concat(),
            None,
        )
        .assert_ends(1, &["signature-changed: 1 case"], &[]);
}

pub fn tests() -> Tests {
    Tests::new()
        .with_toolchain(
            NEWEST,
            &named![
                a_rejection_is_an_outcome_without_a_gpu_and_a_wrong_one_is_blamed,
                what_is_rejected_is_named_passed_on_and_put_on_record,
                without_a_record_the_compiler_is_a_witness
            ],
        )
        .with_needs(
            &[Need::Toolchain("3.2.0"), Need::Toolchain(NEWEST)],
            &named![a_bump_of_compilers_compares_what_they_make],
        )
}
