//! How kernels use their parameters, according to their text; every launch that results is a good case.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use cerith_case::{Corpus, Input};
use cerith_module::excerpt::extract_functions;
use cerith_module::usage::{Bound, Stride};
use cerith_module::usage_of;
use cerith_survey::{Draft, Reading, Survey, build_drafts, list_kernels};
use cerith_tile::source::{SourceFile, Sources};

const KERNELS: &str = include_str!("../skeletons/kernels.py");

/// Each tensor with the stride and the bound of its dimensions, and what each axis of the grid counts.
fn describe_usage(kernel: &str) -> String {
    let usage = usage_of(KERNELS, kernel).expect(kernel);
    let mut text = String::new();
    for tensor in &usage.tensors {
        let dimensions: Vec<String> = tensor
            .dimensions
            .iter()
            .map(|dimension| {
                let stride = match &dimension.stride {
                    Stride::Number(number) => number.to_string(),
                    Stride::Param(name) => name.clone(),
                    Stride::Sizes(names, _) => names.join("*"),
                };
                let bound = match &dimension.bound {
                    Bound::Size(name) => name.clone(),
                    Bound::Programs(axis) => format!("programs of axis {axis}"),
                    other => format!("{other:?}"),
                };
                format!("{bound} by {stride}")
            })
            .collect();
        let how = match (tensor.read, tensor.written) {
            (true, true) => "read and written",
            (true, false) => "read",
            _ => "written",
        };
        let _ = writeln!(text, "{}: {how}, [{}]", tensor.name, dimensions.join(", "));
    }
    for (axis, counted) in usage.axes.iter().enumerate() {
        let blocks: Vec<&str> = counted.blocks.iter().map(|(size, _)| size.as_str()).collect();
        let _ = writeln!(
            text,
            "axis {axis}: blocks of {blocks:?}, each of {:?}",
            counted.sizes
        );
    }
    text
}

#[test]
fn strides_and_bounds_are_read_off_the_text() {
    let check = |kernel: &str, expected: &str| assert_eq!(describe_usage(kernel), expected, "{kernel}");
    check(
        "add_kernel",
        "x_ptr: read, [n_elements by 1]\ny_ptr: read, [n_elements by 1]\noutput_ptr: written, [n_elements by 1]\n\
         axis 0: blocks of [\"n_elements\"], each of []\n",
    );
    check(
        "softmax_kernel",
        "output_ptr: written, [programs of axis 0 by output_row_stride, n_cols by 1]\n\
         input_ptr: read, [programs of axis 0 by input_row_stride, n_cols by 1]\naxis 0: blocks of [], each of []\n",
    );
    check(
        "matmul_kernel",
        "a: read, [M by stride_am, K by stride_ak]\nb: read, [K by stride_bk, N by stride_bn]\n\
         c: written, [M by stride_cm, N by stride_cn]\naxis 0: blocks of [\"M\"], each of []\naxis 1: blocks of [\"N\"], each of []\n",
    );
    check(
        "made.inner",
        "counter: read and written, [n by 1]\nvalues: read, [n by 1]\n\
         axis 0: blocks of [], each of []\naxis 1: blocks of [], each of [\"n\"]\n",
    );
}

/// Surveys of all kernels of a text.
fn all_drafts(text: &str) -> Vec<Draft> {
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new("kernels.py", text));
    let names = list_kernels(source, text).expect("a good file");
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let read = |path: &str| (path == "kernels.py").then(|| text.to_owned());
    let parts = extract_functions("kernels.py", "kernels", &names, &read).expect("a good file");
    build_drafts(source, &parts, text, &[]).expect("a good file")
}

fn all_surveys(text: &str) -> Vec<Survey> {
    let drafts = all_drafts(text);
    drafts
        .iter()
        .map(|draft| draft.survey(&Reading::ALL[0]))
        .collect()
}

#[test]
fn every_launch_is_a_good_case() {
    let surveys = all_surveys(KERNELS);
    let input = |path: String, text: &str| Input {
        name: path.clone(),
        path,
        content: Ok(text.as_bytes().to_vec()),
    };
    let tried = surveys.iter().flat_map(|survey| {
        survey.attempts.iter().enumerate().map(|(nth, tried)| {
            let kernel = survey.kernel.replace('.', "_");
            input(format!("{kernel}-{nth}.yaml"), &tried.text)
        })
    });
    let corpus = Corpus::load(tried.chain([input("kernels.py".to_owned(), KERNELS)]));
    assert_eq!(corpus.problems(), []);
    let entries: Vec<_> = corpus.entries().collect();
    assert!(entries.len() > 60, "{}", entries.len());
    for entry in entries {
        if let Err(problems) = entry.resolve() {
            panic!("{}: {problems:#?}", entry.id);
        }
    }
}

/// Neither time nor numbers grow without end.
#[test]
fn what_is_large_is_left_alone() {
    let doubled = "    x = tl.maximum(x, x) // x\n".repeat(200);
    let text = format!(
        "@triton.jit\ndef f(p, n, BLOCK: tl.constexpr = 1000000000000000000):\n    x = tl.arange(0, BLOCK)\n{doubled}    \
         at = tl.program_id(0) * 9000000000000000000 + tl.arange(0, 9000000000000000000)\n    tl.store(p + x, x, mask=x < n)\n    \
         tl.store(p + at * at * at * n * n, 1, mask=at < n)\n"
    );
    assert_eq!(usage_of(&text, "f").expect("a kernel").tensors.len(), 1);
    let all = all_surveys(&text);
    assert_eq!(all[0].not_tried, None);
}

/// An access out of bounds is the kernel's fault only if the text determines the tensor's size.
#[test]
fn sizes_that_the_text_does_not_tell_are_not_certain() {
    let check = |parameters: &str, body: &str, certain: &[&str]| {
        let text = format!(
            "@triton.jit\ndef f(x, out, n, {parameters}):\n    at = tl.program_id(0) * B + tl.arange(0, B)\n{body}"
        );
        let all = all_surveys(&text);
        let found: Vec<&str> = all[0].certain.iter().map(String::as_str).collect();
        assert_eq!(found, certain, "{body}");
    };
    let load = "    v = tl.load(x + at, mask=at < n)\n";
    check(
        "B: tl.constexpr",
        &format!("{load}    tl.store(out + at, v, mask=at < n)\n"),
        &["out", "x"],
    );
    // Only the mask of the store shows that the output has one element more than the size.
    check(
        "B: tl.constexpr",
        &format!("{load}    tl.store(out + at, v, mask=at <= n)\n"),
        &["out", "x"],
    );
    // Rows of one more than the size.
    let both = "    row = tl.program_id(1)\n    tl.store(out + row * (n + 1) + at, 1, mask=at <= n)\n";
    check("B: tl.constexpr", both, &[]);
    // One element of each block.
    let first = format!("{load}    tl.store(out + tl.program_id(0) * B, tl.sum(v))\n");
    check("B: tl.constexpr", &first, &["x"]);
    // Rows that are longer than what is stored to them.
    let rounded = format!("{load}    tl.store(out + tl.program_id(1) * rounded + at, v)\n");
    check("rounded, B: tl.constexpr", &rounded, &["x"]);
}

#[test]
fn arguments_are_what_the_text_wants() {
    let check = |text: &str, wanted: &[&str]| {
        let all = all_surveys(text);
        let tried = &all.last().expect("a kernel").attempts;
        let plain = &tried.first().expect("a launch").text;
        for one in wanted {
            assert!(plain.contains(one), "{one}: {plain}");
        }
    };
    // Each factor of a range is a power of two.
    check(
        "@triton.jit\ndef f(x, BLOCK: tl.constexpr, PARTS: tl.constexpr):\n    tl.store(x + tl.arange(0, BLOCK * PARTS), 1)\n",
        &["BLOCK: 32", "PARTS: 4"],
    );
    // A stride that bounds an index is a size.
    check(
        "@triton.jit\ndef f(x, X_STRIDE, B: tl.constexpr):\n    at = tl.arange(0, B)\n    \
         tl.store(x + tl.program_id(0) * X_STRIDE + at, 1, mask=at < X_STRIDE)\n",
        &["X_STRIDE: 29", "shape: [3, 29]"],
    );
    // A stride has a default, and the tensor another one.
    check(
        "@triton.jit\ndef f(x, n, stride_m, stride_n=1, B: tl.constexpr = 32):\n    at = tl.arange(0, B)\n    \
         tl.store(x + tl.program_id(0) * stride_m + at * stride_n, 1, mask=at < n)\n",
        &["stride_n: \"(x).stride(1)\""],
    );
    // A value is an index if one branch loads it and another counts it.
    check(
        "@triton.jit\ndef f(x, starts, n, VARLEN: tl.constexpr, B: tl.constexpr):\n    i = tl.program_id(0)\n    if VARLEN:\n        \
         bos = tl.load(starts + i)\n    else:\n        bos = i * n\n    tl.store(x + bos + tl.arange(0, B), 1)\n",
        &["starts: { dtype: i64, shape: [3], fill: arange }"],
    );
    // The largest number of a dtype is none.
    check(
        "@triton.jit\ndef f(x, dtype: tl.constexpr, dtype_max: tl.constexpr):\n    tl.store(x, tl.load(x).to(dtype) * dtype_max)\n",
        &["dtype: tl.float32", "dtype_max: 64"],
    );
    // A function beside the kernel, inside of the function that makes both.
    check(
        "def make():\n    @triton.jit\n    def put(p, n, B: tl.constexpr):\n        at = tl.arange(0, B)\n        tl.store(p + at, 1, mask=at < n)\n    \
         @triton.jit\n    def f(x, n, B: tl.constexpr):\n        put(x, n, B)\n    return f\n",
        &["n: 29", "shape: [29]"],
    );
}

#[test]
fn a_change_of_what_a_failure_names_comes_first() {
    let text = "@triton.jit\ndef f(x, n, STAGE: tl.constexpr, MODE: tl.constexpr, B: tl.constexpr):\n    at = tl.arange(0, B)\n    \
                if MODE == 3:\n        v = 1\n    elif STAGE == 7:\n        v = 2\n    tl.store(x + at, v, mask=at < n)\n";
    let drafts = all_drafts(text);
    let change = |named: &str| {
        let names = BTreeSet::from([named.to_owned()]);
        drafts[0].list_changes(&Reading::ALL[0], &names, true)
    };
    let first = |named: &str| {
        let changes = change(named);
        let survey = drafts[0].survey(&changes[0]);
        (survey.changed, survey.guessed)
    };
    let (words, guessed) = first("v");
    assert_eq!(words, ["`STAGE` is 7"]);
    assert!(guessed.contains(&"STAGE".to_owned()), "{guessed:?}");
    assert_eq!(first("MODE").0, ["`MODE` is 3"]);
    assert_eq!(first("x").0, ["`x` has more room"]);
    let survey = drafts[0].survey(&change("x")[0]);
    assert!(survey.certain.is_empty(), "{:?}", survey.certain);
}

/// A tensor has a number for each lane where a flag is on, and one for each step where it is off.
#[test]
fn a_flag_decides_the_shape_of_a_tensor() {
    let text = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n\
        def scale(x, by, steps, n, B: tl.constexpr, PER_LANE: tl.constexpr):\n    row = tl.program_id(0)\n    \
        i = tl.arange(0, B)\n    inside = i < n\n    at = x + row * steps * n + i\n    if PER_LANE:\n        \
        p = by + row * steps * n + i\n    else:\n        p = by + row * steps\n    for _ in range(0, steps):\n        \
        if PER_LANE:\n            b = tl.load(p, mask=inside, other=0.0)\n        else:\n            b = tl.load(p)\n        \
        tl.store(at, b, mask=inside)\n        at += n\n        p += n if PER_LANE else 1\n";
    let check = |variant: &str, expected: &str| {
        let surveys = all_surveys(text);
        let tried = surveys[0].attempts.iter().find(|tried| tried.variant == variant);
        let text = &tried.expect(variant).text;
        assert!(text.contains(expected), "{text}");
    };
    check("", "by: { dtype: f32, shape: [3, 5, 29]");
    check("flags off", "by: { dtype: f32, shape: [3, 5]");
}

#[test]
fn axes_count_programs_through_functions_and_beside_remainders() {
    let text = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef number(axis):\n    return tl.program_id(axis).to(tl.int64)\n\n\
                @triton.jit\ndef tiles(x, M, N, B: tl.constexpr):\n    \
                rows = number(0) * B + tl.arange(0, B)\n    cols = number(1) * B + tl.arange(0, B)\n    \
                mask = (rows[:, None] < M) & (cols[None, :] < N)\n    \
                tl.store(x + rows[:, None] * N + cols[None, :], 1.0, mask=mask)\n\n\
                @triton.jit\ndef channels(x, scale, M, N, C, B: tl.constexpr):\n    row = tl.program_id(0)\n    at = tl.arange(0, B)\n    \
                value = tl.load(scale + row % C, mask=row < M, other=0.0)\n    \
                tl.store(x + row * N + at, value, mask=at < N)\n";
    let axes = |kernel: &str| {
        let usage = usage_of(text, kernel).expect(kernel);
        let axes = usage.axes.into_iter().map(|axis| {
            let blocks: Vec<String> = axis.blocks.into_iter().map(|(size, _)| size).collect();
            (blocks, axis.sizes)
        });
        axes.collect::<Vec<_>>()
    };
    let none = Vec::<String>::new;
    assert_eq!(
        axes("tiles"),
        [(vec!["M".to_owned()], none()), (vec!["N".to_owned()], none())]
    );
    assert_eq!(axes("channels"), [(none(), vec!["M".to_owned()])]);
}
