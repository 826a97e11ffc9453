//! Compares the programs that each version's compiler accepts, its passes included, with the compilers themselves.
//!
//! `golden/acceptance.txt` records the outcomes of some thousand small programs in Triton 3.0.0 to 3.9.0.
//! `golden/acceptance.py` wrote and documents it. `golden/acceptance_deviations.txt` lists the known differences of the
//! reference and their reasons: a program, dtypes, versions and the reference's outcome.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::common::Program;
use cerith_frontend::RequestArg;
use cerith_tile::DType;
use cerith_tile::ir::Elem;
use cerith_tile::rules::{Rules, Version};

/// The tested versions, in the table's order.
const VERSIONS: [&str; 10] = [
    "3.0.0", "3.1.0", "3.2.0", "3.3.1", "3.4.0", "3.5.1", "3.6.0", "3.7.1", "3.8.0", "3.9.0",
];

/// An entry of the table.
struct Entry<'a> {
    name: &'a str,
    dtypes: Vec<&'a str>,
    text: String,
    /// For each version, a letter for each dtype; empty if the version was not tested.
    verdicts: Vec<&'a str>,
}

/// The definitions that programs may name.
struct Preamble<'a> {
    head: &'a str,
    chunks: Vec<(&'a str, &'a str)>,
    kernel: &'a str,
}

fn split_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
}

impl<'a> Preamble<'a> {
    fn new(text: &'a str) -> Self {
        let mut chunks: Vec<&str> = text.split("\n\n\n").collect();
        let kernel = chunks.pop().expect("a kernel");
        let head = chunks.remove(0);
        let named = chunks.into_iter().map(|chunk| {
            let line = chunk
                .lines()
                .find_map(|line| line.strip_prefix("def ").or_else(|| line.strip_prefix("class ")))
                .expect("a definition");
            (split_words(line).next().expect("a name"), chunk)
        });
        Self {
            head,
            chunks: named.collect(),
            kernel,
        }
    }

    /// A file of what a body names and the body.
    fn build_file(&self, body: &str) -> String {
        let mut seen: HashSet<&str> = HashSet::new();
        let mut wanted = vec![body];
        while let Some(text) = wanted.pop() {
            for word in split_words(text) {
                if let Some((name, chunk)) = self.chunks.iter().find(|(name, _)| *name == word)
                    && seen.insert(name)
                {
                    wanted.push(chunk);
                }
            }
        }
        let mut parts = vec![self.head.to_owned()];
        parts.extend(
            self.chunks
                .iter()
                .filter(|(name, _)| seen.contains(name))
                .map(|(_, chunk)| (*chunk).to_owned()),
        );
        let is_file = body
            .lines()
            .any(|line| line.starts_with("def k(") || line.starts_with("k = "));
        parts.push(if is_file {
            body.to_owned()
        } else {
            let lines: String = body.lines().map(|line| ["    ", line, "\n"].concat()).collect();
            [self.kernel, &lines].concat()
        });
        parts.join("\n\n\n")
    }
}

fn parse_entries<'a>(table: &'a str, preamble: &Preamble<'_>) -> Vec<Entry<'a>> {
    let programs: HashMap<&str, &str> = include_str!("../golden/programs_3.9.0.txt")
        .split("=== ")
        .skip(1)
        .filter_map(|entry| {
            let (name, rest) = entry.split_once('\n')?;
            Some((name, rest.split_once("--- ")?.0))
        })
        .collect();
    let mut entries = Vec::new();
    for entry in table.split("\n=== ").skip(1) {
        let (header, rest) = entry.split_once('\n').expect("a line");
        let (name, dtypes) = header.split_once(" @@ ").unwrap_or((header, "i32"));
        let (own, rest) = rest.split_once("--- ").expect("verdicts");
        let said = rest.lines().next().unwrap_or_default();
        let (said, left_out) = said.split_once(" ? ").unwrap_or((said, ""));
        let mut changes = said
            .split(", ")
            .map(|word| word.split_once(' ').expect("a version"));
        let mut verdicts: Vec<&str> = Vec::new();
        let mut next = changes.next();
        let mut now = "";
        for version in VERSIONS {
            if let Some((letters, since)) = next
                && since == version
            {
                now = letters;
                next = changes.next();
            }
            let asked = !left_out.split(' ').any(|left_out| left_out == version);
            verdicts.push(if asked { now } else { "" });
        }
        let body = match name.strip_prefix("programs/") {
            Some(name) => programs.get(name).copied().expect("a program"),
            None if own.is_empty() => name,
            None => own,
        };
        entries.push(Entry {
            name,
            dtypes: dtypes.split(' ').collect(),
            text: preamble.build_file(body),
            verdicts,
        });
    }
    entries
}

fn parse_dtype(name: &str) -> DType {
    DType::ALL
        .into_iter()
        .find(|dtype| dtype.to_string() == name || dtype.triton_name() == name)
        .or(match name {
            "fp8e4nv" => Some(DType::F8E4NV),
            "fp8e5" => Some(DType::F8E5),
            "fp8e4b15" => Some(DType::F8E4B15),
            _ => None,
        })
        .unwrap_or_else(|| panic!("the dtype {name}"))
}

/// `accepted`, or the refusal's kind and text.
fn describe_outcome(text: &str, elem: &str, version: Version) -> String {
    let elem = RequestArg::Pointer(Elem::Num(parse_dtype(elem)));
    let program = Program::from_file(text)
        .with_args([elem, RequestArg::Int(5)])
        .with_arg("C", RequestArg::Int(3))
        .with_rules(Rules::from_version(version));
    match program.traced() {
        Ok(_) => "accepted".to_owned(),
        Err(refusal) => refusal,
    }
}

/// A program, a dtype, a version, and the reference's outcome.
type Outcome = (String, String, String, String);

/// Lists the differences between the reference and the compilers in a part of the table.
fn find_deviations(entries: &[Entry<'_>]) -> Vec<Outcome> {
    let mut found = Vec::new();
    for entry in entries {
        for (version, letters) in VERSIONS.iter().zip(&entry.verdicts) {
            for (elem, letter) in entry.dtypes.iter().zip(letters.chars()) {
                let ours = describe_outcome(&entry.text, elem, version.parse().expect("a version"));
                let kind = ours.lines().next().unwrap_or_default();
                if kind == "unsupported" || (letter == 'a') != (kind == "accepted") {
                    found.push((
                        entry.name.to_owned(),
                        (*elem).to_owned(),
                        (*version).to_owned(),
                        kind.to_owned(),
                    ));
                }
            }
        }
    }
    found
}

/// The listed deviations.
fn read_deviations() -> BTreeSet<Outcome> {
    let mut rows = BTreeSet::new();
    for line in include_str!("../golden/acceptance_deviations.txt").lines() {
        if line.is_empty() || line.starts_with("# ") {
            continue;
        }
        let mut parts = line.rsplitn(4, " | ");
        let kind = parts.next().expect("an outcome");
        let versions = parts.next().expect("versions");
        let dtypes = parts.next().expect("dtypes");
        let name = parts.next().expect("a name");
        for dtype in dtypes.split(' ') {
            for version in versions.split(' ') {
                rows.insert((
                    name.to_owned(),
                    dtype.to_owned(),
                    version.to_owned(),
                    kind.to_owned(),
                ));
            }
        }
    }
    rows
}

#[test]
fn programs_are_accepted_as_by_each_versions_compiler() {
    let preamble = Preamble::new(include_str!("../golden/programs.py"));
    let table = ["\n", include_str!("../golden/acceptance.txt")].concat();
    let entries = parse_entries(&table, &preamble);
    let asked: usize = entries
        .iter()
        .flat_map(|entry| &entry.verdicts)
        .map(|letters| letters.len())
        .sum();
    assert!(
        entries.len() > 5000 && asked > 30_000,
        "{} programs, {asked} verdicts",
        entries.len()
    );
    let found: BTreeSet<Outcome> = std::thread::scope(|scope| {
        let parts: Vec<_> = entries
            .chunks(entries.len().div_ceil(4))
            .map(|part| scope.spawn(move || find_deviations(part)))
            .collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().expect("a thread"))
            .collect()
    });
    if let Ok(path) = std::env::var("CERITH_ACCEPTANCE_DEVIATIONS") {
        let lines: Vec<String> = found
            .iter()
            .map(|(name, dtype, version, kind)| format!("{name}\t{dtype}\t{version}\t{kind}"))
            .collect();
        std::fs::write(path, lines.join("\n")).expect("a file");
    }
    let listed = read_deviations();
    let new: Vec<_> = found.difference(&listed).take(40).collect();
    let gone: Vec<_> = listed.difference(&found).take(40).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "not listed: {new:#?}\nno longer so: {gone:#?}"
    );
    assert!(found.len() * 30 < asked, "{} of {asked} verdicts", found.len());
}
