//! A generated case: its functions, its data and its launches, and its text. See `maker` for making one.

use std::collections::HashMap;
use std::fmt::Write as _;

use cerith_tile::DType;

/// The parameter that says which program a launch begins with, where each is a launch of its own.
pub(super) const FIRST: &str = "first";

/// The type of a value when it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ValueType {
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
}

/// The special properties of a kernel and its launch.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Launched {
    /// The function that launches it.
    pub(super) host: Option<String>,
    /// Whether the case's arguments are wrong on purpose.
    pub(super) unchecked: bool,
    /// Whether all launches are made twice.
    pub(super) repeated: bool,
}

/// The first lines of every module.
const HEAD: &str = "import triton\nimport triton.language as tl\n";

/// Additional lines of a module that uses CUDA's library.
const LIBRARY: &str = "from triton.language.extra import libdevice\n";

/// A random case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    pub(super) name: String,
    pub(super) functions: String,
    pub(super) storages: Vec<(String, String)>,
    pub(super) tensors: Vec<(String, String)>,
    pub(super) arguments: Vec<(String, String)>,
    pub(super) options: Vec<(&'static str, String)>,
    pub(super) launched: Launched,
    pub(super) programs: usize,
    /// Whether each program is a launch of its own.
    pub(super) split: bool,
    /// The types of its values.
    pub(super) value_types: HashMap<String, ValueType>,
    /// The idioms that it is written in.
    pub(super) idioms: Vec<&'static str>,
}

impl Generated {
    /// Its functions, without what a module begins with.
    pub fn functions(&self) -> &str {
        &self.functions
    }

    /// A Python module of its own.
    pub fn module(&self) -> String {
        render_module(std::slice::from_ref(self))
    }

    /// Whether what is compiled for it serves for the other too: their kernels are the same, and so is what Triton specialises
    /// on in their numbers.
    pub fn is_compiled_as(&self, other: &Self) -> bool {
        let class = |argument: &str| {
            let number = argument.parse::<i128>().ok()?;
            Some((number == 1, number % 16 == 0, i32::try_from(number).is_ok()))
        };
        let same = |(one, other): (&(String, String), &(String, String))| {
            one == other || (one.0 == other.0 && class(&one.1).is_some() && class(&one.1) == class(&other.1))
        };
        self.functions == other.functions
            && self.options == other.options
            && self.arguments.len() == other.arguments.len()
            && self.arguments.iter().zip(&other.arguments).all(same)
    }

    /// The options of its launches, with their values.
    pub fn options(&self) -> &[(&'static str, String)] {
        &self.options
    }

    /// The case file, with the kernel in this file beside it.
    pub fn case_file(&self, kernels: &str) -> String {
        let mut text = format!(
            "about: Random kernel {name}.\nkernel: {kernels}:{name}\nstorages:\n",
            name = self.name
        );
        let lines = |text: &mut String, pairs: &[(String, String)]| {
            for (name, value) in pairs {
                let _ = writeln!(text, "  {name}: {value}");
            }
        };
        lines(&mut text, &self.storages);
        if !self.tensors.is_empty() {
            text.push_str("tensors:\n");
            lines(&mut text, &self.tensors);
        }
        text.push_str("launches:\n");
        let joined = |pairs: &[String]| pairs.join(", ");
        let arguments: Vec<String> = self.arguments.iter().map(|(k, v)| format!("{k}: {v}")).collect();
        let options: Vec<String> = self.options.iter().map(|(k, v)| format!("{k}: {v}")).collect();
        let launches = if self.split { self.programs } else { 1 };
        let times = if self.launched.repeated { 2 } else { 1 };
        for first in (0..times).flat_map(|_| 0..launches) {
            let mut arguments = arguments.clone();
            if self.split {
                arguments.push(format!("{FIRST}: {first}"));
            }
            let programs = self.programs / launches;
            let _ = writeln!(
                text,
                "  - grid: [{programs}]\n    args: {{ {} }}",
                joined(&arguments)
            );
            if !options.is_empty() {
                let _ = writeln!(text, "    options: {{ {} }}", joined(&options));
            }
            if let Some(host) = &self.launched.host {
                let _ = writeln!(text, "    host: {host}");
            }
            if self.launched.unchecked {
                text.push_str("    unchecked: true\n");
            }
        }
        text
    }
}

/// A Python module with the functions of several cases.
pub fn render_module(cases: &[Generated]) -> String {
    let mut text = HEAD.to_owned();
    if cases.iter().any(|case| case.functions.contains("libdevice.")) {
        text.push_str(LIBRARY);
    }
    for case in cases {
        text.push_str(&case.functions);
    }
    text
}
