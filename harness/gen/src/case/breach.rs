//! Cases that break one rule on purpose: a kernel as [`Generated::new`] makes it, with a few lines that have no defined answer or
//! that no compiler accepts. The answer that the reference must give is known ([`Foretold`]), and so is the kernel without these
//! lines ([`Broken::unbroken`]).
//!
//! The lines stand anywhere between the kernel's own: at its top, in a loop, in a branch, in a function of their own; they use
//! values and numbers of the kernel. For the illegal lines, what is foretold was checked with Triton 3.9.0's compiler.
//!
//! `cerith_laws` compares the reference's result. Rules that compilers do not check are not broken if the result is still
//! defined.

mod illegal;
mod snippet;
mod undefined;

use std::fmt::Write as _;

use arbitrary::{Result, Unstructured};

use self::snippet::Snippet;
use super::maker::Maker;
use super::{Form, Generated};

/// The reference's required result of a case that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Foretold {
    /// It is rejected, with a place in the kernel.
    Rejected,
    /// It traps; the code of the trap.
    Trapped(&'static str),
    /// It finishes, and a storage whose name begins with [`BAD`] has bytes without a defined value.
    Poison,
    /// It finishes, with a remark of this code.
    Remarked(&'static str),
    /// It finishes, and its result depends on the order of programs.
    AnyOrder,
    /// It does not end.
    Endless,
}

/// The first part of the names of storages that get bytes without a defined value.
pub const BAD: &str = "bad";

/// A rule of the language, and lines that break it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Breach {
    /// The problem, in one to three words: `load-past-the-end`.
    pub name: &'static str,
    /// The required result of the reference.
    pub foretold: Foretold,
    /// How often it is chosen, against the others of its kind.
    weight: u32,
    /// The lines, with words in braces that [`Snippet`] fills in.
    lines: &'static str,
}

impl Breach {
    const fn new(name: &'static str, foretold: Foretold, lines: &'static str) -> Self {
        Self {
            name,
            foretold,
            weight: 8,
            lines,
        }
    }

    /// Every rule that is broken.
    pub fn iter() -> impl Iterator<Item = &'static Self> {
        undefined::BREACHES.iter().chain(illegal::BREACHES)
    }

    /// Whether it needs several programs that share an address.
    fn takes_programs(&self) -> bool {
        self.lines.contains("pid") && matches!(self.foretold, Foretold::Trapped("race") | Foretold::AnyOrder)
    }
}

/// A case that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The case.
    pub case: Generated,
    /// The same case without the lines that break the rule.
    pub unbroken: Generated,
    /// The rule.
    pub breach: &'static Breach,
}

impl Broken {
    /// The case of some bytes: any bytes are one. Names of its module begin with `name`.
    ///
    /// # Errors
    /// None that are known: what the bytes lack is made up.
    pub fn new(name: &str, form: impl Into<Form>, u: &mut Unstructured<'_>) -> Result<Self> {
        let table: &[Breach] = if u.ratio(1, 2)? {
            undefined::BREACHES
        } else {
            illegal::BREACHES
        };
        let all: u32 = table.iter().map(|breach| breach.weight).sum();
        let mut at = u.int_in_range(0..=all - 1)?;
        let mut breach = &table[0];
        for candidate in table {
            if at < candidate.weight {
                breach = candidate;
                break;
            }
            at -= candidate.weight;
        }
        Self::from_breach(breach, name, form, u)
    }

    /// A case that breaks this rule.
    ///
    /// # Errors
    /// None that are known: what the bytes lack is made up.
    pub fn from_breach(
        breach: &'static Breach,
        name: &str,
        form: impl Into<Form>,
        u: &mut Unstructured<'_>,
    ) -> Result<Self> {
        let (case, whole) = Maker::new(name, form.into(), u)?.build_broken(breach)?;
        Ok(Self {
            case,
            unbroken: whole,
            breach,
        })
    }
}

/// The context of the lines.
#[derive(Clone, Copy)]
enum LineContext {
    Plain,
    Loop,
    Branch,
    Function,
}

/// How far a maker's parts were before the lines.
struct Mark {
    above: usize,
    lines: usize,
    parameters: usize,
    storages: usize,
    arguments: usize,
}

impl Mark {
    fn new(maker: &Maker<'_, '_>) -> Self {
        Self {
            above: maker.above.len(),
            lines: maker.lines.len(),
            parameters: maker.parameters.len(),
            storages: maker.storages.len(),
            arguments: maker.arguments.len(),
        }
    }
}

impl Maker<'_, '_> {
    /// The case that breaks a rule, and the case without the lines that do.
    fn build_broken(mut self, breach: &Breach) -> Result<(Generated, Generated)> {
        if breach.takes_programs() {
            self.programs = 2;
        }
        self.begin()?;
        let (before, after) = (self.u.int_in_range(0..=3)?, self.u.int_in_range(0..=3)?);
        for _ in 0..before {
            self.step()?;
        }
        let from = Mark::new(&self);
        self.emit_breach(breach)?;
        let to = Mark::new(&self);
        for _ in 0..after {
            self.step()?;
        }
        let case = self.end()?;
        let mut whole = case.clone();
        whole.storages.drain(from.storages..to.storages);
        whole.arguments.drain(from.arguments..to.arguments);
        self.above.replace_range(from.above..to.above, "");
        self.lines.replace_range(from.lines..to.lines, "");
        self.parameters.drain(from.parameters..to.parameters);
        whole.functions = self.functions();
        Ok((case, whole))
    }

    fn emit_breach(&mut self, breach: &Breach) -> Result<()> {
        let place = self.choose_weighted(&[
            (5, LineContext::Plain),
            (2, LineContext::Loop),
            (2, LineContext::Branch),
            (3, LineContext::Function),
        ])?;
        let mut snippet = Snippet::new(self);
        let text = snippet.fill(breach.lines)?;
        let names = snippet.names();
        match place {
            LineContext::Plain => self.emit_lines(&text),
            LineContext::Loop => {
                let times = self.u.int_in_range(1..=3)?;
                let (n, j) = (self.run_time_int(times), self.make_name("j"));
                let head = *self.u.choose(&["range", "range", "tl.range"])?;
                self.emit_line(&format!("for {j} in {head}({n}):"));
                self.inside_of(&text);
            }
            LineContext::Branch => {
                let n = self.run_time_int(3);
                let condition = if breach.takes_programs() { "2" } else { "pid + 2" };
                self.emit_line(&format!("if {n} >= {condition}:"));
                self.inside_of(&text);
            }
            LineContext::Function => {
                let fresh = self.make_name("f");
                let function = format!("{}_{fresh}", self.name);
                let names = names.join(", ");
                let _ = write!(self.above, "\n\n@triton.jit\ndef {function}({names}):\n");
                for line in text.lines() {
                    let _ = writeln!(self.above, "    {line}");
                }
                self.emit_line(&format!("{function}({names})"));
            }
        }
        Ok(())
    }

    fn emit_lines(&mut self, text: &str) {
        for line in text.lines() {
            self.emit_line(line);
        }
    }

    fn inside_of(&mut self, text: &str) {
        self.depth += 1;
        self.emit_lines(text);
        self.depth -= 1;
    }
}
