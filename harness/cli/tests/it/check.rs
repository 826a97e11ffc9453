//! `cerith check`: mistakes in kernels are found without a case file, at the right line, and their fixed versions pass.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::command_output::CommandOutput;
use tempfile::TempDir;

fn read_data(name: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "check", name]
        .iter()
        .collect();
    fs::read_to_string(path).expect("a kernel file")
}

fn place(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("written");
    }
    folder
}

fn check(folder: &TempDir, args: &[&str]) -> CommandOutput {
    let output = Command::new(env!("CARGO_BIN_EXE_cerith"))
        .arg("check")
        .args(args)
        .args(["--engine", "reference"])
        .current_dir(folder.path())
        .output()
        .expect("it starts");
    CommandOutput::from_output(&output)
}

/// The 1-based line that a text is on.
fn line_of(text: &str, part: &str) -> usize {
    1 + text
        .lines()
        .position(|line| line.contains(part))
        .expect("in the file")
}

#[test]
fn six_mistakes_are_found_at_their_lines() {
    let text = read_data("wrong.py");
    let folder = place(&[("wrong.py", &text)]);
    let first = |kernel: &str, part: &str| {
        let start = line_of(&text, &format!("def {kernel}("));
        let rest: Vec<&str> = text.lines().skip(start).collect();
        start + line_of(&rest.join("\n"), part)
    };
    let found = [
        (
            "off_by_one",
            "error[out-of-bounds]: load",
            first("off_by_one", "x = tl.load"),
        ),
        (
            "wrong_stride",
            "error[out-of-bounds]: store",
            first("wrong_stride", "tl.store"),
        ),
        ("race", "error[race]: load", first("race", "total = tl.load")),
        (
            "unmasked_tail",
            "error[out-of-bounds]: store",
            first("unmasked_tail", "tl.store"),
        ),
        (
            "missing_to",
            "error[branch-type-mismatch]",
            first("missing_to", "if start == 0"),
        ),
        (
            "aliased",
            "error[unordered-write]: store",
            first("aliased", "tl.store"),
        ),
    ];
    for (kernel, what, line) in found {
        let place = format!("wrong.py:{line}:");
        check(&folder, &[&format!("wrong.py:{kernel}")]).assert_ends(1, &[what, &place], &[]);
    }
    check(&folder, &["wrong.py"]).assert_ends(
        1,
        &["wrong.py:off_by_one", "in 1 of 13 launches: out_ptr is x_ptr"],
        &[],
    );
}

/// Every fixed kernel, without findings.
const FIXED_KERNELS: [&str; 6] = [
    "mended.py:off_by_one  13 launches: nothing found",
    "mended.py:wrong_stride  27 launches: nothing found",
    "mended.py:race  12 launches: nothing found",
    "mended.py:unmasked_tail  13 launches: nothing found",
    "mended.py:missing_to  12 launches: nothing found",
    "mended.py:aliased  13 launches: nothing found",
];

/// A folder of the tests' data, copied.
fn copy_data(name: &str) -> TempDir {
    let from: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "check", name]
        .iter()
        .collect();
    let folder = TempDir::new().expect("a folder");
    fs::create_dir(folder.path().join("pkg")).expect("a package");
    for part in ["", "pkg"] {
        for entry in fs::read_dir(from.join(part)).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_file() {
                let to = folder.path().join(part).join(path.file_name().expect("a name"));
                fs::copy(&path, to).expect("copied");
            }
        }
    }
    folder
}

#[test]
fn mistakes_of_other_shapes_are_found_at_their_lines() {
    let folder = copy_data("wrong");
    let found = [
        "shapes.py:matmul  37 launches: 1 thing found",
        "--> shapes.py:19:13",
        "shapes.py:layer_norm  15 launches: 1 thing found",
        "--> shapes.py:36:18",
        "shapes.py:tuned  14 launches: 1 thing found",
        "--> shapes.py:52:13",
        "true in lane 33: 97 <= 97",
        "shapes.py:put  not tried: it is a function that kernels call",
        "shapes.py:by_another  13 launches: 1 thing found",
        "--> shapes.py:58:5",
        "called here",
        "pkg/rows.py:scale_rows  17 launches: 1 thing found",
        "--> pkg/rows.py:19:5",
        "x_ptr with padded rows",
    ];
    let summary = "7 kernels: 5 with findings, 0 with nothing found, 0 not judged, 2 not tried";
    check(&folder, &["shapes.py", "pkg"]).assert_ends(1, &found, &[summary]);
    check(&copy_data("mended"), &["shapes.py", "pkg"]).assert_ends(
        0,
        &["pkg/rows.py:scale_rows  17 launches: nothing found"],
        &["7 kernels: 0 with findings, 5 with nothing found, 0 not judged, 2 not tried"],
    );
}

#[test]
fn each_kernel_is_a_line_of_json_if_asked() {
    let folder = copy_data("wrong");
    let line = [
        r#""kernel":"by_another","result":"found","launches":13"#,
        r#""kind":"trapped out-of-bounds","place":"shapes.py:58""#,
    ];
    check(&folder, &["shapes.py:by_another", "--format", "jsonl"]).assert_ends(1, &line, &[]);
}

/// `MODE` has one of two values: no launch passes with the likeliest guess.
const PARTICULAR: &str = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n\
    def particular(x_ptr, flags_ptr, out_ptr, n, MODE: tl.constexpr, BLOCK: tl.constexpr):\n    \
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n    x = tl.load(x_ptr + at, mask=at < n, other=0.0)\n    \
    keep = tl.load(flags_ptr + at, mask=at < n, other=0)\n    if MODE == 3:\n        y = x * 2\n    elif MODE == 5:\n        y = x\n    \
    y = tl.where(keep.to(tl.int32, bitcast=True) > 0, y, x)\n    tl.store(out_ptr + at, y, mask=at < n)\n";

/// A choice between values that the kernel's text names is not an excuse for anything.
#[test]
fn finds_the_value_that_a_kernel_compiles_with() {
    let folder = place(&[("particular.py", PARTICULAR)]);
    check(&folder, &["particular.py"]).assert_ends(
        0,
        &[
            "nothing found",
            "= note: `MODE` is 3: the kernel does not compile, or does not finish, with other arguments",
        ],
        &[],
    );
    check(&folder, &["particular.py", "--format", "jsonl"]).assert_ends(
        0,
        &[r#""result":"clean""#, r#""changed":["`MODE` is 3"]"#],
        &[],
    );
    let folder = place(&[("particular.py", &PARTICULAR.replace("at < n", "at <= n"))]);
    check(&folder, &["particular.py", "--format", "jsonl"]).assert_ends(
        1,
        &[r#""result":"found""#, r#""kind":"trapped out-of-bounds""#],
        &[],
    );
}

/// Each fault of `honest.py` is reported at its line, although other arguments would hide it.
#[test]
fn arguments_are_not_fitted_to_a_fault() {
    let text = read_data("honest.py");
    let folder = place(&[("honest.py", &text)]);
    for (kernel, code, expected, part) in [
        (
            "store_past_end",
            1,
            "error[out-of-bounds]: store",
            "tl.store(state_ptr + at, state)",
        ),
        (
            "one_too_many",
            1,
            "error[out-of-bounds]: load",
            "tl.load(x_ptr + at, mask=keep, other=0.0) + 1.0",
        ),
        (
            "mask_stands_still",
            1,
            "error[out-of-bounds]: load",
            "tl.sum(tl.load(ptrs",
        ),
        (
            "no_other",
            1,
            "error[undefined-value]",
            "biggest = tl.max(tl.load",
        ),
        (
            "neighbours",
            1,
            "error[unordered-write]: store",
            "tl.load(x_ptr + at + 1",
        ),
        (
            "one_row_for_all",
            1,
            "error[race]: store",
            "tl.store(out_ptr + at, tl.load(x_ptr + row * n",
        ),
        ("no_such_function", 1, "error[unknown-attribute]", "tl.softsign"),
        (
            "five_blocks",
            1,
            "arange's range must be a power of 2",
            "5 * BLOCK",
        ),
        (
            "no_mask",
            1,
            "= precondition: unless `BLOCK` divides the number of their elements",
            "tl.load(x_ptr + at) * 2.0",
        ),
        (
            "put",
            1,
            "error[conflicting-lanes]: lanes 0 and 1",
            "tl.store(out_ptr + to",
        ),
        (
            "later_blocks",
            1,
            "warning[never-written]: 32 of the 49 elements of `out_ptr`",
            "",
        ),
        (
            "later_blocks",
            1,
            "error[block-dependent]: `out_ptr[32]` is written with the plain launch, and not with blocks twice as large",
            "tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0), mask=at < n)",
        ),
        (
            "block_pointer",
            1,
            "judged by the language of Triton 3.8.0",
            "boundary_check=(0,))",
        ),
        (
            "by_flag",
            1,
            "error[out-of-bounds]: store",
            "tl.store(target + at",
        ),
    ] {
        let line = format!(
            "honest.py:{}",
            if part.is_empty() { 0 } else { line_of(&text, part) }
        );
        let place: &[&str] = if part.is_empty() {
            &[expected]
        } else {
            &[expected, &line]
        };
        check(&folder, &[&format!("honest.py:{kernel}")]).assert_ends(code, place, &[]);
    }
}

/// Each fault of `related.py` shows only if launches are compared, or an access with the others of its tensor.
#[test]
fn launches_and_accesses_are_compared() {
    let text = read_data("related.py");
    let folder = place(&[("related.py", &text)]);
    for (kernel, expected, part) in [
        (
            "moved_load",
            &[
                "error[out-of-bounds]: load of 4 bytes just past the end of storage `x_ptr`",
                "= precondition: unless `x_ptr` has more room",
            ][..],
            "tl.load(x_ptr + at + 1",
        ),
        (
            "moved_store",
            &["error[race]: load of bytes that program (0, 0, 0) writes"],
            "out = tl.load(out_ptr + at",
        ),
        (
            "other_axis",
            &[
                "precondition[repeated-axis]: all programs on axis 0",
                "= precondition: unless axis 0 of the grid has one program",
            ],
            "tl.program_id(1)",
        ),
        (
            "lost_offset",
            &[
                "precondition[repeated-axis]: all programs on axis 0",
                "no address depends on its number",
            ],
            "start = tl.program_id(0)",
        ),
        (
            "whole_blocks",
            &[
                "error[block-dependent]: `out_ptr[0]` is ",
                " with blocks twice as large",
            ],
            "tl.store(out_ptr + row, tl.sum(total, axis=0))",
        ),
        (
            "mean_by_stride",
            &[
                "error[layout-dependent]: `out_ptr[0]` is ",
                " with x_ptr with padded rows",
            ],
            "tl.sum(x, axis=0) / stride)",
        ),
        (
            "masked_variance",
            &[
                "error[block-dependent]: `out_ptr[0]` is ",
                "launched as `compute_variance` launches it",
            ],
            "tl.sum(apart * apart, axis=0) / n)",
        ),
        (
            "scale_rows",
            &[
                "error[layout-dependent]: `out_ptr[1, 0]` is ",
                " with other strides of `out_ptr`",
                "= precondition: unless `out` has no gaps between its elements",
                "launched as `scale` launches it",
            ],
            "row * n + at * stride_on",
        ),
        (
            "outer",
            &[
                "precondition[unused-stride]: no address depends on `stride_on`, and some depend on `stride_om`",
                "= precondition: unless `stride_on` is 1",
            ],
            "rows * stride_om",
        ),
        (
            "overlap",
            &[
                "precondition[overlapping-blocks]: a program on axis 0",
                "= precondition: unless axis 0 of the grid has one program",
            ],
            "tl.load(x_ptr + at, mask=at < n, other=0.0) + 1.0",
        ),
        (
            "drop",
            &[
                "error[out-of-bounds]: store of 4 bytes just past the end of storage `out_ptr`",
                "= precondition: unless ",
            ],
            "tl.where(keep, x, 0.0))",
        ),
    ] {
        let line = format!("related.py:{}", line_of(&text, part));
        let shown: Vec<&str> = expected.iter().copied().chain([line.as_str()]).collect();
        check(&folder, &[&format!("related.py:{kernel}")]).assert_ends(1, &shown, &[]);
    }
    check(&folder, &["related.py:short_grid"]).assert_ends(
        1,
        &[
            "error[never-written]: 33 of the 97 elements of `out`",
            "launched as `copy` launches it",
        ],
        &[],
    );
    check(&folder, &["related.py:part_sums"]).assert_ends(
        1,
        &[
            "error[uncovered-size]: `sum_all` launches too few programs on axis 0 of the grid: 1, and `n` in blocks of `BLOCK` needs 2",
            "launched as `sum_all` launches it",
        ],
        &[],
    );
    check(&folder, &["related.py:copy_blocks"]).assert_ends(
        1,
        &["error[uncovered-size]: `copy_all` launches too few programs on axis 0 of the grid: 0, and `n` in blocks of `BLOCK` needs 1"],
        &[],
    );
}

#[test]
fn launches_that_leave_the_same_are_left_alone() {
    let folder = place(&[("unrelated.py", &read_data("unrelated.py"))]);
    let shown = [
        "unrelated.py:moved_load  12 launches: nothing found",
        "unrelated.py:masked_variance  14 launches: nothing found",
        "unrelated.py:block_amax  14 launches: nothing found",
        "launched as `copy` launches it",
        "launched as `scale` launches it",
        "launched as `rotate_rows` launches it",
        "launched as `sum_all` launches it",
        "launched as `sum_some` launches it",
        "  = compared: the plain launch with 5 launches on the same data",
    ];
    let summary = "15 kernels: 0 with findings, 15 with nothing found, 0 not judged, 0 not tried";
    check(&folder, &["unrelated.py"]).assert_ends(0, &shown, &[summary]);
}

#[test]
fn arguments_that_launchers_relate_are_left_alone() {
    let text = read_data("related_by_launchers.py");
    let shown = [
        "related_by_launchers.py:scale_groups",
        "related_by_launchers.py:add_rows",
        "related_by_launchers.py:add_before",
        "related_by_launchers.py:sum_segments",
    ];
    let summary = "5 kernels: 0 with findings, 5 with nothing found, 0 not judged, 0 not tried";
    check(
        &place(&[("related_by_launchers.py", &text)]),
        &["related_by_launchers.py"],
    )
    .assert_ends(0, &shown, &[summary]);
    // The last segment ends at the last row.
    let changed = text.replace("+ segment + 1)):", "+ segment + 1) + 1):");
    assert_ne!(changed, text);
    let folder = place(&[("related_by_launchers.py", &changed)]);
    check(&folder, &["related_by_launchers.py:sum_segments"]).assert_ends(
        1,
        &[
            "error[out-of-bounds]: load of 4 bytes just past the end of storage `x`",
            "launched as `segment_sums` launches it, with assumed values of `x`",
        ],
        &[],
    );
}

/// Checks `launchers.py` with one mistake in a kernel or its launcher.
fn check_launched(kernel: &str, (right, wrong): (&str, &str), code: i32, shown: &[&str]) {
    let text = read_data("launchers.py");
    let changed = text.replace(right, wrong);
    assert_ne!(changed, text, "{kernel}");
    let folder = place(&[("launchers.py", &changed)]);
    check(&folder, &[&format!("launchers.py:{kernel}")]).assert_ends(code, shown, &[]);
}

#[test]
fn right_launchers_are_left_alone() {
    let folder = place(&[("launchers.py", &read_data("launchers.py"))]);
    let used = [
        "launched as `scale_all` launches it",
        "launched as `multiply_all` launches it",
        "launched as `multiply_halves` launches it",
        "launched as `pair_sums` launches it",
        "launched as `pick_all` launches it",
        "launched as `take_rows` launches it",
        "launched as `segment_sums` launches it",
    ];
    let summary = "10 kernels: 0 with findings, 10 with nothing found, 0 not judged, 0 not tried";
    check(&folder, &["launchers.py"]).assert_ends(0, &used, &[summary]);
}

/// A launcher with arguments that no compiler accepts is wrong, even if the kernel compiles with others.
#[test]
fn a_launcher_whose_launches_are_rejected_is_not_clean() {
    check_launched(
        "scale",
        ("1024", "1000"),
        1,
        &[
            "error[rejected]: arange's range must be a power of 2, but it is 1000",
            "  = in all launches of `scale_all`",
            "  = launch: x_ptr: f32[1501]",
        ],
    );
    // Inputs that were not tried may pass.
    check_launched(
        "scale",
        (
            "    x = tl.load(x_ptr + offs, mask=offs < n)\n",
            "    tl.static_assert(BLOCK < 512)\n    x = tl.load(x_ptr + offs, mask=offs < n)\n",
        ),
        3,
        &[
            "not judged",
            "error[static-assert]",
            "  = in all launches of `scale_all`",
        ],
    );
}

#[test]
fn strides_that_a_launcher_requires_to_be_equal_are() {
    let shown = ["error[out-of-bounds]: store of 4 bytes just past the end of storage `out`"];
    let mistake = ("* dim + d, k * v", "* dim + d + 1, k * v");
    check_launched("multiply", mistake, 1, &shown);
    let text = read_data("launchers.py").replace(mistake.0, mistake.1);
    let text = text.replace("assert k.stride() == v.stride()", "raise ValueError");
    let folder = place(&[("launchers.py", &text)]);
    let used = [shown[0], "launched as `check_and_multiply` launches it"];
    check(&folder, &["launchers.py:multiply"]).assert_ends(1, &used, &[]);
}

/// Sizes that a launcher requires to be even are varied, and larger than the blocks of half of them.
#[test]
fn even_sizes_are_varied() {
    check_launched(
        "gate",
        ("mask = cols < half", "mask = tl.arange(0, BLOCK) < half"),
        1,
        &[
            "error[race]: store of bytes",
            "launched as `multiply_halves` launches it",
        ],
    );
    check_launched(
        "add_pairs",
        ("triton.cdiv(n // 2, 128)", "n // 2 // 128"),
        1,
        &["error[never-written]: 65 of the 193 elements of `out` are never written"],
    );
}

/// Indices with the values that the kernel compares them with.
#[test]
fn indices_that_a_kernel_ignores_are_passed() {
    check_launched(
        "pick",
        (
            ", mask=label != ignore_index, other=0.0)\n    tl.store(out_ptr + row, x)",
            ")\n    tl.store(out_ptr + row, tl.where(label == ignore_index, 0.0, x))",
        ),
        1,
        &[
            "error[out-of-bounds]: load of 4 bytes that starts 400 bytes before storage `x`",
            "launches: labels with ignored elements",
        ],
    );
    check_launched(
        "take",
        (" & is_row", ""),
        1,
        &[
            "error[out-of-bounds]: load of 4 bytes just past the end of storage `x`",
            "launches: ids with ignored elements",
        ],
    );
}

#[test]
fn guesses_name_the_tensor_of_indices() {
    let folder = place(&[("honest.py", &read_data("honest.py"))]);
    let guess = "= precondition: unless the indices in `to_ptr` are distinct";
    check(&folder, &["honest.py:put"]).assert_ends(1, &[guess], &[]);
}

/// Without a launcher, too. Rows of one column get no labels of other columns.
#[test]
fn ignored_indices_need_no_launcher() {
    let text = read_data("launchers.py");
    let (head, _) = text.split_once("@triton.jit").expect("a kernel");
    let (_, rest) = text.split_once("@triton.jit\ndef pick(").expect("the kernel");
    let (kernel, _) = rest.split_once("\n\n\ndef ").expect("its launcher");
    let right =
        format!("{head}@triton.jit\ndef pick({kernel}\n").replace("label != ignore_index", "label != -100");
    check(&place(&[("k.py", &right)]), &["k.py"]).assert_ends(0, &["nothing found"], &[]);
    let wrong = right.replace(
        ", mask=label != -100, other=0.0)\n",
        ")\n    x = tl.where(label == -100, 0.0, x)\n",
    );
    assert_ne!(wrong, right);
    check(&place(&[("k.py", &wrong)]), &["k.py"]).assert_ends(
        1,
        &[
            "error[out-of-bounds]: load of 4 bytes that starts 400 bytes before storage `x_ptr`",
            "or the values in `labels_ptr` are indices of it",
        ],
        &[],
    );
}

/// A kernel gets what the launcher's earlier kernels store, and elements that they leave out have no value.
#[test]
fn kernels_load_what_earlier_kernels_store() {
    let right = read_data("stages.py");
    let folder = place(&[("stages.py", &right)]);
    let summary = "2 kernels: 0 with findings, 2 with nothing found, 0 not judged, 0 not tried";
    check(&folder, &["stages.py"]).assert_ends(0, &["launched as `row_sums` launches it"], &[summary]);
    for (from, to) in [
        ("part < count", "part < PARTS"),
        ("cols, width, BLOCK", "cols, count, BLOCK"),
        ("count, width, PARTS=width", "width, width, PARTS=width"),
    ] {
        let wrong = right.replace(from, to);
        assert_ne!(wrong, right);
        check(&place(&[("stages.py", &wrong)]), &["stages.py"]).assert_ends(
            1,
            &[
                "stages.py:sum_parts  11 launches: nothing found",
                "error[uninitialised-read]: load",
                "x[33, 71] after those before it",
            ],
            &[],
        );
    }
}

/// No program holds a lock before the launch.
#[test]
fn locks_are_free_at_first() {
    let kernel = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n\
        def add_to(x_ptr, sums_ptr, locks_ptr, n, stride, GROUP: tl.constexpr, BLOCK: tl.constexpr):\n    \
        row = tl.program_id(0)\n    group = row % GROUP\n    offs = tl.arange(0, BLOCK)\n    mask = offs < n\n    \
        x = tl.load(x_ptr + row * stride + offs, mask=mask, other=0.0)\n    \
        while tl.atomic_cas(locks_ptr + group, 0, 1) == 1:\n        pass\n    \
        x += tl.load(sums_ptr + group * n + offs, mask=mask, other=0.0)\n    \
        tl.store(sums_ptr + group * n + offs, x, mask=mask)\n    tl.debug_barrier()\n    \
        tl.atomic_xchg(locks_ptr + group, 0)\n";
    let folder = place(&[("k.py", kernel)]);
    check(&folder, &["k.py"]).assert_ends(0, &["nothing found"], &[]);
}

/// Nothing that is assumed of other inputs explains an access after the last segment.
#[test]
fn accesses_after_the_last_segment_are_found() {
    check_launched(
        "sum_segments",
        ("ends.numel() - 1", "ends.numel()"),
        1,
        &[
            "error[out-of-bounds]: load of 8 bytes just past the end of storage `ends`",
            "launched as `segment_sums` launches it, with assumed values of `x`",
        ],
    );
    check_launched(
        "sum_segments",
        ("range(first, end)", "range(first, end + 1)"),
        1,
        &["error[out-of-bounds]: load of 4 bytes just past the end of storage `x`"],
    );
}

/// No number of rows explains them either: sequences have different lengths.
#[test]
fn accesses_after_the_last_sequence_are_found() {
    check_launched(
        "sum_sequences",
        ("(at < end) & (cols < dim)", "cols < dim"),
        1,
        &[
            "error[out-of-bounds]: load of 4 bytes just past the end of storage `x_ptr`",
            "launched as `sequence_sums` launches it, with assumed values of `seqlen`",
        ],
    );
}

/// The kernel has to work with the only number by which its launcher sizes the output.
#[test]
fn races_in_an_output_that_an_assumed_number_sizes_are_found() {
    check_launched(
        "cut_rows",
        ("x, mask=lanes < CHUNK)", "x, mask=lanes <= CHUNK)"),
        1,
        &[
            "error[race]: store of bytes",
            "launched as `first_chunks` launches it, with assumed values of `chunk_size`",
        ],
    );
}

#[test]
fn numbers_that_a_launcher_compares_an_input_with_are_passed() {
    check_launched(
        "find_largest",
        ("mask=lanes < rows", "mask=lanes <= rows"),
        1,
        &["error[out-of-bounds]: load of 4 bytes", "dim=0"],
    );
}

/// A launcher's only tensor may have any sizes: no relation between inputs excuses the launches that fail.
#[test]
fn sizes_that_fail_are_a_precondition_of_a_launcher_with_one_tensor() {
    let kernel = "@triton.jit\ndef steps(x_ptr, out_ptr, n, BLOCK: tl.constexpr):\n    row = tl.program_id(0)\n    \
                  offs = tl.arange(0, BLOCK)\n    \
                  second = tl.load(x_ptr + row * n + 1)\n    \
                  x = tl.load(x_ptr + row * n + offs, mask=offs < n)\n    \
                  tl.store(out_ptr + row * n + offs, x - second, mask=offs < n)\n";
    let launcher = "def run(x):\n    x = x.contiguous()\n    rows, n = x.shape\n    out = torch.empty_like(x)\n    \
                    steps[(rows,)](x, out, n, BLOCK=triton.next_power_of_2(n))\n    return out\n";
    let text =
        format!("import torch\nimport triton\nimport triton.language as tl\n\n\n{kernel}\n\n{launcher}");
    check(&place(&[("k.py", &text)]), &["k.py"]).assert_ends(
        1,
        &[
            "error[out-of-bounds]",
            "  = precondition: unless callers avoid the sizes `x[33, 1]`",
        ],
        &[],
    );
}

#[test]
fn mended_kernels_are_left_alone() {
    let folder = place(&[("mended.py", &read_data("mended.py"))]);
    check(&folder, &["mended.py"]).assert_ends(0, &FIXED_KERNELS, &[]);
}

#[test]
fn what_was_tried_can_be_kept_and_run() {
    let folder = place(&[("mended.py", &read_data("mended.py"))]);
    check(&folder, &["mended.py:off_by_one", "--keep", "kept"]).assert_ends(0, &["nothing found"], &[]);
    let output = Command::new(env!("CARGO_BIN_EXE_cerith"))
        .args(["run", "kept", "--engine", "reference"])
        .current_dir(folder.path())
        .output()
        .expect("it starts");
    CommandOutput::from_output(&output).assert_ends(0, &["13 cases", "as expected"], &[]);
}

#[test]
fn bad_input_is_told_with_the_mend() {
    let folder = place(&[
        ("mended.py", &read_data("mended.py")),
        ("broken.py", "def f(:\n"),
        ("none.py", "def f(x):\n    return x\n"),
        ("notes.txt", ""),
        (
            "never.py",
            "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef count(x_ptr, out_ptr, n, BLOCK: tl.constexpr):\n    \
             at = tl.arange(0, BLOCK)\n    x = tl.load(x_ptr + at, mask=at < n, other=0)\n    \
             tl.store(out_ptr + at, x * tl.float32, mask=at < n)\n",
        ),
        (
            "helper.py",
            "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef twice(x):\n    return x + x\n",
        ),
    ]);
    check(&folder, &["missing.py"]).assert_ends(
        2,
        &[],
        &[
            "error: failed to read missing.py",
            "help: name a file with kernels",
        ],
    );
    check(&folder, &["broken.py"]).assert_ends(2, &[], &["error[kernel-syntax]", "broken.py:1"]);
    check(&folder, &["none.py"]).assert_ends(2, &[], &["there is no kernel in none.py", "@triton.jit"]);
    check(&folder, &["notes.txt"]).assert_ends(2, &[], &["notes.txt is not a Python file"]);
    check(&folder, &["mended.py:rase"]).assert_ends(2, &[], &["no kernel `rase` in mended.py"]);
    check(&folder, &["never.py"]).assert_ends(
        1,
        &[
            "1 thing found",
            "error[rejected]: cannot convert `fp32` of type dtype to a tensor",
        ],
        &[],
    );
    check(&folder, &["helper.py"]).assert_ends(
        3,
        &["helper.py:twice  not tried: it is a function that kernels call"],
        &[],
    );
}

/// `check` gives the reason for each launch that it does not judge.
#[test]
fn launches_that_are_not_judged_have_their_own_reasons() {
    let text = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n\
        def exp(x, out, n, B: tl.constexpr):\n    i = tl.program_id(0) * B + tl.arange(0, B)\n    \
        v = tl.exp(tl.load(x + i, mask=i < n, other=0.0))\n    tl.multiple_of(n, 1)\n    \
        tl.store(out + i, v, mask=i < n)\n";
    let folder = place(&[("exp.py", text)]);
    let done = check(&folder, &["exp.py"]);
    for (launches, why) in [
        ("2 of", "tensors of f16, tensors of bf16: error[rejected]"),
        ("1 of", "n=1: error[rejected]"),
    ] {
        let is_told = |line: &&str| line.contains(&format!("not judged: {launches}")) && line.contains(why);
        assert_eq!(done.out.lines().filter(is_told).count(), 1, "{}", done.out);
    }
}

#[test]
fn one_finding_with_its_launch_and_edit_fits_in_two_kilobytes() {
    let parameters: Vec<String> = (0..8).map(|nth| format!("first_input_{nth}_ptr")).collect();
    let load = |name: &String| {
        format!(
            "    total += tl.load({name} + row * n_columns + columns, mask=columns < n_columns, other=0.0)\n"
        )
    };
    let loads = parameters.iter().map(load).collect::<Vec<_>>().concat();
    let text = format!(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef add_all({}, out_ptr, n_columns, BLOCK: tl.constexpr):\n    \
         row = tl.program_id(0)\n    columns = tl.arange(0, BLOCK)\n    total = tl.zeros([BLOCK], tl.float32)\n{loads}    \
         tl.store(out_ptr + row * n_columns + columns, tl.tanh(total), mask=columns <= n_columns)\n",
        parameters.join(", "),
    );
    let folder = place(&[("add.py", &text)]);
    let fixable = check(&folder, &["add.py"]).assert_ends(
        1,
        &[
            "error[unknown-attribute]",
            "add.py:",
            "= launch: ",
            "+    tl.store",
        ],
        &[],
    );
    assert!(
        fixable.out.len() <= 2048,
        "{} bytes: {}",
        fixable.out.len(),
        fixable.out
    );
    let folder = place(&[("add.py", &text.replace("tl.tanh(total)", "total"))]);
    let shown = ["error[", "add.py:", "out_ptr[", "launch"];
    for format in ["human", "jsonl"] {
        let done = check(&folder, &["add.py", "--format", format]).assert_ends(1, &shown, &[]);
        assert!(done.out.len() <= 2048, "{} bytes: {}", done.out.len(), done.out);
    }
}

#[test]
fn helpers_of_torch_inductor_need_no_torch() {
    let text = "import triton\nimport triton.language as tl\nfrom torch._inductor.runtime import triton_helpers\n\
                from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math\n\n\n@triton.jit\n\
                def relu(in_ptr0, out_ptr0, xnumel, XBLOCK: tl.constexpr):\n    \
                xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)\n    xmask = xindex < xnumel\n    \
                tmp0 = tl.load(in_ptr0 + xindex, xmask, other=0.0)\n    \
                tmp1 = triton_helpers.maximum(0, tl_math.exp(tmp0) + libdevice.tanh(tmp0))\n    \
                tl.store(out_ptr0 + xindex, tmp1, xmask)\n";
    let folder = place(&[("relu.py", text)]);
    check(&folder, &["relu.py"]).assert_ends(0, &["nothing found"], &[]);
    let wrong = text.replace("xindex < xnumel", "xindex <= xnumel");
    let folder = place(&[("relu.py", &wrong)]);
    check(&folder, &["relu.py"]).assert_ends(1, &["error[out-of-bounds]"], &[]);
}

#[test]
fn sizes_that_inductor_assigns_are_kept() {
    let text = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n\
                def rows(in_ptr0, out_ptr0, xnumel, rnumel, XBLOCK: tl.constexpr):\n    xnumel = 100\n    rnumel = 20\n    \
                RBLOCK: tl.constexpr = 32\n    \
                xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]\n    xmask = xindex < xnumel\n    \
                rindex = tl.arange(0, RBLOCK)[None, :]\n    rmask = rindex < rnumel\n    \
                tmp0 = tl.load(in_ptr0 + (rindex + 20 * xindex), rmask & xmask, other=0.0)\n    \
                tl.store(out_ptr0 + xindex, tl.sum(tmp0, 1)[:, None], xmask)\n";
    let folder = place(&[("rows.py", text)]);
    check(&folder, &["rows.py", "-v"]).assert_ends(
        0,
        &["xnumel=100, rnumel=20", "out_ptr0: f32[100]", "nothing found"],
        &[],
    );
    let wrong = text.replace("[:, None], xmask)", "[:, None])");
    let folder = place(&[("rows.py", &wrong)]);
    check(&folder, &["rows.py"]).assert_ends(1, &["error[out-of-bounds]: store"], &[]);
}

#[test]
fn an_access_out_of_bounds_does_not_hide_the_next() {
    let text = "import torch\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\n\
                def add(x, y, out, n, BLOCK: tl.constexpr):\n    \
                at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n    \
                a = tl.load(x + at)\n    b = tl.load(y + at)\n    tl.store(out + at, a + b)\n\n\n\
                def launch(x, y):\n    assert x.shape == y.shape\n    out = torch.empty_like(x)\n    \
                add[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)\n    return out\n";
    let folder = place(&[("add.py", text)]);
    let first = line_of(text, "a = tl.load");
    let shown: Vec<String> = (first..first + 3).map(|line| format!("add.py:{line}:")).collect();
    let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
    check(&folder, &["add.py"]).assert_ends(1, &shown, &[]);
    // With a mask, only the other two are.
    let text = text.replace("tl.load(x + at)", "tl.load(x + at, mask=at < n)");
    let folder = place(&[("add.py", &text)]);
    let output = check(&folder, &["add.py"]).assert_ends(1, shown.get(1..).unwrap_or_default(), &[]);
    assert!(
        !output.out.contains(&format!("--> add.py:{first}:")),
        "{}",
        output.out
    );
}

#[test]
fn a_name_that_another_guess_binds_is_no_finding() {
    let kernel = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n\
                  def inner(n, MODE: tl.constexpr):\n    if MODE == 1:\n        lo = 0\n    elif MODE == 2:\n        lo = 4\n    \
                  return n - lo\n\n\n@triton.jit\ndef k(x, n, MODE: tl.constexpr):\n    \
                  tl.store(x + tl.program_id(0), inner(n, MODE + 0))\n";
    let folder = place(&[("k.py", kernel)]);
    let output = check(&folder, &["k.py:k"]);
    assert!(!output.out.contains("error[undefined-name]"), "{}", output.out);
    let wrong = kernel.replace("return n - lo", "return n - low");
    let folder = place(&[("k.py", &wrong)]);
    check(&folder, &["k.py:k"]).assert_ends(1, &["error[undefined-name]"], &[]);
}
