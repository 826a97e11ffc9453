//! Runs the commands of a page and compares their output with it.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{Part, fits, parse_parts, strip_volatile};

/// Copies a folder with everything in it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let from = entry.expect("an entry").path();
        let to = to.join(from.file_name().expect("a name"));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).expect("a copy");
        }
    }
}

/// Runs the commands of the page at `path` in order, in `folder`, and compares the output. `home` is a folder below it for
/// `CERITH_HOME`.
pub fn check_page(path: &Path, folder: &Path, home: Option<&str>) {
    let text = fs::read_to_string(path).expect("a page");
    let mut written = String::new();
    let mut wrong = Vec::new();
    for part in parse_parts(&text) {
        let Part::Command {
            line,
            command,
            output,
        } = part
        else {
            written.push_str(part.text());
            continue;
        };
        let printed = strip_volatile(&run(command, folder, home));
        written.push_str(line);
        if fits(output, &printed) {
            written.push_str(output);
        } else {
            written.push_str(&printed);
            wrong.push(format!("$ {command}\n{printed}\n--- and the page says\n{output}"));
        }
    }
    if std::env::var_os("CERITH_DOCS").is_some_and(|what| what == "write") {
        fs::write(path, written).expect("a page");
    } else {
        assert!(wrong.is_empty(), "{}:\n{}", path.display(), wrong.join("\n\n"));
    }
}

/// The output of a command, errors included.
fn run(command: &str, folder: &Path, home: Option<&str>) -> String {
    let bin = Path::new(env!("CARGO_BIN_EXE_cerith"))
        .parent()
        .expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("bash");
    shell
        .args(["-c", &format!("exec 2>&1; {command}")])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("CI", "1")
        .env_remove("CLICOLOR_FORCE");
    if let Some(home) = home {
        shell.env("CERITH_HOME", folder.join(home));
    }
    let output = shell.output().expect("a shell");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
