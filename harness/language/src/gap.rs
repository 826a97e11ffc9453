//! Programs that some versions' compilers refuse although the language defines them. These are bugs of the compilers, not
//! promises of the language, so no rule of `cerith_tile::rules` covers them.

use cerith_tile::rules::Version;

macro_rules! gaps {
    ($( $(#[doc = $doc:literal])+ $name:ident: ($since:expr) to ($until:expr), $source:literal; )+) => {
        /// A refusal of the compilers from one version up to another.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Gap { $( $(#[doc = $doc])+ #[doc = ""] #[doc = $source] $name, )+ }

        impl Gap {
            /// The first version that refuses it, and the first that no longer does.
            const fn versions(self) -> (Version, Version) {
                match self { $( Self::$name => ($since, $until), )+ }
            }

            /// Whether a version refuses it.
            pub fn holds(self, version: Version) -> bool {
                let (since, until) = self.versions();
                (since..until).contains(&version)
            }
        }
    };
}

const FIRST: Version = Version::new(0, 0, 0);
const OPEN: Version = Version::new(u16::MAX, 0, 0);

gaps! {
    /// `while n:` of an int: the condition has to be `i1`.
    WhileOfNumbers: (Version::new(3, 5, 0)) to (Version::new(3, 9, 0)), "scf.condition of wheels 3.5.1 to 3.8.0";
    /// `autotune(key=…)` of a name that is not a parameter.
    StrayKeys: (Version::new(3, 9, 0)) to (OPEN), "runtime/autotuner.py of wheel 3.9.0";
    /// `autotune(key=…)` of such a name, in versions that find the key by its position.
    MissingKeys: (FIRST) to (Version::new(3, 2, 0)), "runtime/autotuner.py of wheels 3.0.0 and 3.1.0";
    /// `histogram` of integers that do not have 32 bits: a pass fails.
    HistogramOfOtherWidths: (FIRST) to (Version::new(3, 9, 0)), "`HistogramOpToLLVM` of wheels 3.0.0 to 3.8.0";
    /// A value that only a `while` computes and carries, for nothing: it is kept and lowered.
    WhileCarriesUnused: (FIRST) to (Version::new(3, 6, 0)), "`fp8_unused` of the corpus compiled by wheels 3.2.0 to 3.9.0";
    /// A function of `tl` as an argument of a `@triton.jit` function.
    BuiltinArguments: (Version::new(3, 3, 0)) to (Version::new(3, 7, 0)), "`code_generator.call_JitFunction` of wheel 3.6.0";
    /// A call of a function of Python's `math`.
    PythonModules: (FIRST) to (Version::new(3, 6, 0)), "`DependenciesFinder` of runtime/jit.py in wheels 3.0.0 to 3.5.1";
    /// A call of a class of a module's, as `torch.finfo(…)`.
    PythonClasses: (FIRST) to (Version::new(3, 2, 0)), "`DependenciesFinder` of runtime/jit.py in wheels 3.0.0 and 3.1.0; 3.2.0 takes it";
    /// `not` of a tuple.
    NotOfTuples: (FIRST) to (Version::new(3, 9, 0)), "`code_generator.visit_UnaryOp` of wheels 3.0.0 to 3.6.0";
    /// A name of `tl` that does not exist, in code that is not compiled: dependencies are looked up before.
    NamesNotTaken: (FIRST) to (Version::new(3, 5, 0)), "`DependenciesFinder` of runtime/jit.py in wheels 3.0.0 to 3.4.0";
}
