//! Generated launches as cases, and what torch says as outcomes. No toolchain is needed.

use cerith_case::{Case, Corpus, Input};
use cerith_memory::StorageId;
use cerith_tile::DType;
use cerith_tile::rules::{Rules, Version};
use cerith_toolchain::inductor::{CompileMode, Compiled, Emitted, Induction, Undefined};
use cerith_toolchain::request::{Tensor, Value};
use cerith_toolchain::response::{Memory as After, Phase, PythonError, Raised};

use super::launch::{Modules, execute};
use super::{answer, choose_modes, find_unsupported};
use crate::{Outcome, Reference, Trap};

const TORCH: Version = Version::new(2, 11, 0);

/// Inductor's code for a kernel whose module has a constant and a function of its own.
const KERNEL: &str = "\
import triton
import triton.language as tl

STEP: tl.constexpr = tl.constexpr(2)


@triton.jit
def step(x):
    return x + STEP


@triton.jit
def stepped(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, step(tl.load(x + at, mask=at < n, other=0)), mask=at < n)


@triton.jit
def address(x, out):
    tl.store(out, x.to(tl.int64))
";

fn tensor(storage: usize, dtype: DType, elements: i64, offset: i64) -> Value {
    Value::Tensor(Tensor {
        storage,
        dtype,
        shape: vec![elements],
        strides: vec![1],
        offset,
    })
}

fn encode_words(words: &[i32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn build_emitted(kernel: &str, args: Vec<(&str, Value)>, storages: &[Vec<u8>]) -> Emitted {
    Emitted {
        run: 0,
        mode: 0,
        kernel: kernel.to_owned(),
        source: KERNEL.to_owned(),
        grid: [1, 1, 1],
        args: args
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        options: vec![("num_warps".to_owned(), Value::Int(4))],
        storages: storages.iter().map(|bytes| bytes.as_slice().into()).collect(),
    }
}

/// `stepped` of `x` into `out`, both tensors of `elements`.
fn build_stepped(x: Value, out: Value, n: i128, storages: &[Vec<u8>]) -> Emitted {
    let (n, block) = (Value::Int(n), Value::Int(4));
    build_emitted(
        "stepped",
        vec![("x", x), ("out", out), ("n", n), ("BLOCK", block)],
        storages,
    )
}

fn run(emitted: &Emitted) -> Result<Vec<Vec<u8>>, Outcome> {
    let rules = Rules::from_version(Version::new(3, 6, 0));
    execute(&Reference::default(), rules, emitted, &Modules::default())
        .expect("no bug")
        .map(|done| done.storages)
}

#[test]
fn a_generated_launch_is_executed_as_a_case() {
    let i32s = |storage, offset| tensor(storage, DType::I32, 4, offset);
    let apart = build_stepped(
        i32s(0, 0),
        i32s(1, 0),
        4,
        &[encode_words(&[1, 2, 3, 4]), encode_words(&[0; 4])],
    );
    assert_eq!(
        run(&apart),
        Ok(vec![encode_words(&[1, 2, 3, 4]), encode_words(&[3, 4, 5, 6])])
    );
    let shared = build_stepped(
        i32s(0, 0),
        i32s(0, 4),
        3,
        &[encode_words(&[1, 2, 3, 4, 0, 0, 0, 9])],
    );
    assert_eq!(run(&shared), Ok(vec![encode_words(&[1, 2, 3, 4, 3, 4, 5, 9])]));
    let nothing = Emitted {
        grid: [0, 1, 1],
        ..apart.clone()
    };
    assert_eq!(
        run(&nothing),
        Ok(vec![encode_words(&[1, 2, 3, 4]), encode_words(&[0; 4])])
    );
}

#[test]
fn a_generated_launch_may_stop() {
    let check = |emitted: &Emitted, kind: &str, message: &str| {
        let outcome = run(emitted).expect_err("it does not finish");
        let complaint = outcome.complaint().expect("a complaint");
        assert_eq!(
            (complaint.kind.as_str(), complaint.message.as_str()),
            (kind, message)
        );
        outcome
    };
    let i32s = |storage, elements| tensor(storage, DType::I32, elements, 0);
    let long = [encode_words(&[0; 4]), encode_words(&[0; 2])];
    let outside = run(&build_stepped(i32s(0, 4), i32s(1, 2), 4, &long)).expect_err("it stops");
    assert!(
        matches!(outside, Outcome::Trapped(Trap::Undefined, _)),
        "{outside:?}"
    );
    let broken = Emitted {
        source: "def stepped(:\n".to_owned(),
        ..build_stepped(i32s(0, 4), i32s(1, 2), 2, &long)
    };
    let outcome = check(
        &broken,
        "kernel-syntax",
        "syntax error in a kernel file: expected a parameter or the end of the parameter list",
    );
    assert!(matches!(outcome, Outcome::Unsupported(_)), "{outcome:?}");
    let none = Emitted {
        kernel: "other".to_owned(),
        ..build_stepped(i32s(0, 4), i32s(1, 2), 2, &long)
    };
    check(
        &none,
        "launch",
        "no function `other` in the module that was generated for it",
    );
    let left = build_emitted(
        "address",
        vec![("x", i32s(0, 4)), ("out", tensor(1, DType::I64, 1, 0))],
        &long,
    );
    check(&left, "address", "it left an address in the storage of `out`");
}

fn load_corpus(text: &str) -> Corpus {
    let input = |path: &str, text: &str| Input {
        path: path.to_owned(),
        name: format!("cases/{path}"),
        content: Ok(text.as_bytes().to_vec()),
    };
    let corpus = Corpus::load([input("area/c.yaml", text), input("area/k.py", KERNEL)]);
    assert!(corpus.problems().is_empty(), "{:#?}", corpus.problems());
    corpus
}

fn build_case(more: &str) -> Case {
    let text = format!(
        "about: Steps.\nkernel: k.py:stepped\nstorages:\n  x: {{ dtype: i32, shape: [4], fill: arange }}\n  \
         out: {{ dtype: i32, shape: [4], fill: zeros }}\nlaunches:\n  - grid: [1]\n    \
         args: {{ x: x, out: out, n: 4, BLOCK: 4 }}\n{more}"
    );
    load_corpus(&text)
        .entries()
        .next()
        .expect("a case")
        .resolve()
        .expect("a good case")
}

#[test]
fn a_case_is_compiled_as_it_says_or_both_ways() {
    let both: Vec<Option<bool>> = choose_modes(&build_case(""))
        .iter()
        .map(|way| way.dynamic)
        .collect();
    assert_eq!(both, [Some(false), Some(true)]);
    let own = choose_modes(&build_case(
        "compile: { mark_dynamic: { x: [0], out: 0 }, before: [{ n: 3, x: 'x[1:]' }] }\n",
    ));
    let [way] = &own[..] else { panic!("{own:?}") };
    assert_eq!(way.dynamic, None);
    assert_eq!(way.mark_dynamic, [("x".to_owned(), 0), ("out".to_owned(), 0)]);
    assert_eq!(way.before[0][0], ("n".to_owned(), Value::Int(3)));
    assert_eq!(way.before[0][1], ("x".to_owned(), tensor(0, DType::I32, 3, 1)));
    let import = load_corpus("about: Imports.\nimport: k.py\n");
    let import = import.entries().next().expect("a case").resolve().expect("good");
    assert_eq!(choose_modes(&import), []);
}

#[test]
fn what_torch_cannot_be_given_is_said() {
    assert_eq!(find_unsupported(&build_case("")), None);
    let with = |storage: &str| {
        let text = format!(
            "about: Steps.\nkernel: k.py:address\nstorages:\n  {storage}\n  out: {{ dtype: i64, shape: [1], fill: \
             zeros }}\nlaunches:\n  - grid: [1]\n    args: {{ x: x, out: out }}\n"
        );
        let corpus = load_corpus(&text);
        let entry = corpus.entries().next().expect("a case");
        find_unsupported(&entry.resolve().expect("a good case"))
    };
    let table = with("x: { dtype: i64, shape: [1], fill: { addresses: [out] } }");
    assert_eq!(
        table.as_deref(),
        Some("storage `x` holds addresses, and torch has no tensor of them")
    );
    let foreign = with("x: { dtype: fp8e4b15, shape: [4], fill: zeros }");
    assert_eq!(
        foreign.as_deref(),
        Some("`x` is of fp8e4b15, which torch has not")
    );
}

fn build_induction(result: Result<(), Box<Raised>>) -> Induction {
    Induction {
        result,
        mode: Some(1),
        undefined: Vec::new(),
        finished: Vec::new(),
        stdout: String::new(),
        seconds: std::time::Duration::ZERO,
    }
}

fn both_ways() -> Vec<CompileMode> {
    choose_modes(&build_case(""))
}

#[test]
fn names_that_nothing_defines_are_a_rejection() {
    let name = |kernel: &str, parameter: Option<&str>, symbol: &str| Undefined {
        symbol: symbol.to_owned(),
        parameter: parameter.map(str::to_owned),
        kernel: Some(kernel.to_owned()),
        module: "c.py".to_owned(),
        line: 7,
        text: "'constants': {3: s0}".to_owned(),
    };
    let check = |undefined: Vec<Undefined>, expected: &str| {
        let induction = Induction {
            undefined,
            ..build_induction(Ok(()))
        };
        let outcome = answer::reject_undefined(TORCH, &both_ways(), &induction).expect("a rejection");
        let Outcome::Rejected(complaint) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(
            (complaint.kind.as_str(), complaint.message.as_str()),
            ("undefined-symbol", expected)
        );
    };
    let (k, v) = (name("delta", Some("K"), "s2"), name("delta", Some("V"), "s3"));
    let end = "which nothing in the module that torch generated defines (compiled with dynamic=True)";
    check(
        vec![k.clone()],
        &format!("`delta`: constexpr `K` is given `s2`, {end}"),
    );
    check(
        vec![k.clone(), v, k, name("other", None, "u0")],
        &format!(
            "`delta`: constexpr `K` is given `s2`, constexpr `V` is given `s3`, `other`: `u0` is read, {end}"
        ),
    );
    assert_eq!(
        answer::reject_undefined(TORCH, &both_ways(), &build_induction(Ok(()))),
        None
    );
}

#[test]
fn what_torch_raises_is_an_outcome() {
    let check = |chain: &[(&str, &str)], kind: &str, expected: (&str, &str)| {
        let raised = Raised {
            phase: Phase::Launch(0),
            chain: chain
                .iter()
                .map(|(kind, message)| PythonError {
                    kind: (*kind).to_owned(),
                    message: (*message).to_owned(),
                })
                .collect(),
            location: None,
            frame: None,
            compiling: false,
            origin: None,
            traceback: "  File \"/v/site-packages/torch/a.py\", line 316, in replace\n    assert x\n"
                .to_owned(),
        };
        let induction = build_induction(Err(Box::new(raised.clone())));
        let outcome = answer::translate_torch_exception(&build_case(""), &both_ways(), &induction, &raised);
        let complaint = outcome.complaint().expect("a complaint");
        assert_eq!((complaint.kind.as_str(), complaint.message.as_str()), expected);
        assert_eq!(outcome.kind().name(), kind);
    };
    check(
        &[
            (
                "torch._dynamo.exc.BackendCompilerFailed",
                "backend='inductor' raised:\nNameError: s2",
            ),
            ("NameError", "name 's2' is not defined"),
        ],
        "rejected",
        (
            "NameError",
            "name 's2' is not defined (compiled with dynamic=True)",
        ),
    );
    check(
        &[(
            "torch._dynamo.exc.Unsupported",
            "call of next_power_of_2\n\nfrom user code:\n   File \"k.py\", line 1\n\nYou can suppress this",
        )],
        "rejected",
        (
            "Unsupported",
            "call of next_power_of_2 (compiled with dynamic=True)",
        ),
    );
    check(
        &[(
            "torch._inductor.exc.InductorError",
            "AssertionError: \n\nSet TORCH",
        )],
        "rejected",
        (
            "InductorError",
            "AssertionError at torch/a.py:316 (compiled with dynamic=True)",
        ),
    );
    check(
        &[("cerith_worker.inductor.FalseMetadata", "`n` is 5")],
        "rejected",
        ("false-metadata", "`n` is 5 (compiled with dynamic=True)"),
    );
    check(
        &[("cerith_worker.inductor.Unsupported", "no launch")],
        "unsupported",
        ("launch", "no launch (compiled with dynamic=True)"),
    );
}

#[test]
fn of_ways_that_come_out_differently_the_odd_one_is_told() {
    let case = build_case("");
    let memory = case.memory();
    let after = |last: u8| {
        let storages = memory.ids().map(|id| {
            let (front, back) = memory.guards(id);
            let mut body = memory.bytes(id).to_vec();
            body[15] = last;
            After {
                bytes: [front, body.as_slice(), back].concat().into(),
                relocations: Vec::new(),
            }
        });
        Compiled {
            runs: vec![Some(storages.collect())],
            launches: 1,
        }
    };
    let last = |ways: Vec<Compiled>, plain: Option<u8>| {
        let induction = Induction {
            finished: ways,
            ..build_induction(Ok(()))
        };
        let plainly = || {
            Ok(plain.map(|last| {
                let mut memory = memory.clone();
                for id in memory.ids() {
                    memory.parts_mut(id).0[15] = last;
                }
                memory
            }))
        };
        let printed = vec!["hello".to_owned()];
        let outcome = answer::merge_modes(&memory, &induction, 0, printed, plainly).expect("no bug");
        let finished = outcome.finished().expect("finished").clone();
        assert_eq!(finished.printed, ["hello"]);
        finished.memory.bytes(StorageId(1))[15]
    };
    assert_eq!(last(vec![after(1), after(1)], None), 1);
    assert_eq!(last(vec![after(1), after(2)], Some(1)), 2);
    assert_eq!(last(vec![after(1), after(2)], Some(2)), 1);
    assert_eq!(last(vec![after(1), after(2)], None), 1);
    assert_eq!(last(Vec::new(), None), memory.bytes(StorageId(1))[15]);
}

#[test]
fn the_place_of_a_launch_that_stopped_is_told() {
    let launch = build_stepped(
        tensor(0, DType::I32, 4, 0),
        tensor(1, DType::I32, 2, 0),
        4,
        &[encode_words(&[0; 4]), encode_words(&[0; 2])],
    );
    let outcome = run(&launch).expect_err("it stops");
    let told = answer::add_location(outcome, "launch 1 of it");
    let complaint = told.complaint().expect("a complaint");
    assert!(complaint.message.starts_with("launch 1 of it: "), "{complaint:?}");
    assert_eq!(complaint.launch, None);
}
