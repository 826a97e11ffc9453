//! `cerith compare`: what it prints and how it ends, and that stand-ins for tensors are as torch's own. The latter needs a
//! toolchain that holds torch.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use cerith_needs::{Need, Tests, named};
use cerith_toolchain::{Home, ToolchainId};
use serde_json::Value;
use tempfile::TempDir;

const KERNEL: &str = "\
import triton
import triton.language as tl


@triton.jit
def one(x):
    tl.store(x, 1.0)
";

const CASE: &str = "\
about: One is stored.
kernel: k.py:one
storages:
  x: { dtype: f32, shape: [1], fill: zeros }
launches:
  - { grid: [1], args: { x: x } }
";

fn run_cerith(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cerith"))
        .args(args)
        .current_dir(folder)
        .env("CERITH_HOME", folder.join("home"))
        .env("CI", "1")
        .output()
        .expect("cerith starts")
}

fn it_says_what_differs_and_how_it_ended() {
    let folder = TempDir::new().expect("a folder");
    fs::create_dir_all(folder.path().join("cases/area")).expect("folders");
    fs::write(folder.path().join("cases/area/k.py"), KERNEL).expect("a file");
    fs::write(folder.path().join("cases/area/one.yaml"), CASE).expect("a file");
    let check = |args: &[&str], code: i32, out: &str, err: &str| {
        let done = run_cerith(folder.path(), args);
        let shown = [
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr),
        ];
        assert_eq!(done.status.code(), Some(code), "{shown:?}");
        assert!(shown[0].contains(out) && shown[1].contains(err), "{shown:?}");
    };
    // There are no records here, and there is no toolchain.
    let absent = ["compare", "reference", "cuda@3.9.0", "--offline"];
    check(
        &absent,
        1,
        "area/one\n  reference: finished\n  cuda@3.9.0: unavailable: no-recording: no recorded outcome",
        "",
    );
    check(
        &absent,
        1,
        "reference and cuda@3.9.0: 1 cases, 0 the same (0 finished), 1 differ, 0 differ as the case file expects, 0 differ and have no \
         defined answer",
        "",
    );
    check(
        &[&absent[..], &["--format", "jsonl"]].concat(),
        1,
        r#"{"case":"area/one","same":false,"outcomes":["finished","unavailable"],"#,
        "",
    );
    check(&["compare", "reference", "reference"], 2, "", "name two");
    check(
        &["compare", "reference", "interpret@3.9.0", "--offline"],
        2,
        "",
        "Triton 3.9.0 is not installed",
    );
    check(
        &[&absent[..], &["other/"]].concat(),
        2,
        "",
        "no case matches `other/`",
    );
}

/// The confirmation that everything said of `interpret@V` rests on: the same cases with stand-ins and with torch's own
/// tensors, on the CPU, end alike, word for word and byte for byte. These are the areas in which a tensor's layout
/// matters; `.ci/gpu-host` compares the whole corpus, which takes minutes.
fn stand_ins_are_as_torchs_own_tensors() {
    let home = Home::discover().expect("a home");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let all = home.list().expect("a list");
    let mut tritons: Vec<_> = all
        .iter()
        .filter(|toolchain| toolchain.contents.torch.is_some())
        .map(|toolchain| ToolchainId::from_triton(toolchain.triton()))
        .filter(|id| home.resolve_torch(id, false).is_some() && home.resolve(id).is_some())
        .collect();
    tritons.dedup();
    assert!(
        !tritons.is_empty(),
        "a toolchain that holds torch, and its Triton without"
    );
    for triton in tritons {
        let [ours, theirs] = ["", "+torch"].map(|extra| format!("interpret@{triton}{extra}+host"));
        let done = Command::new(env!("CARGO_BIN_EXE_cerith"))
            .args(["compare", &ours, &theirs, "alias", "layout", "pointer"])
            .args(["--offline", "--format", "jsonl"])
            .current_dir(&root)
            .env("CERITH_HOME", home.root())
            .output()
            .expect("cerith starts");
        let text = String::from_utf8_lossy(&done.stdout);
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect(line))
            .collect();
        let differing: Vec<&Value> = lines
            .iter()
            .filter(|line| line["same"] == false && line["undefined"].is_null())
            .collect();
        assert!(differing.is_empty(), "{triton}: {differing:#?}");
        let counts = lines.last().expect("counts");
        assert!(
            counts["finished"].as_u64() > Some(400) && counts["failed"] == 0,
            "{triton}: {counts}"
        );
    }
}

pub fn tests() -> Tests {
    Tests::new()
        .without_needs(&named![it_says_what_differs_and_how_it_ended])
        .with_needs(&[Need::Torch], &named![stand_ins_are_as_torchs_own_tensors])
}
