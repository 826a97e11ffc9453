//! A digest as one HTML page that needs nothing else: no scripts from elsewhere, no fonts, no server.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment};

use crate::bytes;
use crate::digest::Digest;
use crate::event::{Difference, Event, Verdict};
use crate::human::{Human, rules};

/// The page cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("make the HTML page: {0}")]
pub struct HtmlError(#[from] minijinja::Error);

/// The page.
pub fn html(digest: &Digest) -> Result<String, HtmlError> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_syntax(
        SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()?,
    );
    environment.add_filter("seconds", |seconds: f64| {
        if seconds >= 1.0 {
            format!("{seconds:.2} s")
        } else if seconds >= 1e-3 {
            format!("{:.1} ms", seconds * 1e3)
        } else {
            format!("{:.0} µs", seconds * 1e6)
        }
    });
    environment.add_template("report", include_str!("templates/report.html"))?;
    let failed: u64 = digest.areas.values().map(|area| area.failed).sum();
    let page = Page {
        digest,
        gate: digest.gate(),
        failed,
        failures: digest.failures.iter().map(Shown::of).collect(),
        differences: digest.differences.iter().map(Shown::of).collect(),
        others: digest.others.iter().map(Shown::of).collect(),
    };
    Ok(environment.get_template("report")?.render(Serde(&page))?)
}

/// What the template sees.
#[derive(serde::Serialize)]
struct Page<'a> {
    digest: &'a Digest,
    gate: &'static str,
    failed: u64,
    failures: Vec<Shown<'a>>,
    differences: Vec<Shown<'a>>,
    others: Vec<Shown<'a>>,
}

/// A verdict as the template wants it.
#[derive(serde::Serialize)]
struct Shown<'a> {
    verdict: &'a Verdict,
    headline: String,
    differences: &'a [Difference],
    stale: bool,
    rules: Vec<String>,
    /// How many bytes were held against each other, and what was left out.
    bytes: Vec<String>,
}

fn counted(verdict: &Verdict) -> Vec<String> {
    let all = verdict
        .bytes
        .any_looked_at()
        .then(|| bytes::in_words(verdict.bytes));
    all.into_iter()
        .chain(bytes::left_out(&verdict.left_out))
        .collect()
}

impl<'a> Shown<'a> {
    fn of(verdict: &'a Verdict) -> Self {
        let text = Human::default().event(&Event::Verdict(Box::new(verdict.clone())));
        let line = text.lines().next().unwrap_or_default();
        // The page shows the case by itself.
        let headline = line
            .split_once(verdict.case.as_str())
            .map_or("", |(_, rest)| rest)
            .trim()
            .to_owned();
        Self {
            verdict,
            headline,
            differences: &verdict.differences,
            stale: verdict.has_stale(),
            bytes: counted(verdict),
            rules: rules(&verdict.rules),
        }
    }
}
