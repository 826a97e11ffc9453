//! Elementwise expressions of a requested dtype and shape.

use arbitrary::Result;
use cerith_tile::DType;
use cerith_tile::rules::Rule;

use super::maker::{Maker, Text, Value};
use super::types::{self, choose_literal, convert, promote, render_dtype};

/// Whether a value spreads to a shape: as a scalar, or by its extents of 1.
fn can_broadcast(value: &Value, shape: &[usize]) -> bool {
    value.shape.is_empty()
        || value.shape.len() == shape.len() && value.shape.iter().zip(shape).all(|(a, b)| a == b || *a == 1)
}

/// The result of an operation that Triton computes in f32 for bf16, cast to bf16.
fn narrow(dtype: DType, text: String) -> String {
    if dtype == DType::BF16 {
        format!("{text}.to(tl.bfloat16)")
    } else {
        text
    }
}

/// A literal without its sign; what is too large then is one less.
fn strip_sign(literal: &str) -> &str {
    match literal {
        "-128" => "127",
        _ => literal.trim_start_matches('-'),
    }
}

impl Maker<'_, '_> {
    /// An expression of exactly this shape.
    pub(super) fn build_full_expr(&mut self, dtype: DType, shape: &[usize], depth: usize) -> Result<Text> {
        let (a, b) = (
            self.build_anchor(dtype, shape)?,
            self.build_expr(dtype, shape, depth)?,
        );
        self.join_exprs(dtype, a, b)
    }

    /// Two expressions of a dtype in one of that dtype.
    pub(super) fn join_exprs(&mut self, dtype: DType, a: Text, b: Text) -> Result<Text> {
        let (a, b) = if self.u.ratio(1, 2)? { (a, b) } else { (b, a) };
        let rough = a.rough || b.rough;
        let (a, b) = (a.text, b.text);
        if dtype == DType::I1 {
            let op = *self.u.choose(&["&", "|", "^"])?;
            let text = self.build_operation(dtype, &a, op, &b);
            return Ok(Text { text, rough });
        }
        let ops: &[&str] = if dtype.is_float() {
            &["+", "*", "-", "min", "max"]
        } else {
            &["+", "*", "-", "&", "|", "^", "min", "max"]
        };
        let op = *self.u.choose(ops)?;
        Ok(Text {
            text: match op {
                "min" => narrow(dtype, format!("tl.minimum({a}, {b})")),
                "max" => narrow(dtype, format!("tl.maximum({a}, {b})")),
                _ => self.build_operation(dtype, &a, op, &b),
            },
            rough: rough || dtype.is_float() && !matches!(op, "min" | "max"),
        })
    }

    /// An expression that spreads to this shape.
    pub(super) fn build_expr(&mut self, dtype: DType, shape: &[usize], depth: usize) -> Result<Text> {
        if depth == 0 {
            return self.build_leaf(dtype, shape);
        }
        if dtype == DType::I1 {
            return self.build_bool_expr(shape, depth);
        }
        match self.u.int_in_range(0..=11)? {
            0 => self.build_leaf(dtype, shape),
            1 => self.build_where(dtype, shape, depth),
            2 => self.build_mixed_expr(dtype, shape, depth),
            3 => self.with_scalar(dtype, shape, depth),
            _ if dtype.is_float() => self.build_float_expr(dtype, shape, depth),
            _ => self.build_int_expr(dtype, shape, depth),
        }
    }

    fn build_leaf(&mut self, dtype: DType, shape: &[usize]) -> Result<Text> {
        let value = match self.choose_value(|value| value.dtype == dtype && can_broadcast(value, shape))? {
            Some(value) => Some(value),
            None => self.choose_value(|value| can_broadcast(value, shape))?,
        };
        let lower = if shape.len() == 2 && self.u.ratio(1, 3)? {
            self.choose_value(|value| {
                value.shape.len() == 1 && (value.shape[0] == shape[0] || value.shape[0] == shape[1])
            })?
        } else {
            None
        };
        if let Some(value) = lower {
            let index = if value.shape[0] == shape[1] {
                "[None, :]"
            } else {
                "[:, None]"
            };
            return Ok(Text {
                text: convert(&format!("{}{index}", value.name), value.dtype, dtype),
                rough: value.rough,
            });
        }
        match value {
            Some(value) => Ok(Text {
                text: convert(&value.name, value.dtype, dtype),
                rough: value.rough,
            }),
            None => self.build_anchor(dtype, shape),
        }
    }

    /// A condition. Numbers that engines may round differently are rarely compared.
    fn build_bool_expr(&mut self, shape: &[usize], depth: usize) -> Result<Text> {
        match self.u.int_in_range(0..=5)? {
            0 => {
                let (a, b) = (
                    self.build_expr(DType::I1, shape, depth - 1)?,
                    self.build_expr(DType::I1, shape, depth - 1)?,
                );
                self.join_exprs(DType::I1, a, b)
            }
            1 => {
                let a = self.build_expr(DType::I1, shape, depth - 1)?;
                Ok(Text {
                    text: format!("(~{})", a.text),
                    rough: a.rough,
                })
            }
            _ => {
                let mut dtype = types::choose_dtype(self.u)?;
                if dtype == DType::I1 {
                    dtype = DType::I32;
                }
                let mut a = self.build_expr(dtype, shape, depth - 1)?;
                if a.rough && !self.u.ratio(1, 16)? {
                    let exact = self.choose_value(|value| {
                        !value.rough && value.dtype != DType::I1 && can_broadcast(value, shape)
                    })?;
                    if let Some(value) = exact {
                        dtype = value.dtype;
                        a = Text::from_exact(value.name);
                    } else if self.has_program {
                        dtype = DType::I32;
                        a = Text::from_exact(super::maker::build_offsets(shape));
                    }
                }
                let op = *self.u.choose(&["<", "<=", ">", ">=", "==", "!="])?;
                let other = match self.choose_value(|value| {
                    !value.rough && value.dtype == dtype && can_broadcast(value, shape)
                })? {
                    Some(value) if self.u.ratio(1, 2)? => value.name,
                    _ => choose_literal(dtype, self.u)?,
                };
                Ok(Text {
                    text: format!("({} {op} {other})", a.text),
                    rough: a.rough,
                })
            }
        }
    }

    fn build_where(&mut self, dtype: DType, shape: &[usize], depth: usize) -> Result<Text> {
        let c = self.build_bool_expr(shape, 1)?;
        let a = self.build_expr(dtype, shape, depth - 1)?;
        if self.u.ratio(1, 4)? {
            // A number beside a block has a type of its own here.
            return Ok(Text {
                text: format!(
                    "tl.where({}, {}, {}).to({})",
                    c.text,
                    a.text,
                    choose_literal(dtype, self.u)?,
                    render_dtype(dtype)
                ),
                rough: a.rough || c.rough,
            });
        }
        let b = self.build_expr(dtype, shape, depth - 1)?;
        Ok(Text {
            text: format!("tl.where({}, {}, {})", c.text, a.text, b.text),
            rough: a.rough || b.rough || c.rough,
        })
    }

    /// Two dtypes in one operation, as Triton promotes them.
    fn build_mixed_expr(&mut self, dtype: DType, shape: &[usize], depth: usize) -> Result<Text> {
        let (mut x, mut y) = (types::choose_dtype(self.u)?, types::choose_dtype(self.u)?);
        if x == DType::I1 {
            x = DType::I32;
        }
        if y == DType::I1 {
            y = dtype;
        }
        let (a, b) = (
            self.build_expr(x, shape, depth - 1)?,
            self.build_expr(y, shape, depth - 1)?,
        );
        let both = promote(x, y);
        let ops: &[&str] = if both.is_float() {
            &["+", "-", "*"]
        } else {
            &["+", "-", "*", "&", "|", "^"]
        };
        let op = *self.u.choose(ops)?;
        Ok(Text {
            text: convert(&format!("({} {op} {})", a.text, b.text), both, dtype),
            rough: a.rough || b.rough || both.is_float(),
        })
    }

    /// A number of the launch in an operation, whatever type it has come in.
    fn with_scalar(&mut self, dtype: DType, shape: &[usize], depth: usize) -> Result<Text> {
        let a = self.build_expr(dtype, shape, depth - 1)?;
        let fitting: Vec<String> = self
            .scalars
            .iter()
            .filter(|scalar| dtype.is_float() || !scalar.float)
            .map(|scalar| scalar.name.clone())
            .chain(self.constants.iter().cloned())
            .collect();
        let other = if fitting.is_empty() {
            choose_literal(dtype, self.u)?
        } else {
            self.u.choose(&fitting)?.clone()
        };
        let op = *self.u.choose(&["+", "-", "*"])?;
        let (left, right) = if self.u.ratio(1, 3)? {
            (&other, &a.text)
        } else {
            (&a.text, &other)
        };
        Ok(Text {
            text: format!("({left} {op} {right}).to({})", render_dtype(dtype)),
            rough: a.rough || dtype.is_float(),
        })
    }

    fn build_int_expr(&mut self, dtype: DType, shape: &[usize], depth: usize) -> Result<Text> {
        let a = self.build_expr(dtype, shape, depth - 1)?;
        let kind = self.u.int_in_range(0..=17)?;
        let literal_beside = self.u.ratio(1, 3)?;
        let b = if matches!(kind, 12..=15) {
            Text::from_exact("")
        } else if literal_beside {
            Text::from_exact(choose_literal(dtype, self.u)?)
        } else {
            self.build_expr(dtype, shape, depth - 1)?
        };
        let rough = a.rough || b.rough;
        let (a, b) = (a.text, b.text);
        let most = dtype.bits() - 1;
        let plain = match kind {
            0 | 1 => Some("+"),
            2 => Some("-"),
            3 | 4 => Some("*"),
            5 => Some("&"),
            6 => Some("|"),
            7 => Some("^"),
            16 if !literal_beside => Some("min"),
            17 if !literal_beside => Some("max"),
            _ => None,
        };
        if let Some(op) = plain {
            let text = if literal_beside {
                format!("({a} {op} {b})")
            } else {
                self.build_operation(dtype, &a, op, &b)
            };
            let text = self.restore_dtype(dtype, text);
            return Ok(Text { text, rough });
        }
        // Before 3.2 a number is signed, and not divided by.
        let divides = dtype.is_signed_int() || self.form.limits.hold(Rule::WeakPythonScalars);
        let text = match kind {
            8 | 14 | 15 if !divides => format!("({a} >> 2)"),
            9 if !divides => format!("({a} & 63)"),
            8 if literal_beside => format!("({a} // {})", strip_sign(&b)),
            8 => format!("({a} // (({b} & 15) + 1))"),
            9 if literal_beside => format!("({a} % {})", strip_sign(&b)),
            9 => format!("({a} % (({b} & 31) + 1))"),
            10 if literal_beside => format!("({a} << 2)"),
            10 => format!("({a} << ({b} & {most}))"),
            11 if literal_beside => format!("({a} >> 1)"),
            11 => format!("({a} >> ({b} & {most}))"),
            12 => format!("(-{a})"),
            13 => format!("(~{a})"),
            14 if dtype.is_signed_int() => format!("tl.abs({a})"),
            14 | 15 => format!("tl.cdiv({a}, 4)"),
            16 => format!("tl.minimum({a}, {b})"),
            _ => format!("tl.maximum({a}, {b})"),
        };
        let text = self.restore_dtype(dtype, text);
        Ok(Text { text, rough })
    }

    fn build_float_expr(&mut self, dtype: DType, shape: &[usize], depth: usize) -> Result<Text> {
        let a = self.build_expr(dtype, shape, depth - 1)?;
        // Functions take f32 and f64 only.
        let wide = if dtype == DType::F64 { dtype } else { DType::F32 };
        let back = |text: String| convert(&text, wide, dtype);
        let kind = self.u.int_in_range(0..=19)?;
        let literal_beside = self.u.ratio(1, 3)?;
        let b = if matches!(kind, 0..=9) {
            if literal_beside {
                Text::from_exact(choose_literal(dtype, self.u)?)
            } else {
                self.build_expr(dtype, shape, depth - 1)?
            }
        } else {
            Text::from_exact("")
        };
        let rough = a.rough || b.rough;
        let (a, b) = (a.text, b.text);
        let wide_a = convert(&a, dtype, wide);
        let (text, exact) = match kind {
            0 | 1 => (format!("({a} + {b})"), false),
            2 => (format!("({a} - {b})"), false),
            3 | 4 => (format!("({a} * {b})"), false),
            5 => (
                back(format!(
                    "({wide_a} / {})",
                    if literal_beside {
                        b
                    } else {
                        convert(&b, dtype, wide)
                    }
                )),
                false,
            ),
            6 => (narrow(dtype, format!("tl.minimum({a}, {b})")), true),
            7 => (
                narrow(
                    dtype,
                    format!("tl.maximum({a}, {b}, propagate_nan=tl.PropagateNan.ALL)"),
                ),
                true,
            ),
            8 => {
                let c = self.build_expr(dtype, shape, depth - 1)?;
                (
                    if literal_beside {
                        format!("({a} * {b} + {})", c.text)
                    } else {
                        format!("tl.fma({a}, {b}, {})", c.text)
                    },
                    false,
                )
            }
            9 => (narrow(dtype, format!("tl.maximum({a}, {b})")), true),
            10 => (format!("tl.abs({a})"), true),
            11 => (format!("(-{a})"), true),
            12 => (back(format!("tl.floor({wide_a})")), true),
            13 => (back(format!("tl.ceil({wide_a})")), true),
            14 => {
                let function = *self
                    .u
                    .choose(&["exp", "log", "exp2", "log2", "sin", "cos", "erf", "sigmoid"])?;
                (back(format!("tl.{function}({wide_a})")), false)
            }
            15 => (back(format!("tl.sqrt(tl.abs({wide_a}))")), false),
            16 => (back(format!("tl.rsqrt({wide_a})")), false),
            17 if wide == DType::F32 => {
                let all: &[&str] = if self.form.limits.hardware.e4m3() {
                    &["float8e5", "float8e4nv", "float16", "bfloat16"]
                } else {
                    &["float8e5", "float16", "bfloat16"]
                };
                let narrow = *self.u.choose(all)?;
                (back(format!("{wide_a}.to(tl.{narrow}).to(tl.float32)")), true)
            }
            17 => (back(format!("{wide_a}.to(tl.float32).to(tl.float64)")), true),
            18 => (narrow(dtype, format!("tl.clamp({a}, -1.5, 2.0)")), true),
            _ => (back(format!("({wide_a} % 2.0)")), false),
        };
        Ok(Text {
            text: self.restore_dtype(dtype, text),
            rough: rough || !exact,
        })
    }
}
