//! Names of engines: `reference`, `interpret@3.9.0`, `interpret@3.2.0+host`, `interpret@3.0.0+numpy2`, `interpret@3.6.0+torch`,
//! `cuda@3.9.0`, `cuda@3.9.0:sm_80`, `ptx@3.9.0`, `jit@3.6.0`, `inductor@2.11.0`, `inductor@2.11.0+interpret`,
//! `inductor@2.11.0+cuda`, `ttir@3.9.0`, `ttir@3.9.0:source`, `ttgir@3.9.0`, `recorded`. See [`crate::Capabilities`] and the
//! engines themselves for whether an engine can run here.

use std::fmt;
use std::str::FromStr;

use cerith_python::nearest::nearest_within;
use cerith_tile::releases::NEWEST_TORCH;
use cerith_tile::rules::Version;
use cerith_toolchain::ToolchainId;
use cerith_toolchain::compiled::{BadTarget, Stage, Target};

/// Names one engine. `Display` and `FromStr` are inverse: every id is printed as it is parsed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EngineId {
    /// The reference interpreter.
    Reference,
    /// Triton's interpreter of one toolchain.
    Interpret {
        /// The versions of Triton and NumPy.
        toolchain: ToolchainId,
        /// Whether arguments are CPU tensors instead of behaving as CUDA tensors.
        host: bool,
        /// Whether arguments are torch's own tensors instead of stand-ins.
        torch: bool,
    },
    /// Triton's compiler for CUDA.
    Cuda {
        /// The version or build of Triton. It has no NumPy.
        toolchain: ToolchainId,
        /// The GPU that it compiles for, `:sm_80`; `None` for the GPU that executes.
        target: Option<Target>,
    },
    /// Triton's compiler, its PTX executed without a GPU.
    Ptx {
        /// The version or build of Triton. It has no NumPy.
        toolchain: ToolchainId,
        /// The GPU that it compiles for: [`Target::AMPERE`], or [`Target::HOPPER`] for `:sm_90a`.
        target: Target,
    },
    /// Triton's compiler and launcher on a GPU, as programs with torch use them.
    Jit {
        /// The Triton version.
        version: Version,
    },
    /// Triton's IR at a stage of its compiler, executed by the reference's interpreter.
    Ttir {
        /// The version or build of Triton. It has no NumPy.
        toolchain: ToolchainId,
        /// The stage: `ttir@V:source`, `ttir@V`, `ttgir@V`.
        stage: Stage,
    },
    /// The launches inside of a function under `torch.compile`.
    Inductor {
        /// The torch version.
        torch: Version,
        /// The engine that executes the launches of the generated code.
        executor: LaunchExecutor,
    },
    /// The recorded outcome of a case, from any engine.
    Recorded,
}

/// The engine that executes the launches of `TorchInductor`'s code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LaunchExecutor {
    /// The reference.
    Reference,
    /// The interpreter of the Triton that this torch brings, on CPU tensors; `+interpret`.
    Interpret,
    /// A GPU, compiled by the Triton that this torch brings; `+cuda`.
    Cuda,
}

impl LaunchExecutor {
    /// The part of an id after the version.
    const fn suffix(self) -> &'static str {
        match self {
            Self::Reference => "",
            Self::Interpret => "+interpret",
            Self::Cuda => "+cuda",
        }
    }
}

/// A body of code. Two engines that share one are one witness, whatever their versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// Cerith's own implementation of the language.
    Reference,
    /// Triton's interpreter, NumPy underneath.
    Interpreter,
    /// Triton's compiler.
    Compiler,
    /// torch's `TorchInductor`.
    Inductor,
    /// Triton's Python code that its interpreter and its compiler share, including the library functions. No engine belongs to
    /// this family; an outcome may come from it ([`crate::find_families`]).
    Language,
}

impl EngineId {
    /// The compiler of a release.
    pub const fn cuda(version: Version) -> Self {
        Self::Cuda {
            toolchain: ToolchainId::from_triton(version),
            target: None,
        }
    }

    /// The interpreter of a toolchain, with arguments that behave as CUDA tensors.
    pub const fn interpreter(toolchain: ToolchainId) -> Self {
        Self::Interpret {
            toolchain,
            host: false,
            torch: false,
        }
    }

    /// The compiler of a toolchain, or of the build in it.
    pub fn compiler(toolchain: &ToolchainId) -> Self {
        Self::Cuda {
            toolchain: toolchain.compiler(),
            target: None,
        }
    }

    /// The name before the `@`, which expectations match.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Interpret { .. } => "interpret",
            Self::Cuda { .. } => "cuda",
            Self::Ptx { .. } => "ptx",
            Self::Inductor { .. } => "inductor",
            Self::Jit { .. } => "jit",
            Self::Ttir {
                stage: Stage::Ttgir, ..
            } => "ttgir",
            Self::Ttir { .. } => "ttir",
            Self::Recorded => "recorded",
        }
    }

    /// The Triton version whose language the engine runs: for a torch, that of the Triton it brings. The reference runs every
    /// version's, and a record has that of the engine that made it ([`crate::Engine::origin`]).
    pub fn version(&self) -> Option<Version> {
        match self {
            Self::Reference | Self::Recorded => None,
            Self::Interpret { toolchain, .. }
            | Self::Cuda { toolchain, .. }
            | Self::Ptx { toolchain, .. }
            | Self::Ttir { toolchain, .. } => Some(toolchain.triton()),
            Self::Jit { version } => Some(*version),
            Self::Inductor { torch, .. } => ToolchainId::of_torch(*torch).map(|id| id.triton()),
        }
    }

    /// The toolchain that it runs in, where the id names one.
    pub const fn toolchain(&self) -> Option<&ToolchainId> {
        match self {
            Self::Interpret { toolchain, .. }
            | Self::Cuda { toolchain, .. }
            | Self::Ptx { toolchain, .. }
            | Self::Ttir { toolchain, .. } => Some(toolchain),
            _ => None,
        }
    }

    /// The code that it runs. Inductor decides what is launched on what memory, and another engine's code computes. A record has
    /// the code of the engine that made it ([`crate::Engine::origin`]).
    pub const fn families(&self) -> &'static [Family] {
        match self {
            Self::Reference => &[Family::Reference],
            Self::Interpret { .. } => &[Family::Interpreter],
            Self::Cuda { .. } | Self::Ptx { .. } | Self::Jit { .. } => &[Family::Compiler],
            // Triton decides what is computed, and the reference's interpreter computes.
            Self::Ttir { .. } => &[Family::Reference, Family::Compiler],
            Self::Inductor {
                executor: LaunchExecutor::Reference,
                ..
            } => &[Family::Inductor, Family::Reference],
            Self::Inductor {
                executor: LaunchExecutor::Interpret,
                ..
            } => &[Family::Inductor, Family::Interpreter],
            Self::Inductor {
                executor: LaunchExecutor::Cuda,
                ..
            } => &[Family::Inductor, Family::Compiler],
            Self::Recorded => &[],
        }
    }

    /// Whether two engines share no code, so that their agreement has two witnesses.
    pub fn is_independent_of(&self, other: &Self) -> bool {
        self.families()
            .iter()
            .all(|family| !other.families().contains(family))
    }
}

impl fmt::Display for EngineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reference | Self::Recorded => f.pad(self.kind()),
            Self::Interpret {
                toolchain,
                host,
                torch,
            } => f.pad(&format!(
                "interpret@{toolchain}{}{}",
                if *torch { "+torch" } else { "" },
                if *host { "+host" } else { "" }
            )),
            Self::Cuda {
                toolchain,
                target: None,
            } => f.pad(&format!("cuda@{toolchain}")),
            Self::Cuda {
                toolchain,
                target: Some(target),
            } => f.pad(&format!("cuda@{toolchain}:{target}")),
            Self::Ptx {
                toolchain,
                target: Target::AMPERE,
            } => f.pad(&format!("ptx@{toolchain}")),
            // From 9.0 on, code is for a single architecture.
            Self::Ptx { toolchain, target } => f.pad(&format!("ptx@{toolchain}:{target}a")),
            Self::Jit { version } => f.pad(&format!("jit@{version}")),
            Self::Ttir { toolchain, stage } => f.pad(&match stage {
                Stage::Source => format!("ttir@{toolchain}:source"),
                Stage::Ttir => format!("ttir@{toolchain}"),
                Stage::Ttgir => format!("ttgir@{toolchain}"),
            }),
            Self::Inductor { torch, executor: by } => f.pad(&format!("inductor@{torch}{}", by.suffix())),
        }
    }
}

/// The text names no engine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an engine: {reason}")]
pub struct BadEngineId {
    /// The given text.
    pub text: String,
    /// The reason why it is not an engine.
    pub reason: String,
    /// A likely correction, to be typed instead.
    pub suggestion: Option<String>,
}

const KINDS: [&str; 9] = [
    "reference",
    "interpret",
    "cuda",
    "ptx",
    "jit",
    "ttir",
    "ttgir",
    "inductor",
    "recorded",
];

/// A good id of a kind.
fn build_example(kind: &str) -> String {
    let version = if kind == "inductor" {
        NEWEST_TORCH
    } else {
        Version::NEWEST
    };
    format!("{kind}@{version}")
}

impl FromStr for EngineId {
    type Err = BadEngineId;

    fn from_str(text: &str) -> Result<Self, BadEngineId> {
        let bad = |reason: String, suggestion: Option<String>| BadEngineId {
            text: text.to_owned(),
            reason,
            suggestion,
        };
        let (kind, rest) = match text.split_once('@') {
            Some((kind, rest)) => (kind, Some(rest)),
            None => (text, None),
        };
        if !KINDS.contains(&kind) {
            let nearest = find_nearest(kind, KINDS).map(|kind| match (kind, rest) {
                ("reference" | "recorded", _) => kind.to_owned(),
                (_, Some(rest)) => format!("{kind}@{rest}"),
                (_, None) => build_example(kind),
            });
            return Err(bad(format!("the engines are {}", KINDS.join(", ")), nearest));
        }
        if kind == "reference" {
            return match rest {
                None => Ok(Self::Reference),
                Some(_) => Err(bad(
                    "the reference has no version of its own; it judges by the rules of the engine beside it"
                        .into(),
                    Some("reference".into()),
                )),
            };
        }
        if kind == "recorded" {
            return match rest {
                None => Ok(Self::Recorded),
                Some(_) => Err(bad(
                    "recorded outcomes are of the engine and version that each case names".into(),
                    Some("recorded".into()),
                )),
            };
        }
        let Some(rest) = rest else {
            let whose = if kind == "inductor" { "torch" } else { "Triton" };
            return Err(bad(
                format!("`{kind}` needs a {whose} version"),
                Some(build_example(kind)),
            ));
        };
        if kind == "inductor" {
            return parse_inductor(text, rest);
        }
        if matches!(kind, "cuda" | "ptx" | "jit" | "ttir" | "ttgir") {
            return parse_compiled(text, kind, rest);
        }
        let (mut host, mut torch) = (false, false);
        let mut toolchain = String::new();
        for (nth, part) in rest.split('+').enumerate() {
            let flag = match part {
                "host" if nth > 0 => Some(&mut host),
                "torch" if nth > 0 => Some(&mut torch),
                _ => None,
            };
            if let Some(flag) = flag {
                if std::mem::replace(flag, true) {
                    return Err(bad(
                        format!("`+{part}` is there twice"),
                        Some(text.replacen(&format!("+{part}"), "", 1)),
                    ));
                }
                continue;
            }
            if nth > 0 {
                toolchain.push('+');
            }
            toolchain.push_str(part);
        }
        let toolchain: ToolchainId = toolchain.parse().map_err(|error: cerith_toolchain::BadId| {
            let (version, extra) = toolchain.split_once('+').unwrap_or((&toolchain, ""));
            let version = version
                .parse::<ToolchainId>()
                .map_or_else(|_| Version::NEWEST.to_string(), |id| id.to_string());
            let extra = find_nearest(extra, ["host", "torch", "numpy1", "numpy2"])
                .map_or(String::new(), |extra| format!("+{extra}"));
            bad(error.problem, Some(format!("interpret@{version}{extra}")))
        })?;
        if toolchain.torch().is_some() {
            return Err(no_torch(text, kind, &toolchain));
        }
        check_version(text, kind, toolchain.triton())?;
        Ok(Self::Interpret {
            toolchain,
            host,
            torch,
        })
    }
}

/// Reads what follows `cuda@`, `ptx@`, `jit@`, `ttir@` or `ttgir@`.
fn parse_compiled(text: &str, kind: &str, rest: &str) -> Result<EngineId, BadEngineId> {
    let bad = |reason: String, suggestion: String| BadEngineId {
        text: text.to_owned(),
        reason,
        suggestion: Some(suggestion),
    };
    let (built, target) = rest
        .split_once(':')
        .map_or((rest, None), |(built, target)| (built, Some(target)));
    let (version, extra) = built
        .split_once('+')
        .map_or((built, None), |(version, extra)| (version, Some(extra)));
    let id: ToolchainId = version
        .parse()
        .map_err(|error: cerith_toolchain::BadId| bad(error.problem, build_example(kind)))?;
    if id.torch().is_some() {
        return Err(no_torch(text, kind, &id));
    }
    check_version(text, kind, id.triton())?;
    let not_taken = |extra: &str| {
        bad(
            format!("`{kind}` takes no `{extra}`"),
            format!("{kind}@{version}"),
        )
    };
    if kind == "jit" {
        return match rest.strip_prefix(version) {
            None | Some("") => Ok(EngineId::Jit { version: id.triton() }),
            Some(extra) => Err(not_taken(extra)),
        };
    }
    let toolchain = match extra {
        None => Some(ToolchainId::from_triton(id.triton())),
        Some("host" | "torch") => None,
        Some(_) => built
            .parse()
            .ok()
            .filter(|toolchain: &ToolchainId| toolchain.numpy().is_none()),
    };
    let toolchain = toolchain.ok_or_else(|| not_taken(&format!("+{}", extra.unwrap_or_default())))?;
    let stage = match (kind, target) {
        ("ttir", None) => Some(Stage::Ttir),
        ("ttir", Some("source")) => Some(Stage::Source),
        ("ttgir", None) => Some(Stage::Ttgir),
        ("ttir" | "ttgir", Some(other)) => {
            let suggestion = if kind == "ttir" { ":source" } else { "" };
            return Err(bad(
                format!("`{kind}` takes no `:{other}`"),
                format!("{kind}@{built}{suggestion}"),
            ));
        }
        _ => None,
    };
    if let Some(stage) = stage {
        return Ok(EngineId::Ttir { toolchain, stage });
    }
    if kind == "ptx" {
        return match target {
            None => Ok(EngineId::Ptx {
                toolchain,
                target: Target::AMPERE,
            }),
            Some("sm_90a") => Ok(EngineId::Ptx {
                toolchain,
                target: Target::HOPPER,
            }),
            Some(other) => {
                let suggestion = if other.starts_with("sm_9") { ":sm_90a" } else { "" };
                Err(bad(
                    "`ptx` executes what is compiled for sm_80, or with `:sm_90a` for Hopper".to_owned(),
                    format!("ptx@{built}{suggestion}"),
                ))
            }
        };
    }
    let target = target
        .map(|target| {
            target.parse().map_err(|error: BadTarget| {
                bad(
                    format!("`{target}` is not a target: {error}"),
                    format!("cuda@{built}:sm_80"),
                )
            })
        })
        .transpose()?;
    Ok(EngineId::Cuda { toolchain, target })
}

/// Reads what follows `inductor@`.
fn parse_inductor(text: &str, rest: &str) -> Result<EngineId, BadEngineId> {
    let bad = |reason: String, suggestion: String| BadEngineId {
        text: text.to_owned(),
        reason,
        suggestion: Some(suggestion),
    };
    let (version, extra) = rest
        .split_once('+')
        .map_or((rest, None), |(version, extra)| (version, Some(extra)));
    let id: ToolchainId = format!("torch{version}")
        .parse()
        .map_err(|error: cerith_toolchain::BadId| bad(error.problem, build_example("inductor")))?;
    let by = match extra {
        None => LaunchExecutor::Reference,
        Some("interpret") => LaunchExecutor::Interpret,
        Some("cuda") => LaunchExecutor::Cuda,
        Some(extra) => {
            let suggestion = find_nearest(extra, ["interpret", "cuda"]).map_or_else(
                || format!("inductor@{version}"),
                |extra| format!("inductor@{version}+{extra}"),
            );
            return Err(bad(format!("`inductor` takes no `+{extra}`"), suggestion));
        }
    };
    let torch = id.torch().unwrap_or(NEWEST_TORCH);
    Ok(EngineId::Inductor { torch, executor: by })
}

/// The oldest Triton whose language is known.
const OLDEST: Version = Version::new(3, 0, 0);

/// Refuses a Triton whose language is not known: it would be judged by rules that are not its own.
fn check_version(text: &str, kind: &str, version: Version) -> Result<(), BadEngineId> {
    if version < OLDEST {
        return Err(too_old(text, kind, version));
    }
    Ok(())
}

fn too_old(text: &str, kind: &str, version: Version) -> BadEngineId {
    BadEngineId {
        text: text.to_owned(),
        reason: format!(
            "Cerith knows the language from Triton {OLDEST} on, and would judge {version} by rules that are not its own"
        ),
        suggestion: Some(format!("{kind}@{OLDEST}")),
    }
}

/// A toolchain with torch where a Triton belongs.
fn no_torch(text: &str, kind: &str, id: &ToolchainId) -> BadEngineId {
    BadEngineId {
        text: text.to_owned(),
        reason: format!("`{kind}` is of a Triton version, not of torch's"),
        suggestion: Some(format!("{kind}@{}", id.triton())),
    }
}

/// The candidate that is fewest edits away from `text`, if it is near enough to have been meant: kinds of engines are few, so
/// half of the letters may be wrong.
fn find_nearest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_within(text, candidates, (text.chars().count() / 2).max(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, Option<&str>>) {
        let parsed: Result<EngineId, _> = text.parse();
        match expected {
            Ok(shown) => assert_eq!(parsed.map(|id| id.to_string()).as_deref(), Ok(shown), "{text}"),
            Err(suggestion) => {
                let error = parsed.expect_err(text);
                assert_eq!(error.suggestion.as_deref(), suggestion, "{text}: {error}");
            }
        }
    }

    #[test]
    fn ids_are_read_and_mistakes_get_the_nearest_id() {
        check("reference", Ok("reference"));
        check("interpret@3.9.0", Ok("interpret@3.9.0"));
        check("interpret@3.2", Ok("interpret@3.2.0"));
        check("interpret@3.2.0+host", Ok("interpret@3.2.0+host"));
        check("interpret@3.0.0+numpy2", Ok("interpret@3.0.0+numpy2"));
        check(
            "interpret@3.0.0+host+numpy1.26.4",
            Ok("interpret@3.0.0+numpy1.26.4+host"),
        );
        check("cuda@3.6.0", Ok("cuda@3.6.0"));
        check("jit@3.6", Ok("jit@3.6.0"));
        check("interpret@3.6.0+torch", Ok("interpret@3.6.0+torch"));
        check(
            "interpret@3.6.0+host+torch+numpy2",
            Ok("interpret@3.6.0+numpy2+torch+host"),
        );
        check("interpret@3.6.0+torhc", Err(Some("interpret@3.6.0+torch")));
        check("interpret@3.6.0+torch+torch", Err(Some("interpret@3.6.0+torch")));
        check("jit@3.6.0+host", Err(Some("jit@3.6.0")));
        check("jti@3.6.0", Err(Some("jit@3.6.0")));
        check("interpeter@3.9.0", Err(Some("interpret@3.9.0")));
        check("refrence", Err(Some("reference")));
        check("reference@3.9.0", Err(Some("reference")));
        check("interpret", Err(Some("interpret@3.9.0")));
        check("interpret@newest", Err(Some("interpret@3.9.0")));
        check("interpret@3.2.0+hots", Err(Some("interpret@3.2.0+host")));
        check("interpret@3.2.0+host+host", Err(Some("interpret@3.2.0+host")));
        check("interpret@3.3", Ok("interpret@3.3.1"));
        check("cuda@3.2.0+host", Err(Some("cuda@3.2.0")));
        check("cuda@3.9.0+pr-1234", Ok("cuda@3.9.0+pr-1234"));
        check("cuda@3.10.0+git1a2b3c4", Ok("cuda@3.10.0+git1a2b3c4"));
        check("cuda@3.9.0:sm_80", Ok("cuda@3.9.0:sm_80"));
        check("cuda@3.9.0+pr-1234:sm_80", Ok("cuda@3.9.0+pr-1234:sm_80"));
        check("cuda@3.9.0:", Err(Some("cuda@3.9.0:sm_80")));
        check("cuda@3.9.0:80", Err(Some("cuda@3.9.0:sm_80")));
        check("cuda@3.9.0:sm_080", Err(Some("cuda@3.9.0:sm_80")));
        check("cuda@3.9.0:sm_9", Err(Some("cuda@3.9.0:sm_80")));
        check("cuda@3.9.0:sm_80+pr-1234", Err(Some("cuda@3.9.0:sm_80")));
        check("jit@3.6.0:sm_80", Err(Some("jit@3.6.0")));
        check("cuda@3.9.0+numpy2", Err(Some("cuda@3.9.0")));
        check("ptx@3.9", Ok("ptx@3.9.0"));
        check("ptx@3.9.0+pr-1234", Ok("ptx@3.9.0+pr-1234"));
        check("ptx@3.9.0:sm_80", Err(Some("ptx@3.9.0")));
        check("ptx@3.9.0:sm_90a", Ok("ptx@3.9.0:sm_90a"));
        check("ptx@3.9:sm_90a", Ok("ptx@3.9.0:sm_90a"));
        check("ptx@3.9.0:sm_90", Err(Some("ptx@3.9.0:sm_90a")));
        check("ptx@3.9.0+numpy2", Err(Some("ptx@3.9.0")));
        check("ptx", Err(Some("ptx@3.9.0")));
        check("ptx@2.3.1", Err(Some("ptx@3.0.0")));
        check("cuda@3.9.0+pr-1234+numpy2", Err(Some("cuda@3.9.0")));
        check("jit@3.9.0+pr-1234", Err(Some("jit@3.9.0")));
        check("inductor@2.11.0", Ok("inductor@2.11.0"));
        check("inductor@2.5+interpret", Ok("inductor@2.5.1+interpret"));
        check("inductor@2.11.0+cuda", Ok("inductor@2.11.0+cuda"));
        check("ttir@3.9.0", Ok("ttir@3.9.0"));
        check("ttir@3.9:source", Ok("ttir@3.9.0:source"));
        check("ttgir@3.9.0+pr-1234", Ok("ttgir@3.9.0+pr-1234"));
        check("ttir@3.9.0:sources", Err(Some("ttir@3.9.0:source")));
        check("ttgir@3.9.0:source", Err(Some("ttgir@3.9.0")));
        check("ttir@3.9.0+host", Err(Some("ttir@3.9.0")));
        check("ttir@2.3.1", Err(Some("ttir@3.0.0")));
        check("ttir", Err(Some("ttir@3.9.0")));
        check("recorded", Ok("recorded"));
        check("recorded@3.6.0", Err(Some("recorded")));
        check("recordd", Err(Some("recorded")));
        check("inductor", Err(Some("inductor@2.15.0")));
        check("inductor@3.6.0", Err(Some("inductor@2.15.0")));
        check("inductor@2.11.0+interpet", Err(Some("inductor@2.11.0+interpret")));
        check("inductor@2.11.0+numpy2", Err(Some("inductor@2.11.0")));
        check("inducter@2.5.1", Err(Some("inductor@2.5.1")));
        check("interpret@torch2.5.1", Err(Some("interpret@3.1.0")));
        check("cuda@torch2.11.0", Err(Some("cuda@3.6.0")));
        check("", Err(None));
        check("interpret@2.3.1", Err(Some("interpret@3.0.0")));
        check("interpret@2.3.1+host", Err(Some("interpret@3.0.0")));
        check("cuda@2.3.0", Err(Some("cuda@3.0.0")));
        check("jit@2.3.1", Err(Some("jit@3.0.0")));
        check("qwertyuiop", Err(None));
    }

    #[test]
    fn families_say_who_is_one_witness() {
        let check = |left: &str, right: &str, independent: bool| {
            let read = |text: &str| text.parse::<EngineId>().expect("an engine");
            assert_eq!(
                read(left).is_independent_of(&read(right)),
                independent,
                "{left}, {right}"
            );
        };
        check("interpret@3.2.0", "interpret@3.9.0+host", false);
        check("interpret@3.9.0", "cuda@3.9.0", true);
        check("reference", "cuda@3.9.0", true);
        check("inductor@2.11.0", "reference", false);
        check("inductor@2.11.0", "inductor@2.5.1+interpret", false);
        check("inductor@2.11.0+interpret", "reference", true);
        check("inductor@2.11.0+interpret", "interpret@3.9.0", false);
        check("inductor@2.11.0+interpret", "cuda@3.9.0", true);
        check("interpret@3.2.0", "interpret@3.6.0+torch", false);
        check("cuda@3.9.0", "jit@3.6.0", false);
        check("ttir@3.9.0:source", "reference", false);
        check("ttgir@3.9.0", "cuda@3.6.0", false);
        check("ttir@3.9.0", "interpret@3.9.0", true);
        check("cuda@3.9.0", "ptx@3.6.0", false);
        check("reference", "ptx@3.9.0", true);
        check("interpret@3.9.0", "ptx@3.9.0", true);
    }
}
