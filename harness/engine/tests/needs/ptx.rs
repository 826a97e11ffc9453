//! Triton's PTX with the compilers of real toolchains: what is noticed in it names the kernel's lines.

use std::fs;
use std::path::Path;

use cerith_case::{Case, Corpus};
use cerith_engine::compile::{Compiler, Compiling};
use cerith_engine::{Complaint, Engine, Ptx, Reference};
use cerith_memory::{Memory, StorageId};
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
    write_files(folder, &text, KERNELS)
}

/// A case file with its kernels.
fn write_files(folder: &Path, text: &str, kernels: &str) -> Case {
    let area = folder.join("area");
    fs::create_dir_all(&area).expect("a folder");
    fs::write(area.join("c.yaml"), text).expect("a case file");
    fs::write(area.join("k.py"), kernels).expect("a kernel");
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

/// Products through tensor descriptors: plain, with warp groups that run different code, and with a barrier between two parts.
const PRODUCTS: &str = "\
import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, c_ptr, m, n, k, BM: tl.constexpr, SPECIALISED: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [m, k], [k, 1], [BM, 64])
    b = tl.make_tensor_descriptor(b_ptr, [n, k], [k, 1], [64, 64])
    c = tl.make_tensor_descriptor(c_ptr, [m, n], [n, 1], [BM, 64])
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * 64
    acc = tl.zeros([BM, 64], tl.float32)
    for step in tl.range(0, tl.cdiv(k, 64), warp_specialize=SPECIALISED, num_stages=3):
        x = a.load([row, step * 64])
        y = b.load([column, step * 64])
        acc = tl.dot(x, y.T, acc)
    c.store([row, column], acc)
";

/// A case of [`PRODUCTS`] with a launch of 2 x 1 programs.
fn write_product(folder: &Path, specialised: bool, options: &str) -> Case {
    let specialised = if specialised { "true" } else { "false" };
    let fill = |seed: u32| format!("{{ random: {{ seed: {seed}, low: -2, high: 2, edges: false }} }}");
    let text = format!(
        "about: A product.\nkernel: k.py:product\nstorages:\n  a: {{ dtype: f16, shape: [256, 192], fill: {} }}\n  \
         b: {{ dtype: f16, shape: [64, 192], fill: {} }}\n  c: {{ dtype: f32, shape: [256, 64], fill: zeros }}\nlaunches:\n  \
         - grid: [2, 1]\n    args: {{ a_ptr: a, b_ptr: b, c_ptr: c, m: 256, n: 64, k: 192, BM: 128, SPECIALISED: {specialised} }}\n    \
         options: {{ {options} }}\n",
        fill(1),
        fill(2)
    );
    write_files(folder, &text, PRODUCTS)
}

/// A compiler for Hopper.
fn build_hopper_compiler(toolchain: &Toolchain, folder: &Path) -> Compiler {
    let compilers = Compilers::new(toolchain.clone(), 1, None)
        .expect("compilers")
        .with_readable(folder);
    Compiler::new(compilers, Target::HOPPER, Limits::COMPILER)
}

/// Runs a case on `ptx@V:sm_90a`, in several schedules, and compares the product with the reference's.
fn check_product(toolchain: &Toolchain, specialised: bool, options: &str, expected: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let case = write_product(folder.path(), specialised, options);
    let rules = Rules::from_version(toolchain.triton());
    let engine = Ptx::new(build_hopper_compiler(toolchain, folder.path()))
        .with_schedules(4)
        .with_threads(2);
    assert_eq!(
        engine.id().to_string(),
        format!("ptx@{}:sm_90a", toolchain.triton())
    );
    let outcome = engine.run(&case, rules).expect("a run").outcome;
    let finished = outcome.finished().unwrap_or_else(|| panic!("{outcome:?}"));
    assert_eq!(finished.unsteady, None);
    let reference = Reference::default().run(&case, rules).expect("a run").outcome;
    let known = reference.finished().unwrap_or_else(|| panic!("{reference:?}"));
    let values = |memory: &Memory| -> Vec<f32> {
        let words = memory.bytes(StorageId(2)).as_chunks::<4>().0.to_vec();
        words.into_iter().map(f32::from_le_bytes).collect()
    };
    let (values, known) = (values(&finished.memory), values(&known.memory));
    assert!(known.iter().any(|value| value.abs() > 1.0), "{known:?}");
    for (nth, (value, known)) in values.iter().zip(&known).enumerate() {
        assert!(
            (value - known).abs() < 1e-2,
            "element {nth}: {value} and not {known}"
        );
    }
    let executed = &finished.execution.as_ref().expect("instructions").instructions;
    for stem in expected {
        let all = executed.exact.iter().chain(&executed.modelled);
        assert!(
            all.clone().any(|name| name.starts_with(stem)),
            "{stem}: {executed:?}"
        );
    }
}

fn a_product_through_descriptors_is_right(toolchain: &Toolchain) {
    check_product(
        toolchain,
        false,
        "num_warps: 4",
        &["wgmma.mma_async", "mbarrier", "cp"],
    );
}

fn a_product_of_warp_groups_is_right(toolchain: &Toolchain) {
    // Only a kernel whose groups run different code sets the number of their registers.
    let expected = ["wgmma.mma_async", "setmaxnreg", "mbarrier"];
    check_product(toolchain, true, "num_warps: 4", &expected);
}

fn a_product_of_a_cluster_is_right(toolchain: &Toolchain) {
    let options = "num_warps: 4, num_ctas: 2";
    check_product(toolchain, false, options, &["wgmma.mma_async", "mbarrier"]);
}

/// Removes the last line with a text from the kernel of a product, and returns the code of the report.
fn remove_line(toolchain: &Toolchain, line: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let case = write_product(folder.path(), false, "num_warps: 4");
    let compiler = build_hopper_compiler(toolchain, folder.path());
    let lined = compiler
        .compile_with_lines(&case, Tuning::default())
        .expect("an answer");
    let mut lined = lined.expect("it compiles");
    for kernel in &mut lined.kernels {
        let mut changed = (**kernel).clone();
        let lines: Vec<&str> = changed.ptx.lines().collect();
        let last = lines.iter().rposition(|text| text.contains(line));
        let last = last.unwrap_or_else(|| panic!("no `{line}`: {}", changed.ptx));
        let kept = lines.iter().enumerate().filter(|(nth, _)| *nth != last);
        changed.ptx = kept.flat_map(|(_, text)| [*text, "\n"]).collect();
        *kernel = changed.into();
    }
    let outcome = Ptx::execute(&case, lined).expect("a run");
    outcome
        .complaint()
        .map_or_else(String::new, |complaint| complaint.kind.clone())
}

fn a_removed_barrier_is_reported(toolchain: &Toolchain) {
    let check = |line: &str, expected: &[&str]| {
        let code = remove_line(toolchain, line);
        assert!(expected.contains(&code.as_str()), "without {line}: `{code}`");
    };
    check("wgmma.wait_group", &["accumulator-in-flight"]);
    check("mbarrier.init", &["bad-mbarrier"]);
    check(
        "mbarrier.arrive.expect_tx",
        &["deadlock", "copy-in-flight", "bad-mbarrier"],
    );
}

/// 3.6.0 initialises two `mbarrier` objects in the same bytes. The first of them is not used.
fn two_barriers_in_one_place_are_reported(toolchain: &Toolchain) {
    let folder = tempfile::tempdir().expect("a folder");
    let case = write_product(folder.path(), true, "num_warps: 4");
    let engine = Ptx::new(build_hopper_compiler(toolchain, folder.path()));
    let rules = Rules::from_version(toolchain.triton());
    let outcome = engine.run(&case, rules).expect("a run").outcome;
    let complaint = outcome.complaint().expect("a trap");
    assert_eq!(complaint.kind, "bad-mbarrier", "{complaint:?}");
    assert!(complaint.message.contains("initialised again"), "{complaint:?}");
}

pub fn tests() -> Tests {
    Tests::new()
        .with_each(
            &["3.0.0", "3.6.0", NEWEST],
            &named![
                a_trap_names_the_line_and_what_called_it,
                a_race_names_the_lines_of_both_sides,
                machine_code_stays_what_is_on_record,
            ],
        )
        .with_each(
            &["3.6.0", NEWEST],
            &named![
                a_product_through_descriptors_is_right,
                a_removed_barrier_is_reported,
            ],
        )
        .with_each(
            &[NEWEST],
            &named![a_product_of_warp_groups_is_right, a_product_of_a_cluster_is_right],
        )
        .with_each(&["3.6.0"], &named![two_barriers_in_one_place_are_reported])
}
