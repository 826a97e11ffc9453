//! Launches of a kernel by the functions in its file: evaluates these functions with stand-in tensors, and writes the
//! case files of the launches that they reach. Nothing runs here. Functions of other files are in the text if the
//! caller joins them ([`cerith_module::excerpt::join_modules`]).
//!
//! An evaluation never sees elements. Values that depend on elements are unknown, and so are values computed from
//! those. Conditions of a launcher (`assert`, `raise`) change the inputs until they hold (module `repair`).

mod arguments;
mod assumed;
mod builtin;
mod call;
mod choice;
mod device;
mod eval;
mod exec;
mod fit;
mod heuristic;
mod host;
mod inputs;
mod instance;
mod launch;
mod launched;
mod layer;
mod machine;
mod measured;
mod method;
mod module;
mod name_hint;
mod nested;
mod operator;
mod passed;
mod plan;
mod repair;
mod roots;
mod sized;
pub mod skeleton;
mod solve;
mod tensor;
mod torch_creation;
mod torch_shape;
mod tuned;
mod value;
mod variants;
mod view;
mod write;

use cerith_tile::source::SourceId;
use ruff_python_ast::PySourceType;

pub use self::assumed::{ELEMENTS_OF, THE_GRID, is_of_callers};
pub use self::choice::InputChoice;
pub use self::heuristic::evaluate_heuristics;
pub use self::host::{Change, HostLaunch, HostTensor, Origin, is_same_launch};
pub use self::inputs::{HostArgument, HostCall, NoCalls};
use self::module::{HostModule, MODULE, Root};
pub use self::plan::Layout;
use self::solve::Solver;
use cerith_module::module as parsing;
use cerith_module::usage::library::{Library, Texts};

/// Maximum number of launches of a kernel.
const MAX_LAUNCHES: usize = 24;

/// Maximum number of launchers of a kernel.
const MAX_HOSTS: usize = 12;

/// Evaluates the functions of a module that launch a kernel, and returns the launches in the order of the text.
/// `text` is the whole original module, and `path` the module's path as case files name it.
pub fn read_launches(text: &str, path: &str, kernel: &str) -> Vec<HostLaunch> {
    read_launches_after(text, path, kernel, 0)
}

/// As [`read_launches`], of a text whose first lines are of other modules.
pub fn read_launches_after(text: &str, path: &str, kernel: &str, lines_before: u32) -> Vec<HostLaunch> {
    with_module(text, path, kernel, lines_before, read_module).unwrap_or_default()
}

/// As [`read_launches_after`], with other inputs than usual.
pub fn read_launches_with(
    text: &str,
    path: &str,
    kernel: &str,
    lines_before: u32,
    choice: InputChoice,
) -> Vec<HostLaunch> {
    let read = |module: &mut HostModule<'_>| {
        module.choice = choice;
        read_module(module)
    };
    with_module(text, path, kernel, lines_before, read).unwrap_or_default()
}

/// Evaluates a function that launches a kernel, and returns calls of it that reach the launch, the plain one first.
///
/// # Errors
/// There is no such function, or it cannot be evaluated up to the launch.
pub fn read_calls(text: &str, path: &str, kernel: &str, function: &str) -> Result<Vec<HostCall>, NoCalls> {
    let found = with_module(text, path, kernel, 0, |module| {
        let root = module
            .find_root(function)
            .ok_or_else(|| NoCalls::NoFunction(function.to_owned()))?;
        let solver = Solver {
            module,
            root,
            is_called: false,
        };
        solver.find_calls(MAX_LAUNCHES)
    });
    found.unwrap_or_else(|| Err(NoCalls::NoFunction(function.to_owned())))
}

/// `None` if the text is not Python.
fn with_module<T>(
    text: &str,
    path: &str,
    kernel: &str,
    lines_before: u32,
    read: impl FnOnce(&mut HostModule<'_>) -> T,
) -> Option<T> {
    let contents = parsing::parse(SourceId(0), text).ok()?;
    let texts = Texts::new([(MODULE, text)]);
    Some(parsing::with_stack(text, || {
        let parsed = ruff_python_parser::parse_unchecked_source(text, PySourceType::Python);
        let library = Library::new(&texts);
        let mut module = HostModule::new(
            text,
            path,
            kernel,
            &parsed.syntax().body,
            contents.functions,
            &library,
        );
        module.lines_before = lines_before;
        read(&mut module)
    }))
}

fn read_module(module: &mut HostModule<'_>) -> Vec<HostLaunch> {
    let module = &*module;
    if module
        .function(module.kernel.rsplit('.').next().unwrap_or_default())
        .is_none()
    {
        return Vec::new();
    }
    let mut queue: Vec<Root<'_>> = module.roots.clone();
    let mut seen: Vec<usize> = Vec::new();
    let mut launches: Vec<HostLaunch> = Vec::new();
    let mut sized: Vec<HostLaunch> = Vec::new();
    let mut failed: Vec<HostLaunch> = Vec::new();
    let mut at = 0;
    while let Some(root) = queue.get(at).copied() {
        at += 1;
        let address = std::ptr::from_ref(root.def()) as usize;
        if seen.contains(&address) || seen.len() >= MAX_HOSTS {
            continue;
        }
        seen.push(address);
        let rest = queue.len() - at;
        let share = ((MAX_LAUNCHES.saturating_sub(launches.len())) / (rest + 1)).max(4);
        let is_called = !module.roots.iter().any(|one| std::ptr::eq(one.def(), root.def()));
        let solver = Solver {
            module,
            root,
            is_called,
        };
        match solver.find_launches(share) {
            Ok(found) => {
                for one in found {
                    if one.change == Change::AllSizes {
                        sized.push(one);
                        continue;
                    }
                    let is_known = launches
                        .iter()
                        .any(|known| is_same_launch(&known.text, &one.text));
                    if !is_known && launches.len() < MAX_LAUNCHES {
                        launches.push(one);
                    }
                }
            }
            Err(failure) => {
                failed.push(*failure);
                // Perhaps the functions that it calls can be evaluated.
                queue.extend(module.callees(root));
            }
        }
    }
    if launches.iter().all(|launch| !launch.assumed.is_empty()) {
        let stated = module.roots.iter().flat_map(|root| {
            let solver = Solver {
                module,
                root: *root,
                is_called: false,
            };
            solver.find_stated_launches()
        });
        launches.extend(stated.filter(|launch| launch.assumed.is_empty()));
    }
    launches.sort_by_key(|one| one.line);
    failed.sort_by_key(|one| one.line);
    launches.extend(sized);
    launches.extend(failed);
    launches
}
