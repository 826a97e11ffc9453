//! Triton's own IR, with the compilers of real toolchains, at each stage.

use std::fs;
use std::path::Path;

use cerith_case::{Case, Corpus};
use cerith_engine::compile::Compiler;
use cerith_engine::{Engine, Outcome, Reference, Ttir};
use cerith_needs::{NEWEST, Tests, named};
use cerith_tile::rules::{Rules, Version};
use cerith_toolchain::compiled::{Stage, Target};
use cerith_toolchain::{Compilers, Limits, Toolchain};

const KERNELS: &str = "\
import triton
import triton.language as tl


@triton.jit
def clipped(value, n):
    if n > 4:
        value = value + 1
    return value * 2


@triton.jit
def totals(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for row in range(0, n):
        total += tl.load(x + row * BLOCK + at, mask=at < n, other=1.0)
    total = clipped(total, n)
    tl.store(out + at, total / tl.sum(total, axis=0))


@triton.jit
def products(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    whole = at[:, None] * BLOCK + at[None, :]
    total = tl.zeros([BLOCK, BLOCK], tl.float32)
    for _ in range(0, n):
        values = tl.load(x + whole)
        total = tl.dot(values, tl.trans(values), total)
    tl.store(out + whole, total)


@triton.jit
def outside(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    values = tl.load(x + at * 4096)
    tl.store(out + at, values)
";

/// A case of a kernel, on disk, where workers read it.
fn write_case(folder: &Path, kernel: &str, dtype: &str) -> Case {
    let text = format!(
        "about: One kernel.\nkernel: k.py:{kernel}\nstorages:\n  x: {{ dtype: {dtype}, shape: [16, 16], fill: arange }}\n  \
         out: {{ dtype: f32, shape: [16, 16], fill: zeros }}\nlaunches:\n  - grid: [1]\n    \
         args: {{ x: x, out: out, n: 5, BLOCK: 16 }}\n"
    );
    let area = folder.join("area");
    fs::create_dir_all(&area).expect("a folder");
    fs::write(area.join("c.yaml"), text).expect("a case file");
    fs::write(area.join("k.py"), KERNELS).expect("a kernel");
    let corpus = Corpus::read(folder).expect("a corpus");
    assert!(corpus.problems().is_empty(), "{:#?}", corpus.problems());
    let entry = corpus.entries().next().expect("a case");
    entry.resolve().expect("a good case")
}

fn build_engine(toolchain: &Toolchain, folder: &Path, stage: Stage) -> Ttir {
    let compilers = Compilers::new(toolchain.clone(), 1, None)
        .expect("compilers")
        .with_readable(folder);
    Ttir::new(Compiler::new(compilers, Target::HOPPER, Limits::COMPILER), stage)
}

/// Before, pipelined loops carry views of local memory, which are not supported.
const CARRIES_NUMBERS: Version = Version::new(3, 6, 0);

const STAGES: [Stage; 3] = [Stage::Source, Stage::Ttir, Stage::Ttgir];

fn every_stage_does_what_the_reference_does(toolchain: &Toolchain) {
    let folder = tempfile::tempdir().expect("a folder");
    let rules = Rules::from_version(toolchain.triton());
    for (kernel, dtype) in [("totals", "f32"), ("products", "f16")] {
        let case = write_case(folder.path(), kernel, dtype);
        let expected = Reference::default()
            .run(&case, rules)
            .expect("the reference")
            .outcome;
        let Outcome::Finished(expected) = expected else {
            panic!("{kernel}: {expected:?}")
        };
        for stage in STAGES {
            let engine = build_engine(toolchain, folder.path(), stage);
            let outcome = engine.run(&case, rules).expect("a run").outcome;
            if (kernel, stage) == ("products", Stage::Ttgir) && toolchain.triton() < CARRIES_NUMBERS {
                let complaint = outcome.complaint().expect("a reason");
                assert!(complaint.message.contains("is local memory"), "{complaint:?}");
                continue;
            }
            let Outcome::Finished(finished) = outcome else {
                panic!("{} {kernel}: {outcome:?}", engine.id())
            };
            for id in finished.memory.ids() {
                let (left, right) = (finished.memory.bytes(id), expected.memory.bytes(id));
                assert_eq!(left, right, "{} {kernel}", engine.id());
            }
        }
    }
}

fn what_is_undefined_is_found_at_its_line(toolchain: &Toolchain) {
    let folder = tempfile::tempdir().expect("a folder");
    let case = write_case(folder.path(), "outside", "f32");
    for stage in STAGES {
        let engine = build_engine(toolchain, folder.path(), stage);
        let outcome = engine.run(&case, Rules::default()).expect("a run").outcome;
        let Outcome::Trapped(_, complaint) = outcome else {
            panic!("{}: {outcome:?}", engine.id())
        };
        let place = complaint.position.as_ref().map(|position| position.line);
        assert_eq!(
            (complaint.kind.as_str(), place),
            ("out-of-bounds", Some(36)),
            "{}",
            engine.id()
        );
    }
}

pub fn tests() -> Tests {
    Tests::new().with_each(
        &["3.0.0", "3.6.0", NEWEST],
        &named![
            every_stage_does_what_the_reference_does,
            what_is_undefined_is_found_at_its_line,
        ],
    )
}
