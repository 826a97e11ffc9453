//! Inputs for fuzz targets to begin with, made from the corpus, and the dictionary of Triton's names. `examples/seeds.rs`
//! reads and writes the files.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;

use cerith_cuda::GpuHeader;
use cerith_cuda::bundle::{BundleError, CaseEntry, Label, Note, Provenance, ResultEntry, Unexecuted, Writer};
use cerith_engine::job::{Job, Ran};
use cerith_gen::{case_file, seeded};
use cerith_report::Event;
use cerith_report::event;
use cerith_toolchain::compiled::{Compiled, Invocation, Kernel, Metadata, Param, Target};
use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::{bundle, recording};

/// The targets that need no Triton.
pub const TARGETS: [&str; 11] = [
    "bundle",
    "case_broken",
    "case_file",
    "case_reference",
    "event_stream",
    "frontend_text",
    "interp_program",
    "memory_views",
    "mlir",
    "ptx_text",
    "recording",
];

/// The largest input that targets are given.
const MAX_INPUT_BYTES: usize = 16 << 10;

/// How many inputs of plain bytes a target gets.
const PLAIN: u64 = 32;

/// Modules that Triton printed, by topic.
const MODULES: [(&str, &str); 8] = [
    (
        "block_pointer",
        include_str!("../../ttir/tests/modules/block_pointer-3.0.0.mlir"),
    ),
    (
        "descriptor",
        include_str!("../../ttir/tests/modules/descriptor_made-3.9.0.mlir"),
    ),
    (
        "dot_scaled",
        include_str!("../../ttir/tests/modules/dot_scaled-3.9.0.mlir"),
    ),
    (
        "gather",
        include_str!("../../ttir/tests/modules/gather-3.9.0.mlir"),
    ),
    ("join", include_str!("../../ttir/tests/modules/join-3.0.0.mlir")),
    (
        "library",
        include_str!("../../ttir/tests/modules/library-3.9.0.mlir"),
    ),
    (
        "many",
        include_str!("../../ttir/tests/modules/many-3.9.0-ttir.mlir"),
    ),
    (
        "mapped",
        include_str!("../../ttir/tests/modules/mapped-3.9.0.mlir"),
    ),
];

/// A name and the bytes.
pub type Seed = (String, Vec<u8>);

/// Inputs for a target to begin with; `corpus` has the names and bytes of the corpus's files. None for a target that is not known.
pub fn build_seeds(target: &str, corpus: &[Seed]) -> Option<Vec<Seed>> {
    let plain = |length: usize| {
        (0..PLAIN)
            .map(|number| {
                let bytes = seeded::generate_bytes(0, number);
                (
                    format!("{number:02}"),
                    bytes.get(..length).unwrap_or(&bytes).to_vec(),
                )
            })
            .collect()
    };
    Some(match target {
        "frontend_text" => filter_files(corpus, "py", MAX_INPUT_BYTES),
        "case_file" => {
            let own = case_file::SEEDS.iter().enumerate();
            let own = own.map(|(nth, text)| (format!("seed-{nth}.yaml"), text.as_bytes().to_vec()));
            own.chain(filter_files(corpus, "yaml", MAX_INPUT_BYTES)).collect()
        }
        "case_reference" | "case_broken" | "case_interpreter" => plain(4096),
        "interp_program" => plain(280),
        "memory_views" => plain(160),
        "bundle" => build_bundles(),
        "mlir" => MODULES
            .iter()
            .map(|&(name, text)| (name.to_owned(), text.as_bytes().to_vec()))
            .collect(),
        "recording" => build_recordings(corpus),
        "event_stream" => build_streams(corpus),
        "ptx_text" => build_ptx(),
        _ => return None,
    })
}

/// PTX with the constructs of Triton's PTX.
fn build_ptx() -> Vec<Seed> {
    let named = crate::ptx::SEEDS.iter().enumerate();
    named
        .map(|(nth, text)| (format!("seed-{nth}.ptx"), text.as_bytes().to_vec()))
        .collect()
}

/// The files of the corpus with this ending, except those that are too large.
fn filter_files(corpus: &[Seed], ending: &str, most: usize) -> Vec<Seed> {
    let fits = |(name, bytes): &&Seed| {
        name.rsplit_once('.').is_some_and(|(_, last)| last == ending) && bytes.len() <= most
    };
    corpus.iter().filter(fits).cloned().collect()
}

/// A dictionary of libFuzzer's, of the names that a list has in front of `:` (`tests/golden/coverage_3.9.0.txt` of the frontend).
pub fn build_dictionary(listed: &str) -> String {
    let mut text =
        "# Names of Triton's language. Kept by `cargo run -p cerith-laws --example seeds`.\n".to_owned();
    let names = listed.lines().filter_map(|line| line.split_once(':'));
    for name in names.map(|(name, _)| name.trim()).filter(|name| !name.is_empty()) {
        let spelled = name.strip_prefix("tensor").unwrap_or(name);
        let _ = writeln!(text, "\"{spelled}\"");
    }
    for word in [
        "@triton.jit",
        "def ",
        "tl.constexpr",
        "tl.program_id(0)",
        "mask=",
        "other=",
        "axis=",
        "for ",
        " in range(",
    ] {
        let _ = writeln!(text, "\"{word}\"");
    }
    text
}

fn label(variant: Option<&str>) -> Label {
    Label {
        case: "alias/same_twice:dtype=f32".to_owned(),
        variant: variant.and_then(|text| text.parse().ok()),
        engine: cerith_engine::EngineId::cuda(cerith_tile::rules::Version::NEWEST),
        target: Target::HOPPER,
        source: "5e".to_owned(),
        layout: "1a".to_owned(),
        cubins: vec!["0c".to_owned()],
    }
}

fn build_job() -> Job {
    let kernel = Kernel {
        cubin: vec![7; 64].into(),
        ptx: String::new(),
        ttir: String::new(),
        metadata: Metadata {
            name: "add".to_owned(),
            num_warps: 4,
            num_ctas: 1,
            cluster_dims: None,
            shared: 0,
            global_scratch: None,
            profile_scratch: None,
            cooperative: false,
            pdl: false,
        },
    };
    Job {
        arena: vec![1; 256],
        storages: vec![(64, 64), (128, 8)],
        addresses: vec![64],
        may_hold_addresses: vec![1],
        compiled: Compiled {
            kernels: vec![Arc::new(kernel)],
            invocations: vec![Invocation {
                launch: 0,
                kernel: 0,
                grid: [1, 2, 3],
                params: vec![
                    Param::Address {
                        storage: 0,
                        offset: -4,
                    },
                    Param::Bytes(vec![1, 0, 0, 0]),
                ],
                clears: Vec::new(),
            }],
        },
    }
}

fn build_bundles() -> Vec<Seed> {
    let note = Note {
        label: label(Some("num_warps=8")),
        why: Unexecuted::NotApplicable("the kernel fixes it".to_owned()),
    };
    let cases = || -> Result<Vec<u8>, BundleError> {
        let mut writer = Writer::begin_cases(Vec::new())?;
        for variant in [None, Some("num_warps=8")] {
            writer.add_case(&CaseEntry {
                label: label(variant),
                job: build_job(),
            })?;
        }
        writer.add_note(&note)?;
        writer.finish()
    };
    let results = || -> Result<Vec<u8>, BundleError> {
        let mut writer = Writer::begin_results(
            Vec::new(),
            Provenance {
                gpu: GpuHeader {
                    name: "NVIDIA H200".to_owned(),
                    driver: "580".to_owned(),
                    cuda: 13000,
                    capability: 90,
                    count: 1,
                },
                repetitions: 3,
                time_limit: 10_000,
            },
        )?;
        let finished = Ran::Finished {
            arena: vec![1; 64],
            different_arena: Some(vec![2; 64]),
            repetitions: 3,
        };
        let faulted = Ran::Faulted {
            name: "CUDA_ERROR_ILLEGAL_ADDRESS".to_owned(),
            message: "an illegal memory access was encountered".to_owned(),
        };
        for ran in [finished, faulted] {
            writer.add_result(&ResultEntry {
                label: label(None),
                ran,
            })?;
        }
        writer.finish()
    };
    let mut seeds = Vec::new();
    for (name, file) in [("cases", cases()), ("results", results())] {
        let Ok(file) = file else { continue };
        seeds.extend(bundle::unpack_sections(&file).map(|plain| (format!("{name}-sections"), plain)));
        seeds.push((format!("{name}-file"), [vec![0], file].concat()));
    }
    seeds
}

fn build_recordings(corpus: &[Seed]) -> Vec<Seed> {
    let process = r#"{"frame":"process","format":2,"pid":1,"argv":["train.py"],"python":"3.12.3","triton":"3.6.0","torch":null,"numpy":"2.3.5","platform":"linux-x86_64"}"#;
    let launch = r#"{"frame":"launch","launch":0,"kernel":0,"engine":"interpret+host","target":null,"grid":[2],"storages":[{"size":16,"name":"x","before":"0123456789abcdef0123456789abcdef","why":null}],"args":[["x",["t",{"storage":0,"dtype":"f32","shape":[4],"strides":[1],"offset":0}]],["n",["i","7"]]],"options":[["num_warps",["i","4"]]]}"#;
    let bytes = r#"{"frame":"bytes","hash":"0123456789abcdef0123456789abcdef","size":16}"#;
    let end = r#"{"frame":"end","launches":1,"kept":1,"repeated":0,"filtered":0,"skipped":0,"seconds":{"run":0.1,"recording":0.05}}"#;
    let skipped = r#"{"frame":"skipped","kernel":"k","why":"odd","count":2}"#;
    let text =
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(x, n):\n    tl.store(x, n)\n";
    let kernel = |function: &str, text: &str| {
        let quoted = serde_json::Value::from(text);
        format!(
            r#"{{"frame":"kernel","kernel":0,"function":"{function}","files":[{{"name":"k.py","text":{quoted}}}],"inspectable":true,"origin":"train.py:4"}}"#
        )
    };
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
    let payload = packer
        .write_all(&[1; 16])
        .and_then(|()| packer.finish())
        .unwrap_or_default();
    let own = kernel("k", text);
    let frames: Vec<(&str, &[u8])> = vec![
        (process, b""),
        (&own, b""),
        (bytes, &payload),
        (launch, b""),
        (skipped, b""),
        (end, b""),
    ];
    let mut seeds = vec![
        ("launch".to_owned(), recording::encode_frames(&frames)),
        (
            "archive".to_owned(),
            [b"z".as_slice(), case_file::ARCHIVE].concat(),
        ),
    ];
    // Kernels of the corpus, as a recorder writes them.
    for (name, bytes) in filter_files(corpus, "py", 2000).into_iter().take(8) {
        let frame = kernel("k", &String::from_utf8_lossy(&bytes));
        seeds.push((
            name,
            recording::encode_frames(&[(process, b""), (frame.as_str(), b""), (launch, b"")]),
        ));
    }
    seeds
}

fn build_streams(corpus: &[Seed]) -> Vec<Seed> {
    let events = [
        Event::Start(event::Start {
            format: cerith_report::FORMAT,
            cases: 2,
            shard: Some("1/2".to_owned()),
            ..event::Start::default()
        }),
        Event::Problem(event::Problem::new(
            event::Severity::Error,
            "case",
            "no such storage: `x`",
            "write `y`",
        )),
        Event::Verdict(Box::new(event::Verdict {
            case: "alias/same_twice:dtype=f32".to_owned(),
            engines: vec!["reference".to_owned(), "interpret@3.9.0".to_owned()],
            ..event::Verdict::default()
        })),
        Event::Summary(event::Summary::default()),
    ];
    let mut writer = cerith_report::Writer::new(Vec::new());
    for event in &events {
        // A stream in memory does not fail.
        let _ = writer.write_event(event);
    }
    let mut seeds = vec![("events".to_owned(), writer.into_parts().0)];
    seeds.extend(filter_files(corpus, "jsonl", MAX_INPUT_BYTES));
    seeds
}
