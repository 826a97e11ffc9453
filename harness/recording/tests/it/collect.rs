//! Part files become recordings: what is written, what is left out, and why.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use cerith_recording::part::Skipped;
use cerith_recording::{Collected, Options, collect};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::{Value, json};

const ADD: &str = "import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, scale, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y * scale, mask=mask)
";

/// The part file of one process.
#[derive(Default)]
struct Part(Vec<u8>);

impl Part {
    fn frame(&mut self, header: &Value, payload: &[u8]) -> &mut Self {
        let header = header.to_string();
        self.0.extend((header.len() as u32).to_le_bytes());
        self.0.extend((payload.len() as u64).to_le_bytes());
        self.0.extend(header.as_bytes());
        self.0.extend(payload);
        self
    }

    fn process(&mut self, triton: &str) -> &mut Self {
        self.frame(
            &json!({"frame": "process", "format": 2, "pid": 7, "argv": ["train.py"], "python": "3.12.3", "triton": triton,
                "torch": "2.11.0", "numpy": "2.3.5", "platform": "linux-x86_64"}),
            b"",
        )
    }

    fn kernel(&mut self, number: u64, name: &str, text: &str) -> &mut Self {
        self.frame(
            &json!({"frame": "kernel", "kernel": number, "function": name, "inspectable": true, "origin": "train.py:12",
                "files": [{"name": format!("{name}.py"), "text": text}]}),
            b"",
        )
    }

    /// Contents; their hash is 32 times the letter.
    fn bytes(&mut self, letter: &str, bytes: &[u8]) -> &mut Self {
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(bytes).expect("into memory");
        let packed = packed.finish().expect("into memory");
        self.frame(
            &json!({"frame": "bytes", "hash": letter.repeat(32), "size": bytes.len()}),
            &packed,
        )
    }

    /// A launch, and its end.
    fn launch(&mut self, launch: &Value) -> &mut Self {
        let number = self.begun(launch);
        let storages = launch["storages"].as_array().expect("storages");
        let after: Vec<&Value> = storages.iter().map(|storage| &storage["after"]).collect();
        self.ended(
            number,
            &json!({"after": after, "raised": launch["raised"], "seconds": 0.1}),
        )
    }

    /// A launch that has not ended; its number.
    fn begun(&mut self, launch: &Value) -> usize {
        let number = self.0.len();
        let mut header = json!({"frame": "launch", "launch": number, "kernel": 0, "engine": "interpret+host", "target": null,
            "grid": [1], "options": [["num_warps", ["i", "4"]]]});
        for (key, value) in launch.as_object().expect("an object") {
            header[key] = value.clone();
        }
        self.frame(&header, b"");
        number
    }

    fn ended(&mut self, number: usize, end: &Value) -> &mut Self {
        let mut header = json!({"frame": "ended", "launch": number});
        for (key, value) in end.as_object().expect("an object") {
            header[key] = value.clone();
        }
        self.frame(&header, b"")
    }

    fn end(&mut self, launches: u64) {
        self.frame(
            &json!({"frame": "end", "launches": launches, "kept": launches, "repeated": 0, "filtered": 0, "skipped": 0,
                "seconds": {"run": 1.0, "recording": 0.1}}),
            b"",
        );
    }
}

fn storage(name: &str, size: u64, before: Option<&str>, after: Option<&str>) -> Value {
    json!({"name": name, "size": size, "before": before.map(|letter| letter.repeat(32)),
        "after": after.map(|letter| letter.repeat(32)), "why": before.is_none().then_some("max-bytes"), "addresses": []})
}

fn tensor(storage: usize, shape: &[i64], strides: &[i64], offset: i64) -> Value {
    json!(["t", storage, "float32", shape, strides, offset])
}

/// Arguments of `add`.
fn args(x: &Value, y: &Value, out: &Value, n: i64) -> Value {
    json!([
        ["x_ptr", x],
        ["y_ptr", y],
        ["out_ptr", out],
        ["n", ["i", n.to_string()]],
        ["scale", ["f", 2.0_f64.to_bits()]],
        ["BLOCK", ["c", ["i", "4"]]]
    ])
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Collects part files, and shows everything that was written.
fn collected(parts: &[(&str, Part)], sample: &str) -> (String, Collected) {
    let folder = tempfile::tempdir().expect("a folder");
    let from = folder.path().join("parts");
    fs::create_dir(&from).expect("a folder");
    for (name, part) in parts {
        fs::write(from.join(name), &part.0).expect("a part file");
    }
    let out = folder.path().join("recording");
    let options = Options {
        parts: from,
        out: out.clone(),
        command: Some(vec!["python".to_owned(), "train.py".to_owned()]),
        sample: sample.to_owned(),
        private: false,
    };
    let collected = collect(&options).expect("it is collected");
    let mut shown = String::new();
    show(&out, &out, &mut shown);
    (shown, collected)
}

fn show(root: &Path, folder: &Path, shown: &mut String) {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            show(root, &path, shown);
            continue;
        }
        let name = path.strip_prefix(root).expect("below").display().to_string();
        let text = match fs::read_to_string(&path) {
            Ok(text) if path.extension().is_none_or(|extension| extension != "zip") => text,
            _ => {
                let file = fs::File::open(&path).expect("an archive");
                let archive = zip::ZipArchive::new(file).expect("an archive");
                let mut names: Vec<String> = archive
                    .file_names()
                    .map(|name| name.expect("a name").into_owned())
                    .collect();
                names.sort();
                names.join("\n") + "\n"
            }
        };
        let _ = writeln!(shown, "--- {name}\n{text}");
    }
}

#[test]
fn launches_become_cases() {
    let mut part = Part::default();
    let (x, zeros) = (
        floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]),
        floats(&[0.0; 4]),
    );
    part.process("3.6.0")
        .kernel(0, "add", ADD)
        .bytes("a", &x)
        .bytes("b", &zeros)
        .bytes("c", &floats(&[11.0, 14.0, 17.0, 20.0]));
    // Two views of one storage, and zeros.
    let halves = args(
        &tensor(0, &[4], &[1], 0),
        &tensor(0, &[4], &[1], 4),
        &tensor(1, &[4], &[1], 0),
        4,
    );
    part.launch(
        &json!({"args": halves, "storages": [storage("x_ptr", 32, Some("a"), Some("a")),
        storage("out_ptr", 16, Some("b"), Some("c"))]}),
    );
    // The same layout with another number for `scale` and other bytes: repeated.
    part.launch(
        &json!({"args": halves, "storages": [storage("x_ptr", 32, Some("a"), Some("a")),
        storage("out_ptr", 16, Some("c"), Some("c"))]}),
    );
    // In place, every second element; an exception.
    let strided = args(
        &tensor(0, &[4], &[2], 1),
        &tensor(0, &[4], &[2], 0),
        &tensor(0, &[4], &[2], 0),
        3,
    );
    part.launch(
        &json!({"args": strided, "storages": [storage("x_ptr", 32, Some("a"), Some("a"))],
        "raised": {"kind": "ValueError", "message": "it \"fails\"\nhere", "phase": "launch"}}),
    );
    // Too large to be kept.
    let large = args(
        &tensor(0, &[8], &[1], 0),
        &tensor(0, &[8], &[1], 0),
        &tensor(1, &[8], &[1], 0),
        8,
    );
    part.launch(
        &json!({"args": large, "storages": [storage("x_ptr", 32, None, None),
        storage("out_ptr", 32, Some("a"), None)]}),
    );
    part.end(4);
    let (shown, _) = collected(&[("7-100.part", part)], "layout");
    insta::assert_snapshot!(shown);
}

#[test]
fn addresses_and_named_tuples_are_passed_as_they_were() {
    let kernel = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef copy(address, rows, number):\n    \
                  ptr = address.to(tl.pointer_type(tl.float32))\n    tl.store(rows.out, tl.load(ptr) + rows.more)\n";
    let mut part = Part::default();
    part.process("3.6.0")
        .kernel(0, "copy", kernel)
        .bytes("a", &floats(&[1.0, 2.0, 3.0, 4.0]))
        .bytes("b", &floats(&[0.0]))
        .bytes("c", &floats(&[5.0]));
    let fields = json!([tensor(0, &[1], &[1], 0), ["i", "2"]]);
    let args = json!([
        ["address", ["a", 1, 8]],
        ["rows", ["n", ["out", "more"], fields]],
        ["number", ["i", (1_u64 << 45).to_string()]],
    ]);
    part.launch(
        &json!({"args": args, "storages": [storage("rows_out", 4, Some("b"), Some("c")),
        storage("address_target", 16, Some("a"), Some("a"))]}),
    );
    part.end(1);
    let (shown, _) = collected(&[("7-100.part", part)], "layout");
    insta::assert_snapshot!(shown);
}

#[test]
fn what_is_wrong_with_a_part_file_is_told_and_costs_nothing_else() {
    let whole = floats(&[1.0, 2.0, 3.0, 4.0]);
    let same = |letter: &str| {
        let view = tensor(0, &[4], &[1], 0);
        json!({"args": args(&view, &view, &view, 4), "storages": [storage("x_ptr", 16, Some(letter), Some(letter))]})
    };
    let mut good = Part::default();
    good.process("3.6.0")
        .kernel(0, "add", ADD)
        .bytes("a", &whole)
        .launch(&same("a"));
    // Killed while it wrote.
    let mut killed = Part(good.0.clone());
    killed.0.truncate(killed.0.len() - 3);
    let mut other_format = Part::default();
    other_format.frame(
        &json!({"frame": "process", "format": 3, "pid": 1, "argv": [], "python": "3.12", "triton": "3.6.0",
        "torch": null, "numpy": null, "platform": "linux"}),
        b"",
    );
    let mut lies = Part::default();
    lies.process("3.6.0")
        .kernel(0, "../evil", ADD)
        .kernel(1, "broken", "def broken(:\n")
        .kernel(2, "add", ADD)
        .bytes("d", &whole)
        // 1,000,000 bytes, in a frame with a size of 16.
        .frame(&json!({"frame": "bytes", "hash": "e".repeat(32), "size": 16}), &{
            let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
            packed.write_all(&vec![0; 1_000_000]).expect("into memory");
            packed.finish().expect("into memory")
        });
    let with = |kernel: u64, mut launch: Value, key: &str, value: Value| {
        launch["kernel"] = json!(kernel);
        launch[key] = value;
        launch
    };
    lies.launch(&with(1, same("d"), "grid", json!([1])))
        .launch(&with(2, same("e"), "grid", json!([2])))
        .launch(&with(2, same("f"), "grid", json!([3])))
        .launch(&with(2, same("d"), "grid", json!([1_i64 << 40])))
        .launch(&with(2, same("d"), "args", json!([["x_ptr", ["q", 1]]])))
        .launch(&with(
            2,
            same("d"),
            "args",
            args(&tensor(0, &[9], &[1], 0), &json!(null), &json!(null), 4),
        ))
        .launch(&with(
            2,
            same("d"),
            "args",
            args(&json!(["g", "relu"]), &json!(null), &json!(null), 4),
        ))
        .launch(&with(
            2,
            same("d"),
            "storages",
            json!([storage("x_ptr", 1_u64 << 40, Some("d"), None)]),
        ));
    lies.frame(
        &json!({"frame": "skipped", "kernel": "other", "why": "`x` is a dict", "count": 3}),
        b"",
    )
    .end(11);
    let (_, collected) = collected(
        &[
            ("3-30.part", lies),
            ("2-20.part", killed),
            ("1-10.part", good),
            ("4-40.part", other_format),
            ("5-50.part", Part(b"not a part file at all, but text".to_vec())),
        ],
        "layout",
    );
    let reasons: Vec<String> = collected
        .skipped
        .iter()
        .map(|Skipped { kernel, why, count }| format!("{count} {kernel}: {why}"))
        .collect();
    insta::assert_snapshot!(format!(
        "{} launches, {} cases of {} kernels, {} repeated\n{}\n{}",
        collected.launches,
        collected.cases,
        collected.kernels,
        collected.repeated,
        reasons.join("\n"),
        collected.notes.join("\n")
    ));
}

#[test]
fn rules_say_which_launches_are_repeated() {
    let whole = floats(&[1.0, 2.0, 3.0, 4.0]);
    let process = || {
        let mut part = Part::default();
        part.process("3.9.0")
            .kernel(0, "add", ADD)
            .bytes("a", &whole)
            .bytes("b", &floats(&[0.5; 4]));
        let view = tensor(0, &[4], &[1], 0);
        for letter in ["a", "a", "b"] {
            part.launch(&json!({"args": args(&view, &view, &view, 4),
                "storages": [storage("x_ptr", 16, Some(letter), Some(letter))]}));
        }
        part.end(3);
        part
    };
    for (sample, cases) in [("layout", 1), ("data", 2), ("every", 6), ("5", 1)] {
        let (_, collected) = collected(&[("1-1.part", process()), ("2-2.part", process())], sample);
        assert_eq!(
            (collected.cases, collected.repeated),
            (cases, 6 - cases),
            "{sample}"
        );
    }
}

#[test]
fn launches_without_an_end_are_on_record() {
    let whole = floats(&[1.0, 2.0, 3.0, 4.0]);
    let view = tensor(0, &[4], &[1], 0);
    let launch = |grid: i64| {
        json!({"args": args(&view, &view, &view, 4), "grid": [grid],
            "storages": [storage("x_ptr", 16, Some("a"), None)]})
    };
    let mut part = Part::default();
    part.process("3.6.0").kernel(0, "add", ADD).bytes("a", &whole);
    let refused = part.begun(&launch(1));
    part.ended(refused, &json!({"refused": "add is undefined"}));
    let interrupted = part.begun(&launch(2));
    part.ended(interrupted, &json!({"left_out": "ended by KeyboardInterrupt"}));
    part.begun(&launch(3));
    let mut idle = Part::default();
    idle.frame(&json!({"frame": "python", "pid": 8, "triton": null}), b"")
        .frame(&json!({"frame": "python", "pid": 8, "triton": "3.6.0"}), b"");
    let (shown, collected) = collected(&[("7-100.part", part), ("8-101.part", idle)], "layout");
    let names = |of: &[cerith_recording::Unfinished]| -> Vec<(String, u64)> {
        of.iter().map(|one| (one.case.clone(), one.pid)).collect()
    };
    assert_eq!(names(&collected.refused), [("add/0001".to_owned(), 7)]);
    assert_eq!(names(&collected.running), [("add/0003".to_owned(), 7)]);
    assert_eq!(
        (collected.cases, collected.launches, collected.pythons),
        (2, 3, 1)
    );
    assert_eq!(collected.imported, ["3.6.0"]);
    let abouts: Vec<String> = shown
        .lines()
        .filter(|line| line.starts_with("about: "))
        .map(|line| line.replace('"', ""))
        .collect();
    assert_eq!(
        abouts,
        [
            "about: Launch 1 of add in `python train.py`. It was judged before it ran, and did not run.",
            "about: Launch 3 of add in `python train.py`. It was running when its process died.",
        ]
    );
    // The language that the kernel is written in is known.
    assert_eq!(
        shown
            .matches("recorded:\n  engine: interpret@3.6.0+host\n")
            .count(),
        2
    );
}

#[test]
fn launches_of_a_test_are_named_by_it() {
    let view = tensor(0, &[4], &[1], 0);
    let mut part = Part::default();
    part.process("3.6.0").bytes("a", &floats(&[1.0, 2.0, 3.0, 4.0]));
    let tests = [
        "unit/test_core.py::TestDot::test_dot[f16-a/b::c]",
        "unit/test_core.py::test_dot[f32]",
        "unit/test-core.py::test_dot",
    ];
    for (number, test) in tests.iter().enumerate() {
        part.kernel(
            number as u64,
            "kernel",
            &format!("{}\n# {number}\n", ADD.replace("def add", "def kernel")),
        );
        part.launch(
            &json!({"kernel": number, "test": test, "args": args(&view, &view, &view, 4),
            "storages": [storage("x_ptr", 16, Some("a"), Some("a"))]}),
        );
    }
    part.end(3);
    let (shown, _) = collected(&[("7-100.part", part)], "layout");
    let files: Vec<&str> = shown
        .lines()
        .filter(|line| line.ends_with("/0001.yaml"))
        .collect();
    assert_eq!(
        files,
        [
            "--- kernel-3/0001.yaml",
            "--- test_core/test_dot/0001.yaml",
            "--- test_core/test_dot-2/0001.yaml",
        ]
    );
    let abouts: Vec<String> = shown
        .lines()
        .filter(|line| line.starts_with("about: "))
        .map(|line| line.replace('"', ""))
        .collect();
    let expected = [
        "test-core.py::test_dot",
        tests[0].trim_start_matches("unit/"),
        "test_core.py::test_dot[f32]",
    ];
    assert_eq!(
        abouts,
        expected.map(|test| format!("about: Launch 1 of kernel in `unit/{test}`."))
    );
}

#[test]
fn a_layout_of_any_size_becomes_a_case() {
    const SHAPE: [i64; 2] = [1 << 19, 1 << 19];
    let view = tensor(0, &SHAPE, &[1 << 19, 1], 0);
    let launch = |storages: Value| json!({"args": args(&view, &view, &view, 4), "storages": storages});
    let mut part = Part::default();
    part.process("3.6.0")
        .kernel(0, "add", ADD)
        .bytes("a", &floats(&[1.0; 4]));
    part.launch(&launch(json!([storage("x_ptr", 1 << 40, None, None)])));
    // The larger one has no room for its bytes.
    part.launch(&launch(json!([
        storage("small", 16, Some("a"), None),
        storage("x_ptr", 1 << 40, Some("a"), None)
    ])));
    part.launch(&launch(json!([storage("x_ptr", (1 << 47) + 1, None, None)])));
    part.end(3);
    let (shown, collected) = collected(&[("7-100.part", part)], "layout");
    assert!(
        shown.contains("x_ptr: { dtype: f32, shape: [524288, 524288], fill: { random: "),
        "{shown}"
    );
    let reasons: Vec<&str> = collected.skipped.iter().map(|one| one.why.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "its storages have 1099511627792 bytes, more than the 268435456 of a case",
            "its storages have 140737488355329 bytes, more than the 140737488355328 of a case"
        ]
    );
}
