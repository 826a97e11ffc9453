//! `cerith sweep` as a user meets it on a machine without a GPU: a bundle of variants is compiled here, and the results
//! that come back are judged. In the place of the GPU is the reference, with a mistake here and there. What happens on
//! a GPU is `cerith exec`'s, and tested in `harness/cuda/tests`.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};

use cerith_case::{Corpus, Variant};
use cerith_cuda::GpuHeader;
use cerith_cuda::bundle::{Provenance, Reader, ResultEntry, Writer};
use cerith_engine::job::Ran;
use cerith_engine::{Engine, Outcome, Reference};
use cerith_needs::{NEWEST, Tests, named};
use cerith_tile::rules::Rules;
use tempfile::TempDir;

const KERNEL: &str = "\
import triton
import triton.language as tl


@triton.jit
def rows(x, out, n, stride_x, stride_out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    mask = at < n
    row = tl.program_id(0)
    tl.store(out + row * stride_out + at, tl.load(x + row * stride_x + at, mask=mask) + 1, mask=mask)


@triton.jit
def flat(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)
";

const ROWS: &str = "\
about: Every row is one more.
kernel: k.py:rows
storages:
  x: { dtype: f32, shape: [3, 16], fill: arange }
  out: { dtype: f32, shape: [3, 16], fill: zeros }
launches:
  - grid: [3]
    args: { x: x, out: out, n: 16, stride_x: x.stride(0), stride_out: out.stride(0), BLOCK: 16 }
";

const FLAT: &str = "\
about: The first 16 elements, copied; other layouts have other elements there.
kernel: k.py:flat
storages:
  x: { dtype: i32, shape: [4, 4], fill: arange }
  out: { dtype: i32, shape: [4, 4], fill: uninit }
launches:
  - { grid: [1], args: { x: x, out: out, n: 16, BLOCK: 16 } }
";

struct Place(TempDir);

impl Place {
    /// A corpus with a bundle of its variants, `sweep.cerith`.
    fn new() -> Self {
        let place = Self(TempDir::new().expect("a folder"));
        fs::create_dir_all(place.path().join("cases/area")).expect("a folder");
        place.write("k.py", KERNEL);
        place.write("rows.yaml", ROWS);
        place.write("flat.yaml", FLAT);
        let axes = ["num_warps=1,4", "num_stages=1", "specialize", "config", "layout"];
        let args = [
            "bundle",
            "--sweep",
            "--engine",
            "cuda@3.9.0",
            "--offline",
            "-o",
            "sweep.cerith",
        ];
        let axes = axes.iter().flat_map(|axis| ["--axis", axis]);
        let output = place.run_cerith(&args.into_iter().chain(axes).collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(0), "{}", join_output(&output));
        place
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join("cases/area").join(name), text).expect("a file");
    }

    fn run_cerith(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_cerith"))
            .args(args)
            .current_dir(self.path())
            .env("CUDA_VISIBLE_DEVICES", "-1")
            .output()
            .expect("cerith starts")
    }

    /// Executes the bundle with the reference into `results.cerith`. `wrong` may change what a variant of a case left.
    fn execute(&self, wrong: impl Fn(&str, Variant, &mut [u8])) -> Vec<String> {
        let corpus = Corpus::read(&self.path().join("cases")).expect("a corpus");
        let reference = Reference::default();
        let gpu = GpuHeader {
            name: "the reference".to_owned(),
            driver: String::new(),
            cuda: 13000,
            capability: 90,
            count: 1,
        };
        let provenance = Provenance {
            gpu,
            repetitions: 1,
            time_limit: 1,
        };
        let file = File::open(self.path().join("sweep.cerith")).expect("a bundle");
        let mut reader = Reader::begin_cases(file).expect("a bundle");
        let mut writer = Writer::begin_results(Vec::new(), provenance).expect("it is memory");
        let mut seen = Vec::new();
        while let Some(entry) = reader.next_case().expect("a bundle") {
            let label = entry.label;
            let variant = label.variant.expect("of a sweep");
            let found = corpus.entries().find(|entry| entry.id == label.case);
            let found = found.expect("in the corpus");
            let case = found
                .vary(&found.resolve().expect("a case"), variant)
                .expect("it applies");
            assert_eq!(case.memory().arena().0, entry.job.arena, "{variant}");
            let run = reference.run(&case, Rules::default()).expect("it runs");
            let Outcome::Finished(finished) = run.outcome else {
                panic!("{variant} does not finish")
            };
            let mut arena = finished.memory.arena().0.to_vec();
            wrong(&label.case, variant, &mut arena);
            seen.push(format!("{} {variant}", label.case));
            let ran = Ran::Finished {
                arena,
                different_arena: None,
                repetitions: 1,
            };
            writer
                .add_result(&ResultEntry { label, ran })
                .expect("it is memory");
        }
        for note in reader.take_notes() {
            seen.push(format!(
                "{} {} {:?}",
                note.label.case,
                note.label.variant.expect("of a sweep"),
                note.why
            ));
            writer.add_note(&note).expect("it is memory");
        }
        let bytes = writer.finish().expect("it is memory");
        fs::write(self.path().join("results.cerith"), bytes).expect("a file");
        seen
    }

    #[track_caller]
    fn judge(&self, exit: i32, wanted: &[&str]) {
        let output = self.run_cerith(&["sweep", "--results", "results.cerith", "--verbose"]);
        let text = join_output(&output);
        assert_eq!(output.status.code(), Some(exit), "{text}");
        for wanted in wanted {
            assert!(text.contains(wanted), "{wanted}\n{text}");
        }
    }
}

fn join_output(output: &Output) -> String {
    [&output.stdout, &output.stderr]
        .map(|bytes| String::from_utf8_lossy(bytes))
        .concat()
}

/// Changes what the kernels wrote: the last storage of the two.
fn spoil(arena: &mut [u8]) {
    let at = arena
        .iter()
        .rposition(|&byte| byte == 0x41 || byte == 0x40)
        .expect("a float");
    arena[at] ^= 1;
}

fn variants_travel_to_a_gpu_and_are_judged_at_home() {
    let place = Place::new();
    let seen = place.execute(|_, _, _| ());
    insta::assert_snapshot!(seen.join("\n"), @r#"
    area/flat as-is
    area/flat num_warps=1
    area/flat layout=offset
    area/flat layout=transposed
    area/rows as-is
    area/rows num_warps=1
    area/rows layout=offset
    area/rows layout=padded
    area/flat num_warps=4 Same(AsIs)
    area/flat num_stages=1 Same(AsIs)
    area/flat specialize=false Same(AsIs)
    area/flat layout=padded NotApplicable("the reference does not run it: load of 4 bytes that nothing was written to")
    area/rows num_warps=4 Same(AsIs)
    area/rows num_stages=1 Same(AsIs)
    area/rows specialize=false Same(AsIs)
    area/rows layout=transposed NotApplicable("the kernel has another result in such a layout")
    "#);
    place.judge(0, &["2 agree", "as expected"]);
    assert!(place.path().join("reports/sweep/report.html").is_file());

    let output = place.run_cerith(&["accept", "results.cerith"]);
    assert_eq!(output.status.code(), Some(2), "{}", join_output(&output));
    assert!(
        join_output(&output).contains("whose variants are not recorded"),
        "{}",
        join_output(&output)
    );
    assert!(!place.path().join("snapshots").exists());

    let output = place.run_cerith(&["sweep", "--results", "sweep.cerith"]);
    assert_eq!(output.status.code(), Some(2), "{}", join_output(&output));
    assert!(
        join_output(&output).contains("it holds cases, and results are wanted"),
        "{}",
        join_output(&output)
    );

    place.write("k.py", &KERNEL.replace("+ 1,", "+ 2,"));
    place.judge(2, &["the kernel has changed since it was bundled"]);
}

fn a_difference_names_the_odd_one_out_unless_it_is_foreseen() {
    let place = Place::new();
    place.execute(|case, variant, arena| {
        if case == "area/rows" && variant.to_string() == "num_warps=1" {
            spoil(arena);
        }
    });
    place.judge(
        1,
        &[
            "num_warps=1 is the odd one out of cuda@3.9.0, along num_warps",
            "(as the reference)",
            "1 agree, 1 differ",
        ],
    );
    place.write(
        "rows.yaml",
        &format!(
            "{ROWS}expect:\n  - {{ engine: cuda, axis: num_warps, verdict: differ, why: one is too few }}\n"
        ),
    );
    place.judge(0, &["as expected: one is too few"]);
    place.execute(|_, _, _| ());
    place.judge(
        1,
        &[
            "STALE",
            "an expectation that no longer happens: cuda * over num_warps: differ",
        ],
    );
}

fn what_is_between_the_elements_of_a_layout_is_not_to_be_touched() {
    let place = Place::new();
    place.execute(|case, variant, arena| {
        if case == "area/rows" && variant.to_string() == "layout=padded" {
            let padding = arena.iter().rposition(|&byte| byte == cerith_memory::UNINIT_BYTE);
            arena[padding.expect("padding")] = 0;
        }
    });
    place.judge(
        1,
        &[
            "layout=padded is the odd one out",
            "bytes between the elements of a tensor were written",
        ],
    );
}

fn an_axis_that_is_none_gets_the_nearest() {
    let folder = TempDir::new().expect("a folder");
    let place = Place(folder);
    for args in [
        &["sweep", "--axis", "num_warp"][..],
        &["bundle", "--sweep", "--axis", "num_warp", "-o", "x"],
    ] {
        fs::create_dir_all(place.path().join("cases/area")).expect("a folder");
        place.write("k.py", KERNEL);
        place.write("rows.yaml", ROWS);
        let output = place.run_cerith(args);
        assert_eq!(output.status.code(), Some(2), "{}", join_output(&output));
        assert!(
            join_output(&output).contains("did you mean `num_warps`?"),
            "{}",
            join_output(&output)
        );
    }
}

/// The compiler's PTX needs no GPU: its variants are executed here. A kernel that does not support a layout is not run with it.
fn variants_of_ptx_are_executed_here() {
    let place = Place::new();
    let axes = ["num_warps=1,4", "num_ctas=2", "specialize", "layout"];
    let axes = axes.iter().flat_map(|axis| ["--axis", axis]);
    let args = ["sweep", "--engine", "ptx@3.9.0", "--offline"];
    let output = place.run_cerith(&args.into_iter().chain(axes).collect::<Vec<_>>());
    let said = join_output(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("2 cases: 2 agree"), "{said}");
    // Both with one warp, without specialisation where that changes something, and `rows` in other layouts.
    assert!(said.contains("num_warps=1        2 finished"), "{said}");
    assert!(said.contains("layout=transposed  1 finished"), "{said}");
    assert!(said.contains("num_ctas 2"), "{said}");
}

pub fn tests() -> Tests {
    Tests::new().with_toolchain(
        NEWEST,
        &named![
            variants_travel_to_a_gpu_and_are_judged_at_home,
            a_difference_names_the_odd_one_out_unless_it_is_foreseen,
            what_is_between_the_elements_of_a_layout_is_not_to_be_touched,
            an_axis_that_is_none_gets_the_nearest,
            variants_of_ptx_are_executed_here
        ],
    )
}
