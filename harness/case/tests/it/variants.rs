//! The variants of a case: how they are written, what they change, and the way of other layouts there and back.

use std::fmt::Write as _;

use cerith_case::{Axes, Axis, Case, Corpus, Entry, Input, Relayout, Variant};
use cerith_memory::{ByteState, Memory, ORIGIN, StorageId, UNINIT_BYTE};
use proptest::prelude::*;

const KERNELS: &str = "\
import triton
import triton.language as tl


@triton.jit
def kernel(x, n, stride, BLOCK: tl.constexpr):
    pass


@triton.autotune([triton.Config({'BLOCK': 32}), triton.Config({'BLOCK': 64})], key=['n'])
@triton.jit
def tuned(x, n, BLOCK: tl.constexpr):
    pass


@triton.jit
def takes_warps(x, num_warps: tl.constexpr):
    pass
";

/// The first case of a file.
fn load_entry(text: &str) -> Entry {
    let file = |path: &str, text: &str| Input {
        path: path.to_owned(),
        name: path.to_owned(),
        content: Ok(text.as_bytes().to_vec()),
    };
    let text = format!("about: x\n{text}");
    let corpus = Corpus::load([file("area/c.yaml", &text), file("area/k.py", KERNELS)]);
    assert_eq!(corpus.problems(), [], "{text}");
    corpus.entries().next().expect("a case")
}

fn parse_variant(text: &str) -> Variant {
    text.parse().expect(text)
}

/// The properties that decide what a case does, one line each.
fn describe_case(case: &Case) -> String {
    let mut text = String::new();
    for named in &case.tensors {
        let tensor = &named.tensor;
        let _ = writeln!(
            text,
            "    {} of {} bytes: {:?} strides {:?} offset {}",
            named.name,
            case.storages.size(tensor.storage),
            tensor.shape,
            tensor.strides,
            tensor.offset
        );
    }
    for launch in &case.launches {
        let values: Vec<String> = launch
            .arguments()
            .map(|(name, arg)| match &arg.value {
                cerith_case::ArgValue::Int(value) => format!("{}={value}", name.unwrap_or_default()),
                _ => name.unwrap_or_default().to_owned(),
            })
            .collect();
        let _ = writeln!(
            text,
            "    {}[{:?}]({}) {:?}",
            launch.kernel.name,
            launch.grid,
            values.join(", "),
            launch.options
        );
    }
    text
}

fn check(name: &str, text: &str) {
    let entry = load_entry(text);
    let as_is = entry.resolve().expect("a case");
    let mut lines = format!("as-is\n{}", describe_case(&as_is));
    for variant in Axes::default().list_variants(2) {
        let _ = match entry.vary(&as_is, variant) {
            Ok(case) => write!(lines, "{variant}\n{}", describe_case(&case)),
            Err(why) => writeln!(lines, "{variant}: {why}"),
        };
    }
    insta::with_settings!({
        snapshot_path => "../../../../snapshots/case",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, lines);
    });
}

#[test]
fn one_thing_is_changed_and_what_follows_from_it() {
    check(
        "variants_strided",
        "kernel: k.py:kernel\nstorages:\n  x: { dtype: f16, shape: [4, 6], fill: arange }\n  y: { dtype: f32, shape: \
         [8], fill: zeros }\ntensors:\n  right: x[:, 3:]\nlaunches:\n  - grid: [x.stride(0)]\n    args: { x: right, n: 4, stride: \
         right.stride(0), BLOCK: 16 }\n    options: { num_warps: 2 }\n",
    );
    check(
        "variants_autotuned",
        "kernel: k.py:tuned\nstorages:\n  x: { dtype: i32, shape: [1, 8], fill: zeros }\nlaunches:\n  - { grid: [1], args: { x: x, n: \
         8 } }\n  - { grid: [1], kernel: takes_warps, args: { x: x, num_warps: 4 } }\n",
    );
    check(
        "variants_refused",
        "kernel: k.py:takes_warps\nstorages:\n  x: { dtype: i32, shape: [4, 4], fill: zeros }\ntensors:\n  flat: x.view(-1)\n  copy: \
         x.t().contiguous()\nlaunches:\n  - { grid: [1], args: { x: flat, num_warps: 4 } }\n",
    );
}

#[test]
fn variants_are_printed_as_they_are_read() {
    for text in [
        "as-is",
        "num_warps=8",
        "num_stages=1",
        "num_ctas=2",
        "enable_fp_fusion=true",
        "enable_fp_fusion=false",
        "specialize=false",
        "config=0",
        "config=12",
        "layout=offset",
        "layout=padded",
        "layout=transposed",
    ] {
        assert_eq!(parse_variant(text).to_string(), text);
    }
    let check = |text: &str, reason: &str| {
        let error = text.parse::<Variant>().expect_err(text);
        assert!(error.reason.contains(reason), "{error}");
    };
    check("num_warp=8", "did you mean `num_warps`?");
    check("", "there are `num_warps`");
    check("num_warps", "write a number from 1 to 32: `num_warps=2`");
    check("num_warps=+8", "from 1 to 32");
    check("num_stages=0", "from 1 to 32");
    check("specialize=true", "there is only `specialize=false`");
    check("layout=rows", "`offset`, `padded` and `transposed`");
    check("enable_fp_fusion=no", "`enable_fp_fusion=true`");
    check("config=-1", "from 0");
}

#[test]
fn axes_are_chosen_by_name_and_value() {
    let check = |texts: &[&str], expected: &str| {
        let axes = Axes::parse(texts).expect("axes");
        let variants: Vec<String> = axes.list_variants(2).iter().map(ToString::to_string).collect();
        assert_eq!(variants.join(" "), expected, "{axes}");
        assert_eq!(
            Axes::parse(&axes.to_string().split(' ').collect::<Vec<_>>()),
            Ok(axes)
        );
    };
    check(&["num_ctas"], "num_ctas=1 num_ctas=2");
    check(
        &["num_warps=1,8", "config"],
        "num_warps=1 num_warps=8 config=0 config=1",
    );
    check(
        &["num_warps=1", "num_warps=8", "num_warps=1"],
        "num_warps=1 num_warps=8",
    );
    check(
        &["layout=padded", "layout"],
        "layout=offset layout=padded layout=transposed",
    );
    let all = Axes::parse(&[""; 0]).expect("all of them");
    assert_eq!(all.axes().collect::<Vec<_>>(), Axis::ALL);
    assert!(Axes::parse(&["num_warps=1,"]).is_err());
    assert!(Axes::parse(&["warps"]).is_err());
}

fn resolve_layouts(shape: &[i64], dtype: &str, layout: &str) -> Option<(Case, Case)> {
    let entry = load_entry(&format!(
        "kernel: k.py:kernel\nstorages:\n  x: {{ dtype: {dtype}, shape: {shape:?}, fill: random }}\n  at: {{ dtype: i64, \
         shape: [4], fill: {{ addresses: [x, at, x, null] }} }}\nlaunches:\n  - {{ grid: [1], args: {{ x: x, n: 1, \
         stride: 1, BLOCK: 1 }} }}\n"
    ));
    let as_is = entry.resolve().expect("a case");
    let other = entry.vary(&as_is, parse_variant(layout)).ok()?;
    Some((as_is, other))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn another_layout_holds_the_same_elements_and_is_moved_back(
        shape in prop::collection::vec(0_i64..6, 0..4),
        dtype in prop::sample::select(vec!["i8", "f16", "f32", "i64", "f64"]),
        layout in prop::sample::select(vec!["layout=offset", "layout=padded", "layout=transposed"]),
        picked in 0_usize..10_000,
    ) {
        let Some((as_is, other)) = resolve_layouts(&shape, dtype, layout) else { return Ok(()) };
        let relayout = Relayout::new(&as_is, &other).expect("the same case");
        let back = relayout.move_back(&other.memory());
        prop_assert_eq!(&back.memory, &as_is.memory());
        prop_assert_eq!(back.touched, 0);
        // A byte that changes there changes here: an element's in one place, another's is padding.
        let id = StorageId(0);
        let mut changed = other.memory();
        let (bytes, states) = changed.parts_mut(id);
        if !bytes.is_empty() {
            let at = picked % bytes.len();
            let inside = states[at] == ByteState::Init;
            bytes[at] ^= 1;
            prop_assert_eq!(inside || bytes[at] == UNINIT_BYTE ^ 1, true);
            let back = relayout.move_back(&changed);
            let differ = back.memory.bytes(id).iter().zip(as_is.memory().bytes(id)).filter(|(a, b)| a != b).count();
            prop_assert_eq!((differ, back.touched), if inside { (1, 0) } else { (0, 1) });
        }
    }
}

#[test]
fn guard_zones_are_moved_back_too() {
    let (as_is, other) = resolve_layouts(&[3, 5], "f32", "layout=padded").expect("it applies");
    let relayout = Relayout::new(&as_is, &other).expect("the same case");
    let check = |change: &dyn Fn(&Memory) -> usize, expected: &dyn Fn(&Memory) -> Option<usize>| {
        let mut changed = other.memory();
        let at = change(&changed);
        changed.arena_mut().0[at] ^= 1;
        let back = relayout.move_back(&changed);
        let mut wanted = as_is.memory();
        match expected(&wanted) {
            Some(at) => wanted.arena_mut().0[at] ^= 1,
            None => assert_eq!(back.touched, 1),
        }
        assert_eq!(back.memory, wanted);
    };
    let id = StorageId(0);
    let first = |memory: &Memory| (memory.address(id) - ORIGIN) as usize;
    check(&|memory| first(memory) - 1, &|memory| Some(first(memory) - 1));
    check(&|memory| first(memory) + memory.size(id), &|memory| {
        Some(first(memory) + memory.size(id))
    });
}

#[test]
fn another_case_is_not_moved_back() {
    let (one, _) = resolve_layouts(&[3, 5], "f32", "layout=offset").expect("it applies");
    let (_, other) = resolve_layouts(&[3, 4], "f32", "layout=offset").expect("it applies");
    assert!(Relayout::new(&one, &other).is_none());
}
