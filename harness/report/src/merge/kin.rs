//! Decides whether streams are shards of one run, and finds the command that makes such a shard.

use crate::event::Start;

/// The number of a shard, and the number of all shards. A run without shards is shard 1 of 1.
pub fn shard_of(start: &Start) -> (u64, u64) {
    let parsed = start.shard.as_deref().and_then(|shard| {
        let (index, count) = shard.split_once('/')?;
        let (index, count): (u64, u64) = (index.parse().ok()?, count.parse().ok()?);
        (1..=count).contains(&index).then_some((index, count))
    });
    parsed.unwrap_or((1, 1))
}

/// The reasons why two streams are not of the same run, about the second one.
pub fn describe_differences(model: &Start, other: &Start) -> Vec<String> {
    let mut found = Vec::new();
    let mut held = |what: &str, wanted: String, given: String| {
        if wanted != given {
            found.push(format!("{what} {given} in place of {wanted}"));
        }
    };
    held("format", model.format.to_string(), other.format.to_string());
    held("cerith", model.cerith.clone(), other.cerith.clone());
    // A value that an older stream lacks is not a difference.
    if !model.corpus_hash.is_empty() && !other.corpus_hash.is_empty() {
        let short = |hash: &str| hash.chars().take(12).collect();
        held(
            "a corpus of hash",
            short(&model.corpus_hash),
            short(&other.corpus_hash),
        );
    }
    if model.total > 0 && other.total > 0 {
        held(
            "another number of cases:",
            model.total.to_string(),
            other.total.to_string(),
        );
    }
    let count = |start: &Start| shard_of(start).1.to_string();
    held("another number of shards:", count(model), count(other));
    held("engines", join_engines(model), join_engines(other));
    held(
        "filters",
        quote_words(&model.filters),
        quote_words(&other.filters),
    );
    held("axes", quote_words(&model.axes), quote_words(&other.axes));
    let checks = |start: &Start| start.checks.clone().unwrap_or_else(|| "full".to_owned());
    held("checks", checks(model), checks(other));
    let masked = |start: &Start| start.masked.clone().unwrap_or_else(|| "undefined".to_owned());
    held("masked", masked(model), masked(other));
    held(
        "schedules",
        model.schedules.to_string(),
        other.schedules.to_string(),
    );
    let allowed = |start: &Start| start.allow_unavailable.to_string();
    held("allow-unavailable", allowed(model), allowed(other));
    let baseline = |start: &Start| match start.baseline.as_str() {
        "" => "none".to_owned(),
        named => format!("`{named}`"),
    };
    held("baseline", baseline(model), baseline(other));
    let last_failed = |start: &Start| start.last_failed.to_string();
    held("last-failed", last_failed(model), last_failed(other));
    found
}

/// The requested engines. A shard on a machine that lacks one of them is still a shard of the same run.
fn join_engines(start: &Start) -> String {
    let left_out = start.left_out.iter().map(|left_out| &left_out.engine);
    let mut all: Vec<&str> = start.engines.iter().chain(left_out).map(String::as_str).collect();
    all.sort_unstable();
    all.dedup();
    all.join(" ")
}

fn quote_words(all: &[String]) -> String {
    if all.is_empty() {
        "none".to_owned()
    } else {
        format!("`{}`", all.join(" "))
    }
}

/// The command that makes a shard of a run.
pub fn build_command(start: &Start, index: u64, count: u64) -> String {
    let mut words = vec!["cerith run".to_owned()];
    let plain = |word: &str| {
        let safe = |c: char| c.is_ascii_alphanumeric() || "/_-.:=,@+".contains(c);
        if word.chars().all(safe) {
            word.to_owned()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    if !start.corpus.is_empty() {
        words.push(format!("--cases {}", plain(&start.corpus)));
    }
    words.extend(start.filters.iter().map(|filter| plain(filter)));
    if !start.by_default {
        words.extend(
            start
                .engines
                .iter()
                .map(|engine| format!("--engine {}", plain(engine))),
        );
    }
    if let Some(checks) = &start.checks {
        words.push(format!("--checks {}", plain(checks)));
    }
    if let Some(masked) = &start.masked {
        words.push(format!("--masked {}", plain(masked)));
    }
    if start.schedules > 0 {
        words.push(format!("--schedules {}", start.schedules));
    }
    if start.allow_unavailable {
        words.push("--allow-unavailable".to_owned());
    }
    if !start.baseline.is_empty() {
        words.push(format!("--baseline {}", plain(&start.baseline)));
    }
    if count > 1 {
        words.push(format!("--shard {index}/{count}"));
    }
    words.push("--out DIR".to_owned());
    words.join(" ")
}
