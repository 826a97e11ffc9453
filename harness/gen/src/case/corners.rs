//! Reductions, scans, sorts, histograms, loads and elementwise functions with all their parameters, on blocks of numbers that
//! operations treat specially: NaN alone, zeros of either sign, infinities, halves, ends of the range, equal numbers.

use std::fmt::Write as _;

use arbitrary::Result;
use cerith_tile::DType;

use super::block::count;
use super::maker::{Maker, Text, Value};
use super::types::{self, render_dtype};

/// Dtypes of integers that `umulhi` takes.
const WIDE: [DType; 4] = [DType::I32, DType::U32, DType::I64, DType::U64];

impl Maker<'_, '_> {
    /// One of some words.
    pub(super) fn choose_word(&mut self, words: &[&'static str]) -> Result<&'static str> {
        self.u.choose(words).copied()
    }

    /// One of the corners.
    pub(super) fn corner(&mut self) -> Result<()> {
        match self.u.int_in_range(0..=15)? {
            0..=3 => self.reduced(),
            4 | 5 => self.scanned_from_the_end(),
            6 => self.reduced_from_the_end(),
            7 => self.ordered(),
            8 => self.counted(),
            9 | 10 => self.hinted(),
            11 => self.of_integers(),
            12 => self.of_bools(),
            13 => self.softened(),
            _ => self.of_floats(),
        }
    }

    /// A small shape, of rank 1 or 2, that rarely has an extent of 1.
    pub(super) fn small_shape(&mut self) -> Result<Vec<usize>> {
        let one = self.u.ratio(1, 6)?;
        let extent =
            |maker: &mut Self, most: u32| Ok(1usize << maker.u.int_in_range(u32::from(!one)..=most)?);
        Ok(if self.u.ratio(1, 2)? {
            vec![extent(self, 5)?]
        } else {
            vec![extent(self, 3)?, extent(self, 3)?]
        })
    }

    /// The contents of a storage of special numbers.
    fn special_fill(&mut self, dtype: DType, count: usize) -> Result<String> {
        let seed: u16 = self.u.arbitrary()?;
        let seed = seed ^ self.form.data;
        let each = |value: &str| format!("\"[{value} for i in range({count})]\"");
        if dtype == DType::I1 {
            return Ok(format!("{{ random: {seed} }}"));
        }
        let kind = self.u.int_in_range(0..=9)?;
        if dtype.is_float() {
            return Ok(match kind {
                0 => "{ full: .nan }".to_owned(),
                1 => "{ full: -0.0 }".to_owned(),
                2 => each("-0.0 if i % 3 else 0.0"),
                3 => each("nan if i % 4 == 1 else i % 7 - 3"),
                4 => each("inf if i % 5 == 2 else i - 2"),
                5 => "{ arange: { start: -2.5, step: 0.5 } }".to_owned(),
                6 => each("i * 7 % 3 - 1"),
                _ => format!("{{ random: {seed} }}"),
            });
        }
        let (least, most) = render_bounds(dtype);
        Ok(match kind {
            0 => format!("{{ full: {least} }}"),
            1 => format!("{{ full: {most} }}"),
            2 => each(&format!("{least} if i % 3 else {most}")),
            3 | 4 => each("i * 7 % 3"),
            5 => "arange".to_owned(),
            _ => format!("{{ random: {seed} }}"),
        })
    }

    /// A block of special numbers, loaded from a storage of its own.
    pub(super) fn load_special(&mut self, dtype: DType, shape: &[usize]) -> Result<Value> {
        let all = self.programs * count(shape);
        let fill = self.special_fill(dtype, all)?;
        let (storage, pointer) = (self.make_name("b"), self.make_name("x"));
        self.keep(&storage, dtype, &[all], &fill);
        self.add_parameter(&pointer, "", storage);
        let text = Text::from_exact(format!("tl.load({})", self.build_address(&pointer, shape)));
        Ok(self.assign(&text, dtype, shape))
    }

    /// A block of special numbers, or one in scope.
    fn choose_corner_operand(&mut self, takes: impl Fn(DType) -> bool) -> Result<Value> {
        if self.u.ratio(1, 3)? {
            let found = self.choose_value(|value| !value.shape.is_empty() && takes(value.dtype))?;
            if let Some(value) = found {
                return Ok(value);
            }
        }
        let mut dtype = types::choose_dtype(self.u)?;
        if !takes(dtype) {
            dtype = DType::I32;
        }
        if !takes(dtype) {
            dtype = DType::F32;
        }
        let shape = self.small_shape()?;
        self.load_special(dtype, &shape)
    }

    /// An axis as it may be written: from the start or from the end.
    fn axis_of(&mut self, value: &Value) -> Result<(usize, String)> {
        let axis = self.choose_axis(value)?;
        let written = if self.u.ratio(1, 4)? {
            format!("-{}", value.shape.len() - axis)
        } else {
            axis.to_string()
        };
        Ok((axis, written))
    }

    /// A reduction by one of Triton's functions, along any axis or all of them, which may stay.
    fn reduced(&mut self) -> Result<()> {
        let value = self.choose_corner_operand(|dtype| dtype != DType::I1)?;
        let (axis, written) = self.axis_of(&value)?;
        let integer = !value.dtype.is_float();
        let mut ops = vec!["sum", "max", "min", "max", "min"];
        let finds = !value.rough && value.shape[axis] > 1;
        if finds {
            ops.extend(["argmax", "argmin", "pair", "pair"]);
        }
        if integer && self.takes_one_by_one(count(&value.shape)) {
            ops.push("xor_sum");
            if self.form.limits.is_at_least(3, 4) {
                ops.push("reduce_or");
            }
        }
        let op = self.choose_word(&ops)?;
        let all = matches!(op, "sum" | "max" | "min" | "xor_sum") && self.u.ratio(1, 4)?;
        let keep = self.u.ratio(1, 2)?;
        let mut shape = value.shape.clone();
        match (all, keep) {
            (true, true) => shape.fill(1),
            (true, false) => shape.clear(),
            (false, true) => shape[axis] = 1,
            (false, false) => {
                shape.remove(axis);
            }
        }
        // Axes of combining functions mostly count from the start: interpreters lose the shape with other axes.
        let combined = matches!(op, "xor_sum" | "reduce_or");
        let written = if combined && self.u.ratio(3, 4)? {
            axis.to_string()
        } else {
            written
        };
        let mut how = if all {
            "axis=None".to_owned()
        } else {
            format!("axis={written}")
        };
        if keep {
            how.push_str(", keep_dims=True");
        }
        let name = &value.name;
        if op == "pair" {
            let op = self.choose_word(&["max", "min"])?;
            let (x, y) = (self.make_name("v"), self.make_name("v"));
            self.emit_line(&format!("{x}, {y} = tl.{op}({name}, {how}, return_indices=True)"));
            self.emit_line(&format!("{x} = {x}.to({})", render_dtype(value.dtype)));
            self.add_value(x, value.dtype, &shape, false);
            self.add_value(y, DType::I32, &shape, false);
            return Ok(());
        }
        if op.starts_with("arg") {
            let text = Text::from_exact(format!("tl.{op}({name}, {how})"));
            self.assign(&text, DType::I32, &shape);
            return Ok(());
        }
        let mut dtype = value.dtype;
        if op == "sum" && self.form.limits.hold_since(3, 3, 1) && self.u.ratio(1, 4)? {
            dtype = if integer { DType::I64 } else { DType::F32 };
            let _ = write!(how, ", dtype={}", render_dtype(dtype));
        }
        let text = Text {
            text: format!("tl.{op}({name}, {how}).to({})", render_dtype(dtype)),
            rough: value.rough || op == "sum" && !integer,
        };
        self.assign(&text, dtype, &shape);
        Ok(())
    }

    /// A reduction with a function of its own, along an axis that may be counted from the end, and may stay.
    fn reduced_from_the_end(&mut self) -> Result<()> {
        let value = self.choose_corner_operand(|_| true)?;
        if !self.takes_one_by_one(count(&value.shape)) {
            return self.reduced();
        }
        let (axis, written) = self.axis_of(&value)?;
        let (function, rough) = self.combine(value.dtype)?;
        let mut shape = value.shape.clone();
        let mut keep = "";
        if self.u.ratio(1, 3)? {
            shape[axis] = 1;
            keep = ", keep_dims=True";
        } else {
            shape.remove(axis);
        }
        let text = Text {
            text: format!("tl.reduce({}, {written}, {function}{keep})", value.name),
            rough: value.rough || rough,
        };
        self.assign(&text, value.dtype, &shape);
        Ok(())
    }

    /// A scan along an axis that may be counted from the end.
    fn scanned_from_the_end(&mut self) -> Result<()> {
        let value = self.choose_corner_operand(|dtype| dtype != DType::I1)?;
        let (_, written) = self.axis_of(&value)?;
        let reverse = self.choose_word(&["", "", ", reverse=True"])?;
        let (text, rough) = if self.u.ratio(2, 3)? && self.takes_one_by_one(count(&value.shape)) {
            let (function, rough) = self.combine(value.dtype)?;
            let text = format!(
                "tl.associative_scan({}, {written}, {function}{reverse})",
                value.name
            );
            (text, rough)
        } else {
            let op = self.choose_word(&["cumsum", "cumprod"])?;
            let text = format!(
                "tl.{op}({}, axis={written}{reverse}).to({})",
                value.name,
                render_dtype(value.dtype)
            );
            (text, value.dtype.is_float())
        };
        let rough = rough || value.rough;
        self.assign(&Text { text, rough }, value.dtype, &value.shape);
        Ok(())
    }

    /// A sort, the largest of a block, or a block in reverse, of numbers with ties.
    fn ordered(&mut self) -> Result<()> {
        let value = self.choose_corner_operand(|dtype| dtype != DType::I1)?;
        let rank = value.shape.len();
        let last = value.shape[rank - 1];
        let mut shape = value.shape.clone();
        let dim = match self.u.int_in_range(0..=2)? {
            0 => String::new(),
            1 => ", dim=None".to_owned(),
            _ => format!(", dim={}", rank - 1),
        };
        let name = &value.name;
        let rounds = last.ilog2() as usize;
        let sorts = last > 1
            && self.can_sort(value.dtype)
            && last <= 64
            && self.takes_one_by_one(count(&shape) * rounds.pow(2));
        let kind = self.u.int_in_range(0..=4)?;
        let text = match kind {
            0 | 1 if sorts => {
                let down = self.choose_word(&["", ", descending=True", ", descending=False"])?;
                format!("tl.sort({name}{dim}{down})")
            }
            2 if sorts && self.form.limits.is_at_least(3, 4) => {
                // One element of one row was left without a dimension up to 3.8.
                let least = u32::from(rank == 1 && !self.form.limits.is_at_least(3, 9));
                let k = 1 << self.u.int_in_range(least..=last.trailing_zeros())?;
                shape[rank - 1] = k;
                format!("tl.topk({name}, {k}).to({})", render_dtype(value.dtype))
            }
            _ if last == 1 => return Ok(()),
            // Only the last dimension before 3.4.
            _ if self.form.limits.is_at_least(3, 4) => {
                let (axis, written) = self.axis_of(&value)?;
                if value.shape[axis] == 1 {
                    return Ok(());
                }
                format!("tl.flip({name}, {written})")
            }
            _ => format!("tl.flip({name}, {})", rank - 1),
        };
        let text = Text {
            text,
            rough: value.rough,
        };
        self.assign(&text, value.dtype, &shape);
        Ok(())
    }

    /// A histogram of numbers at the edges of the bins, with a mask or without.
    fn counted(&mut self) -> Result<()> {
        let bins = 1 << self.u.int_in_range(1..=5)?;
        let n = 1 << self.u.int_in_range(1..=6)?;
        // Only integers of 32 bits are taken.
        let dtype = if self.u.ratio(1, 8)? {
            types::choose_int(self.u)?
        } else {
            DType::I32
        };
        // Values without a bin are not counted.
        let most = bins + self.u.int_in_range(0..=2)?;
        let low = if self.u.ratio(1, 3)? && dtype.is_signed_int() {
            -2
        } else {
            0
        };
        let seed: u16 = self.u.arbitrary()?;
        let seed = seed ^ self.form.data;
        let all = self.programs * n;
        let (storage, pointer) = (self.make_name("b"), self.make_name("x"));
        let fill = format!("{{ random: {{ seed: {seed}, low: {low}, high: {most}, edges: false }} }}");
        self.keep(&storage, dtype, &[all], &fill);
        self.add_parameter(&pointer, "", storage);
        let text = Text::from_exact(format!("tl.load({})", self.build_address(&pointer, &[n])));
        let value = self.assign(&text, dtype, &[n]);
        let mut mask = String::new();
        if self.form.limits.is_at_least(3, 4) && self.u.ratio(1, 2)? {
            let text = self.build_full_expr(DType::I1, &[n], 1)?;
            if !text.rough {
                mask = format!(", mask={}", text.text);
            }
        }
        let text = Text::from_exact(format!("tl.histogram({}, {bins}{mask})", value.name));
        self.assign(&text, DType::I32, &[bins]);
        Ok(())
    }

    /// A load with hints about caches, and what masked lanes hold instead as a number or block of any dtype.
    fn hinted(&mut self) -> Result<()> {
        let mut dtype = types::choose_dtype(self.u)?;
        if dtype == DType::I1 {
            dtype = DType::I8;
        }
        let shape = self.small_shape()?;
        let all = self.programs * count(&shape);
        let storage = self.add_storage(dtype, &[all])?;
        let pointer = self.make_name("x");
        self.add_parameter(&pointer, "", storage);
        let mut how = String::new();
        if self.u.ratio(1, 2)? {
            let mask = self.build_full_expr(DType::I1, &shape, 1)?;
            if !mask.rough {
                let other = match self.u.int_in_range(0..=3)? {
                    0 => {
                        let mut of = types::choose_dtype(self.u)?;
                        // A float out of an integer's range cannot become an integer.
                        if of.is_float() && !dtype.is_float() {
                            of = DType::I32;
                        }
                        let other = self.build_full_expr(of, &shape, 1)?;
                        if other.rough { "0".to_owned() } else { other.text }
                    }
                    1 if dtype.is_float() => self
                        .choose_word(&["float(\"nan\")", "float(\"-inf\")", "-0.0"])?
                        .to_owned(),
                    2 if dtype.is_signed_int() => "-1".to_owned(),
                    _ => self.choose_word(&["0", "1", "5"])?.to_owned(),
                };
                let _ = write!(how, ", mask={}, other={other}", mask.text);
            }
        }
        how.push_str(self.choose_word(&[
            "",
            "",
            ", cache_modifier=\".ca\"",
            ", cache_modifier=\".cg\"",
            ", cache_modifier=\".cv\"",
        ])?);
        how.push_str(self.choose_word(&[
            "",
            "",
            ", eviction_policy=\"evict_first\"",
            ", eviction_policy=\"evict_last\"",
        ])?);
        how.push_str(self.choose_word(&["", "", ", volatile=True"])?);
        let text = Text::from_exact(format!("tl.load({}{how})", self.build_address(&pointer, &shape)));
        let value = self.assign(&text, dtype, &shape);
        if self.u.ratio(1, 3)? {
            let out = self.make_name("o");
            self.add_output(&out, dtype, &shape);
            let cache = self.choose_word(&[".wb", ".cg", ".cs", ".wt"])?;
            let place = self.build_address(&out, &shape);
            self.emit_line(&format!(
                "tl.store({place}, {}, cache_modifier=\"{cache}\")",
                value.name
            ));
        }
        Ok(())
    }

    /// Functions of integers at the ends of their range.
    fn of_integers(&mut self) -> Result<()> {
        let shape = self.small_shape()?;
        let dtype = *self.u.choose(&WIDE)?;
        let (a, b) = (
            self.load_special(dtype, &shape)?.name,
            self.load_special(dtype, &shape)?.name,
        );
        let text = match self.u.int_in_range(0..=8)? {
            0..=3 => format!("tl.umulhi({a}, {b})"),
            4 if dtype.is_signed_int() => format!("tl.cdiv({a}, 7)"),
            5 if dtype.is_signed_int() => format!("tl.abs({a})"),
            7 => {
                let other = other_sign(dtype);
                format!(
                    "({a}.to({other}) >> 3).to({}) // (({b} & 7) + 1)",
                    render_dtype(dtype)
                )
            }
            6 if self.form.limits.hold_since(3, 9, 0) => format!("tl.clamp({a}, tl.minimum({a}, {b}), {b})"),
            _ => format!("tl.maximum({a}, {b}) - tl.minimum({a}, {b})"),
        };
        self.assign(&Text::from_exact(text), dtype, &shape);
        Ok(())
    }

    /// Arithmetic of bools, which is modulo 2.
    fn of_bools(&mut self) -> Result<()> {
        let shape = self.small_shape()?;
        let (a, b) = (
            self.load_special(DType::I1, &shape)?.name,
            self.load_special(DType::I1, &shape)?.name,
        );
        let op = self.choose_word(&["-", "-", "+", "*", "&", "^", "|", "<", "=="])?;
        self.assign(&Text::from_exact(format!("({a} {op} {b})")), DType::I1, &shape);
        Ok(())
    }

    /// A softmax, along the only axis, or where the version takes one, along any.
    fn softened(&mut self) -> Result<()> {
        let shape = self.small_shape()?;
        let value = self.load_special(DType::F32, &shape)?;
        let dim = if self.form.limits.is_at_least(3, 4) {
            // Up to 3.8 the axis is lost where it is not kept.
            let keep = if self.form.limits.is_at_least(3, 9) {
                ""
            } else {
                ", keep_dims=True"
            };
            format!(", dim={}{keep}", self.choose_axis(&value)?)
        } else {
            String::new()
        };
        let ieee = self.choose_word(&["", ", ieee_rounding=True"])?;
        let text = Text {
            text: format!("tl.softmax({}{dim}{ieee})", value.name),
            rough: true,
        };
        self.assign(&text, DType::F32, &shape);
        Ok(())
    }

    /// Functions of floats on special numbers.
    fn of_floats(&mut self) -> Result<()> {
        let shape = self.small_shape()?;
        let dtype = types::choose_float(self.u)?;
        let (a, b) = (
            self.load_special(dtype, &shape)?.name,
            self.load_special(dtype, &shape)?.name,
        );
        let nan = self.choose_word(&[
            "",
            ", propagate_nan=tl.PropagateNan.ALL",
            ", propagate_nan=tl.PropagateNan.NONE",
        ])?;
        let wide = matches!(dtype, DType::F32 | DType::F64);
        let (text, rough) = match self.u.int_in_range(0..=9)? {
            0 => (format!("tl.maximum({a}, {b}{nan})"), false),
            1 => (format!("tl.minimum({a}, {b}{nan})"), false),
            2 => (format!("tl.clamp({a}, -1.5, 2.0{nan})"), false),
            3 if wide => (format!("tl.floor({a}) + tl.ceil({b})"), false),
            4 if wide => (format!("tl.fma({a}, {b}, {a})"), true),
            5 if dtype == DType::F32 => (format!("tl.div_rn({a}, {b})"), false),
            6 if dtype == DType::F32 => (format!("tl.sqrt_rn({a})"), false),
            7 if dtype == DType::F32 => (format!("tl.fdiv({a}, {b}, ieee_rounding=True)"), true),
            8 => (format!("tl.where({a} == {b}, {a}, -{b})"), false),
            _ => (format!("tl.where({a} < {b}, {b}, tl.abs({a}))"), false),
        };
        let text = format!("({text}).to({})", render_dtype(dtype));
        self.assign(&Text { text, rough }, dtype, &shape);
        Ok(())
    }
}

/// The dtype of as many bits that has a sign where this one has none.
fn other_sign(dtype: DType) -> String {
    let sign = if dtype.is_signed_int() { "u" } else { "" };
    format!("tl.{sign}int{}", dtype.bits())
}

/// The least and the largest number of a dtype of integers.
fn render_bounds(dtype: DType) -> (String, String) {
    let bits = dtype.bits();
    if dtype.is_signed_int() {
        let half = 1i128 << (bits - 1);
        ((-half).to_string(), (half - 1).to_string())
    } else {
        ("0".to_owned(), ((1i128 << bits) - 1).to_string())
    }
}
