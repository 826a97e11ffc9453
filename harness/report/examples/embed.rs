//! All of Cerith in one page, for a program that brings its own cases: text in, verdicts out.
//!
//!     cargo run -p cerith-report --example embed
//!
//! A case is read from text, run by the reference and by Triton's own interpreter (where `cerith toolchain add 3.6.0` or
//! whoever has installed it), judged, and printed as `cerith run` prints it. Exits with what `cerith run` would exit with.

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use cerith_case::{Corpus, Input};
use cerith_engine::{Engine, Interpret, Reference};
use cerith_report::{Event, Human, Summary, describe};
use cerith_toolchain::pool::Limits;
use cerith_toolchain::{Home, Pool, ToolchainId};
use cerith_verdict::{Panel, try_case};

/// Two cases: a sum that fits, and one whose last program reads and writes past the end.
const CASES: &str = "
about: Blocks of four are added.
kernel: add.py:add
matrix: { n: [8, 10] }
storages:
  x: { dtype: f32, shape: [n], fill: arange }
  y: { dtype: f32, shape: [n], fill: ones }
  out: { dtype: f32, shape: [n], fill: uninit }
launches:
  - { grid: ['cdiv(n, 4)'], args: { x: x, y: y, out: out, BLOCK: 4 } }
";

const KERNEL: &str = "
import triton
import triton.language as tl

@triton.jit
def add(x, y, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) + tl.load(y + i))
";

fn main() -> Result<ExitCode, Box<dyn Error>> {
    // A corpus of two texts. `Corpus::read(folder)` reads case files and kernels from a folder, a recording among them.
    let corpus = Corpus::load([
        Input::text("sums/add.yaml", CASES),
        Input::text("sums/add.py", KERNEL),
    ]);

    let mut others: Vec<Arc<dyn Engine>> = Vec::new();
    let id: ToolchainId = "3.6.0".parse()?;
    match Home::discover()?.resolve(&id) {
        Some(toolchain) => {
            let pool = Pool::new(toolchain, 1)?;
            others.push(Arc::new(Interpret::new(pool, false, Limits::default())));
        }
        None => eprintln!("Triton {id} is not installed: the reference runs alone"),
    }
    let panel = Panel::new(Some(Arc::new(Reference::default())), others);

    let (mut printer, mut summary) = (Human::default(), Summary::default());
    printer.verbose = true;
    let mut show = |event: Event| {
        summary.count(&event);
        print!("{}", printer.event(&event));
    };
    for problem in corpus.problems() {
        show(Event::Problem(describe::problem(problem, corpus.sources())));
    }
    for entry in corpus.entries() {
        match entry.resolve() {
            Ok(case) => {
                let trial = try_case(&case, &panel).map_err(|_| "somebody stopped the panel")?;
                let verdict = describe::trial(&case, &trial, &panel, corpus.sources());
                show(Event::Verdict(Box::new(verdict)));
            }
            Err(problems) => {
                for problem in problems {
                    show(Event::Problem(describe::problem(&problem, corpus.sources())));
                }
            }
        }
    }
    Ok(ExitCode::from(summary.exit_code()))
}
