use std::sync::Arc;
use std::time::Duration;

use cerith_toolchain::compiled::{Compiled, Invocation, Kernel, Metadata, Param, Scratch, Target};
use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::format::{CaseHeader, MAGIC, OLD_MAGIC, Section, hash_section};
use super::*;
use crate::GpuHeader;
use crate::wire::{JobHeader, KernelHeader};
use cerith_engine::job::{Job, Ran, digest};

fn build_kernel(byte: u8) -> Arc<Kernel> {
    Arc::new(Kernel {
        cubin: vec![byte; 3000].into(),
        ptx: String::new(),
        ttir: String::new(),
        metadata: Metadata {
            name: "add".to_owned(),
            num_warps: 4,
            num_ctas: 1,
            cluster_dims: None,
            shared: 0,
            global_scratch: Some(Scratch { size: 0, align: 1 }),
            profile_scratch: None,
            cooperative: false,
            pdl: false,
        },
    })
}

fn label(index: usize) -> Label {
    Label {
        case: format!("alias/same_twice:i={index}"),
        variant: None,
        engine: "cuda@3.9.0".parse().expect("an engine"),
        target: Target::HOPPER,
        source: "5e".to_owned(),
        layout: "1a".to_owned(),
        cubins: vec![digest(&build_kernel(1))],
    }
}

fn build_case(index: usize) -> CaseEntry {
    CaseEntry {
        label: label(index),
        job: Job {
            arena: (0..2048).map(|i| (i * (index + 1)) as u8).collect(),
            storages: vec![(512, 64), (1024, 8)],
            addresses: vec![1024],
            may_hold_addresses: vec![1],
            compiled: Compiled {
                kernels: vec![build_kernel(1), build_kernel((index % 3) as u8 + 2)],
                invocations: vec![Invocation {
                    launch: 0,
                    kernel: 1,
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
        },
    }
}

fn build_opening(provenance: Option<Provenance>) -> Opening {
    Opening {
        cerith: "0.1.0".to_owned(),
        seconds: 1_790_000_000,
        provenance,
    }
}

fn build_provenance() -> Provenance {
    Provenance {
        gpu: GpuHeader {
            name: "NVIDIA H200".to_owned(),
            driver: "580.159.04".to_owned(),
            cuda: 13000,
            capability: 90,
            count: 1,
        },
        repetitions: 3,
        time_limit: 10_000,
    }
}

fn write_cases(count: usize) -> Vec<u8> {
    let mut writer = Writer::begin(Vec::new(), Kind::Cases, build_opening(None)).expect("it is memory");
    for index in 0..count {
        writer.add_case(&build_case(index)).expect("it is memory");
    }
    writer.finish().expect("it is memory")
}

fn read(bytes: &[u8]) -> Result<Vec<CaseEntry>, BundleError> {
    let mut reader = Reader::begin_cases(bytes)?;
    let mut all = Vec::new();
    while let Some(entry) = reader.next_case()? {
        all.push(entry);
    }
    Ok(all)
}

fn describe_refusal(bytes: &[u8]) -> String {
    read(bytes).expect_err("it is not good").to_string()
}

#[test]
fn cases_come_back_as_they_were_and_share_their_kernels() {
    let written: Vec<_> = (0..600).map(build_case).collect();
    let bytes = write_cases(600);
    let again = read(&bytes).expect("a good bundle");
    assert_eq!(again, written);
    assert!(Arc::ptr_eq(
        &again[0].job.compiled.kernels[0],
        &again[599].job.compiled.kernels[0]
    ));
    assert_eq!(read(&write_cases(0)).expect("an empty bundle"), []);
}

#[test]
fn results_come_back_with_where_they_are_from() {
    let written: Vec<ResultEntry> = [
        Ran::Finished {
            arena: vec![1; 100],
            different_arena: None,
            repetitions: 3,
        },
        Ran::Finished {
            arena: vec![1; 100],
            different_arena: Some(vec![2; 100]),
            repetitions: 12,
        },
        Ran::Faulted {
            name: "CUDA_ERROR_ILLEGAL_ADDRESS".to_owned(),
            message: "an illegal memory access was encountered".to_owned(),
        },
        Ran::TimedOut {
            limit: Duration::from_millis(2500),
        },
        Ran::Died {
            ending: "signal 11".to_owned(),
        },
        Ran::Refused {
            name: "CUDA_ERROR_NO_BINARY_FOR_GPU".to_owned(),
            message: "no kernel image is available".to_owned(),
        },
    ]
    .into_iter()
    .enumerate()
    .map(|(index, ran)| ResultEntry {
        label: label(index),
        ran,
    })
    .collect();
    let opening = build_opening(Some(build_provenance()));
    let mut writer = Writer::begin(Vec::new(), Kind::Results, opening.clone()).expect("it is memory");
    for entry in &written {
        writer.add_result(entry).expect("it is memory");
    }
    let bytes = writer.finish().expect("it is memory");
    let mut reader = Reader::begin_results(bytes.as_slice()).expect("a good bundle");
    assert_eq!(*reader.opening(), opening);
    let mut again = Vec::new();
    while let Some(entry) = reader.next_result().expect("a good bundle") {
        again.push(entry);
    }
    assert_eq!(again, written);
    assert_eq!(
        describe_refusal(&bytes),
        "read the bundle: it holds results, and cases are wanted"
    );
    // A bundle of results needs no provenance only if nothing was executed.
    let mut writer = Writer::begin_unexecuted(Vec::new()).expect("it is memory");
    let nobodys = writer.add_result(&written[0]).and_then(|()| writer.finish());
    let nobodys = nobodys.expect("it is memory");
    let mut reader = Reader::begin_results(nobodys.as_slice()).expect("its beginning");
    let error = reader.next_result().expect_err("it was not executed");
    assert!(
        error
            .to_string()
            .ends_with("nothing says where the results come from"),
        "{error}"
    );
}

/// Variants and notes of a sweep are in both kinds of file; a label without a variant is written as before.
#[test]
fn variants_and_notes_come_back() {
    let of = |variant: &str| Label {
        variant: Some(variant.parse().expect(variant)),
        ..label(0)
    };
    let entries = ["as-is", "num_warps=8", "layout=padded"].map(|variant| CaseEntry {
        label: of(variant),
        job: build_case(0).job,
    });
    let notes = [
        Note {
            label: of("num_stages=2"),
            why: Unexecuted::Same("as-is".parse().expect("a variant")),
        },
        Note {
            label: of("num_ctas=2"),
            why: Unexecuted::NotApplicable("the target has no clusters".to_owned()),
        },
    ];
    let mut writer = Writer::begin(Vec::new(), Kind::Cases, build_opening(None)).expect("it is memory");
    for entry in &entries {
        writer.add_case(entry).expect("it is memory");
    }
    for note in &notes {
        writer.add_note(note).expect("it is memory");
    }
    let bytes = writer.finish().expect("it is memory");
    let mut reader = Reader::begin_cases(bytes.as_slice()).expect("a good bundle");
    for entry in &entries {
        assert_eq!(reader.next_case().expect("a good bundle").as_ref(), Some(entry));
    }
    assert_eq!(reader.next_case().expect("a good bundle"), None);
    assert_eq!(reader.take_notes(), notes);
    assert_eq!(reader.take_notes(), []);
    let text = serde_json::to_string(&label(0)).expect("JSON");
    assert!(!text.contains("variant"), "{text}");
    let text = serde_json::to_string(&of("num_warps=8")).expect("JSON");
    assert!(text.contains(r#""variant":"num_warps=8""#), "{text}");
    let wrong = text.replace("num_warps", "num_wraps");
    let error = serde_json::from_str::<Label>(&wrong).expect_err("no variant");
    assert!(error.to_string().contains("did you mean `num_warps`"), "{error}");
}

#[test]
fn a_file_cut_short_anywhere_is_refused() {
    let bytes = write_cases(30);
    for len in 0..bytes.len() {
        let message = describe_refusal(&bytes[..len]);
        let wanted = match len {
            0..8 => "not a file that Cerith wrote",
            _ => "the file is cut short in section",
        };
        assert!(message.contains(wanted), "{len} of {}: {message}", bytes.len());
    }
    // Also where a section ends.
    let end = bytes.len() - build_section(3, &Section::End { entries: 30 }, &[]).len();
    assert!(
        describe_refusal(&bytes[..end]).contains("cut short"),
        "{}",
        describe_refusal(&bytes[..end])
    );
}

#[test]
fn a_changed_byte_anywhere_is_refused() {
    let bytes = write_cases(20);
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x40;
        assert!(read(&changed).is_err(), "byte {at} of {}", bytes.len());
    }
}

/// A bundle from the time when the project was called Conch.
#[test]
fn a_file_of_the_old_name_is_read() {
    let opening = serde_json::json!({ "opening": { "conch": "0.1.0", "seconds": 5, "provenance": null } });
    let frame = cerith_toolchain::conversation::frame::encode_frame(&opening, [&[][..]]).expect("a frame");
    let mut old = [&OLD_MAGIC[..], &1u32.to_le_bytes(), &1u32.to_le_bytes()].concat();
    old.extend(raw_section(0, &frame));
    old.extend(build_section(1, &Section::End { entries: 0 }, &[]));
    let reader = Reader::begin_cases(&old[..]).expect("a bundle");
    assert_eq!(
        (reader.opening().cerith.as_str(), reader.opening().seconds),
        ("0.1.0", 5)
    );
    assert_eq!(read(&old).expect("a bundle"), []);
}

#[test]
fn foreign_and_newer_files_are_named() {
    assert_eq!(
        describe_refusal(b""),
        "read the bundle: this is not a file that Cerith wrote (its first bytes are none, it is empty)"
    );
    assert_eq!(
        describe_refusal(b"PK\x03\x04 some archive"),
        "read the bundle: this is not a file that Cerith wrote (its first bytes are `PK\\x03\\x04 som`)"
    );
    let mut newer = write_cases(1);
    newer[8] = 9;
    assert_eq!(
        describe_refusal(&newer),
        "read the bundle: its format is version 9, and this Cerith reads up to version 2; use the Cerith that wrote it, \
         or a newer one"
    );
    let mut unknown = write_cases(1);
    unknown[12] = 7;
    assert_eq!(
        describe_refusal(&unknown),
        "read the bundle: it holds something unknown (7), and cases are wanted"
    );
    let mut behind = write_cases(1);
    behind.push(0);
    assert!(describe_refusal(&behind).ends_with("there is more data after the end"));
}

/// A section with a right checksum.
fn build_section(number: u64, header: &Section, blobs: &[u8]) -> Vec<u8> {
    raw_section(
        number,
        &cerith_toolchain::conversation::frame::encode_frame(header, [blobs]).expect("a frame"),
    )
}

fn raw_section(number: u64, frame: &[u8]) -> Vec<u8> {
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::default());
    std::io::Write::write_all(&mut packer, frame).expect("it is memory");
    let stored = packer.finish().expect("it is memory");
    [
        &(stored.len() as u32).to_le_bytes()[..],
        &(frame.len() as u32).to_le_bytes(),
        hash_section(number, &stored).as_bytes(),
        &stored,
    ]
    .concat()
}

/// A bundle of cases with these sections after the opening.
fn build_bundle(sections: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = [&MAGIC[..], &1u32.to_le_bytes(), &1u32.to_le_bytes()].concat();
    bytes.extend(build_section(0, &Section::Opening(build_opening(None)), &[]));
    bytes.extend(sections.concat());
    bytes
}

#[test]
fn numbers_that_fit_nothing_are_refused_whatever_the_checksum_says() {
    let good = build_case(0);
    let header = |change: &dyn Fn(&mut JobHeader)| {
        let mut job = JobHeader::from_job(&good.job, vec![0, 0]);
        change(&mut job);
        Section::Cases(vec![CaseHeader {
            label: good.label.clone(),
            job,
        }])
    };
    let kernels = || {
        let metadata = build_kernel(1).metadata.clone();
        build_section(
            1,
            &Section::Kernels(vec![KernelHeader { cubin: 4, metadata }]),
            b"abcd",
        )
    };
    let message = |change: &dyn Fn(&mut JobHeader)| {
        describe_refusal(&build_bundle(&[
            kernels(),
            build_section(2, &header(change), &good.job.arena),
        ]))
    };
    let damaged = |what: &str| format!("read the bundle: section 3 is damaged: {what}");
    assert_eq!(
        message(&|job| job.arena = 1 << 40),
        damaged("an arena is cut short")
    );
    assert_eq!(
        message(&|job| job.arena = 2000),
        damaged("bytes that nothing names")
    );
    assert_eq!(
        message(&|job| job.kernels = vec![0, 1]),
        damaged("`alias/same_twice:i=0`: there is no kernel 1")
    );
    assert_eq!(
        message(&|job| job.storages[0].1 = usize::MAX),
        damaged("`alias/same_twice:i=0`: a storage of 18446744073709551615 bytes at 512 in an arena of 2048")
    );
    assert_eq!(
        message(&|job| job.addresses = vec![2044]),
        damaged("`alias/same_twice:i=0`: an address at byte 2044 of the arena")
    );
    assert_eq!(
        message(&|job| job.invocations[0].params = vec![Param::Bytes(vec![0; 3])]),
        damaged("`alias/same_twice:i=0`: a parameter of 3 bytes")
    );
    assert!(
        describe_refusal(&build_bundle(&[build_section(
            1,
            &header(&|_| ()),
            &good.job.arena
        )]))
        .contains("there is no kernel 0")
    );
    assert!(
        describe_refusal(&build_bundle(&[build_section(
            1,
            &Section::End { entries: 5 },
            &[]
        )]))
        .contains("it ends with 0 entries, and 5 were written")
    );
    assert!(
        describe_refusal(&build_bundle(&[build_section(
            1,
            &Section::Results(Vec::new()),
            &[]
        )]))
        .contains("no place there")
    );
    // A frame that claims a terabyte, and a section that does.
    let mut frame = vec![0; 64];
    frame[4..12].copy_from_slice(&(1u64 << 40).to_le_bytes());
    assert!(describe_refusal(&build_bundle(&[raw_section(1, &frame)])).contains("section 1 is damaged"));
    let mut huge = raw_section(1, &frame);
    huge[..4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(
        describe_refusal(&build_bundle(&[huge.clone()])),
        "read the bundle: section 1 claims 4294967295 bytes, and at most 1073741824 are possible"
    );
    huge[..4].copy_from_slice(&(1u32 << 29).to_le_bytes());
    assert!(describe_refusal(&build_bundle(&[huge])).contains("cut short in section 1"));
    // One that unpacks to more than it says.
    let mut bomb = raw_section(1, &vec![0; 1 << 20]);
    bomb[4..8].copy_from_slice(&100u32.to_le_bytes());
    assert!(describe_refusal(&build_bundle(&[bomb])).ends_with("it unpacks to another length"));
}
