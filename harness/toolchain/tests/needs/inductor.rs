//! Launches under `torch.compile`, in the workers of toolchains that hold torch.

use crate::common::{build_storage, kernels_folder, launch, read_words, request, tensor};
use cerith_needs::{Tests, named};
use cerith_toolchain::inductor::{CompileMode, Emitted, Induction};
use cerith_toolchain::request::Value;
use cerith_toolchain::response::Phase;
use cerith_toolchain::{InductorRequest, Inductors, Limits, Toolchain};

fn build_mode(dynamic: Option<bool>) -> CompileMode {
    CompileMode {
        dynamic,
        ..CompileMode::default()
    }
}

/// Adds one to every element, twice; each launch is executed here.
fn run_twice(inductors: &Inductors, ways: Vec<CompileMode>, finish: bool) -> (Induction, Vec<Emitted>) {
    let x = || tensor(0, &[4], &[1], 0);
    let asked = InductorRequest {
        request: request(
            "behaviour.py",
            vec![build_storage(&[5, 6, 7, 8])],
            vec![launch("increase", vec![x()]), launch("increase", vec![x()])],
        ),
        modes: ways,
        runs: 2,
    };
    let mut seen = Vec::new();
    let answer = inductors.request(&asked, Limits::INDUCTOR, &mut |emitted| {
        let body: Vec<u8> = emitted.storages[0]
            .chunks_exact(4)
            .flat_map(|word| (i32::from_le_bytes(word.try_into().expect("4")) + 1).to_le_bytes())
            .collect();
        let goes_on = finish || emitted.run == 0;
        seen.push(emitted);
        goes_on.then(|| vec![body])
    });
    (answer.expect("an answer"), seen)
}

fn open_inductors(toolchain: &Toolchain) -> Inductors {
    Inductors::new(toolchain.clone(), 1)
        .expect("a pool")
        .with_readable(&kernels_folder())
}

fn launches_of_the_wrapper_are_handed_out(toolchain: &Toolchain) {
    let (id, inductors) = (toolchain.id.clone(), open_inductors(toolchain));
    let (answer, seen) = run_twice(
        &inductors,
        vec![build_mode(Some(false)), build_mode(Some(true))],
        true,
    );
    assert_eq!(answer.result, Ok(()), "{id}");
    assert_eq!(answer.undefined, [], "{id}");
    for compiled in &answer.finished {
        assert_eq!(compiled.launches, 2, "{id}");
        for run in &compiled.runs {
            let memory = run.as_ref().expect("it finished");
            assert_eq!(read_words(&memory[0].bytes), [7, 8, 9, 10], "{id}");
        }
    }
    let of: Vec<(usize, usize)> = seen.iter().map(|one| (one.mode, one.run)).collect();
    let expected = [(0, 0), (0, 0), (0, 1), (0, 1), (1, 0), (1, 0), (1, 1), (1, 1)];
    assert_eq!(of, expected, "{id}");
    let first = &seen[0];
    assert_eq!(
        (first.kernel.as_str(), first.grid),
        ("increase", [1, 1, 1]),
        "{id}"
    );
    assert!(first.source.contains("def increase(x):"), "{}", first.source);
    assert!(!first.source.contains("torch"), "{}", first.source);
    assert!(
        matches!(&first.args[..], [(name, Value::Tensor(_))] if name == "x"),
        "{id}"
    );
}

fn a_launch_that_does_not_finish_ends_its_run_only(toolchain: &Toolchain) {
    let (id, inductors) = (toolchain.id.clone(), open_inductors(toolchain));
    let (answer, seen) = run_twice(&inductors, vec![build_mode(Some(false))], false);
    assert_eq!(answer.result, Ok(()), "{id}");
    let runs: Vec<bool> = answer.finished[0].runs.iter().map(Option::is_some).collect();
    assert_eq!((runs, seen.len()), (vec![true, false], 3), "{id}");
}

fn what_torch_raises_is_told(toolchain: &Toolchain) {
    let (id, inductors) = (toolchain.id.clone(), open_inductors(toolchain));
    let asked = InductorRequest {
        request: request(
            "behaviour.py",
            vec![build_storage(&[5; 4])],
            vec![launch("no_such_kernel", vec![tensor(0, &[4], &[1], 0)])],
        ),
        modes: vec![build_mode(None)],
        runs: 1,
    };
    let answer = inductors
        .request(&asked, Limits::INDUCTOR, &mut |_| panic!("nothing is launched"))
        .expect("an answer");
    let raised = answer.result.expect_err("it raises");
    assert_eq!(raised.phase, Phase::Launch(0), "{id}");
    assert_eq!(raised.root().kind, "AttributeError", "{id}");
}

pub fn tests() -> Tests {
    Tests::new().with_each(
        &["torch2.5.1", "torch2.11.0"],
        &named![
            launches_of_the_wrapper_are_handed_out,
            a_launch_that_does_not_finish_ends_its_run_only,
            what_torch_raises_is_told
        ],
    )
}
