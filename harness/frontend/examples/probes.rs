//! Prints the kernels of `cerith_frontend::coverage` for the names on standard input, one a line, as JSON: for
//! `tests/golden/coverage.py`, which asks Triton about them.

use std::io::BufRead as _;

use cerith_frontend::coverage::{build_kernel, has_dtypes};
use cerith_tile::rules::{Rules, Version};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let version: Version = std::env::args().nth(1).ok_or("which version?")?.parse()?;
    let rules = Rules::from_version(version);
    for name in std::io::stdin().lock().lines() {
        let name = name?;
        if let Some(text) = build_kernel(&name, rules) {
            let row = serde_json::json!({"name": name, "dtypes": has_dtypes(&name, rules), "text": text});
            println!("{row}");
        }
    }
    Ok(())
}
