//! Tests that need something that a machine may lack: a toolchain, torch, a system that contains workers.
//!
//! `#[test]` cannot report at run time that a test did not run: such a test counts as passed. A crate's `tests/needs` is a
//! binary with `harness = false`, whose `main` joins the [`Tests`] of its modules; it counts such a test as ignored and
//! prints the reason. Arguments and output are those of `cargo test`.
//!
//! `CERITH_TEST_TOOLCHAINS=3.1.0,3.9.0` names toolchains that must be there: without one of them its tests fail. CI sets it.
//!
//! This crate does not install anything and finds toolchains only.

use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, RwLock};

use cerith_toolchain::{Containment, Home, Toolchain, ToolchainId};
use libtest_mimic::{Arguments, Failed, Trial};

/// The version that tests use when one is enough.
pub const NEWEST: &str = "3.9.0";

/// Functions with their names, for the methods of [`Tests`].
#[macro_export]
macro_rules! named {
    ($($test:ident),* $(,)?) => { [$((stringify!($test), $test as _)),*] };
}

/// The names of modules and their tests, for [`Tests::join`].
#[macro_export]
macro_rules! modules {
    ($($module:ident),* $(,)?) => { [$((stringify!($module), $module::tests())),*] };
}

/// A test and its name.
pub type NamedTest<F> = (&'static str, F);

/// The requirements of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The installed toolchain with this name.
    Toolchain(&'static str),
    /// An installed toolchain that holds torch, or a Python with torch.
    Torch,
    /// An installed toolchain that holds torch.
    InstalledTorch,
    /// `CERITH_TEST_TORCH` names Pythons that have torch.
    PythonWithTorch,
    /// A system on which workers are contained whole.
    Containment,
    /// A machine without a GPU of NVIDIA's.
    NoGpu,
}

/// The Pythons with torch that `CERITH_TEST_TORCH` names.
pub fn pythons_with_torch() -> Vec<String> {
    let named = std::env::var("CERITH_TEST_TORCH").unwrap_or_default();
    named
        .split([',', ':', ' '])
        .filter(|python| !python.is_empty())
        .map(str::to_owned)
        .collect()
}

/// A toolchain that the running test needs.
///
/// # Panics
///
/// If it is not installed, the test is listed without its need.
pub fn find_toolchain(name: &str) -> Toolchain {
    let id: ToolchainId = name.parse().expect("the name of a toolchain");
    let home = Home::discover().expect("a home");
    home.find(&id).expect("a test that needs a toolchain says so")
}

/// Whether a machine satisfies a test's requirement.
enum Availability<T> {
    Here(T),
    /// The reason why the test is ignored.
    Missing(String),
    /// The reason for a failure: the environment requires it.
    Required(String),
}

/// The tests of a module, or of all modules of a binary.
pub struct Tests {
    home: Home,
    required: Vec<String>,
    one_at_a_time: bool,
    all: Vec<Test>,
}

/// A test with its name, and the reason to ignore it, if there is one.
struct Test {
    name: String,
    ignored: Option<String>,
    run: Box<dyn FnOnce() -> Result<(), Failed> + Send>,
}

impl Default for Tests {
    fn default() -> Self {
        Self::new()
    }
}

impl Tests {
    /// No test yet, and the home that this environment names.
    ///
    /// # Panics
    ///
    /// If there is no home, nothing can be tested.
    pub fn new() -> Self {
        let required = std::env::var("CERITH_TEST_TOOLCHAINS").unwrap_or_default();
        Self {
            home: Home::discover().expect("a home"),
            required: required
                .split([',', ' '])
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect(),
            one_at_a_time: false,
            all: Vec::new(),
        }
    }

    /// The tests of several modules. A test's name begins with its module's.
    ///
    /// While a test of a module with [`Tests::one_at_a_time`] runs, no other test does.
    #[must_use]
    pub fn join<const N: usize>(modules: [(&str, Self); N]) -> Self {
        let alone = Arc::new(RwLock::new(()));
        let mut all = Self::new();
        for (module, tests) in modules {
            for test in tests.all {
                let alone = Arc::clone(&alone);
                let run = move || {
                    if tests.one_at_a_time {
                        let _alone = alone.write();
                        (test.run)()
                    } else {
                        let _together = alone.read();
                        (test.run)()
                    }
                };
                all.all.push(Test {
                    name: format!("{module}::{}", test.name),
                    ignored: test.ignored,
                    run: Box::new(run),
                });
            }
        }
        all
    }

    /// Tests that run everywhere.
    #[must_use]
    pub fn without_needs(self, tests: &[NamedTest<fn()>]) -> Self {
        self.with_needs(&[], tests)
    }

    /// Tests that need the toolchain with this name.
    #[must_use]
    pub fn with_toolchain(self, name: &'static str, tests: &[NamedTest<fn()>]) -> Self {
        self.with_needs(&[Need::Toolchain(name)], tests)
    }

    /// Tests that need all of this.
    #[must_use]
    pub fn with_needs(mut self, needs: &[Need], tests: &[NamedTest<fn()>]) -> Self {
        for &(test, run) in tests {
            let found = self.all_of(needs);
            self.add(test.to_owned(), found, move |()| run());
        }
        self
    }

    /// One test, which needs all of this.
    #[must_use]
    pub fn with_test(mut self, name: String, needs: &[Need], run: impl FnOnce() + Send + 'static) -> Self {
        let found = self.all_of(needs);
        self.add(name, found, move |()| run());
        self
    }

    /// Tests of one toolchain each: every test runs once for every name.
    #[must_use]
    pub fn with_each(mut self, names: &[impl AsRef<str>], tests: &[NamedTest<fn(&Toolchain)>]) -> Self {
        for &(test, run) in tests {
            for name in names {
                let name = name.as_ref();
                let found = self.find(name);
                self.add(format!("{test}::{name}"), found, move |found: Toolchain| {
                    run(&found);
                });
            }
        }
        self
    }

    /// Tests that do not run here, where there is a reason why.
    #[must_use]
    pub fn with_skip_reason(mut self, why: Option<&String>, tests: &[NamedTest<fn()>]) -> Self {
        for &(test, run) in tests {
            let found = why.map_or(Availability::Here(()), |why| Availability::Missing(why.clone()));
            self.add(test.to_owned(), found, move |()| run());
        }
        self
    }

    /// Runs each of these tests while no other test of the binary runs.
    #[must_use]
    pub const fn one_at_a_time(mut self) -> Self {
        self.one_at_a_time = true;
        self
    }

    /// Runs what the arguments select.
    pub fn run(self) -> ExitCode {
        let trials = self.all.into_iter().map(|test| {
            let trial = Trial::test(test.name, test.run);
            match test.ignored {
                Some(why) => trial.with_kind(why).with_ignored_flag(true),
                None => trial,
            }
        });
        libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
    }

    fn find(&self, name: &str) -> Availability<Toolchain> {
        let id: ToolchainId = name.parse().expect("the name of a toolchain");
        match self.home.find(&id) {
            Some(toolchain) => Availability::Here(toolchain),
            None if self.required.iter().any(|one| one == name) => Availability::Required(format!(
                "the toolchain {name} is not installed, and CERITH_TEST_TOOLCHAINS names it"
            )),
            None => Availability::Missing(format!("the toolchain {name} is not installed")),
        }
    }

    /// The first that is required and missing, or else the first that is missing.
    fn all_of(&self, needs: &[Need]) -> Availability<()> {
        let mut missing = None;
        for need in needs {
            let lacks = match *need {
                Need::Toolchain(name) => match self.find(name) {
                    Availability::Here(_) => None,
                    Availability::Missing(why) => Some(why),
                    Availability::Required(why) => return Availability::Required(why),
                },
                Need::Torch => (!self.holds_torch() && pythons_with_torch().is_empty()).then(|| {
                    "no installed toolchain holds torch, and CERITH_TEST_TORCH names no Python".to_owned()
                }),
                Need::InstalledTorch => {
                    (!self.holds_torch()).then(|| "no installed toolchain holds torch".to_owned())
                }
                Need::NoGpu => Path::new("/dev/nvidiactl")
                    .exists()
                    .then(|| "this machine has a GPU".to_owned()),
                Need::PythonWithTorch => pythons_with_torch()
                    .is_empty()
                    .then(|| "CERITH_TEST_TORCH names no Python with torch".to_owned()),
                Need::Containment => (!Containment::of_this_system().is_whole())
                    .then(|| "this system does not contain workers".to_owned()),
            };
            missing = missing.or(lacks);
        }
        missing.map_or(Availability::Here(()), Availability::Missing)
    }

    fn holds_torch(&self) -> bool {
        let all = self.home.list().expect("a list of toolchains");
        all.iter().any(|one| one.contents.torch.is_some())
    }

    fn add<T: Send + 'static>(
        &mut self,
        name: String,
        found: Availability<T>,
        run: impl FnOnce(T) + Send + 'static,
    ) {
        let mut ignored = None;
        let run: Box<dyn FnOnce() -> Result<(), Failed> + Send> = match found {
            Availability::Here(found) => Box::new(move || {
                run(found);
                Ok(())
            }),
            Availability::Missing(why) => {
                ignored = Some(why);
                Box::new(|| Err("something that it needs is missing".into()))
            }
            Availability::Required(why) => Box::new(|| Err(Failed::from(why))),
        };
        self.all.push(Test { name, ignored, run });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    fn do_nothing() {}

    /// No machine has toolchain 9.9.9; `required` is what the environment names.
    fn check(required: &[&str], ignored: Option<&str>) {
        let mut tests = Tests::new();
        tests.required = required.iter().map(|&name| name.to_owned()).collect();
        let tests = tests.with_toolchain("9.9.9", &named![do_nothing]);
        let [test] = &tests.all[..] else {
            panic!("one test")
        };
        assert_eq!(test.ignored.as_deref(), ignored);
    }

    #[test]
    fn joined_tests_have_their_modules_names_and_keep_their_reasons() {
        let first = Tests::new().without_needs(&named![do_nothing]);
        let second = Tests::new().with_toolchain("9.9.9", &named![do_nothing]);
        let joined = Tests::join([("first", first), ("second", second)]);
        let shown: Vec<_> = joined
            .all
            .iter()
            .map(|test| (&*test.name, test.ignored.is_some()))
            .collect();
        assert_eq!(
            shown,
            [("first::do_nothing", false), ("second::do_nothing", true)]
        );
    }

    /// Two tests that must be alone, and two that may run together: threads start them all at once.
    #[test]
    fn one_at_a_time_holds_for_the_whole_binary() {
        static RUNNING: AtomicUsize = AtomicUsize::new(0);
        fn run_exclusively() {
            assert_eq!(RUNNING.fetch_add(1, Ordering::SeqCst), 0, "another test runs");
            std::thread::sleep(Duration::from_millis(5));
            RUNNING.fetch_sub(1, Ordering::SeqCst);
        }
        fn run_concurrently() {
            RUNNING.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(5));
            RUNNING.fetch_sub(1, Ordering::SeqCst);
        }
        let first = Tests::new()
            .one_at_a_time()
            .without_needs(&[("a", run_exclusively), ("b", run_exclusively)]);
        let second = Tests::new().without_needs(&[("c", run_concurrently), ("d", run_concurrently)]);
        let joined = Tests::join([("first", first), ("second", second)]);
        std::thread::scope(|scope| {
            for test in joined.all {
                scope.spawn(move || assert!((test.run)().is_ok()));
            }
        });
    }

    #[test]
    fn what_is_missing_is_ignored_and_what_is_required_fails() {
        check(&[], Some("the toolchain 9.9.9 is not installed"));
        check(&["3.9.0"], Some("the toolchain 9.9.9 is not installed"));
        check(&["9.9.9"], None);
    }
}
