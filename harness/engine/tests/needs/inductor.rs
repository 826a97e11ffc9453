//! Cases under `torch.compile`, with toolchains that hold torch.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cerith_case::{Case, Corpus, Input};
use cerith_engine::compile::{Compiler, Compiling};
use cerith_engine::{
    Capabilities, Engine, EngineId, Failure, Inductor, Interpret, LaunchExecutor, Outcome, Preparation,
    Reference,
};
use cerith_memory::StorageId;
use cerith_needs::{Tests, named};
use cerith_tile::rules::Rules;
use cerith_toolchain::compiled::Target;
use cerith_toolchain::pool::Limits;
use cerith_toolchain::{Compilers, Inductors, Pool, Toolchain};

const KERNELS: &str = "\
import triton
import triton.language as tl


@triton.jit
def scale(x, out, n, K: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask, other=0) * K, mask=mask)


def by_size(kernel, grid, args):
    kernel[grid](**{**args, 'K': args['x'].shape[0]})
";

/// A kernel whose constexpr `K` is what the host function says, under these keys of `compile`.
fn build_case(host: &str, compile: &str) -> Case {
    let text = format!(
        "about: Scales.\nkernel: k.py:scale\nstorages:\n  x: {{ dtype: f32, shape: [12], fill: arange }}\n  \
         out: {{ dtype: f32, shape: [12], fill: zeros }}\nlaunches:\n  - grid: [2]\n    {host}\n    \
         args: {{ x: x, out: out, n: 12, K: 12, BLOCK: 8 }}\n  - grid: [2]\n    \
         args: {{ x: out, out: out, n: 10, K: 3, BLOCK: 8 }}\n{compile}"
    );
    let input = |path: &str, text: &str| Input {
        path: path.to_owned(),
        name: format!("cases/{path}"),
        content: Ok(text.as_bytes().to_vec()),
    };
    let corpus = Corpus::load([input("area/c.yaml", &text), input("area/k.py", KERNELS)]);
    assert!(corpus.problems().is_empty(), "{:#?}", corpus.problems());
    let entry = corpus.entries().next().expect("a case");
    entry.resolve().expect("a good case")
}

fn build_limits() -> Limits {
    Limits {
        time: Duration::from_mins(1),
        ..Limits::default()
    }
}

/// The engines of a toolchain's torch.
fn build_engines(toolchain: &Toolchain) -> Vec<Inductor> {
    let limits = build_limits();
    let pool = Pool::new(toolchain.clone(), 1).expect("a pool");
    let executing: Vec<(LaunchExecutor, Arc<dyn Engine>)> = vec![
        (LaunchExecutor::Reference, Arc::new(Reference::default())),
        (
            LaunchExecutor::Interpret,
            Arc::new(Interpret::new(pool, true, limits)),
        ),
    ];
    let inductors = Inductors::new(toolchain.clone(), 1).expect("workers");
    Inductor::build_engines(inductors, executing, Limits::INDUCTOR)
}

fn run_case(engine: &dyn Engine, case: &Case) -> Outcome {
    let rules = engine
        .id()
        .version()
        .map_or_else(Rules::default, Rules::from_version);
    engine.run(case, rules).expect("no bug").outcome
}

fn what_inductor_makes_of_a_program_is_the_program(toolchain: &Toolchain) {
    let plain = build_case("", "");
    let reference = run_case(&Reference::default(), &plain);
    let expected = reference.finished().expect("it finishes");
    for engine in build_engines(toolchain) {
        let outcome = run_case(&engine, &plain);
        let finished = outcome
            .finished()
            .unwrap_or_else(|| panic!("{}: {outcome:?}", engine.id()));
        for id in [StorageId(0), StorageId(1)] {
            let (left, right) = (finished.memory.bytes(id), expected.memory.bytes(id));
            assert_eq!(left, right, "{}", engine.id());
        }
        assert_eq!(finished.unsteady, None, "{}", engine.id());
    }
}

fn a_symbol_that_nothing_defines_is_named_with_its_parameter(toolchain: &Toolchain) {
    let symbolic = build_case("host: by_size", "compile: { dynamic: true }\n");
    let words = "`scale`: constexpr `K` is given `s";
    for engine in build_engines(toolchain) {
        let outcome = run_case(&engine, &symbolic);
        let Outcome::Rejected(complaint) = &outcome else {
            panic!("{}: {outcome:?}", engine.id())
        };
        assert_eq!(complaint.kind, "undefined-symbol", "{complaint:?}");
        assert!(complaint.message.starts_with(words), "{complaint:?}");
    }
}

/// The version after defines it.
fn a_symbol_that_is_defined_is_a_number(toolchain: &Toolchain) {
    let symbolic = build_case("host: by_size", "compile: { dynamic: true }\n");
    for engine in build_engines(toolchain) {
        let outcome = run_case(&engine, &symbolic);
        assert!(outcome.finished().is_some(), "{}: {outcome:?}", engine.id());
    }
}

fn a_launch_that_stops_is_the_outcome(toolchain: &Toolchain) {
    let mut beyond = build_case("", "");
    if let Some((_, arg)) = beyond.launches[1]
        .keyword
        .iter_mut()
        .find(|(name, _)| name == "n")
    {
        arg.value = cerith_case::ArgValue::Int(16);
    }
    for engine in build_engines(toolchain).into_iter().take(1) {
        let outcome = run_case(&engine, &beyond);
        let complaint = outcome.complaint().expect("it stops");
        assert_eq!(complaint.kind, "out-of-bounds", "{complaint:?}");
        let torch = toolchain.contents.torch.as_deref().expect("it holds torch");
        let torch = torch.split('+').next().expect("a version");
        let place = format!("launch 2 of the code of torch {torch} (compiled with dynamic=False): ");
        assert!(complaint.message.starts_with(&place), "{complaint:?}");
    }
}

/// The reference, for cases that can be compiled for a GPU.
struct Compiled {
    compiler: Compiler,
    reference: Reference,
    jobs: AtomicUsize,
}

impl Engine for Compiled {
    fn id(&self) -> &EngineId {
        self.reference.id()
    }

    fn capabilities(&self) -> &Capabilities {
        self.reference.capabilities()
    }

    fn prepare(&self, case: &Case, rules: Rules) -> Result<Preparation, Failure> {
        let compiling = self.compiler.compile_job(case)?;
        assert!(matches!(compiling, Compiling::Ready(_)), "{compiling:?}");
        self.jobs.fetch_add(1, Ordering::Relaxed);
        self.reference.prepare(case, rules)
    }
}

fn what_is_launched_can_be_compiled_for_a_gpu(toolchain: &Toolchain) {
    let compilers = Compilers::new(toolchain.clone(), 1, None).expect("compilers");
    let compiled = Arc::new(Compiled {
        compiler: Compiler::new(compilers, Target::HOPPER, Limits::COMPILER),
        reference: Reference::default(),
        jobs: AtomicUsize::new(0),
    });
    let inductors = Inductors::new(toolchain.clone(), 1).expect("workers");
    let executing: Vec<(LaunchExecutor, Arc<dyn Engine>)> =
        vec![(LaunchExecutor::Reference, compiled.clone())];
    for engine in Inductor::build_engines(inductors, executing, Limits::INDUCTOR) {
        let outcome = run_case(&engine, &build_case("", ""));
        assert!(outcome.finished().is_some(), "{}: {outcome:?}", engine.id());
    }
    assert_ne!(compiled.jobs.load(Ordering::Relaxed), 0);
}

pub fn tests() -> Tests {
    Tests::new()
        .with_each(
            &["torch2.5.1", "torch2.11.0"],
            &named![
                what_inductor_makes_of_a_program_is_the_program,
                what_is_launched_can_be_compiled_for_a_gpu,
                a_launch_that_stops_is_the_outcome,
            ],
        )
        .with_each(
            &["torch2.5.1"],
            &named![a_symbol_that_nothing_defines_is_named_with_its_parameter],
        )
        .with_each(&["torch2.11.0"], &named![a_symbol_that_is_defined_is_a_number])
}
