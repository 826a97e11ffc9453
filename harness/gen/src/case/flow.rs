//! Loops, branches, functions, tuples.

use std::fmt::Write as _;

use arbitrary::Result;
use cerith_tile::DType;

use super::data::Rows;
use super::form::Twist;
use super::maker::{Maker, Text, Value};
use super::types;

impl Maker<'_, '_> {
    /// The change in a loop or branch: a new name for some value.
    fn carried(&mut self) -> Result<Value> {
        let shape = match self.choose_value(|_| true)? {
            Some(value) if self.u.ratio(1, 2)? => value.shape,
            _ => self.shape.clone(),
        };
        let dtype = match self.choose_value(|value| value.shape == shape && value.dtype != DType::I1)? {
            Some(value) => value.dtype,
            None => DType::I32,
        };
        let text = self.build_anchor(dtype, &shape)?;
        let name = self.make_name("c");
        self.emit_line(&format!("{name} = {}", text.text));
        let value = Value {
            name,
            dtype,
            shape,
            rough: text.rough,
        };
        self.record_type(&value);
        self.values.push(value.clone());
        Ok(value)
    }

    /// Changes a carried value, by values that are in scope.
    fn change(&mut self, value: &Value) -> Result<bool> {
        let depth = self.u.int_in_range(0..=2)?;
        let other = self.build_expr(value.dtype, &value.shape, depth)?;
        let own = Text {
            text: value.name.clone(),
            rough: value.rough,
        };
        let text = self.join_exprs(value.dtype, own, other)?;
        self.emit_line(&format!("{} = {}", value.name, text.text));
        Ok(text.rough)
    }

    /// Ends what carried values were changed in: names inside of it are gone, and the values are as rough as all of it.
    fn close_scope(&mut self, scope: usize, carried: Vec<Value>, rough: bool) {
        self.depth -= 1;
        self.values.truncate(scope);
        for mut value in carried {
            value.rough |= rough;
            self.values.retain(|other| other.name != value.name);
            self.add_value(value.name, value.dtype, &value.shape, value.rough);
        }
    }

    pub(super) fn loops(&mut self) -> Result<()> {
        if self.depth > 2 {
            return Ok(());
        }
        let count = self.u.int_in_range(1..=if self.small { 1 } else { 2 })?;
        let mut carried = Vec::new();
        for _ in 0..count {
            carried.push(self.carried()?);
        }
        let times = self.u.int_in_range(0..=if self.small { 3 } else { 6 })?;
        let stepped = if self.u.ratio(1, 2)? {
            Some(self.add_rows(times)?)
        } else {
            None
        };
        let j = self.make_name("j");
        let n = self.run_time_int(times);
        let mut at_end = None;
        let head = match self.u.int_in_range(0..=9)? {
            0..=2 => format!("for {j} in range({n}):"),
            3 => format!("for {j} in range({times}):"),
            4 => format!("for {j} in range(0, {n}, 1):"),
            5 => format!("for {j} in range({n} - 1, -1, -1):"),
            6 => format!(
                "for {j} in tl.range(0, {n}, num_stages={}):",
                self.u.int_in_range(1..=4)?
            ),
            7 => format!("for {j} in tl.static_range({times}):"),
            8 => format!("for {j} in tl.range({n}):"),
            _ => {
                self.emit_line(&format!("{j} = 0"));
                at_end = Some(format!("{j} += 1"));
                format!("while {j} < {n}:")
            }
        };
        let unrolled = if self.has_twist(Twist::Unrolled) {
            Some(if head.contains("static") {
                at_end = None;
                format!("for {j} in range({times}):")
            } else {
                at_end = None;
                let all = if head.contains("-1, -1") {
                    format!("{times} - 1, -1, -1")
                } else {
                    times.to_string()
                };
                format!("for {j}_ in tl.static_range({all}):")
            })
        } else {
            None
        };
        self.emit_line(unrolled.as_ref().unwrap_or(&head));
        let scope = self.values.len();
        self.depth += 1;
        if unrolled.is_some_and(|head| head.contains("static")) {
            // A number of the launch again, which it is in the loop that turns.
            self.emit_line(&format!("{j} = tl.full([], {j}_, tl.int32)"));
        }
        let outside = self.turns;
        self.turns *= times.max(1);
        let mut rough = false;
        if let Some(Rows {
            pointer,
            stride,
            shape,
            dtype,
        }) = stepped
        {
            let text = format!(
                "tl.load({pointer} + {j} * {stride} + {})",
                super::maker::build_offsets(&shape)
            );
            self.assign(&Text::from_exact(text), dtype, &shape);
        }
        if head.starts_with("for") && !head.contains("static") {
            self.values.push(Value {
                name: j,
                dtype: DType::I32,
                shape: Vec::new(),
                rough: false,
            });
        }
        if self.u.ratio(1, 3)? {
            let inner = self.u.int_in_range(0..=4)?;
            match inner {
                4 => self.idiom()?,
                0 => self.reduce()?,
                1 => self.product()?,
                2 if self.depth < 3 => self.branch()?,
                _ => self.reshaped()?,
            }
        }
        for value in &carried {
            rough |= self.change(value)?;
        }
        if let Some(text) = at_end {
            self.emit_line(&text);
        }
        self.turns = outside;
        self.close_scope(scope, carried, rough);
        Ok(())
    }

    pub(super) fn branch(&mut self) -> Result<()> {
        if self.depth > 2 {
            return Ok(());
        }
        let value = self.carried()?;
        let condition = match self.u.int_in_range(0..=4)? {
            0 => "pid == 0".to_owned(),
            1 => {
                match self
                    .choose_value(|value| value.shape.is_empty() && !value.rough && !value.dtype.is_float())?
                {
                    Some(scalar) if scalar.dtype == DType::I1 => scalar.name,
                    Some(scalar) => format!("{} > 3", scalar.name),
                    None => "pid != 0".to_owned(),
                }
            }
            2 => format!("{} > 1", self.constant()?),
            _ => {
                let n = self.u.int_in_range(0..=4)?;
                format!("{} > 2", self.run_time_int(n))
            }
        };
        self.emit_line(&format!("if {condition}:"));
        let scope = self.values.len();
        self.depth += 1;
        let mut rough = self.change(&value)?;
        if self.u.ratio(1, 2)? {
            self.depth -= 1;
            self.emit_line("else:");
            self.depth += 1;
            rough |= self.change(&value)?;
        }
        self.close_scope(scope, vec![value], rough);
        Ok(())
    }

    /// Calls a function of its own, that gives one value or two.
    pub(super) fn function(&mut self) -> Result<()> {
        let count = self.u.int_in_range(1..=3)?;
        let mut given = Vec::new();
        for _ in 0..count {
            given.extend(self.choose_value(|_| true)?);
        }
        let Some(first) = given.first().cloned() else {
            return Ok(());
        };
        let fresh = self.make_name("f");
        let function = format!("{}_{fresh}", self.name);
        let parameters: Vec<Value> = given
            .iter()
            .enumerate()
            .map(|(i, value)| Value {
                name: format!("a{i}"),
                ..value.clone()
            })
            .collect();
        let dtype = types::choose_dtype(self.u)?;
        // Nothing of the kernel is in scope there.
        let mut outer = std::mem::replace(&mut self.values, parameters);
        let scalars = std::mem::take(&mut self.scalars);
        let constants = std::mem::take(&mut self.constants);
        self.has_program = false;
        let one = self.build_body_expr(dtype, &first)?;
        let two = if self.u.ratio(1, 3)? {
            Some(self.build_body_expr(dtype, &first)?)
        } else {
            None
        };
        let names: Vec<String> = self.values.iter().map(|value| value.name.clone()).collect();
        std::mem::swap(&mut self.values, &mut outer);
        (self.scalars, self.constants) = (scalars, constants);
        self.has_program = true;
        let result = match &two {
            Some(two) => format!("{}, {}", one.text, two.text),
            None => one.text.clone(),
        };
        let names = names.join(", ");
        let _ = write!(
            self.above,
            "\n\n@triton.jit\ndef {function}({names}):\n    return {result}\n"
        );
        let given: Vec<String> = given.into_iter().map(|value| value.name).collect();
        let call = format!("{function}({})", given.join(", "));
        match two {
            None => {
                let text = Text {
                    text: call,
                    rough: one.rough,
                };
                self.assign(&text, dtype, &first.shape);
            }
            Some(two) => {
                let (x, y) = (self.make_name("v"), self.make_name("v"));
                self.emit_line(&format!("{x}, {y} = {call}"));
                self.add_value(x, dtype, &first.shape, one.rough);
                self.add_value(y, dtype, &first.shape, two.rough);
            }
        }
        Ok(())
    }

    /// An expression of the first parameter's shape.
    fn build_body_expr(&mut self, dtype: DType, first: &Value) -> Result<Text> {
        let depth = self.u.int_in_range(1..=2)?;
        self.build_full_expr(dtype, &first.shape, depth)
    }

    /// `a, b = b, a`.
    pub(super) fn swap(&mut self) -> Result<()> {
        let (Some(a), Some(b)) = (self.choose_value(|_| true)?, self.choose_value(|_| true)?) else {
            return Ok(());
        };
        let (x, y) = (self.make_name("v"), self.make_name("v"));
        self.emit_line(&format!("{x}, {y} = {}, {}", b.name, a.name));
        self.add_value(x, b.dtype, &b.shape, b.rough);
        self.add_value(y, a.dtype, &a.shape, a.rough);
        Ok(())
    }
}
