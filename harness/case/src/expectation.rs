//! Expectations: documented exceptions to "every engine agrees with the reference". See `cerith-verdict` for checking
//! them.

use cerith_tile::quirk::Quirks;
use cerith_tile::rules::Version;
use cerith_tile::source::Span;

use crate::variant::Axis;
use crate::versions::VersionRange;

/// A written-down exception: these engines, these versions, this verdict or outcome, why, and a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// The engines that it applies to, at least one.
    pub engines: Vec<EnginePattern>,
    /// The versions of those engines; of the reference, those whose language it judges by.
    pub versions: VersionRange,
    /// The axes of a sweep that it applies to. An expectation usually has none, and then does not apply to sweeps;
    /// one with axes applies only to sweeps.
    pub axes: Vec<Axis>,
    /// The verdict of the case with such an engine; any when none is given.
    pub verdict: Option<VerdictKind>,
    /// The engine's own outcome; `None` accepts any.
    pub outcome: Option<OutcomeKind>,
    /// A part of the engine's message.
    pub message: Option<String>,
    /// The known bugs that explain what the engine left. All bugs that explain it are among them. With none, the cause is not
    /// checked.
    pub quirks: Quirks,
    /// The reason, as text.
    pub reason: String,
    /// A link to more information.
    pub link: Option<String>,
    /// Its location.
    pub span: Span,
}

impl Expectation {
    /// Whether it applies to this engine, judging by the language of version `rules`.
    pub fn applies_to(&self, engine: &str, rules: Version) -> bool {
        self.engines
            .iter()
            .any(|pattern| pattern.matches(engine, rules, &self.versions))
    }

    /// Whether it was written for this engine, so that it has to happen. An expectation for a compiler without a
    /// target was seen with the code for the GPU that executes; code for other targets may do the same. So may a
    /// stage of the compiler, if it is that stage that is wrong. `ptx:sm_90a` executes the code of `cuda`, but without the
    /// assembler and the GPU, so it is binding there only if it is about the code that both share.
    pub fn is_binding(&self, engine: &str) -> bool {
        let Some(engine) = EnginePattern::parse(engine) else {
            return true;
        };
        if engine.is_hopper_ptx() {
            return self.engines.iter().any(EnginePattern::is_hopper_ptx) || self.is_of_shared_code();
        }
        let is_stage = STAGES.contains(&engine.name.as_str());
        if engine.target.is_none() && !is_stage {
            return true;
        }
        self.engines
            .iter()
            .any(|pattern| pattern.target == engine.target && (!is_stage || pattern.name == engine.name))
    }

    /// Whether it is about the code that `cuda` and `ptx:sm_90a` share, and not about the assembler or the GPU: Triton rejects the
    /// kernel, or another engine without both shows the same.
    fn is_of_shared_code(&self) -> bool {
        let names = |name: &str| {
            self.engines
                .iter()
                .any(|engine| engine.name == name && engine.target.is_none())
        };
        let is_compilers = self.outcome == Some(OutcomeKind::Rejected);
        names("cuda") && (is_compilers || names("ptx") || STAGES.into_iter().any(names))
    }

    /// Whether it applies to this engine among a case's expectations: an expectation that names the engine itself goes before
    /// one that names an engine with the same code ([`EnginePattern::matches_name`]).
    pub fn applies_among(&self, all: &[Self], engine: &str, rules: Version) -> bool {
        let names = |one: &Self| {
            one.engines
                .iter()
                .any(|pattern| pattern.matches_name(engine) && pattern.matches(engine, rules, &one.versions))
        };
        // Expectations for sweeps don't compete with those for the plain case.
        let mut others = all
            .iter()
            .filter(|other| other.axes.is_empty() == self.axes.is_empty());
        self.applies_to(engine, rules) && (names(self) || !others.any(names))
    }
}

/// One line: engines, versions, what is expected, why, and the link.
impl std::fmt::Display for Expectation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (nth, engine) in self.engines.iter().enumerate() {
            write!(f, "{}{engine}", if nth > 0 { ", " } else { "" })?;
        }
        write!(f, " {}", self.versions)?;
        for (nth, axis) in self.axes.iter().enumerate() {
            write!(f, "{}{axis}", if nth > 0 { ", " } else { " over " })?;
        }
        f.write_str(":")?;
        if let Some(verdict) = self.verdict {
            write!(f, " verdict {verdict}")?;
        }
        if let Some(outcome) = self.outcome {
            write!(f, " outcome {outcome}")?;
        }
        if let Some(message) = &self.message {
            write!(f, " with {message:?}")?;
        }
        if !self.quirks.is_empty() {
            f.write_str(" by")?;
            for (nth, quirk) in self.quirks.iter().enumerate() {
                write!(f, "{}{quirk}", if nth > 0 { ", " } else { " " })?;
            }
        }
        write!(f, ": {}", self.reason)?;
        if let Some(link) = &self.link {
            write!(f, " ({link})")?;
        }
        Ok(())
    }
}

macro_rules! words {
    ($(#[doc = $doc:literal])+ $kind:ident { $( $(#[doc = $variant_doc:literal])+ $variant:ident = $word:literal, )+ }) => {
        $(#[doc = $doc])+
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize
        )]
        pub enum $kind { $( $(#[doc = $variant_doc])+ #[serde(rename = $word)] $variant, )+ }

        impl $kind {
            /// Every one of them.
            pub const ALL: &'static [Self] = &[$( Self::$variant, )+];

            /// The word that files and reports use.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$variant => $word, )+ }
            }

            /// The one of this word.
            pub fn from_name(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.name() == word)
            }
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

pub(crate) use words;

words! {
    /// The result of comparing outcomes, in one word.
    VerdictKind {
        /// The engines' outcomes are the same.
        Agree = "agree",
        /// Results differ, and an engine is to blame.
        Differ = "differ",
        /// An engine's launches of the same kernel on the same memory produce different results.
        Nondeterministic = "nondeterministic",
        /// The program has no defined answer.
        Undefined = "undefined",
        /// The verdict can't be decided.
        Inconclusive = "inconclusive",
    }
}

words! {
    /// The outcome of one engine, in one word.
    OutcomeKind {
        /// All launches finished.
        Finished = "finished",
        /// A compile-time error.
        Rejected = "rejected",
        /// Undefined behaviour, a failed assertion, a fault.
        Trapped = "trapped",
        /// The engine does not support the case.
        Unsupported = "unsupported",
        /// Out of time, memory or fuel.
        Exhausted = "exhausted",
        /// The process died.
        Crashed = "crashed",
        /// No GPU, no toolchain.
        Unavailable = "unavailable",
    }
}

/// An engine as an expectation names it: `reference`, `interpret`, `interpret+host`, `interpret@3.2.0+numpy2`, `cuda`,
/// `inductor@2.11.0+interpret`.
///
/// The name must be equal, and so must `+host`. The `+interpret` and `+cuda` of an `inductor` must be equal when the
/// pattern has one, because Inductor does the same for every engine that executes its launches; `inductor+reference`
/// is the one with neither. A version must be equal when the pattern has one, and so must a build
/// (`cuda@3.9.0+pr-1234`) and the GPU that a compiler compiles for (`cuda:sm_80`). A `+numpy…` must be a prefix of
/// the engine's: `+numpy2` matches `…+numpy2` and `…+numpy2.3.5`, but no engine whose id has no NumPy version.
///
/// A pattern for a compiler or an interpreter also matches engines that use it: `cuda` matches `jit`, and `interpret`
/// matches `interpret+torch`, but not the other way round. `cuda` also matches each of its stages (`ttir`,
/// `ttir:source`, `ttgir`), even if the expectation need not be true of them. If a case names `jit` or
/// `interpret+torch` itself, that expectation applies to it.
///
/// `ptx` is the PTX for `sm_80`. `ptx:sm_90a` executes what `cuda` compiles for Hopper, so `cuda` matches it, and so does
/// `ptx`, because much of the code is the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EnginePattern {
    /// The name before `@`.
    pub name: String,
    /// The version after `@`.
    pub version: Option<Version>,
    /// Whether arguments are CPU tensors.
    pub host: bool,
    /// The executor of the launches that Inductor's code makes, if given: `reference`, `interpret` or `cuda`.
    pub executor: Option<String>,
    /// Whether arguments are torch's own tensors.
    pub torch: bool,
    /// The version after `+numpy`.
    pub numpy: Option<String>,
    /// The build of the version: `pr-1234`.
    pub build: Option<String>,
    /// The target of a compiler, if it is not the GPU that executes: `sm_80`. For Triton's IR, `source` if it comes
    /// straight from the frontend.
    pub target: Option<String>,
}

/// Whether a word names what a compiler compiles for: `sm_80`.
fn is_target(word: &str) -> bool {
    let digits = word.strip_prefix("sm_");
    digits.is_some_and(|digits| digits.len() > 1 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a word names a build: it has a digit or a hyphen, as no word of an engine's own has.
fn is_build(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
        && word.contains(|c: char| c.is_ascii_digit() || c == '-')
}

/// The target of `ptx` that has a name.
const HOPPER: &str = "sm_90a";

/// Engines that are the IR of a stage of the compiler.
const STAGES: [&str; 2] = ["ttir", "ttgir"];

/// Possible executors of the launches of an `inductor`. The first is the default for an id without one.
const EXECUTORS: [&str; 3] = ["reference", "interpret", "cuda"];

impl EnginePattern {
    /// The engines that there are.
    pub const NAMES: &'static [&'static str] = &[
        "reference",
        "interpret",
        "cuda",
        "jit",
        "inductor",
        "recorded",
        "ttir",
        "ttgir",
        "ptx",
        "fpsan",
    ];

    /// Reads an engine's id or a pattern for some; `None` when it is no such thing. Names are not looked up.
    pub fn parse(text: &str) -> Option<Self> {
        let (text, target) = match text.split_once(':') {
            Some((text, target)) => (text, Some(target)),
            None => (text, None),
        };
        let mut parts = text.split('+');
        let mut head = parts.next()?.splitn(2, '@');
        let name = head.next().filter(|name| !name.is_empty())?.to_owned();
        let version = match head.next() {
            Some(version) => Some(version.parse().ok()?),
            None => None,
        };
        let is_known = |target: &str| match name.as_str() {
            "cuda" => is_target(target),
            "ttir" => target == "source",
            "ptx" => target == HOPPER,
            _ => false,
        };
        if !target.is_none_or(is_known) {
            return None;
        }
        let (mut host, mut torch, mut by, mut numpy, mut build) = (false, false, None, None, None);
        for part in parts {
            match part.strip_prefix("numpy") {
                Some(pin) if !pin.is_empty() && numpy.is_none() => numpy = Some(pin.to_owned()),
                None if part == "host" && !host => host = true,
                None if name == "inductor" && EXECUTORS.contains(&part) && by.is_none() => {
                    by = Some(part.to_owned());
                }
                None if part == "torch" && !torch => torch = true,
                None if version.is_some() && build.is_none() && is_build(part) => {
                    build = Some(part.to_owned());
                }
                _ => return None,
            }
        }
        Some(Self {
            name,
            version,
            host,
            executor: by,
            torch,
            numpy,
            build,
            target: target.map(str::to_owned),
        })
    }

    /// Whether the pattern has the name of the engine of this id, rather than that of an engine with the same code.
    pub fn matches_name(&self, engine: &str) -> bool {
        Self::parse(engine).is_some_and(|engine| {
            (&self.name, self.torch) == (&engine.name, engine.torch)
                && self.is_hopper_ptx() == engine.is_hopper_ptx()
        })
    }

    /// Whether it is `ptx:sm_90a`.
    fn is_hopper_ptx(&self) -> bool {
        self.name == "ptx" && self.target.as_deref() == Some(HOPPER)
    }

    /// Whether the engine of this id is meant, being of a version in `versions`. An engine without a version
    /// (`reference`) is of that whose language it judges by, `rules`.
    pub fn matches(&self, engine: &str, rules: Version, versions: &VersionRange) -> bool {
        Self::parse(engine).is_some_and(|engine| {
            let is_compilers = engine.name == "jit"
                || STAGES.contains(&engine.name.as_str())
                || (engine.is_hopper_ptx() && self.target.is_none());
            (self.name == engine.name || (self.name == "cuda" && is_compilers))
                && (engine.torch || !self.torch)
                && self.host == engine.host
                && self
                    .executor
                    .as_ref()
                    .is_none_or(|by| by == engine.executor.as_deref().unwrap_or(EXECUTORS[0]))
                && (self.version.is_none() || self.version == engine.version)
                && (self.build.is_none() || self.build == engine.build)
                && (self.target.is_none() || self.target == engine.target)
                && self.numpy.as_deref().is_none_or(|wanted| {
                    let given = engine.numpy.as_deref().unwrap_or_default();
                    given
                        .strip_prefix(wanted)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                })
                && versions.contains(engine.version.unwrap_or(rules))
        })
    }
}

impl std::fmt::Display for EnginePattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        if let Some(version) = self.version {
            write!(f, "@{version}")?;
        }
        if let Some(build) = &self.build {
            write!(f, "+{build}")?;
        }
        if let Some(numpy) = &self.numpy {
            write!(f, "+numpy{numpy}")?;
        }
        if self.torch {
            f.write_str("+torch")?;
        }
        if self.host {
            f.write_str("+host")?;
        }
        if let Some(by) = &self.executor {
            write!(f, "+{by}")?;
        }
        if let Some(target) = &self.target {
            write!(f, ":{target}")?;
        }
        Ok(())
    }
}

impl Default for VerdictKind {
    /// Without a verdict, nothing is decided.
    fn default() -> Self {
        Self::Inconclusive
    }
}

impl Default for OutcomeKind {
    /// An engine finishes its launches unless an expectation lists another outcome.
    fn default() -> Self {
        Self::Finished
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, versions: &str, engine: &str, expected: bool) {
        let pattern = EnginePattern::parse(pattern).expect(pattern);
        let versions = versions.parse().expect(versions);
        assert_eq!(
            pattern.matches(engine, Version::NEWEST, &versions),
            expected,
            "{pattern} {versions} {engine}"
        );
    }

    #[test]
    fn a_pattern_matches_its_engines_and_no_others() {
        check("interpret", "<3.3", "interpret@3.2.0", true);
        check("interpret", "<3.3", "interpret@3.3.1", false);
        check("interpret", "<3.3", "interpret@3.2.0+host", false);
        check("interpret+host", "<3.3", "interpret@3.2.0+host", true);
        check("interpret", "*", "interpret@3.0.0+numpy2", true);
        check("interpret+numpy2", "*", "interpret@3.0.0+numpy2", true);
        check("interpret+numpy2", "*", "interpret@3.0.0", false);
        check("interpret+numpy2", "*", "interpret@3.0.0+numpy2.3.5", true);
        check("interpret+numpy2.4", "*", "interpret@3.5.1+numpy2.4.6", true);
        check("interpret+numpy2.4", "*", "interpret@3.5.1+numpy2", false);
        check("interpret+numpy2", "*", "interpret@3.5.1+numpy20", false);
        check("interpret@3.2.0", "*", "interpret@3.2.0", true);
        check("interpret@3.2.0", "*", "interpret@3.1.0", false);
        check("interpret", "*", "interpret@3.6.0+torch", true);
        check("interpret", "*", "interpret@3.6.0+torch+host", false);
        check("interpret+host", "*", "interpret@3.6.0+torch+host", true);
        check("interpret+torch", "*", "interpret@3.6.0+torch", true);
        check("interpret+torch", "*", "interpret@3.6.0", false);
        check("cuda", "3.6", "jit@3.6.0", true);
        check("cuda@3.6.0", "*", "jit@3.6.0", true);
        check("cuda", "3.9", "jit@3.6.0", false);
        check("cuda", "*", "cuda@3.9.0:sm_80", true);
        check("cuda", "*", "ptx@3.9.0", false);
        check("ptx", "*", "ptx@3.9.0", true);
        check("ptx", "*", "cuda@3.9.0:sm_80", false);
        check("ptx", "<3.9", "ptx@3.9.0", false);
        check("cuda", "*", "ptx@3.9.0:sm_90a", true);
        check("cuda", "<3.9", "ptx@3.9.0:sm_90a", false);
        check("cuda@3.6.0", "*", "ptx@3.9.0:sm_90a", false);
        check("cuda:sm_80", "*", "ptx@3.9.0:sm_90a", false);
        check("ptx", "*", "ptx@3.9.0:sm_90a", true);
        check("ptx:sm_90a", "*", "ptx@3.9.0:sm_90a", true);
        check("ptx:sm_90a", "*", "ptx@3.9.0", false);
        check("ptx:sm_90a", "*", "cuda@3.9.0", false);
        check("jit", "*", "ptx@3.9.0:sm_90a", false);
        check("cuda:sm_80", "*", "cuda@3.9.0:sm_80", true);
        check("cuda:sm_80", "*", "cuda@3.9.0", false);
        check("ttir", "*", "ttir@3.9.0:source", true);
        check("cuda", "<3.3", "ttir@3.2.0:source", true);
        check("cuda", "<3.3", "ttgir@3.3.0", false);
        check("ttir", "*", "cuda@3.9.0", false);
        check("ttir:source", "*", "ttir@3.9.0", false);
        check("ttir", "*", "ttgir@3.9.0", false);
        check("cuda:sm_80", "*", "cuda@3.9.0+pr-1234:sm_80", true);
        check("cuda", ">=3.9", "cuda@3.10.0+git1a2b3c4", true);
        check("cuda", "<3.9", "cuda@3.9.0+pr-1234", false);
        check("interpret", "*", "interpret@3.9.0+pr-1234+numpy2.3.5", true);
        check("interpret@3.9.0+pr-1234", "*", "interpret@3.9.0+pr-1234", true);
        check("interpret@3.9.0+pr-1234", "*", "interpret@3.9.0", false);
        check("jit", "*", "jit@3.6.0", true);
        check("jit", "*", "cuda@3.6.0", false);
        check("reference", "<3.3", "reference", false);
        check("reference", ">=3.9", "reference", true);
        check("reference", "*", "interpret@3.2.0", false);
        check("inductor", "<2.6", "inductor@2.5.1", true);
        check("inductor", "<2.6", "inductor@2.5.1+interpret", true);
        check("inductor+interpret", "<2.6", "inductor@2.5.1", false);
        check("inductor", "<2.6", "inductor@2.11.0", false);
        check("inductor+interpret", "*", "inductor@2.11.0+cuda", false);
        check("inductor+cuda", "*", "inductor@2.11.0+cuda", true);
        check("inductor+reference", "*", "inductor@2.11.0", true);
        check("inductor+reference", "*", "inductor@2.11.0+cuda", false);
        check("inductor@2.5.1+interpret", "*", "inductor@2.5.1+interpret", true);
    }

    #[test]
    fn an_engine_is_printed_as_it_is_read() {
        for text in [
            "reference",
            "interpret@3.2.0+numpy2+host",
            "interpret@3.6.0+torch+host",
            "cuda@3.9.0",
            "cuda:sm_80",
            "ttir:source",
            "ptx:sm_90a",
            "ptx@3.9.0+pr-1234:sm_90a",
            "cuda@3.9.0+pr-1234:sm_80",
            "interpret@3.10.0+git1a2b3c4+numpy2+host",
            "jit@3.6.0",
            "interpret+host",
            "inductor@2.5.1+interpret",
        ] {
            assert_eq!(EnginePattern::parse(text).expect(text).to_string(), text);
        }
        for wrong in [
            "",
            "@3",
            "interpret@x",
            "interpret+gpu",
            "interpret+numpy",
            "interpret+host+host",
            "interpret@3.9.0+interpret",
            "interpret+torch+torch",
            "interpret+pr-1234",
            "interpret@3.9.0+hots",
            "interpret@3.9.0+pr-1+pr-2",
            "interpret:sm_80",
            "cuda:sm_8",
            "cuda:90",
            "ptx:sm_80",
            "ptx:sm_90",
        ] {
            assert_eq!(EnginePattern::parse(wrong), None, "{wrong}");
        }
    }
}
