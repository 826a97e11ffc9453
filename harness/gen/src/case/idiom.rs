//! Idioms: special forms of writing a kernel, as a few lines with words in braces. They compute something simple with unusual
//! forms: functions with defaults, tuples, Python's numbers and operators, hints, assertions.
//!
//! An idiom names the versions whose compilers accept it. A few kernels for other versions have it anyway, and a few have an
//! idiom that no version compiles ([`NEVER`]): an engine that runs such a kernel is wrong.
//!
//! | word | stands for |
//! |---|---|
//! | `x` | the operand: a value in scope |
//! | `y`, `z` | expressions of its dtype and shape |
//! | `T`, `shape`, `at` | its dtype, its shape, and `0, 1, …` in it |
//! | `l` | a number beside it |
//! | `+`, `*` | operators that keep its dtype |
//! | `<` | a comparison |
//! | `n`, `m` | small integers of the launch |
//! | `fl`, `flag`, `wide`, `none` | a float, a bool, an integer beyond 32 bits and None of the launch |
//! | `k` | a small integer that is a constant of the kernel; `dtype`, one that is a dtype |
//! | `c`, `d` | small integers, written out |
//! | `cond`, `test` | conditions that the launch or the program decides |
//! | `F` | a parameter that is the function `f`; `pair`, one that is two integers; `ptrs`, one that points to addresses of blocks |
//! | `f`, `g`, `G` | names of the module |
//! | `r`, `q` | the results |
//! | `t`, `u`, `w`, `j` | other names |
//!
//! See `host` for launches.

mod calls;
mod flows;
mod scalars;
mod strays;
mod tuples;

use std::collections::BTreeMap;

use arbitrary::Result;
use cerith_tile::DType;
use cerith_tile::rules::Version;

use super::block::count;
use super::form::Limits;
use super::maker::{Maker, Value, build_offsets};
use super::types::{choose_literal, render_dtype};

/// No compiler takes it.
const NEVER: (u16, u16) = (u16::MAX, 0);

/// The kind of an idiom's operand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Any,
    Block,
    Int,
    Float,
    /// An integer that is not a block.
    Scalar,
    /// A number that is not a block.
    Number,
}

/// Its result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Gives {
    Nothing,
    /// `r`, like the operand.
    One,
    /// `r` and `q`, like the operand.
    Two,
    /// `r`, no block, of this dtype.
    Scalar(DType),
    /// `r`, of the operand's shape without its first dimension.
    Reduced,
}

/// A way in which kernels are written.
#[derive(Clone, Copy)]
pub(super) struct Idiom {
    /// A name of one to three words.
    name: &'static str,
    weight: u32,
    since: (u16, u16),
    removed_in: (u16, u16),
    takes: Takes,
    gives: Gives,
    /// Lines above the kernel.
    above: &'static str,
    /// Lines of the kernel; one is chosen.
    lines: &'static [&'static str],
}

impl Idiom {
    const fn new(
        name: &'static str,
        takes: Takes,
        gives: Gives,
        above: &'static str,
        lines: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            weight: 4,
            since: (3, 0),
            removed_in: NEVER,
            takes,
            gives,
            above,
            lines,
        }
    }

    const fn with_version(self, major: u16, minor: u16) -> Self {
        Self {
            since: (major, minor),
            ..self
        }
    }

    const fn removed_in(self, major: u16, minor: u16) -> Self {
        Self {
            removed_in: (major, minor),
            ..self
        }
    }

    const fn never(self) -> Self {
        Self { since: NEVER, ..self }
    }

    const fn with_weight(self, weight: u32) -> Self {
        Self { weight, ..self }
    }

    /// Every idiom.
    pub(super) fn iter() -> impl Iterator<Item = &'static Self> {
        let tables = [
            calls::IDIOMS,
            flows::IDIOMS,
            scalars::IDIOMS,
            strays::IDIOMS,
            tuples::IDIOMS,
        ];
        tables.into_iter().flatten()
    }

    /// Whether all of these versions' compilers take it.
    pub(super) fn is_taken(&self, limits: Limits) -> bool {
        let (since, until) = (self.since, self.removed_in);
        limits.is_at_least(since.0, since.1)
            && (until == NEVER || limits.newest < Version::new(until.0, until.1, 0))
    }

    /// Whether it announces a constexpr in the kernel, which may have a value once.
    fn announces(&self) -> bool {
        self.lines.iter().any(|line| line.contains("}: tl.constexpr"))
    }
}

/// An idiom that is being filled in.
struct Filling {
    words: BTreeMap<String, String>,
    operand: Value,
    /// Whether engines may round its result differently.
    rough: bool,
}

impl Maker<'_, '_> {
    /// Some idiom that the versions take.
    pub(super) fn idiom(&mut self) -> Result<()> {
        let limits = self.form.limits;
        self.some_idiom(|idiom| idiom.is_taken(limits))
    }

    /// Some idiom that they do not take.
    pub(super) fn stray(&mut self) -> Result<()> {
        let limits = self.form.limits;
        self.some_idiom(|idiom| !idiom.is_taken(limits))
    }

    fn some_idiom(&mut self, fits: impl Fn(&Idiom) -> bool) -> Result<()> {
        // A loop that is unrolled would give a constexpr its value twice.
        let again = self.depth > 1;
        let fitting = Idiom::iter().filter(|idiom| fits(idiom) && !(again && idiom.announces()));
        let choices: Vec<(u32, &Idiom)> = fitting.map(|idiom| (idiom.weight, idiom)).collect();
        let idiom = self.choose_weighted(&choices)?;
        self.write(idiom)
    }

    /// Writes an idiom.
    pub(super) fn write(&mut self, idiom: &Idiom) -> Result<()> {
        self.idioms.push(idiom.name);
        let operand = self.choose_operand(idiom.takes)?;
        if idiom.gives == Gives::Reduced && !self.takes_one_by_one(count(&operand.shape)) {
            return Ok(());
        }
        let mut filling = Filling {
            words: BTreeMap::new(),
            rough: operand.rough,
            operand,
        };
        if !idiom.above.is_empty() {
            let above = self.fill_lines(idiom.above, &mut filling)?;
            self.above.push_str("\n\n");
            self.above.push_str(&above);
            self.above.push('\n');
        }
        let lines = *self.u.choose(idiom.lines)?;
        let text = self.fill_lines(lines, &mut filling)?;
        for line in text.lines() {
            self.emit_line(line);
        }
        let Filling {
            words,
            operand,
            rough,
        } = filling;
        let mut give = |word: &str, dtype: DType, shape: &[usize]| {
            if let Some(name) = words.get(word) {
                self.add_value(name.clone(), dtype, shape, rough);
            }
        };
        match idiom.gives {
            Gives::Nothing => {}
            Gives::One => give("r", operand.dtype, &operand.shape),
            Gives::Two => {
                give("r", operand.dtype, &operand.shape);
                give("q", operand.dtype, &operand.shape);
            }
            Gives::Scalar(dtype) => give("r", dtype, &[]),
            Gives::Reduced => give("r", operand.dtype, &operand.shape[1..]),
        }
        Ok(())
    }

    /// A value for an idiom: one in scope, or one made for it.
    fn choose_operand(&mut self, takes: Takes) -> Result<Value> {
        let whole = |dtype: DType| dtype != DType::I1 && (!dtype.is_float() || dtype.bits() > 8);
        let fits = |value: &Value| match takes {
            Takes::Any => true,
            Takes::Block => !value.shape.is_empty(),
            Takes::Int => !value.dtype.is_float(),
            Takes::Float => value.dtype.is_float(),
            Takes::Scalar => value.shape.is_empty() && !value.dtype.is_float() && !value.rough,
            Takes::Number => value.shape.is_empty() && !value.rough,
        };
        let found = self.choose_value(|value| whole(value.dtype) && fits(value))?;
        if let Some(value) = found {
            return Ok(value);
        }
        let dtype = if takes == Takes::Float {
            DType::F32
        } else {
            DType::I32
        };
        let shape = match takes {
            Takes::Scalar | Takes::Number => Vec::new(),
            _ => self.shape.clone(),
        };
        let text = self.build_anchor(dtype, &shape)?;
        Ok(self.assign(&text, dtype, &shape))
    }

    fn fill_lines(&mut self, lines: &str, filling: &mut Filling) -> Result<String> {
        let mut text = String::new();
        let mut rest = lines;
        while let Some((before, after)) = rest.split_once('{') {
            text.push_str(before);
            if let Some(after) = after.strip_prefix('{') {
                text.push('{');
                rest = after;
                continue;
            }
            let (word, behind) = after.split_once('}').unwrap_or((after, ""));
            text.push_str(&self.fill_word(word, filling)?);
            rest = behind;
        }
        text.push_str(rest);
        Ok(text.replace("}}", "}"))
    }

    fn fill_word(&mut self, word: &str, filling: &mut Filling) -> Result<String> {
        if let Some(known) = filling.words.get(word) {
            return Ok(known.clone());
        }
        let text = self.expand_word(word, filling)?;
        // Another `l` is another number.
        if word != "l" {
            filling.words.insert(word.to_owned(), text.clone());
        }
        Ok(text)
    }

    fn expand_word(&mut self, word: &str, filling: &mut Filling) -> Result<String> {
        let (dtype, shape) = (filling.operand.dtype, filling.operand.shape.clone());
        Ok(match word {
            "x" => filling.operand.name.clone(),
            "y" | "z" => {
                let text = self.build_full_expr(dtype, &shape, 1)?;
                filling.rough |= text.rough;
                text.text
            }
            "T" => render_dtype(dtype),
            "shape" => format!("{shape:?}"),
            "at" => build_offsets(&shape),
            "l" => choose_literal(dtype, self.u)?,
            "+" | "*" => {
                filling.rough |= dtype.is_float();
                let ops: &[&str] = if dtype.is_float() {
                    &["+", "*", "-"]
                } else {
                    &["+", "*", "-", "&", "|", "^"]
                };
                (*self.u.choose(ops)?).to_owned()
            }
            "<" => (*self.u.choose(&["<", "<=", ">", ">=", "==", "!="])?).to_owned(),
            "n" | "m" => {
                let value = self.u.int_in_range(0..=4)?;
                self.run_time_int(value)
            }
            "k" => self.constant()?,
            "c" | "d" => self.u.int_in_range(1..=5)?.to_string(),
            "cond" | "test" => self.condition()?,
            "fl" => self.one_of("n", "", &["0.5", "1.5", "-2.0", "0.1", "3.0"])?,
            "flag" => self.one_of("n", "", &["true", "false"])?,
            "none" => self.add_fresh_parameter("n", "", "null"),
            "wide" => {
                let numbers = [
                    "2147483648",
                    "4294967295",
                    "3000000000",
                    "4294967296",
                    "-2147483649",
                ];
                self.one_of("n", "", &numbers)?
            }
            "pair" => self.one_of("n", "", &["\"(2, 3)\"", "\"(17, 1)\"", "\"(-1, 40)\""])?,
            "dtype" => self.one_of("D", ": tl.constexpr", &["tl.float32", "tl.float64", "tl.float16"])?,
            "F" => {
                let function = self.fill_word("f", filling)?;
                let annotation = *self.u.choose(&[": tl.constexpr", ""])?;
                self.add_fresh_parameter("F", annotation, &format!("{{ global: {function} }}"))
            }
            "ptrs" => self.add_address_parameter(dtype, &shape)?,
            "f" | "g" | "G" => {
                let fresh = self.make_name(word);
                format!("{}_{fresh}", self.name)
            }
            "j" => self.make_name("j"),
            _ => self.make_name("v"),
        })
    }

    /// A parameter of its own, with this argument.
    pub(super) fn add_fresh_parameter(&mut self, kind: &str, annotation: &str, argument: &str) -> String {
        let name = self.make_name(kind);
        self.add_parameter(&name, annotation, argument);
        name
    }

    /// A parameter of its own, with one of these arguments.
    fn one_of(&mut self, kind: &str, annotation: &str, arguments: &[&str]) -> Result<String> {
        let argument = *self.u.choose(arguments)?;
        Ok(self.add_fresh_parameter(kind, annotation, argument))
    }

    /// A parameter that points to the addresses of two blocks.
    fn add_address_parameter(&mut self, dtype: DType, shape: &[usize]) -> Result<String> {
        // The place of a number is its program.
        let each = if shape.is_empty() {
            self.programs
        } else {
            count(shape)
        };
        let blocks = [
            self.whole_storage(dtype, &[each])?,
            self.whole_storage(dtype, &[each])?,
        ];
        let table = self.make_name("b");
        let fill = format!("{{ addresses: [{}] }}", blocks.join(", "));
        self.storages.push((
            table.clone(),
            format!("{{ dtype: i64, shape: [2], fill: {fill} }}"),
        ));
        Ok(self.add_fresh_parameter("x", "", &table))
    }

    /// A condition that is not known when the kernel is compiled.
    fn condition(&mut self) -> Result<String> {
        let scalar = self.choose_value(|value| value.shape.is_empty() && !value.rough)?;
        Ok(match (self.u.int_in_range(0..=4)?, scalar) {
            (0 | 1, Some(scalar)) if scalar.dtype == DType::I1 => format!("{} != 0", scalar.name),
            (0, Some(scalar)) if scalar.dtype.is_float() => format!("{} > 0.5", scalar.name),
            (0, Some(scalar)) => format!("{} != 0", scalar.name),
            (1, Some(scalar)) if scalar.dtype.is_float() => format!("{} <= 1", scalar.name),
            (1, Some(scalar)) => format!("({} & 3) == 1", scalar.name),
            (2, _) => "pid == 0".to_owned(),
            (3, _) => {
                let wide = self.add_fresh_parameter("n", "", "4294967296");
                format!("{wide} > pid")
            }
            _ => {
                let value = self.u.int_in_range(0..=4)?;
                format!("{} > 2", self.run_time_int(value))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_of_one_idiom() {
        let names: Vec<&str> = Idiom::iter().map(|idiom| idiom.name).collect();
        let unique: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(names.len(), unique.len());
    }

    #[test]
    fn what_an_idiom_gives_is_bound_in_all_of_its_lines() {
        for idiom in Idiom::iter() {
            for lines in idiom.lines {
                assert_eq!(
                    lines.contains("{r}"),
                    idiom.gives != Gives::Nothing,
                    "{}",
                    idiom.name
                );
                assert!(
                    idiom.gives != Gives::Two || lines.contains("{q}"),
                    "{}",
                    idiom.name
                );
            }
        }
    }
}
