//! Launches with known results, which an engine runs before the user's cases. They detect bugs of Cerith in passing a grid, a number
//! or an address to the engine, so that these bugs are not blamed on the engine.
//!
//! Every version of Triton's interpreter gets these launches right. Engines that replay from records execute nothing, so they
//! get none.

use cerith_case::load_case;
use cerith_engine::{Engine, EngineId, Outcome};
use cerith_tile::rules::Rules;

use crate::given_contents::compare_given;
use crate::panel::Panel;

const KERNELS: &str = "\
import triton
import triton.language as tl


@triton.jit
def places(out, factor, below):
    row = tl.program_id(2) * tl.num_programs(1) + tl.program_id(1)
    at = row * tl.num_programs(0) + tl.program_id(0)
    tl.store(out + at, at * factor + below)


@triton.jit
def table(x, to, out):
    first = tl.load(to).to(tl.pointer_type(tl.float32))
    tl.store(out, tl.load(to))
    tl.store(first + 1, 7.0)


@triton.jit
def passed_on(x, to, out):
    tl.store(out, tl.load(to))
    tl.store(out + 1, tl.load(to + 1))


@triton.jit
def outside(out):
    tl.store(out - 1, 7)
    tl.store(out + 4, 9)
";

const PLACES: &str = "\
about: Programs of a grid of three axes, and numbers with a sign, one of them past 32 bits.
kernel: kernels.py:places
storages:
  out: { dtype: i64, shape: [24], fill: uninit }
launches:
  - { grid: [4, 3, 2], args: { out: out, factor: 3, below: -8589934592 } }
gives: { out: { arange: { start: -8589934592, step: 3 } } }
";

const TABLE: &str = "\
about: An address out of a table is stored, and stored through.
kernel: kernels.py:table
storages:
  x: { dtype: f32, shape: [4], fill: zeros }
  to: { dtype: i64, shape: [1], fill: { addresses: ['x[1:]'] } }
  out: { dtype: i64, shape: [1], fill: zeros }
launches:
  - { grid: [1], args: { x: x, to: to, out: out } }
gives: { x: [0, 0, 7, 0], out: { addresses: ['x[1:]'] } }
";

const PASSED_ON: &str = "\
about: Addresses out of a table are stored.
kernel: kernels.py:passed_on
storages:
  x: { dtype: f32, shape: [4], fill: zeros }
  to: { dtype: i64, shape: [2], fill: { addresses: ['x[1:]', x] } }
  out: { dtype: i64, shape: [2], fill: zeros }
launches:
  - { grid: [1], args: { x: x, to: to, out: out } }
gives: { out: { addresses: ['x[1:]', x] } }
";

const OUTSIDE: &str = "\
about: Stores just before and just past a storage, which an interpreter makes.
kernel: kernels.py:outside
storages:
  out: { dtype: i32, shape: [4], fill: zeros }
launches:
  - { grid: [1], args: { out: out } }
";

/// Runs these launches with the interpreters of a panel. If the results of an interpreter differ from the known ones,
/// removes it from the panel. Returns the removed interpreters with a description of the wrong result.
pub fn run_canaries(panel: &mut Panel) -> Vec<(EngineId, String)> {
    let tried = panel.other_engines().iter();
    let wrong: Vec<(EngineId, String)> = tried
        .filter_map(|engine| Some((engine.id().clone(), check_engine(engine.as_ref())?)))
        .collect();
    let ids: Vec<EngineId> = wrong.iter().map(|(id, _)| id.clone()).collect();
    panel.remove(&ids);
    wrong
}

fn check_engine(engine: &dyn Engine) -> Option<String> {
    let EngineId::Interpret { host, torch, .. } = engine.id() else {
        return None;
    };
    // An interpreter cannot access the addresses of CUDA tensors.
    let files = if *host {
        &[PLACES, PASSED_ON, TABLE][..]
    } else {
        &[PLACES, PASSED_ON]
    };
    let wrong = files.iter().find_map(|file| check_case(engine, file));
    if *torch && !*host {
        // Triton copies torch's CUDA tensors to the CPU and back, without the bytes beside them.
        return wrong;
    }
    wrong.or_else(|| check_guard_stores(engine))
}

/// Describes the stores beside a storage that an engine did not make. `None` if it made them, or did not finish.
fn check_guard_stores(engine: &dyn Engine) -> Option<String> {
    let case = match load_case(OUTSIDE, KERNELS) {
        Ok(case) => case,
        Err(error) => return Some(error.to_string()),
    };
    let rules = engine
        .id()
        .version()
        .map_or_else(Rules::default, Rules::from_version);
    let outcome = engine.run(&case, rules).ok()?.outcome;
    let memory = &outcome.finished()?.memory;
    let (front, back) = memory.guards(memory.ids().next()?);
    let kept = front.ends_with(&7_i32.to_le_bytes()) && back.starts_with(&9_i32.to_le_bytes());
    (!kept).then(|| format!("what was stored beside `out` is not there ({})", case.summary))
}

/// The failure of an engine in a case, as text. `None` if it cannot run the case.
fn check_case(engine: &dyn Engine, file: &str) -> Option<String> {
    let case = match load_case(file, KERNELS) {
        Ok(case) => case,
        Err(error) => return Some(error.to_string()),
    };
    let rules = engine
        .id()
        .version()
        .map_or_else(Rules::default, Rules::from_version);
    let outcome = match engine.run(&case, rules) {
        Ok(run) => run.outcome,
        // The user's cases fail too, and report the error.
        Err(_) => return None,
    };
    if !matches!(outcome, Outcome::Finished(_)) {
        return None;
    }
    let comparison = compare_given(&case, &outcome)?;
    let element = comparison.first.first();
    Some(match element {
        Some(element) => format!(
            "`{}` holds {} at byte {} and not {} ({})",
            element.storage, element.values[1], element.byte, element.values[0], case.summary
        ),
        None => case.summary,
    })
}

#[cfg(test)]
mod tests {
    use cerith_engine::Reference;

    use super::*;

    #[test]
    fn the_reference_gives_what_is_known() {
        for file in [PLACES, TABLE, PASSED_ON] {
            assert_eq!(check_case(&Reference::default(), file), None);
        }
    }

    #[test]
    fn something_else_is_told() {
        let file = PLACES.replace("step: 3", "step: 4");
        let said = check_case(&Reference::default(), &file).expect("it is something else");
        assert!(
            said.starts_with("`out` holds -8589934589 at byte 8 and not -8589934588"),
            "{said}"
        );
    }
}
