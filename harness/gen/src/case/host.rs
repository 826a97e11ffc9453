//! How a kernel is declared and launched: decorators, options, host functions that launch it, an autotuner, several
//! launches. None of this changes what the kernel computes.

use std::fmt::Write as _;

use arbitrary::Result;

use super::form::Twist;
use super::generated::Launched;
use super::maker::Maker;

/// A way to make or launch a kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LaunchMode {
    Plain,
    Host(Host),
    Option(&'static str),
    NamedLikeAnOption,
    Misspelled,
    Unspecialised,
    UnspecialisedConstant,
    Debug,
    Tuned(Tuning),
    Again,
}

/// The task of a function of the host.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Host {
    ListGrid,
    FunctionGrid,
    TensorGrid,
    Handle,
    Warmup,
    Hook,
    Language,
}

/// The arguments of an autotuner.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tuning {
    One,
    Several,
    Pruned,
    Restored,
    Fraction,
    SmallFraction,
}

/// The kernel's parameter that an autotuner gives.
const TUNED: &str = "TUNED";

impl Host {
    /// The lines of the function, each indented.
    fn lines(self) -> &'static str {
        match self {
            Self::ListGrid => "kernel[list(grid)](**args)",
            Self::FunctionGrid => "kernel[lambda meta: (grid[0],)](**args)",
            Self::TensorGrid => {
                "kernel[lambda meta: (grid[0] * triton.cdiv(meta[\"{tensor}\"].numel(), {count}),)](**args)"
            }
            // Compiled, it is the kernel; interpreted, it is None.
            Self::Handle => "handle = kernel[grid](**args)",
            Self::Warmup => "kernel.warmup(grid=grid, **args)\nkernel[grid](**args)",
            Self::Hook => {
                "called = []\nkernel.add_pre_run_hook(lambda *_, **__: called.append(True))\nkernel[grid](**args)\n\
                 assert called == [True], f\"the hook was called {len(called)} times\""
            }
            Self::Language => {
                "kernel[grid](**args)\nfor name in (\"range\", \"static_range\", \"reduce\", \"associative_scan\"):\n    \
                 module = getattr(tl, name).__module__\n    \
                 assert module.startswith(\"triton.language.\"), f\"tl.{name} is of {module}\""
            }
        }
    }
}

impl Maker<'_, '_> {
    /// Chooses how the kernel is made and launched.
    pub(super) fn choose_launch(&mut self, options: &mut Vec<(&'static str, String)>) -> Result<Launched> {
        let tunes = u32::from(self.form.limits.is_at_least(3, 2) && !self.lines.contains("atomic"));
        let rare = |since| if since { 8 } else { 4 };
        let misspells = u32::from(self.form.limits.is_at_least(3, 3));
        let ways = [
            (640, LaunchMode::Plain),
            (8, LaunchMode::Host(Host::ListGrid)),
            (16, LaunchMode::Host(Host::FunctionGrid)),
            (8, LaunchMode::Host(Host::TensorGrid)),
            (8, LaunchMode::Host(Host::Handle)),
            (8, LaunchMode::Host(Host::Warmup)),
            (8, LaunchMode::Host(Host::Hook)),
            // Earlier interpreters leave functions of their own there, and a failed assertion of a host function is never known by
            // itself.
            (
                4 * u32::from(self.form.limits.is_at_least(3, 6)),
                LaunchMode::Host(Host::Language),
            ),
            (
                rare(self.form.limits.is_at_least(3, 3)),
                LaunchMode::Option("launch_cooperative_grid"),
            ),
            (
                rare(self.form.limits.is_at_least(3, 4)),
                LaunchMode::Option("launch_pdl"),
            ),
            (8, LaunchMode::NamedLikeAnOption),
            (misspells, LaunchMode::Misspelled),
            (24, LaunchMode::Unspecialised),
            (1, LaunchMode::UnspecialisedConstant),
            (24, LaunchMode::Debug),
            (8 * tunes, LaunchMode::Tuned(Tuning::One)),
            (8 * tunes, LaunchMode::Tuned(Tuning::Several)),
            (4 * tunes, LaunchMode::Tuned(Tuning::Pruned)),
            (4 * tunes, LaunchMode::Tuned(Tuning::Restored)),
            (4 * tunes, LaunchMode::Tuned(Tuning::Fraction)),
            (4 * tunes, LaunchMode::Tuned(Tuning::SmallFraction)),
            (24, LaunchMode::Again),
        ];
        let way = self.choose_weighted(&ways)?;
        let mut launched = Launched::default();
        match way {
            LaunchMode::Plain => {}
            LaunchMode::Host(host) => launched.host = self.emit_host(host),
            LaunchMode::Option(name) => options.push((name, "true".to_owned())),
            LaunchMode::NamedLikeAnOption => {
                options.retain(|(name, _)| *name != "num_warps");
                self.add_parameter("num_warps", ": tl.constexpr", "4");
                self.emit_line("tl.static_assert(num_warps == 4)");
            }
            LaunchMode::Misspelled => {
                self.arguments.push(("num_wraps".to_owned(), "4".to_owned()));
                launched.unchecked = true;
            }
            LaunchMode::Unspecialised => self.disable_specialisation('n')?,
            LaunchMode::UnspecialisedConstant => self.disable_specialisation('K')?,
            // Compiled for debugging, a kernel stops where an integer overflows, and in these they do.
            LaunchMode::Debug if !self.form.limits.hardware.emulated() => {}
            LaunchMode::Debug => {
                if self.u.ratio(1, 2)? {
                    "@triton.jit(debug=True)".clone_into(&mut self.decorators);
                } else {
                    options.push(("debug", "true".to_owned()));
                }
            }
            LaunchMode::Tuned(tuning) => {
                options.retain(|(name, _)| !name.starts_with("num_"));
                launched.host = self.add_autotuner(tuning);
            }
            LaunchMode::Again => launched.repeated = true,
        }
        if self.form.twist == Some(Twist::Launches) {
            // A launch of each program is a way of its own.
            launched.host = None;
        }
        Ok(launched)
    }

    /// A function that launches the kernel: its name.
    fn emit_host(&mut self, host: Host) -> Option<String> {
        let mut lines = host.lines().to_owned();
        if host == Host::TensorGrid {
            let (tensor, count) = self.flat()?;
            lines = lines.replace("{tensor}", &tensor).replace("{count}", &count);
        }
        Some(self.host_function(&lines))
    }

    fn host_function(&mut self, lines: &str) -> String {
        let name = format!("{}_launch", self.name);
        let _ = write!(self.above, "\n\ndef {name}(kernel, grid, args):\n");
        for line in lines.lines() {
            let _ = writeln!(self.above, "    {line}");
        }
        name
    }

    /// A parameter that is an output of one dimension, and how many elements it has. A twin has it too.
    fn flat(&self) -> Option<(String, String)> {
        self.storages.iter().find_map(|(name, text)| {
            let (_, shape) = text.split_once("shape: [")?;
            let (count, _) = shape.split_once(']')?;
            let is_flat = count.parse::<usize>().is_ok_and(|count| count > 0);
            let is_given = self
                .arguments
                .iter()
                .any(|(key, value)| key == name && value == name);
            (name.starts_with('o') && is_flat && is_given).then(|| (name.clone(), count.to_owned()))
        })
    }

    /// Says of some parameters that their values are not looked at.
    fn disable_specialisation(&mut self, kind: char) -> Result<()> {
        let numbers = self.arguments.iter().filter(|(name, value)| {
            name.starts_with(kind) && value.parse::<i64>().is_ok() && !name.contains('_')
        });
        let names: Vec<String> = numbers.map(|(name, _)| name.clone()).collect();
        if names.is_empty() {
            return Ok(());
        }
        let name = self.u.choose(&names)?;
        self.decorators = format!("@triton.jit(do_not_specialize=[\"{name}\"])");
        Ok(())
    }

    /// An autotuner of a parameter that changes nothing; the function that launches the kernel, if there is one.
    fn add_autotuner(&mut self, tuning: Tuning) -> Option<String> {
        let name = self.name.clone();
        let values: &[u32] = match tuning {
            Tuning::One => &[2],
            Tuning::Several | Tuning::Restored | Tuning::SmallFraction => &[1, 2, 4],
            Tuning::Pruned => &[1, 2, 4, 8],
            Tuning::Fraction => &[1, 2, 3, 4, 5, 6, 7, 8],
        };
        let key = self
            .arguments
            .first()
            .map_or_else(String::new, |(key, _)| format!("\"{key}\""));
        self.parameters.push(format!("{TUNED}: tl.constexpr"));
        self.emit_line(&format!("tl.static_assert({TUNED} > 0)"));
        let measures = tuning != Tuning::One;
        if measures {
            let _ = write!(
                self.above,
                "\n\n{name}_measured = []\n\n\ndef {name}_measure(launch, quantiles):\n    {name}_measured.append(True)\n    \
                 launch()\n    return [1.0] * len(quantiles)\n"
            );
        }
        if matches!(tuning, Tuning::Pruned | Tuning::Fraction) {
            let _ = write!(
                self.above,
                "\n\ndef {name}_pruned(configs, named_args, **kwargs):\n    \
                 return [config for config in configs if config.kwargs[\"{TUNED}\"] <= 4]\n"
            );
        }
        if matches!(tuning, Tuning::Fraction | Tuning::SmallFraction) {
            let _ = write!(
                self.above,
                "\n\ndef {name}_model({TUNED}, **_):\n    return {TUNED}\n"
            );
        }
        let configs: Vec<String> = values
            .iter()
            .map(|value| format!("triton.Config({{\"{TUNED}\": {value}}})"))
            .collect();
        let pruned = match tuning {
            Tuning::Pruned => format!(", prune_configs_by={{\"early_config_prune\": {name}_pruned}}"),
            Tuning::Fraction => format!(
                ", prune_configs_by={{\"early_config_prune\": {name}_pruned, \"perf_model\": {name}_model, \"top_k\": 0.5}}"
            ),
            Tuning::SmallFraction => {
                format!(", prune_configs_by={{\"perf_model\": {name}_model, \"top_k\": 0.1}}")
            }
            Tuning::Restored => self.flat().map_or_else(String::new, |(tensor, _)| {
                format!(", restore_value=[\"{tensor}\"]")
            }),
            Tuning::One | Tuning::Several => String::new(),
        };
        let measure = if measures {
            format!(", do_bench={name}_measure")
        } else {
            String::new()
        };
        self.decorators = format!(
            "@triton.autotune(configs=[{}], key=[{key}]{pruned}{measure})\n@triton.jit",
            configs.join(", ")
        );
        // Earlier tuners take the fraction of all configurations.
        (tuning == Tuning::Fraction && self.form.limits.is_at_least(3, 9)).then(|| {
            self.host_function(&format!(
                "kernel[grid](**args)\nassert len({name}_measured) == 2, f\"{{len({name}_measured)}} configurations were measured\""
            ))
        })
    }
}
