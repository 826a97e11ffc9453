//! All of Cerith in one page, for a program that brings its own cases: text in, verdicts out.
//!
//!     cargo run -p cerith-embed --example embed
//!
//! A case is read from text, run by the reference and by Triton's own interpreter (if
//! `cerith toolchain add 3.6.0` has installed it), judged, and printed as `cerith run` prints it. Exits with the code of `cerith run`.

use std::error::Error;
use std::process::ExitCode;

use cerith_embed::{Corpus, Human, Input, Panel, interpreter, judge, reference};

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
        Input::from_text("sums/add.yaml", CASES),
        Input::from_text("sums/add.py", KERNEL),
    ]);

    let mut panel = Panel::new(Some(reference()), vec![]);
    match interpreter("3.6.0", 1) {
        Ok(interpreter) => {
            panel.add(interpreter);
        }
        Err(error) => eprintln!("the reference runs alone: failed to {error}"),
    }

    let mut printer = Human::default();
    printer.verbose = true;
    let summary = judge(&corpus, &panel, |event| print!("{}", printer.render_event(event)))
        .map_err(|_| "the panel was stopped")?;
    Ok(ExitCode::from(summary.exit_code()))
}
