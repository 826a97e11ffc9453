//! Triton's PTX with the compilers of real toolchains: what is noticed in it names the kernel's lines.

use std::fs;
use std::path::Path;

use cerith_case::{Case, Corpus};
use cerith_engine::compile::{Compiler, Compiling};
use cerith_engine::{Complaint, Engine, Ptx};
use cerith_needs::{NEWEST, Tests, named};
use cerith_tile::rules::{Rules, Version};
use cerith_toolchain::compiled::Target;
use cerith_toolchain::{Compilers, Limits, Toolchain, Tuning};

const KERNELS: &str = "\
import triton
import triton.language as tl


@triton.jit
def far(x, at):
    return tl.load(x + at + 1024)


@triton.jit
def outside(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, far(x, at))


@triton.jit
def summed(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    values = tl.load(x + at)
    total = tl.sum(values, axis=0)
    tl.store(out + at, values / total)
";

/// A case of a kernel, on disk, where workers read it.
fn write_case(folder: &Path, kernel: &str) -> Case {
    let text = format!(
        "about: One kernel.\nkernel: k.py:{kernel}\nstorages:\n  x: {{ dtype: f32, shape: [1024], fill: arange }}\n  \
         out: {{ dtype: f32, shape: [1024], fill: zeros }}\nlaunches:\n  - grid: [1]\n    \
         args: {{ x: x, out: out, BLOCK: 1024 }}\n"
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

fn build_compiler(toolchain: &Toolchain, folder: &Path) -> Compiler {
    let compilers = Compilers::new(toolchain.clone(), 1, None)
        .expect("compilers")
        .with_readable(folder);
    Compiler::new(compilers, Target::HOPPER, Limits::COMPILER).with_target(Ptx::TARGET)
}

/// Since when `.loc` says what a line was inlined at: 3.9.0 does, and 3.6.0 does not.
const SAYS_CALLS: Version = Version::new(3, 7, 0);

/// The text of the line that a complaint is about.
fn find_line(complaint: &Complaint) -> &str {
    complaint.position.as_ref().map_or("", |at| at.text.trim())
}

fn a_trap_names_the_line_and_what_called_it(toolchain: &Toolchain) {
    let folder = tempfile::tempdir().expect("a folder");
    let case = write_case(folder.path(), "outside");
    let engine = Ptx::new(build_compiler(toolchain, folder.path()));
    let outcome = engine
        .run(&case, Rules::from_version(toolchain.triton()))
        .expect("a run")
        .outcome;
    let complaint = outcome.complaint().expect("a trap");
    assert_eq!(complaint.kind, "out-of-bounds", "{complaint:?}");
    assert_eq!(
        find_line(complaint),
        "return tl.load(x + at + 1024)",
        "{complaint:?}"
    );
    let position = complaint.position.as_ref().expect("a place");
    // `tl.load` up to its arguments, by every version's way to count.
    assert!((12..=26).contains(&position.column), "{position:?}");
    let element = complaint.message.split("where `").nth(1);
    assert!(
        element.is_some_and(|element| element.starts_with("x[1024]` would be")),
        "{complaint:?}"
    );
    let called = format!(", called at {}:13:", position.file);
    let says = complaint.message.contains(&called);
    assert_eq!(says, toolchain.triton() >= SAYS_CALLS, "{complaint:?}");
}

fn a_race_names_the_lines_of_both_sides(toolchain: &Toolchain) {
    let folder = tempfile::tempdir().expect("a folder");
    let case = write_case(folder.path(), "summed");
    let compiler = build_compiler(toolchain, folder.path());
    let lined = compiler
        .compile_with_lines(&case, Tuning::default())
        .expect("an answer");
    let mut lined = lined.expect("it compiles");
    let without_barriers = |text: &str| -> String {
        let kept = text.lines().filter(|line| !line.contains("bar.sync"));
        kept.flat_map(|line| [line, "\n"]).collect()
    };
    for kernel in &mut lined.kernels {
        let mut racing = (**kernel).clone();
        assert!(racing.ptx.contains("bar.sync"), "{}", racing.ptx);
        racing.ptx = without_barriers(&racing.ptx);
        *kernel = racing.into();
    }
    let outcome = Ptx::execute(&case, lined).expect("a run");
    let complaint = outcome.complaint().expect("a race");
    assert_eq!(complaint.kind, "shared-race", "{complaint:?}");
    if toolchain.triton() >= SAYS_CALLS {
        assert_eq!(
            find_line(complaint),
            "total = tl.sum(values, axis=0)",
            "{complaint:?}"
        );
        assert_eq!(complaint.message.matches("k.py:20:").count(), 2, "{complaint:?}");
    } else {
        let library = complaint.message.matches("(triton/language/standard.py:").count();
        assert_eq!(library, 2, "{complaint:?}");
    }
}

/// A record's machine code is compared with machine code without line information.
fn machine_code_stays_what_is_on_record(toolchain: &Toolchain) {
    let folder = tempfile::tempdir().expect("a folder");
    let case = write_case(folder.path(), "outside");
    let compiler = build_compiler(toolchain, folder.path());
    let code = || match compiler.compile_job(&case).expect("an answer") {
        Compiling::Ready(job) => job.compiled,
        Compiling::Ended(outcome) => panic!("{outcome:?}"),
    };
    let before = code();
    let lined = compiler
        .compile_with_lines(&case, Tuning::default())
        .expect("an answer");
    assert_ne!(lined.expect("it compiles").kernels[0].ptx, before.kernels[0].ptx);
    assert_eq!(code(), before);
}

pub fn tests() -> Tests {
    Tests::new().with_each(
        &["3.0.0", "3.6.0", NEWEST],
        &named![
            a_trap_names_the_line_and_what_called_it,
            a_race_names_the_lines_of_both_sides,
            machine_code_stays_what_is_on_record,
        ],
    )
}
