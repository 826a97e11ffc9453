//! Recorded bytes: the contents of good archives, and diagnostics for bad ones (blessed under `snapshots/case`).

use std::io::{Cursor, Read as _, Write as _};

use crate::common;
use cerith_case::{Case, Corpus, Ending, Input, Problems};
use cerith_memory::{Pointer, StorageId};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const KERNEL: &str = "import triton\n\n\n@triton.jit\ndef kernel(x, bits, table, out):\n    pass\n";

const GOOD: &str = "\
about: Launch 3 of kernel.
origin: \"recorded: Triton 3.6.0, interpret+host, train.py:12\"
kernel: k.py:kernel
inspectable: false
storages:
  x: { dtype: f32, shape: [4], fill: { bytes: data.zip/before } }
  table: { dtype: i64, shape: [2], fill: { bytes: data.zip/table, addresses: { 0: x.data_ptr(), 1: \"x.data_ptr() + 8\" } } }
  out: { dtype: f32, shape: [4], fill: { random: { seed: 7, edges: false } } }
tensors:
  rows: x.as_strided([2, 2], [2, 1], 0)
  bits: x.view(torch.int32).as_strided([3], [1], 1)
launches:
  - grid: [1]
    args: { x: rows, bits: bits, table: table, out: out }
recorded:
  engine: interpret@3.6.0+host
  after: { out: data.zip/after, table: data.zip/moved }
";

const X: [f32; 4] = [1.0, -2.5, f32::INFINITY, 4.0];

fn encode_x() -> Vec<u8> {
    X.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The addresses that the recorded process had, and the same table with its second address overwritten.
fn build_tables() -> [Vec<u8>; 2] {
    [[0x7000_u64, 0x7008], [0x7000, 0x7100]]
        .map(|table| table.iter().flat_map(|at| at.to_le_bytes()).collect())
}

fn build_options() -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(CompressionMethod::DEFLATE)
}

fn zip_entries(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        zip.start_file(*name, build_options()).expect("a new entry");
        zip.write_all(bytes).expect("memory");
    }
    zip.finish().expect("memory").into_inner()
}

fn good_archive() -> Vec<u8> {
    let [table, moved] = build_tables();
    zip_entries(&[
        ("before", &encode_x()),
        ("table", &table),
        ("after", &[0; 16]),
        ("moved", &moved),
    ])
}

fn build_input(path: &str, content: &[u8]) -> Input {
    Input {
        path: path.to_owned(),
        name: format!("rec/{path}"),
        content: Ok(content.to_vec()),
    }
}

fn load(case: &str, archive: &[u8]) -> Corpus {
    Corpus::load([
        build_input("k/0001.yaml", case.as_bytes()),
        build_input("k/k.py", KERNEL.as_bytes()),
        build_input("k/data.zip", archive),
    ])
}

fn resolve(case: &str, archive: &[u8]) -> Case {
    let corpus = load(case, archive);
    assert_eq!(corpus.problems(), []);
    let entry = corpus.entries().next().expect("a case");
    entry.resolve().unwrap_or_else(|problems| {
        let shown: Vec<_> = problems
            .iter()
            .map(|one| one.render(corpus.sources(), false))
            .collect();
        panic!("{}", shown.join("\n"))
    })
}

fn check(name: &str, case: &str, archive: &[u8]) {
    common::bless(&format!("recorded_{name}"), &load(case, archive));
}

/// The good case with a part replaced, beside the good archive.
fn change(name: &str, from: &str, to: &str) {
    assert!(GOOD.contains(from), "{from}");
    check(name, &GOOD.replacen(from, to, 1), &good_archive());
}

#[test]
fn a_recorded_case_holds_the_bytes_of_its_archive() {
    let case = resolve(GOOD, &good_archive());
    let [x_id, table, out] = [0, 1, 2].map(StorageId);
    assert!(!case.inspectable);
    let memory = case.memory();
    assert_eq!(memory.bytes(x_id), encode_x());
    let address = |at: usize| {
        let bytes = memory.bytes(table)[at..at + 8].try_into().expect("8 bytes");
        u64::from_le_bytes(bytes)
    };
    assert_eq!(
        [address(0), address(8)],
        [memory.address(x_id), memory.address(x_id) + 8]
    );
    let bits = case.tensor("bits").expect("a view");
    assert_eq!((bits.storage, bits.offset, bits.dtype.name()), (x_id, 1, "i32"));
    assert_eq!(case.declared[0].fill, "bytes of data.zip/before");
    assert_eq!(case.declared[1].fill, "bytes of data.zip/table, and 2 addresses");
    let recorded = case.recorded.as_ref().expect("a record");
    assert_eq!(recorded.engine, "interpret@3.6.0+host");
    let Ending::Finished(left) = &recorded.ending else {
        panic!("it finished")
    };
    assert_eq!((left[0].storage, left[0].bytes.as_slice()), (out, &[0; 16][..]));
    assert_eq!(left[0].pointers, []);
    // The second of the two addresses was overwritten.
    let kept = Pointer {
        offset: 0,
        target: x_id,
        target_offset: 0,
    };
    assert_eq!(
        (left[1].storage, left[1].pointers.as_slice()),
        (table, &[kept][..])
    );
}

#[test]
fn what_was_raised_and_what_was_not_kept() {
    let with = |record: &str| {
        let (head, _) = GOOD.split_once("  after:").expect("a record");
        resolve(&format!("{head}{record}"), &good_archive())
            .recorded
            .expect("a record")
    };
    assert_eq!(with("").ending, Ending::Unknown);
    assert_eq!(with("  after: {}\n").ending, Ending::Finished(Vec::new()));
    let raised = |kind: &str, message: &str| Ending::Raised {
        kind: kind.to_owned(),
        message: message.to_owned(),
        compiling: false,
    };
    assert_eq!(
        with("  raised: { kind: ValueError, message: \"no {x}: 'y'\" }\n").ending,
        raised("ValueError", "no {x}: 'y'")
    );
    assert_eq!(
        with("  raised: { kind: AssertionError }\n").ending,
        raised("AssertionError", "")
    );
}

#[test]
fn a_recorded_case_is_itself_after_printing() {
    let case = resolve(GOOD, &good_archive());
    let text = case.to_case_file().expect("it can be written");
    assert!(
        text.contains("x: { dtype: f32, shape: [4], fill: { bytes: \"data.zip/before\" } }"),
        "{text}"
    );
    let again = resolve(&text, &good_archive());
    assert_eq!(again.content_hash(), case.content_hash(), "{text}");
    assert_eq!(again.recorded, case.recorded, "{text}");
    assert_eq!(again.inspectable, case.inspectable);
    // Changes by a reducer are written out.
    let mut changed = case.clone();
    changed.storages.write(StorageId(0), 4, &7_f32.to_le_bytes());
    let text = changed.to_case_file().expect("it can be written");
    assert!(text.contains("fill: [1.0, 7.0, .inf, 4.0]"), "{text}");
    assert_eq!(
        resolve(&text, &good_archive()).content_hash(),
        changed.content_hash(),
        "{text}"
    );
}

#[test]
fn what_is_inspectable_is_another_case_and_what_is_on_record_is_not() {
    let hash = |from: &str, to: &str| {
        assert!(GOOD.contains(from), "{from}");
        resolve(&GOOD.replacen(from, to, 1), &good_archive()).content_hash()
    };
    let same = hash("about", "about");
    assert_ne!(hash("inspectable: false\n", ""), same);
    assert_eq!(hash("out: data.zip/after, ", ""), same);
    assert_ne!(hash("data.zip/before", "data.zip/after"), same);
}

#[test]
fn recorded_bytes_keep_their_layout() {
    let corpus = load(GOOD, &good_archive());
    let entry = corpus.entries().next().expect("a case");
    let case = entry.resolve().expect("a good case");
    let refused = |variant: &str| entry.vary(&case, variant.parse().expect("a variant")).err();
    for layout in ["layout=offset", "layout=padded", "layout=transposed"] {
        let why = refused(layout).expect("refused");
        assert_eq!(
            why.to_string(),
            "storage `x` holds recorded bytes, which lie as they were recorded"
        );
    }
    assert_eq!(refused("num_warps=8"), None);
}

#[test]
fn bytes_are_read_from_files_when_a_case_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("rec");
    std::fs::create_dir_all(root.join("k")).expect("a folder");
    let write = |name: &str, bytes: &[u8]| std::fs::write(root.join("k").join(name), bytes).expect("a file");
    write("0001.yaml", GOOD.as_bytes());
    write("k.py", KERNEL.as_bytes());
    write("data.zip", b"not yet");
    let corpus = Corpus::read(&root).expect("a folder");
    assert_eq!(corpus.problems(), []);
    write("data.zip", &good_archive());
    let case = corpus
        .entries()
        .next()
        .expect("a case")
        .resolve()
        .expect("a good case");
    assert_eq!(case.memory().bytes(StorageId(0)), encode_x());
}

#[test]
fn places_of_bytes() {
    change("no_archive", "data.zip/before", "date.zip/before");
    change("no_entry", "data.zip/before", "data.zip/befroe");
    change("no_entry_named", "data.zip/before", "data.zip");
    change("outside", "data.zip/before", "../../data.zip/before");
    change("absolute", "data.zip/before", "/etc/data.zip/before");
    change(
        "unknown_key",
        "{ bytes: data.zip/before }",
        "{ bytes: data.zip/before, address: { 0: out } }",
    );
    change("of_wrong_type", "{ bytes: data.zip/before }", "{ bytes: [1, 2] }");
}

#[test]
fn sizes_of_bytes() {
    change(
        "too_many",
        "x: { dtype: f32, shape: [4]",
        "x: { dtype: f32, shape: [3]",
    );
    change(
        "too_few",
        "x: { dtype: f32, shape: [4]",
        "x: { dtype: f32, shape: [5]",
    );
    change(
        "too_few_after",
        "out: { dtype: f32, shape: [4]",
        "out: { dtype: f32, shape: [5]",
    );
    change(
        "a_terabyte",
        "x: { dtype: f32, shape: [4]",
        "x: { dtype: f32, shape: [274877906944]",
    );
    change(
        "empty",
        "x: { dtype: f32, shape: [4]",
        "x: { dtype: f32, shape: [0]",
    );
}

#[test]
fn addresses_among_bytes() {
    change("address_element", "1: \"x.data_ptr() + 8\"", "2: x");
    change("address_key", "1: \"x.data_ptr() + 8\"", "one: x");
    change("address_of_number", "1: \"x.data_ptr() + 8\"", "1: 4096");
    change(
        "address_list",
        "{ 0: x.data_ptr(), 1: \"x.data_ptr() + 8\" }",
        "[x]",
    );
    change("address_dtype", "table: { dtype: i64", "table: { dtype: f64");
}

#[test]
fn reports_bad_records() {
    change("engine_without_version", "interpret@3.6.0+host", "interpret");
    change("engine_of_itself", "interpret@3.6.0+host", "recorded");
    change("engine_unknown", "interpret@3.6.0+host", "interpeter@3.6.0");
    change("no_engine", "  engine: interpret@3.6.0+host\n", "");
    change("after_of_no_storage", "after: { out", "after: { rows");
    change(
        "after_and_raised",
        "  after:",
        "  raised: { kind: ValueError }\n  after:",
    );
    change(
        "raised_without_kind",
        "after: { out: data.zip/after, table: data.zip/moved }",
        "raised: { message: no }",
    );
    change("not_inspectable", "inspectable: false", "inspectable: 0");
}

#[test]
fn archives_that_are_none() {
    check("no_archive_at_all", GOOD, b"#!/bin/sh\n");
    check("empty_archive", GOOD, b"");
    let good = good_archive();
    check("cut_archive", GOOD, &good[..good.len() / 2]);
    // The archive's end is whole, and what is before it is not.
    let end = good.len() - 22;
    check("only_an_end", GOOD, &good[end..]);
    let mut damaged = good.clone();
    let at = good
        .windows(6)
        .position(|bytes| bytes == b"before")
        .expect("its name")
        + 6;
    damaged[at + 2] ^= 0x55;
    check("damaged_entry", GOOD, &damaged);
}

/// The good archive with the first central directory entry of this name changed. Fields are those of the zip format's
/// specification, by their place in the entry.
fn patch_entry(name: &str, at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut archive = good_archive();
    let entry = find_central_entry(&archive, name);
    archive[entry + at..entry + at + bytes.len()].copy_from_slice(bytes);
    archive
}

/// The position of a name's entry in the central directory.
fn find_central_entry(archive: &[u8], name: &str) -> usize {
    (0..archive.len() - 46)
        .find(|&at| {
            archive[at..].starts_with(b"PK\x01\x02")
                && archive[at + 46..].starts_with(name.as_bytes())
                && usize::from(archive[at + 28]) == name.len()
        })
        .expect("an entry")
}

#[test]
fn archives_that_are_made_to_harm() {
    // 256 MiB of zeros in 260 KB, and the same entry with a declared size of 16 bytes.
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("before", build_options()).expect("a new entry");
    std::io::copy(&mut std::io::repeat(0).take(256 << 20), &mut zip).expect("memory");
    let mut bomb = zip.finish().expect("memory").into_inner();
    check("bomb", GOOD, &bomb);
    let small = GOOD.replacen(
        "x: { dtype: f32, shape: [4]",
        "x: { dtype: f32, shape: [65000]",
        1,
    );
    check("bomb_of_a_large_storage", &small, &bomb);
    let entry = find_central_entry(&bomb, "before");
    bomb[entry + 24..entry + 28].copy_from_slice(&16_u32.to_le_bytes());
    check("bomb_that_hides", &small, &bomb);

    check("encrypted", GOOD, &patch_entry("before", 8, &[1, 0]));
    check("other_method", GOOD, &patch_entry("before", 10, &[14, 0]));
    check(
        "long_entry",
        GOOD,
        &patch_entry("before", 20, &u32::MAX.to_le_bytes()[..3]),
    );
    // The second entry claims the offset of the first.
    check("overlapping_entries", GOOD, &patch_entry("table", 42, &[0; 4]));
    check(
        "entry_behind_the_end",
        GOOD,
        &patch_entry("moved", 42, &0x00ff_ffff_u32.to_le_bytes()),
    );
    check("two_of_a_name", GOOD, &two_of_a_name());
    check("too_many_entries", GOOD, &build_directory(300_000, 300_000));
    check("more_entries_than_there_are", GOOD, &build_directory(3, 300_000));
}

fn two_of_a_name() -> Vec<u8> {
    let mut archive = zip_entries(&[("before", &encode_x()), ("befour", &encode_x())]);
    let entry = find_central_entry(&archive, "befour");
    archive[entry + 46..entry + 52].copy_from_slice(b"before");
    archive
}

/// An archive that consists of a directory of `entries` entries, and declares `claimed`.
fn build_directory(entries: u64, claimed: u64) -> Vec<u8> {
    let good = good_archive();
    let entry = find_central_entry(&good, "moved");
    let one = &good[entry..entry + 46 + "moved".len()];
    let mut archive = one.repeat(entries as usize + 1);
    let (start, end) = (one.len() as u64, archive.len() as u64);
    archive.extend(b"PK\x06\x06");
    archive.extend(44_u64.to_le_bytes());
    archive.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for number in [claimed, claimed, end - start, start] {
        archive.extend(number.to_le_bytes());
    }
    archive.extend(b"PK\x06\x07\0\0\0\0");
    archive.extend(end.to_le_bytes());
    archive.extend(1_u32.to_le_bytes());
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend([0xff; 12]);
    archive.extend([0, 0]);
    archive
}

#[cfg(unix)]
#[test]
fn what_leaves_the_corpus_or_is_no_file_is_not_opened() {
    use std::os::unix::fs::symlink;
    use std::process::Command;

    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("rec");
    std::fs::create_dir_all(root.join("k")).expect("a folder");
    std::fs::write(folder.path().join("data.zip"), good_archive()).expect("a file");
    let write = |name: &str, bytes: &[u8]| std::fs::write(root.join("k").join(name), bytes).expect("a file");
    write("k.py", KERNEL.as_bytes());
    write("link.yaml", GOOD.as_bytes());
    symlink("../../data.zip", root.join("k/data.zip")).expect("a link");
    write("nowhere.yaml", GOOD.replace("data.zip", "nowhere.zip").as_bytes());
    symlink("gone.zip", root.join("k/nowhere.zip")).expect("a link");
    // Opening a pipe blocks until another process opens it for writing.
    for pipe in ["pipe.zip", "pipe.py", "other.yaml"] {
        let made = Command::new("mkfifo").arg(root.join("k").join(pipe)).status();
        assert!(made.expect("mkfifo").success());
    }
    write("pipe.yaml", GOOD.replace("data.zip", "pipe.zip").as_bytes());
    // A file that is too large for a text of the corpus is not read to its end.
    let huge = std::fs::File::create(root.join("k/huge.yaml")).expect("a file");
    huge.set_len(1 << 40).expect("a sparse file");
    // 5 GiB are too many for an archive, regardless of its contents.
    let large = std::fs::File::create(root.join("k/large.zip")).expect("a file");
    large.set_len(5 << 30).expect("a sparse file");
    write("large.yaml", GOOD.replace("data.zip", "large.zip").as_bytes());

    let corpus = Corpus::read(&root).expect("a folder");
    let mut problems = Problems::default();
    for entry in corpus.entries() {
        problems.add(&entry.id, entry.resolve().expect_err("no good case"));
    }
    let found = corpus.problems().iter().cloned().chain(problems.finish());
    let shown: Vec<String> = found
        .map(|one| format!("{}: {}", one.code, one.message))
        .collect();
    let root = format!("{}/", folder.path().display());
    let shown: Vec<String> = shown.iter().map(|line| line.replace(&root, "")).collect();
    let expected = [
        "unreadable: the file has more than the 16777216 bytes that are read",
        "unreadable: the file cannot be read: it is not a regular file",
        "bad-archive: rec/k/large.zip has 5368709120 bytes, more than the 4294967296 that are read",
        "path-outside: rec/k/data.zip is a link that leads out of the corpus",
        "bad-archive: rec/k/nowhere.zip cannot be read: the link leads nowhere",
        "bad-archive: rec/k/pipe.zip cannot be read: it is not a regular file",
    ];
    for words in expected {
        assert!(shown.iter().any(|line| line == words), "{words}\n{shown:#?}");
    }
}
