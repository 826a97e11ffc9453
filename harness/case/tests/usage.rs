//! What kernels do with their parameters, as far as their text says, and that every launch made of it is a good case.

use std::fmt::Write as _;

use cerith_case::excerpt::excerpt;
use cerith_case::usage::{Bound, Stride};
use cerith_case::{Corpus, Input, Reading, Survey, kernels, surveys, usage_of};
use cerith_tile::source::{SourceFile, Sources};

const KERNELS: &str = include_str!("skeletons/kernels.py");

/// Each tensor with the stride and the bound of its dimensions, and what each axis of the grid counts.
fn shown(kernel: &str) -> String {
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
    let check = |kernel: &str, expected: &str| assert_eq!(shown(kernel), expected, "{kernel}");
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
fn all_surveys(text: &str) -> Vec<Survey> {
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new("kernels.py", text));
    let names = kernels(source, text).expect("a good file");
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let read = |path: &str| (path == "kernels.py").then(|| text.to_owned());
    let parts = excerpt("kernels.py", "kernels", &names, &read).expect("a good file");
    surveys(source, &parts, text, &[], Reading::ALL[0]).expect("a good file")
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
        survey.tried.iter().enumerate().map(|(nth, tried)| {
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
