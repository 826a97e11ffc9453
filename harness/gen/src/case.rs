//! Random cases: a kernel as somebody would write it for Triton, storages, views, scalars, a grid and options.
//!
//! The text of the kernel is what every engine runs. It is made top down with types: whatever an expression is made of,
//! its dtype and shape are known, so that nearly all that comes out is accepted. It is also defined, as far as that is
//! cheap: divisors are at least 1, shifts are shorter than the type, indices are masked to their range, a float is cut to
//! a range before it becomes an integer, and programs write to places of their own. What is undefined all the same is
//! told by the reference.
//!
//! With [`Detail::Every`], the same bytes make the same kernel with every value stored as it is made: the first storage
//! in which two engines differ then names the operation.
//!
//! | module | makes |
//! |---|---|
//! | `maker` | the kernel's state: what is in scope, lines, parameters |
//! | `types` | what operations make of dtypes, and conversions that are defined |
//! | `expr` | elementwise expressions |
//! | `block` | reductions, scans, changes of shape, sorts, gathers, histograms, products |
//! | `flow` | loops, branches, functions, tuples |
//! | `features`, `coverage` | nothing: what a kernel has in it, and all kernels of a campaign |
//! | `data` | inputs with their views, outputs, atomics |
//! | `cells` | atomics on elements of one's own, whose results have one value |
//! | `corners` | reductions, scans and the like with all their parameters, on blocks of special numbers |
//! | `narrow` | 8-bit floats |
//! | `products` | matrix products of every shape, dtype and precision; scaled ones |
//! | `edges` | tiles over the edges of a matrix, atomics and gathers through descriptors |
//! | `library` | CUDA's library, functions as methods, functions of scalars |
//! | `idiom` | the ways in which Python and Triton let a thing be said |
//! | `host` | the ways in which a kernel is made and launched |
//! | `chain` | operations on whole blocks one after the other, each on what the last one gave |
//! | `tiles` | tensor descriptors, block pointers, loops that load and multiply |
//! | `form` | what a case is made for |
//! | `twist` | twins: kernels that must store the same |
//! | [`breach`] | cases that break one rule on purpose |

mod block;
pub mod breach;
mod cells;
mod chain;
mod corners;
mod coverage;
mod data;
mod edges;
mod expr;
mod features;
mod flow;
mod form;
mod host;
mod idiom;
mod library;
mod maker;
mod narrow;
mod products;
mod tiles;
mod twist;
mod types;

use std::collections::HashMap;
use std::fmt::Write as _;

use arbitrary::{Result, Unstructured};

use self::features::Known;
use self::host::Launched;
use self::maker::{FIRST, Maker};

pub use self::coverage::Coverage;
pub use self::form::{Detail, Form, Layout, Limits, Twist};

/// The first lines of every module.
const HEAD: &str = "import triton\nimport triton.language as tl\n";

/// What a module that uses CUDA's library has besides.
const LIBRARY: &str = "from triton.language.extra import libdevice\n";

/// A random case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    name: String,
    functions: String,
    storages: Vec<(String, String)>,
    tensors: Vec<(String, String)>,
    arguments: Vec<(String, String)>,
    options: Vec<(&'static str, String)>,
    launched: Launched,
    programs: usize,
    /// Whether each program is a launch of its own.
    split: bool,
    /// What was known of its values.
    known: HashMap<String, Known>,
    /// The idioms that it is written in.
    idioms: Vec<&'static str>,
}

impl Generated {
    /// The case of some bytes: any bytes are one. Names of its module begin with `name`.
    ///
    /// # Errors
    /// None that are known: what the bytes lack is made up.
    pub fn new(name: &str, form: impl Into<Form>, u: &mut Unstructured<'_>) -> Result<Self> {
        Maker::new(name, form.into(), u)?.finish()
    }

    /// Its functions, without what a module begins with.
    pub fn functions(&self) -> &str {
        &self.functions
    }

    /// A Python module of its own.
    pub fn module(&self) -> String {
        module(std::slice::from_ref(self))
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
        let times = if self.launched.again { 2 } else { 1 };
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
pub fn module(cases: &[Generated]) -> String {
    let mut text = HEAD.to_owned();
    if cases.iter().any(|case| case.functions.contains("libdevice.")) {
        text.push_str(LIBRARY);
    }
    for case in cases {
        text.push_str(&case.functions);
    }
    text
}
