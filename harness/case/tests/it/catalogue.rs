//! Every discrepancy of Triton's that was catalogued before the first case was written, and that shows without a GPU,
//! has a case that names it in its `origin` or in the link of an expectation.

use std::fs;
use std::path::{Path, PathBuf};

/// The catalogued discrepancies, by issue or by observation. An entry of several issues is listed by its first.
const ENTRIES: [&str; 102] = [
    "triton#5965",
    "observed:loop_var_to",
    "observed:loop_div_neg",
    "observed:loop_i32_wrap",
    "observed:fp16_times_float_arg",
    "observed:fp64_times_float_arg",
    "triton#10435",
    "triton#9565",
    "triton#10919",
    "triton#2939",
    "triton#3410",
    "observed:builtin_min_max",
    "observed:if_block",
    "triton#11053",
    "triton#10672",
    "observed:acceptance_gap",
    "observed:closure_nameerror",
    "wheel-diff 3.8.0->3.9.0 (kwonlyargs)",
    "observed:cross_program_wait",
    "triton#4370",
    "docs:debugging.rst",
    "triton#10945",
    "triton#11584",
    "triton#11604",
    "observed:bf16_39_regression",
    "observed:bf16_literal",
    "observed:f32_to_bf16_trunc",
    "observed:nan_payload_bf16",
    "triton#9808",
    "observed:fp8_special_decode",
    "triton#11667",
    "triton#10658",
    "triton#11210",
    "gpu-mode/lectures#47",
    "triton#9171",
    "triton#6058",
    "observed:store_to_i1",
    "observed:load_i1_nonbinary",
    "triton#8594",
    "triton#3811",
    "wheel-diff 3.8.0->3.9.0 (FNUZ zero, bf16<->fp16)",
    "triton#10270",
    "triton#4955",
    "triton#3232",
    "observed:inline_asm",
    "triton#3416",
    "triton#10687",
    "triton#7349",
    "triton#11615",
    "triton#6490",
    "observed:reduce_axis_neg",
    "triton#3814",
    "triton#3071",
    "triton#5999",
    "observed:sort_nan_dup",
    "observed:sort_bf16",
    "observed:scan_axis_neg",
    "triton#5897",
    "triton#11194",
    "triton#10889",
    "triton#3566",
    "triton#3571",
    "triton#5504",
    "triton#10311",
    "observed:mask_int32",
    "triton#5049",
    "observed:atomic_masked_ret",
    "triton#5201",
    "triton#3599",
    "observed:pad_nan_bf16",
    "release 3.9.0",
    "triton#8670",
    "observed:desc_offset",
    "triton#7713 / #7728",
    "observed:desc_atomic",
    "triton#6464 / #5795",
    "triton#9295",
    "observed:bf16_atomic (cf. triton#6519)",
    "observed:xchg_f32",
    "triton#11675",
    "wheel-diff 3.8.0->3.9.0 (atomic_poll)",
    "triton#6150",
    "observed:autotune_multi",
    "triton#10689",
    "triton#5164",
    "observed:unknown_kwarg",
    "observed:grid_list",
    "observed:grid_lambda_tensor",
    "observed:no_kernel_handle",
    "triton#8573",
    "triton#5790",
    "triton#8735",
    "triton#4755",
    "triton#8273",
    "observed:device_assert_off",
    "observed:assume",
    "triton#10850",
    "observed:print_hex_neg",
    "observed:map_elementwise",
    "gpu-mode/Triton-Puzzles#17, triton-viz#154",
    "wheel-diff 3.8.0->3.9.0 (_InterpreterComparison)",
    "wheel-diff 3.8.0->3.9.0 (umulhi)",
];

/// Collects the origins that the case files in a folder give, one line each.
fn collect_origins(folder: &Path, lines: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder of case files") {
        let path: PathBuf = entry.expect("an entry of it").path();
        if path.is_dir() {
            collect_origins(&path, lines);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            let text = fs::read_to_string(&path).expect("a case file");
            let named = text
                .lines()
                .filter(|line| line.starts_with("origin:") || line.contains("link: "));
            lines.extend(named.map(|line| line.replace("observed: ", "observed:")));
        }
    }
}

/// Whether a line names an entry: `triton#10` is not in `triton#1072`.
fn has_entry(line: &str, entry: &str) -> bool {
    line.match_indices(entry).any(|(start, _)| {
        let rest = line.get(start + entry.len()..).unwrap_or_default();
        !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
    })
}

// Without triton#10291 and triton#10699: the index of a row with a NaN is unspecified and not compared.
#[test]
fn every_entry_of_the_catalogue_has_a_case() {
    let mut lines = Vec::new();
    collect_origins(Path::new("../../cases"), &mut lines);
    let missing: Vec<_> = ENTRIES
        .iter()
        .filter(|entry| !lines.iter().any(|line| has_entry(line, entry)))
        .collect();
    assert!(missing.is_empty(), "no case names {missing:#?}");
}

#[test]
fn an_entry_is_named_whole() {
    assert!(has_entry("origin: triton#107, triton#108", "triton#107"));
    assert!(!has_entry("origin: triton#1072", "triton#107"));
    assert!(!has_entry("link: observed:assume_false", "observed:assume"));
}
