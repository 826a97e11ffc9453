//! Example uses of each public name of Triton's language: the lines of `coverage/probes.txt`. [`crate::coverage`] builds
//! kernels from them.

use std::collections::HashMap;
use std::sync::LazyLock;

/// One use of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// Arguments, separated by `;`.
    Call(&'static str),
    /// A statement or an expression, with `$` for the name.
    Text(&'static str),
    /// No kernel writes it.
    Never(&'static str),
}

static PROBES: LazyLock<HashMap<&'static str, Probe>> = LazyLock::new(|| {
    include_str!("coverage/probes.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(':'))
        .map(|(name, probe)| {
            let probe = probe.trim();
            let is_method = name.starts_with("tensor.") || name.starts_with("tensor_descriptor.");
            let probe = match probe.strip_prefix('!') {
                Some(why) => Probe::Never(why.trim()),
                None if probe.is_empty() => Probe::Text("$"),
                None if probe.contains('$') || is_method => Probe::Text(probe),
                None => Probe::Call(probe),
            };
            (name, probe)
        })
        .collect()
});

/// The probe of a name, which may be one for every spelling of it.
pub(crate) fn probe(name: &str) -> Option<Probe> {
    let short = name.rsplit('.').next().unwrap_or(name);
    PROBES.get(name).or_else(|| PROBES.get(short)).copied()
}

/// Returns the name as written in the list of probes, without its home.
pub(crate) fn find_probe_name(home: &str, name: &str) -> Option<&'static str> {
    let known = |key: &str| PROBES.get_key_value(key).map(|(key, _)| *key);
    known(name).or_else(|| known(&format!("{home}.{name}")).and_then(|key| key.rsplit('.').next()))
}
