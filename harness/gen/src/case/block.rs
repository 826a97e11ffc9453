//! Operations on whole blocks: reductions, scans, changes of shape, sorts, gathers, histograms, products.

use std::fmt::Write as _;

use arbitrary::Result;
use cerith_tile::DType;
use cerith_tile::rules::Rule;

use super::maker::{MAX_ELEMENTS, Maker, Text, Value};
use super::types::{self, render_dtype};

pub(super) fn count(shape: &[usize]) -> usize {
    shape.iter().product()
}

impl Maker<'_, '_> {
    fn block(&mut self) -> Result<Option<Value>> {
        self.choose_value(|value| !value.shape.is_empty())
    }

    pub(super) fn choose_axis(&mut self, value: &Value) -> Result<usize> {
        self.u.int_in_range(0..=value.shape.len() - 1)
    }

    /// A function above the kernel: its name.
    pub(super) fn add_function(&mut self, parameters: &str, body: &str) -> String {
        let fresh = self.make_name("f");
        let function = format!("{}_{fresh}", self.name);
        let _ = write!(
            self.above,
            "\n\n@triton.jit\ndef {function}({parameters}):\n{body}"
        );
        function
    }

    /// A reduction by one of Triton's functions.
    pub(super) fn reduce(&mut self) -> Result<()> {
        match self.block()? {
            Some(value) => self.reduce_value(&value),
            None => Ok(()),
        }
    }

    pub(super) fn reduce_value(&mut self, value: &Value) -> Result<()> {
        let axis = self.choose_axis(value)?;
        let mut shape = value.shape.clone();
        let mut how = format!("axis={axis}");
        match self.u.int_in_range(0..=5)? {
            0 => {
                shape[axis] = 1;
                how.push_str(", keep_dims=True");
            }
            1 => {
                shape.clear();
                "axis=None".clone_into(&mut how);
            }
            _ => {
                shape.remove(axis);
            }
        }
        let number = if value.dtype == DType::I1 {
            DType::I32
        } else {
            value.dtype
        };
        let mut ops = vec!["sum", "max", "min", "sum"];
        if !value.rough && value.shape[axis] > 1 && !how.contains("None") {
            ops.extend(["argmax", "argmin", "pair"]);
        }
        if !number.is_float() {
            ops.push("xor_sum");
        }
        let mut op = *self.u.choose(&ops)?;
        if op == "xor_sum" && !self.takes_one_by_one(count(&value.shape)) {
            op = "sum";
        }
        let source = if value.dtype == DType::I1 && op != "sum" {
            format!("{}.to(tl.int32)", value.name)
        } else {
            value.name.clone()
        };
        match op {
            "argmax" | "argmin" => {
                let text = Text::from_exact(format!("tl.{op}({source}, {how})"));
                self.assign(&text, DType::I32, &shape);
            }
            "pair" => {
                let (x, y) = (self.make_name("v"), self.make_name("v"));
                let op = *self.u.choose(&["max", "min"])?;
                self.emit_line(&format!(
                    "{x}, {y} = tl.{op}({source}, {how}, return_indices=True)"
                ));
                self.emit_line(&format!("{x} = {x}.to({})", render_dtype(number)));
                self.add_value(x, number, &shape, false);
                self.add_value(y, DType::I32, &shape, false);
            }
            _ => {
                let text = Text {
                    text: format!("tl.{op}({source}, {how}).to({})", render_dtype(number)),
                    rough: value.rough || op == "sum" && number.is_float(),
                };
                self.assign(&text, number, &shape);
            }
        }
        Ok(())
    }

    /// A function that combines two elements, with the same result in any order and grouping, except for rounding.
    pub(super) fn combine(&mut self, dtype: DType) -> Result<(String, bool)> {
        let mut bodies = vec![
            ("a + b", dtype.is_float()),
            ("tl.maximum(a, b)", false),
            ("tl.minimum(a, b)", false),
            ("a * b", dtype.is_float()),
        ];
        if dtype == DType::I1 {
            bodies = vec![("a & b", false), ("a | b", false), ("a ^ b", false)];
        } else if !dtype.is_float() {
            bodies.extend([
                ("a & b", false),
                ("a | b", false),
                ("a ^ b", false),
                ("a + b + a * b", false),
                ("tl.where(a > b, a, b)", false),
            ]);
        }
        let (body, rough) = *self.u.choose(&bodies)?;
        let widens = dtype == DType::BF16 && !self.form.limits.hold(Rule::BfloatExtremaStayBfloat);
        let back = if widens && body.starts_with("tl.m") {
            ".to(tl.bfloat16)"
        } else {
            ""
        };
        let function = self.add_function("a, b", &format!("    return {body}{back}\n"));
        Ok((function, rough))
    }

    /// A reduction with a function of its own: of one block, or of two at once.
    pub(super) fn combined(&mut self) -> Result<()> {
        match self.block()? {
            Some(value) => self.combine_value(&value),
            None => Ok(()),
        }
    }

    pub(super) fn combine_value(&mut self, value: &Value) -> Result<()> {
        if !self.takes_one_by_one(count(&value.shape)) {
            return self.reduce_value(value);
        }
        let axis = self.choose_axis(value)?;
        let mut shape = value.shape.clone();
        shape.remove(axis);
        let beside = self
            .choose_value(|other| other.shape == value.shape && other.dtype != DType::I1 && !other.rough)?;
        if let Some(beside) = beside
            && self.u.ratio(1, 2)?
            && value.dtype != DType::I1
            && !value.dtype.is_float()
            && !beside.dtype.is_float()
        {
            let body = *self.u.choose(&[
                "    return a + c, tl.maximum(b, d)\n",
                "    take = (a > c) | ((a == c) & (b < d))\n    return tl.where(take, a, c), tl.where(take, b, d)\n",
                "    return tl.minimum(a, c), b ^ d\n",
            ])?;
            let function = self.add_function("a, b, c, d", body);
            let (x, y) = (self.make_name("v"), self.make_name("v"));
            self.emit_line(&format!(
                "{x}, {y} = tl.reduce(({}, {}), {axis}, {function})",
                value.name, beside.name
            ));
            self.add_value(x, value.dtype, &shape, value.rough);
            self.add_value(y, beside.dtype, &shape, value.rough);
            return Ok(());
        }
        let (function, rough) = self.combine(value.dtype)?;
        let text = Text {
            text: format!("tl.reduce({}, {axis}, {function})", value.name),
            rough: value.rough || rough,
        };
        self.assign(&text, value.dtype, &shape);
        Ok(())
    }

    pub(super) fn scan(&mut self) -> Result<()> {
        match self.choose_value(|value| !value.shape.is_empty() && value.dtype != DType::I1)? {
            Some(value) => self.scan_value(&value),
            None => Ok(()),
        }
    }

    pub(super) fn scan_value(&mut self, value: &Value) -> Result<()> {
        let axis = self.choose_axis(value)?;
        let op = *self.u.choose(&["cumsum", "cumsum", "cumprod"])?;
        let reverse = if self.u.ratio(1, 3)? { ", reverse=True" } else { "" };
        let text = Text {
            text: format!(
                "tl.{op}({}, {axis}{reverse}).to({})",
                value.name,
                render_dtype(value.dtype)
            ),
            rough: value.rough || value.dtype.is_float(),
        };
        self.assign(&text, value.dtype, &value.shape);
        Ok(())
    }

    /// A scan with a function of its own; of two blocks it is a linear recurrence.
    pub(super) fn scanned(&mut self) -> Result<()> {
        match self.block()? {
            Some(value) => self.scan_with(&value),
            None => Ok(()),
        }
    }

    pub(super) fn scan_with(&mut self, value: &Value) -> Result<()> {
        if !self.takes_one_by_one(count(&value.shape)) {
            return Ok(());
        }
        let axis = self.choose_axis(value)?;
        let reverse = if self.u.ratio(1, 3)? { ", reverse=True" } else { "" };
        let same = self.choose_value(|other| other.shape == value.shape && other.dtype == value.dtype)?;
        if let Some(same) = same
            && value.dtype != DType::I1
            && self.u.ratio(1, 2)?
        {
            let function = self.add_function("a, b, c, d", "    return a * c, b * c + d\n");
            let (x, y) = (self.make_name("v"), self.make_name("v"));
            self.emit_line(&format!(
                "{x}, {y} = tl.associative_scan(({}, {}), {axis}, {function}{reverse})",
                value.name, same.name
            ));
            let rough = value.rough || same.rough || value.dtype.is_float();
            self.add_value(x, value.dtype, &value.shape, rough);
            self.add_value(y, value.dtype, &value.shape, rough);
            return Ok(());
        }
        let (function, rough) = self.combine(value.dtype)?;
        let text = Text {
            text: format!("tl.associative_scan({}, {axis}, {function}{reverse})", value.name),
            rough: value.rough || rough,
        };
        self.assign(&text, value.dtype, &value.shape);
        Ok(())
    }

    /// The same elements in another shape or order.
    pub(super) fn reshaped(&mut self) -> Result<()> {
        match self.choose_value(|_| true)? {
            Some(value) => self.reshape(value),
            None => Ok(()),
        }
    }

    pub(super) fn reshape(&mut self, value: Value) -> Result<()> {
        let Value {
            name,
            dtype,
            mut shape,
            rough,
        } = value.clone();
        let rank = shape.len();
        let text = match self.u.int_in_range(0..=11)? {
            0 | 1 if rank > 0 => {
                shape = self.other_shape(count(&shape))?;
                let list = format!("{shape:?}");
                match self.u.int_in_range(0..=2)? {
                    0 => format!("tl.reshape({name}, {list})"),
                    1 => format!("{name}.reshape({list})"),
                    _ => format!("{name}.reshape({})", list.trim_matches(['[', ']'])),
                }
            }
            2 | 3 if rank == 2 => {
                shape.reverse();
                if self.u.ratio(1, 2)? {
                    format!("tl.trans({name})")
                } else {
                    format!("{name}.T")
                }
            }
            2 | 3 if rank > 2 => {
                let mut order: Vec<usize> = (0..rank).collect();
                for at in (1..rank).rev() {
                    order.swap(at, self.u.int_in_range(0..=at)?);
                }
                shape = order.iter().map(|&axis| shape[axis]).collect();
                format!("tl.permute({name}, {order:?})")
            }
            4 if rank > 0 && rank < 4 => {
                let axis = self.u.int_in_range(0..=rank)?;
                shape.insert(axis, 1);
                format!("tl.expand_dims({name}, {axis})")
            }
            5 if rank > 0 && shape.contains(&1) => {
                let axis = shape.iter().position(|&n| n == 1).unwrap_or(0);
                shape[axis] = 1 << self.u.int_in_range(1..=3)?;
                if count(&shape) > MAX_ELEMENTS {
                    return Ok(());
                }
                format!("tl.broadcast_to({name}, {shape:?})")
            }
            6 | 7 if rank < 4 && count(&shape) * 2 <= MAX_ELEMENTS => {
                let other = self.choose_value(|other| other.shape == value.shape && other.dtype == dtype)?;
                let other = other.unwrap_or(value);
                shape.push(2);
                let text = Text {
                    text: format!("tl.join({name}, {})", other.name),
                    rough: rough || other.rough,
                };
                self.assign(&text, dtype, &shape);
                return Ok(());
            }
            8 | 9 if shape.last() == Some(&2) => {
                shape.pop();
                let (x, y) = (self.make_name("v"), self.make_name("v"));
                let text = if self.u.ratio(1, 2)? {
                    format!("tl.split({name})")
                } else {
                    format!("{name}.split()")
                };
                self.emit_line(&format!("{x}, {y} = {text}"));
                self.add_value(x, dtype, &shape, rough);
                self.add_value(y, dtype, &shape, rough);
                return Ok(());
            }
            10 if rank > 0 && count(&shape) * 2 <= MAX_ELEMENTS => {
                let other = self.choose_value(|other| other.shape == value.shape && other.dtype == dtype)?;
                let other = other.unwrap_or(value);
                shape[rank - 1] *= 2;
                let text = Text {
                    text: format!("tl.interleave({name}, {})", other.name),
                    rough: rough || other.rough,
                };
                self.assign(&text, dtype, &shape);
                return Ok(());
            }
            11 if rank == 1 && !dtype.is_float() && count(&shape) * 2 <= MAX_ELEMENTS => {
                // Any order of lanes has the same sum.
                let number = if dtype == DType::I1 { DType::I32 } else { dtype };
                let text = Text {
                    text: format!(
                        "tl.sum(tl.cat({name}, {name}, can_reorder=True), axis=0).to({})",
                        render_dtype(number)
                    ),
                    rough,
                };
                self.assign(&text, number, &[]);
                return Ok(());
            }
            _ if rank > 0 => {
                shape = vec![count(&shape)];
                format!("tl.ravel({name})")
            }
            _ => return Ok(()),
        };
        self.assign(&Text { text, rough }, dtype, &shape);
        Ok(())
    }

    /// Some shape of so many elements.
    fn other_shape(&mut self, count: usize) -> Result<Vec<usize>> {
        let mut left = count;
        let mut shape = Vec::new();
        let rank = self.u.int_in_range(0..=2)?;
        for _ in 0..rank {
            let most = left.trailing_zeros();
            let extent = 1usize << self.u.int_in_range(0..=most)?;
            shape.push(extent);
            left /= extent;
        }
        shape.push(left);
        Ok(shape)
    }

    pub(super) fn sorted(&mut self) -> Result<()> {
        let found = self.choose_value(|value| {
            !value.shape.is_empty() && value.dtype != DType::I1 && value.shape.last().is_some_and(|&n| n > 1)
        })?;
        match found {
            Some(value) => self.sort(&value),
            None => Ok(()),
        }
    }

    /// Whether blocks of a dtype are sorted: before 3.2 small integers change their type.
    pub(super) fn can_sort(&self, dtype: DType) -> bool {
        self.form.limits.is_at_least(3, 2) || dtype.bits() >= 32 || dtype.is_float()
    }

    pub(super) fn sort(&mut self, value: &Value) -> Result<()> {
        let last = value.shape[value.shape.len() - 1];
        let rounds = last.ilog2() as usize;
        let takes = self.can_sort(value.dtype) && self.takes_one_by_one(count(&value.shape) * rounds.pow(2));
        if !takes {
            return Ok(());
        }
        let mut shape = value.shape.clone();
        let text = match self.u.int_in_range(0..=4)? {
            0 if last <= 64 => format!("tl.sort({})", value.name),
            1 if last <= 64 => format!("tl.sort({}, descending=True)", value.name),
            2 if last <= 64 && !value.dtype.is_float() && self.form.limits.is_at_least(3, 4) => {
                let least = u32::from(shape.len() == 1 && !self.form.limits.is_at_least(3, 9) && last > 2);
                let k = 1 << self.u.int_in_range(least..=last.trailing_zeros() - 1)?;
                let at = shape.len() - 1;
                shape[at] = k;
                // Integers below 32 bits come back as 32 bits.
                format!("tl.topk({}, {k}).to({})", value.name, render_dtype(value.dtype))
            }
            _ => {
                // Before 3.4 it is the last axis.
                let axis = if self.form.limits.is_at_least(3, 4) {
                    self.choose_axis(value)?
                } else {
                    shape.len() - 1
                };
                if value.shape[axis] == 1 {
                    return Ok(());
                }
                format!("tl.flip({}, {axis})", value.name)
            }
        };
        let text = Text {
            text,
            rough: value.rough,
        };
        self.assign(&text, value.dtype, &shape);
        Ok(())
    }

    pub(super) fn gathered(&mut self) -> Result<()> {
        let Some(value) = self.block()? else {
            return Ok(());
        };
        if !self.form.limits.hold_since(3, 3, 1) {
            return Ok(());
        }
        let axis = self.choose_axis(&value)?;
        let at = self.build_indices(value.shape[axis], &value.shape)?;
        let text = Text {
            text: format!("tl.gather({}, {at}, {axis})", value.name),
            rough: value.rough,
        };
        self.assign(&text, value.dtype, &value.shape);
        Ok(())
    }

    pub(super) fn histogram(&mut self) -> Result<()> {
        let Some(value) = self.choose_value(|value| value.shape.len() == 1 && !value.rough)? else {
            return Ok(());
        };
        let bins = 1 << self.u.int_in_range(1..=5)?;
        let at = self.build_indices(bins, &value.shape)?;
        self.assign(
            &Text::from_exact(format!("tl.histogram({at}, {bins})")),
            DType::I32,
            &[bins],
        );
        Ok(())
    }

    /// A matrix product.
    pub(super) fn product(&mut self) -> Result<()> {
        let found = self.choose_value(|value| {
            value.shape.len() == 2 && value.shape.iter().all(|&n| (16..=64).contains(&n))
        })?;
        let Some(left) = found else {
            return self.with_more();
        };
        let (m, k) = (left.shape[0], left.shape[1]);
        let right = self.choose_value(|value| {
            value.shape.len() == 2 && value.shape[0] == k && (16..=64).contains(&value.shape[1])
        })?;
        let n = right.map_or(m, |value| value.shape[1]);
        let kinds = [
            (4, (DType::F16, "", DType::F32)),
            (3, (DType::BF16, "", DType::F32)),
            (3, (DType::F32, ", input_precision=\"ieee\"", DType::F32)),
            (2, (DType::F32, ", input_precision=\"tf32\"", DType::F32)),
            (1, (DType::F32, "", DType::F32)),
            (1, (DType::F16, ", out_dtype=tl.float16", DType::F16)),
            (
                if k >= 32 { 3 } else { 0 },
                (DType::I8, ", out_dtype=tl.int32", DType::I32),
            ),
        ];
        let (dtype, how, result) = self.choose_weighted(&kinds)?;
        let a = self.build_anchor(dtype, &[m, k])?;
        let b = self.build_anchor(dtype, &[k, n])?;
        let acc = match self.u.int_in_range(0..=3)? {
            0 => {
                let acc = self.build_anchor(result, &[m, n])?;
                format!(", acc={}", acc.text)
            }
            _ => String::new(),
        };
        let plus = if self.u.ratio(1, 4)? {
            self.build_anchor(result, &[m, n])?.text
        } else {
            String::new()
        };
        let mut text = format!("tl.dot({}, {}{acc}{how})", a.text, b.text);
        if !plus.is_empty() {
            text = format!("{plus} + {text}");
        }
        let rough = result.is_float() || a.rough || b.rough;
        self.assign(&Text { text, rough }, result, &[m, n]);
        Ok(())
    }

    /// A replacement if there is nothing to multiply: a sum over products.
    fn with_more(&mut self) -> Result<()> {
        let Some(value) = self.choose_value(|value| !value.shape.is_empty() && value.dtype != DType::I1)?
        else {
            return Ok(());
        };
        let axis = self.choose_axis(&value)?;
        let other = self.build_expr(value.dtype, &value.shape, 1)?;
        let mut shape = value.shape.clone();
        shape.remove(axis);
        let text = Text {
            text: format!(
                "tl.sum({} * {}, axis={axis}).to({})",
                value.name,
                other.text,
                render_dtype(value.dtype)
            ),
            rough: value.rough || other.rough || value.dtype.is_float(),
        };
        self.assign(&text, value.dtype, &shape);
        Ok(())
    }

    /// The bits of a value as another dtype.
    pub(super) fn bits(&mut self) -> Result<()> {
        let Some(value) = self.choose_value(|value| value.dtype != DType::I1)? else {
            return Ok(());
        };
        if value.rough && !self.u.ratio(1, 8)? {
            return Ok(());
        }
        let same: Vec<DType> = [
            DType::I8,
            DType::U8,
            DType::I16,
            DType::U16,
            DType::F16,
            DType::BF16,
            DType::I32,
            DType::U32,
            DType::F32,
            DType::I64,
            DType::U64,
            DType::F64,
        ]
        .into_iter()
        .filter(|dtype| dtype.bits() == value.dtype.bits() && *dtype != value.dtype)
        .collect();
        let dtype = *self.u.choose(&same)?;
        let text = Text {
            text: format!("{}.to({}, bitcast=True)", value.name, render_dtype(dtype)),
            rough: value.rough,
        };
        self.assign(&text, dtype, &value.shape);
        Ok(())
    }

    /// One number.
    pub(super) fn scalar(&mut self) -> Result<()> {
        let dtype = types::choose_dtype(self.u)?;
        let text = self.build_full_expr(dtype, &[], 2)?;
        self.assign(&text, dtype, &[]);
        Ok(())
    }
}
