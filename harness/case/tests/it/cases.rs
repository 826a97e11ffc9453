//! Expansion of good case files: ids, storages, arguments, launches and expectations.

use cerith_case::{ArgValue, Case, Corpus, Entry, Filter, Input, Shard};
use cerith_tile::rules::Version;

const KERNELS: &str = "\
import triton
import triton.language as tl
from helpers import scale


@triton.jit
def kernel(x, n=0, *, flag=None):
    pass


@triton.autotune([triton.Config({'BLOCK': 32}), triton.Config({'BLOCK': 64})], key=['n'])
@triton.jit
def tuned_kernel(x, n, BLOCK: tl.constexpr):
    pass


def make():
    @triton.jit
    def inner(x, *rest, **options):
        pass
    return inner


made = make()


def list_grid(kernel, grid, args):
    kernel[list(grid)](**args)
";

fn build_input(path: &str, text: &str) -> Input {
    Input {
        path: path.to_owned(),
        name: path.to_owned(),
        content: Ok(text.as_bytes().to_vec()),
    }
}

fn load_corpus(files: &[(&str, &str)]) -> Corpus {
    let kernels = [
        ("area/k.py", KERNELS),
        ("area/helpers.py", "import k\nimport more\n"),
        ("area/more.py", "x = 1\n"),
    ];
    let corpus = Corpus::load(
        files
            .iter()
            .chain(&kernels)
            .map(|(path, text)| build_input(path, text)),
    );
    let problems: Vec<_> = corpus
        .problems()
        .iter()
        .map(|p| p.render(corpus.sources(), false))
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    corpus
}

fn resolve(corpus: &Corpus, entry: &Entry) -> Case {
    entry.resolve().unwrap_or_else(|problems| {
        let problems: Vec<_> = problems
            .iter()
            .map(|p| p.render(corpus.sources(), false))
            .collect();
        panic!("{}\n{}", entry.id, problems.join("\n"))
    })
}

/// The cases of one file, `area/c.yaml`, whose first lines are given.
fn resolve_cases(text: &str) -> Vec<Case> {
    let text = format!("about: x\n{text}");
    let corpus = load_corpus(&[("area/c.yaml", &text)]);
    corpus.entries().map(|entry| resolve(&corpus, &entry)).collect()
}

fn list_ids(text: &str) -> Vec<String> {
    let text = format!("about: x\nkernel: k.py:kernel\nlaunches: [{{ grid: 1, args: [1] }}]\n{text}");
    let corpus = load_corpus(&[("area/c.yaml", &text)]);
    corpus
        .entries()
        .map(|entry| entry.id.strip_prefix("area/c").unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn a_matrix_expands_in_order() {
    assert_eq!(list_ids(""), [""]);
    assert_eq!(
        list_ids("matrix: { a: [1, -2], b: [x, y] }"),
        [":a=1,b=x", ":a=1,b=y", ":a=-2,b=x", ":a=-2,b=y"]
    );
    assert_eq!(
        list_ids(
            "matrix: { a: [true, null, 1.5, -0.0, .inf, 1e30, [4, 6], [], [f32, 2], [[1, 2], 3], 'x.view(2, 3)'] }"
        ),
        [
            ":a=true",
            ":a=none",
            ":a=1.5",
            ":a=-0.0",
            ":a=inf",
            ":a=1e30",
            ":a=4x6",
            ":a=empty",
            ":a=f32+2",
            ":a=1x2_3",
            ":a=x.view_2_3"
        ]
    );
    assert_eq!(
        list_ids("matrix: { a: { first: '==', second: '!=' } }"),
        [":a=first", ":a=second"]
    );
    assert_eq!(
        list_ids(
            "matrix: { a: [1, 2], b: [1, 2], include: [{ b: 7, a: 8 }], exclude: [{ a: 1, b: 2 }, 'a == 2 and b < 2'] }"
        ),
        [":a=1,b=1", ":a=2,b=2", ":a=8,b=7"]
    );
    assert_eq!(
        list_ids("matrix: { include: [{ a: 1, b: 2 }, { b: 3, a: 4 }] }"),
        [":a=1,b=2", ":a=4,b=3"]
    );
    assert_eq!(
        list_ids("matrix: { n: { one: { m: 1 }, two: { m: 2 } }, exclude: [{ n: one }, 'm == 3'] }"),
        [":n=two"]
    );
}

#[test]
fn values_that_are_mappings_bind_their_keys() {
    let cases = resolve_cases(
        "kernel: k.py:kernel\nmatrix:\n  how: { same: { first: x, at: 0 }, half: { first: 'x[2:]', at: 2 } }\n\
         storages: { x: { dtype: f32, shape: 4, fill: zeros } }\n\
         launches: [{ grid: 1, args: ['{first}', at], options: { num_warps: '{at + 1}' } }]\n",
    );
    let seen: Vec<_> = cases
        .iter()
        .map(|case| {
            let ArgValue::Tensor { name, tensor } = &case.launches[0].positional[0].value else {
                panic!()
            };
            (
                name.as_str(),
                tensor.offset,
                case.launches[0].int_option("num_warps"),
            )
        })
        .collect();
    assert_eq!(seen, [("x", 0, Some(1)), ("x[2:]", 2, Some(3))]);
}

/// The content of one storage in the case's canonical form.
fn describe_content(dtype: &str, shape: &str, fill: &str) -> String {
    let case = resolve_cases(&format!(
        "kernel: k.py:kernel\nlaunches: [{{ grid: 1, args: [1] }}]\ntensors: {{ tail: 'x[1:]' }}\nstorages:\n  \
         x: {{ dtype: f32, shape: [3], fill: zeros }}\n  s: {{ dtype: {dtype}, shape: {shape}, fill: {fill} }}\n"
    ))
    .remove(0);
    case.canonical().storages.swap_remove(1).content
}

#[test]
fn a_fill_writes_what_it_says() {
    assert_eq!(describe_content("f32", "[2, 2]", "zeros"), "0.0 0.0 0.0 0.0");
    assert_eq!(describe_content("i1", "[3]", "ones"), "true true true");
    assert_eq!(describe_content("fp8e4nv", "[2]", "ones"), "1.0 1.0");
    assert_eq!(describe_content("i8", "[]", "arange"), "0");
    assert_eq!(describe_content("i8", "[0]", "arange"), "");
    assert_eq!(describe_content("u8", "[3]", "{ arange: 254 }"), "254 255 0");
    assert_eq!(
        describe_content("i16", "[3]", "{ arange: { start: 5, step: -3 } }"),
        "5 2 -1"
    );
    assert_eq!(
        describe_content("f16", "[3]", "{ arange: { step: 0.5 } }"),
        "0.0 0.5 1.0"
    );
    assert_eq!(describe_content("i1", "[3]", "arange"), "false true false");
    assert_eq!(describe_content("bf16", "[2]", "{ full: 1.00390625 }"), "1.0 1.0");
    assert_eq!(
        describe_content("u64", "[1]", "{ full: 18446744073709551615 }"),
        "18446744073709551615"
    );
    assert_eq!(
        describe_content("i64", "[2]", "['-2**63', 2**62]"),
        "-9223372036854775808 4611686018427387904"
    );
    assert_eq!(
        describe_content("f32", "[6]", "[inf, -inf, -0.0, .inf, 0x10, true]"),
        "inf -inf -0.0 inf 16.0 1.0"
    );
    assert_eq!(
        describe_content("f32", "[2]", "[nan, bits(0x7fc00001)]"),
        "bits(0x7fc00000) bits(0x7fc00001)"
    );
    assert_eq!(
        describe_content("f32", "[2, 2]", "[[1, 2], [3, null]]"),
        "1.0 2.0 3.0 uninit"
    );
    assert_eq!(describe_content("i32", "[2, 2]", "[1, 2, 3, 4]"), "1 2 3 4");
    assert_eq!(
        describe_content("i32", "[4]", "'[i * i for i in range(4)]'"),
        "0 1 4 9"
    );
    assert_eq!(describe_content("i32", "[2]", "uninit"), "uninit uninit");
    assert_eq!(
        describe_content("i64", "[3]", "{ addresses: [x, tail, null] }"),
        "&x+0 &x+4 0"
    );
    assert_eq!(describe_content("u64", "[2]", "[x.data_ptr() - 8, 7]"), "&x-8 7");
}

/// The first three as computed by a `SplitMix64` written down elsewhere.
#[test]
fn random_numbers_never_change() {
    let f16 = describe_content("f16", "[8]", "{ random: 7 }");
    let fp8 = describe_content("fp8e4b8", "[8]", "{ random: { edges: true, low: 0 } }");
    assert_eq!(
        describe_content("i8", "[8]", "{ random: 7 }"),
        "-29 -127 102 21 -13 -65 -9 -45"
    );
    assert_eq!(
        describe_content("i64", "[8]", "{ random: { seed: 7, low: -2, high: 3 } }"),
        "-1 -2 2 0 0 -1 0 -1"
    );
    assert_eq!(
        describe_content("f64", "[2]", "{ random: { seed: 7, low: 0, high: 10 } }"),
        "3.8982974839127147 0.1678829452815611"
    );
    assert_eq!(
        f16,
        "0.2224 -65504.0 -0.00704 -0.01822 0.4763 0.0937 61.9375 212.0"
    );
    assert_eq!(
        fp8,
        "0.875 -0.0009765625 0.02734375 1.0 0.109375 0.3125 0.171875 -0.0078125"
    );
    assert_ne!(f16, describe_content("f16", "[8]", "{ random: 8 }"));
    assert_eq!(
        describe_content("f16", "[8]", "random"),
        describe_content("f16", "[8]", "{ random: 0 }")
    );
}

fn describe_argument(text: &str) -> String {
    let case = resolve_cases(&format!(
        "kernel: k.py:kernel\nmatrix: {{ t: [f16] }}\nstorages: {{ x: {{ dtype: f32, shape: [4, 6], fill: zeros }} }}\n\
         tensors: {{ left: 'x[:, :2]' }}\nlaunches: [{{ grid: 1, args: [{text}] }}]\n"
    ))
    .remove(0);
    case.canonical().launches.swap_remove(0).args.swap_remove(0)
}

#[test]
fn arguments_of_every_kind() {
    assert_eq!(describe_argument("1"), "x = 1");
    assert_eq!(describe_argument("-16"), "x = -16");
    assert_eq!(describe_argument("2147483648"), "x = 2147483648");
    assert_eq!(describe_argument("'2**32 + 1'"), "x = 4294967297");
    assert_eq!(
        describe_argument("18446744073709551616"),
        "x = 18446744073709551616"
    );
    assert_eq!(describe_argument("true"), "x = True");
    assert_eq!(describe_argument("True"), "x = True");
    assert_eq!(describe_argument("null"), "x = None");
    assert_eq!(describe_argument("None"), "x = None");
    assert_eq!(describe_argument("1.5"), "x = 1.5");
    assert_eq!(describe_argument("-0.0"), "x = -0.0");
    assert_eq!(describe_argument(".nan"), "x = nan");
    assert_eq!(describe_argument("inf"), "x = inf");
    assert_eq!(describe_argument("\"'relu'\""), "x = 'relu'");
    assert_eq!(describe_argument("tl.float32"), "x = tl.float32");
    assert_eq!(describe_argument("'{t}'"), "x = tl.float16");
    assert_eq!(
        describe_argument("[1, left, [2.0]]"),
        "x = (1, f32 x[0] [4, 2] [6, 1], (2.0,))"
    );
    assert_eq!(describe_argument("left"), "x = f32 x[0] [4, 2] [6, 1]");
    assert_eq!(describe_argument("left.stride(0)"), "x = 6");
    assert_eq!(
        describe_argument("'x.view(torch.int32).T'"),
        "x = i32 x[0] [6, 4] [1, 6]"
    );
}

#[test]
fn arguments_by_position_and_by_name() {
    let case = resolve_cases(
        "kernel: k.py:kernel\nlaunches:\n  - { grid: [2, 3], args: [1, { n: 2, flag: true }] }\n  \
         - { grid: ['cdiv(7, 2)', 1, 5], args: { x: 1 } }\n  - { grid: 0, kernel: make.inner, args: [1, 2, { other: 3 }] }\n  \
         - { grid: 1, kernel: tuned_kernel, args: [1, 2] }\n  - { grid: 1, kernel: 'k.py:kernel', args: [] , unchecked: true }\n",
    )
    .remove(0);
    let launches = case.canonical().launches;
    assert_eq!(launches[0].args, ["x = 1", "n = 2", "flag = True"]);
    assert_eq!(launches[0].grid, [2, 3, 1]);
    assert_eq!(case.launches[0].grid_dims, 2);
    assert_eq!(launches[1].grid, [4, 1, 5]);
    assert_eq!(launches[2].kernel, "area/k.py:make.inner");
    assert_eq!(launches[2].args, ["x = 1", "rest = 2", "other = 3"]);
    assert_eq!(launches[3].kernel, "area/k.py:tuned_kernel");
    assert!(case.launches[4].unchecked);
}

#[test]
fn aliases_share_a_storage() {
    let case = resolve_cases(
        "kernel: k.py:kernel\nstorages: { x: { dtype: f32, shape: [8], fill: arange } }\n\
         tensors: { same: x, shifted: 'x[1:]', bits: x.view(torch.int32), apart: 'x[::2].clone()' }\n\
         launches: [{ grid: 1, args: [same] }]\n",
    )
    .remove(0);
    let storage = |name| case.tensor(name).map(|tensor| tensor.storage);
    assert_eq!(storage("same"), storage("x"));
    assert_eq!(storage("shifted"), storage("x"));
    assert_eq!(storage("bits"), storage("x"));
    assert_ne!(storage("apart"), storage("x"));
    assert_eq!((case.named_storages, case.storages.len()), (1, 2));
    let memory = case.memory();
    let tensor = case.tensor("shifted").expect("shifted");
    assert_eq!(memory.address_of(tensor), memory.address(tensor.storage) + 4);
}

#[test]
fn a_module_comes_with_what_it_imports() {
    let case = resolve_cases("kernel: k.py:kernel\nlaunches: [{ grid: 1, args: [1] }]\n").remove(0);
    let imports: Vec<_> = case
        .module
        .imports
        .iter()
        .map(|(name, file)| (name.as_str(), file.name.as_str()))
        .collect();
    assert_eq!(
        imports,
        [("helpers", "area/helpers.py"), ("more", "area/more.py")]
    );
    let function = case.launches[0]
        .kernel
        .function()
        .expect("a kernel is a function");
    assert!(function.jit && !function.autotune);
}

#[test]
fn a_module_can_be_imported_only() {
    let case = resolve_cases("import: k.py\n").remove(0);
    assert!(case.is_import_only());
    assert_eq!(case.module.path, "area/k.py");
    let case = resolve_cases("import: k.py\nlaunches: [{ grid: 1, kernel: kernel, args: [1] }]\n").remove(0);
    assert!(!case.is_import_only());
    assert_eq!(case.area(), "area");
}

#[test]
fn the_kernel_may_depend_on_the_matrix() {
    let cases = resolve_cases(
        "kernel: 'k.py:{which}'\nmatrix: { which: [kernel, make.inner] }\nlaunches: [{ grid: 1, args: [1] }]\n",
    );
    let names: Vec<_> = cases
        .iter()
        .map(|case| case.launches[0].kernel.name.as_str())
        .collect();
    assert_eq!(names, ["kernel", "make.inner"]);
}

#[test]
fn a_factorys_kernel_has_the_name_that_the_module_gives_it() {
    let case =
        resolve_cases("kernel: k.py:made\nlaunches: [{ grid: 1, args: { x: 1, more: 2 } }]\n").remove(0);
    assert_eq!(case.launches[0].kernel.name, "made");
}

#[test]
fn a_host_function_may_make_the_launch() {
    let text = |host: &str| {
        format!(
            "kernel: k.py:kernel\nmatrix: {{ how: [list_grid] }}\n\
             launches: [{{ grid: [1, 2], {host}args: {{ x: 1 }}, options: {{ num_warps: 4 }} }}]\n"
        )
    };
    let plain = resolve_cases(&text("")).remove(0);
    assert_eq!(plain.launches[0].host, None);
    assert_eq!(plain.canonical().launches[0].host, None);
    let hosted = resolve_cases(&text("host: '{how}', ")).remove(0);
    let host = hosted.launches[0].host.as_ref().expect("a host function");
    assert_eq!(
        (host.module.path.as_str(), host.name.as_str()),
        ("area/k.py", "list_grid")
    );
    assert_eq!(
        hosted.canonical().launches[0].host.as_deref(),
        Some("area/k.py:list_grid")
    );
    assert_ne!(hosted.content_hash(), plain.content_hash());
    let named = resolve_cases(&text("host: k.py:list_grid, ")).remove(0);
    assert_eq!(named.content_hash(), hosted.content_hash());
    let printed = hosted.to_case_file().expect("it can be written");
    assert!(printed.contains("\n    host: \"k.py:list_grid\"\n"), "{printed}");
}

#[test]
fn a_case_may_say_how_it_is_compiled() {
    let text = |compile: &str| {
        format!(
            "about: x\nkernel: k.py:tuned_kernel\nmatrix: {{ dynamic: [true, null], dims: [0, [0, 1]] }}\n\
             storages: {{ x: {{ dtype: f32, shape: [4, 4], fill: zeros }} }}\n\
             launches: [{{ grid: [1], args: {{ x: x, n: 4 }} }}]\n{compile}"
        )
    };
    let read = |compile: &str| {
        let corpus = load_corpus(&[("area/c.yaml", &text(compile))]);
        corpus
            .entries()
            .map(|entry| resolve(&corpus, &entry))
            .collect::<Vec<_>>()
    };
    let plain = read("");
    assert_eq!(plain[0].compile, None);
    assert_eq!(plain[0].canonical().compile, [""; 0]);
    let compiled = read(
        "compile: { dynamic: '{dynamic}', mark_dynamic: { x: '{dims}' }, before: [{ n: 5 }, { n: n_of, x: 'x[1:]' }] }\n"
            .replace("n_of", "2 + 5")
            .as_str(),
    );
    let lines: Vec<Vec<String>> = compiled.iter().map(|case| case.canonical().compile).collect();
    assert_eq!(
        lines[0],
        [
            "dynamic = True",
            "mark_dynamic x [0]",
            "before (n = 5)",
            "before (n = 7, x = f32 x[4] [3, 4] [4, 1])"
        ]
    );
    assert_eq!(lines[3][..2], ["dynamic = None", "mark_dynamic x [0, 1]"]);
    let (plain, compiled) = (&plain[0], &compiled[0]);
    assert_eq!(plain.layout_hash(), compiled.layout_hash());
    assert_eq!(plain.source_hash(), compiled.source_hash());
    assert_ne!(plain.content_hash(), compiled.content_hash());
    assert_ne!(read("compile: {}\n")[0].content_hash(), plain.content_hash());
    let printed = compiled.to_case_file().expect("it can be written");
    let again = load_corpus(&[("area/c.yaml", &printed)]);
    let entry = again.entries().next().expect("one case");
    assert_eq!(resolve(&again, &entry).content_hash(), compiled.content_hash());
}

#[test]
fn expectations_apply_where_their_condition_holds() {
    let cases = resolve_cases(
        "kernel: k.py:kernel\nmatrix: { n: [1, 2] }\nlaunches: [{ grid: 1, args: [1] }]\nexpect:\n  \
         - { engine: [interpret, interpret+host], versions: 3.2, when: n > 1, outcome: trapped, message: boom, why: a bug }\n  \
         - { engine: interpret, versions: ['<3.0', 3.5 - 3.6], verdict: differ, why: another, link: triton#1 }\n  \
         - { engine: reference, verdict: undefined, why: it reads past the end }\n",
    );
    let shown: Vec<Vec<String>> = cases.iter().map(|case| case.canonical().expectations).collect();
    assert_eq!(
        shown,
        [
            vec![
                "interpret <3.0 or 3.5 - 3.6: verdict differ: another (triton#1)".to_owned(),
                "reference *: verdict undefined: it reads past the end".to_owned(),
            ],
            vec![
                "interpret, interpret+host 3.2: outcome trapped with \"boom\": a bug".to_owned(),
                "interpret <3.0 or 3.5 - 3.6: verdict differ: another (triton#1)".to_owned(),
                "reference *: verdict undefined: it reads past the end".to_owned(),
            ],
        ]
    );
    let first = &cases[1].expectations[0];
    assert!(
        first.applies_to("interpret@3.2.0+host", Version::NEWEST)
            && !first.applies_to("interpret@3.3.1", Version::NEWEST)
    );
    let all = &cases[1].expectations;
    assert!(first.applies_among(all, "interpret@3.2.0+host", Version::NEWEST));
}

#[test]
fn the_hash_is_of_what_runs() {
    let hash = |about: &str, fill: &str, args: &str| {
        let text = format!(
            "about: {about}\nkernel: k.py:kernel\nstorages: {{ x: {{ dtype: f32, shape: [2], fill: {fill} }} }}\n\
             launches: [{{ grid: 1, args: [{args}] }}]\n"
        );
        let corpus = load_corpus(&[("area/c.yaml", &text)]);
        let entry = corpus.entries().next().expect("one case");
        resolve(&corpus, &entry).content_hash()
    };
    let base = hash("x", "zeros", "x");
    assert_eq!(base, hash("y", "[0, 0]", "'x[:]'"));
    assert_ne!(base, hash("x", "[0, -0.0]", "x"));
    assert_ne!(base, hash("x", "[0, null]", "x"));
    assert_ne!(base, hash("x", "zeros", "'x[1:]'"));
    assert_ne!(base, hash("x", "zeros", "1"));
    assert_ne!(hash("x", "zeros", "1"), hash("x", "zeros", "1.0"));
    assert_ne!(hash("x", "zeros", "1"), hash("x", "zeros", "true"));
}

#[test]
fn filters_and_shards_select() {
    let text = "about: x\nkernel: ../area/k.py:kernel\nmatrix: { dtype: [f32, f16], n: [1, 2] }\n\
                launches: [{ grid: 1, args: [1] }]\n";
    let corpus = load_corpus(&[
        ("b/two.yaml", text),
        ("a/one.yaml", text),
        ("a/b/deep.yaml", &text.replace("../area", "../../area")),
    ]);
    let select = |patterns: &[&str], shard: Shard| {
        let filter = Filter::parse(patterns, "cases").expect("patterns");
        corpus
            .select(&filter, shard)
            .map(|entry| entry.id)
            .collect::<Vec<_>>()
    };
    assert_eq!(select(&[], Shard::ALL).len(), 12);
    assert_eq!(select(&[], Shard::ALL)[0], "a/b/deep:dtype=f32,n=1");
    assert_eq!(select(&["b", "a/*:dtype=f16,n=1"], Shard::ALL).len(), 4 + 2);
    assert_eq!(
        select(&["a/one"], "2/3".parse().expect("shard")),
        ["a/one:dtype=f32,n=2"]
    );
    assert_eq!(select(&["c"], Shard::ALL), Vec::<String>::new());
    assert_eq!(
        corpus.suggest("b/tow", "").as_deref(),
        Some("did you mean `b/two`?")
    );
}

#[test]
fn a_large_matrix_is_expanded_one_case_at_a_time() {
    let numbers: Vec<String> = (0..316).map(|number| number.to_string()).collect();
    let text = format!(
        "about: x\nkernel: k.py:kernel\nmatrix: {{ a: [{0}], b: [{0}] }}\n\
         storages: {{ x: {{ dtype: f32, shape: [a, b], fill: zeros }} }}\nlaunches: [{{ grid: 1, args: [x, a] }}]\n",
        numbers.join(", ")
    );
    let corpus = load_corpus(&[("area/large.yaml", &text)]);
    assert_eq!(corpus.entries().count(), 316 * 316);
    let last = corpus.entries().nth(316 * 316 - 1).expect("the last one");
    assert_eq!(last.id, "area/large:a=315,b=315");
    assert_eq!(resolve(&corpus, &last).storages.total(), 4 * 315 * 315);
}
