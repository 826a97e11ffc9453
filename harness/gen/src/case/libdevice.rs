//! CUDA's library, functions that are called as methods of a block, mapped functions of scalars, and queries of CUDA.

use arbitrary::Result;
use cerith_tile::DType;

use super::block::count;
use super::maker::{MAX_ELEMENTS, Maker, Text};
use super::types::render_dtype;

/// Functions of one float that give one of its dtype, the same everywhere.
const EXACT: [&str; 7] = ["trunc", "rint", "floor", "ceil", "nearbyint", "round", "abs"];
/// And those that are rounded.
const ROUNDED: [&str; 12] = [
    "sqrt", "exp", "exp2", "log", "log2", "log10", "log1p", "sin", "cos", "tanh", "erf", "cbrt",
];
/// Functions of one integer of 32 or 64 bits.
const OF_BITS: [&str; 3] = ["clz", "popc", "ffs"];
/// Functions of two floats.
const OF_TWO: [&str; 4] = ["copysign", "nextafter", "fmod", "fdim"];
/// Functions of f32 and f64 that blocks have as methods.
const METHODS: [&str; 10] = [
    "exp", "exp2", "log", "log2", "sin", "cos", "sqrt", "rsqrt", "erf", "floor",
];

impl Maker<'_, '_> {
    pub(super) fn library(&mut self) -> Result<()> {
        match self.u.int_in_range(0..=11)? {
            0..=3 => self.of_library(),
            4 | 5 => self.of_library_bits(),
            6 if self.form.limits.hold_since(3, 5, 1) => self.mapped(),
            7 => {
                let text = "tl.extra.cuda.num_threads() // (32 * tl.extra.cuda.num_warps())";
                let shape = self.small_shape()?;
                let value = self.load_special(DType::I32, &shape)?;
                let text = Text::from_exact(format!("{} + {text}", value.name));
                self.assign(&text, DType::I32, &shape);
                Ok(())
            }
            _ => self.as_method(),
        }
    }

    fn wide_float(&mut self) -> Result<DType> {
        self.u.choose(&[DType::F32, DType::F32, DType::F64]).copied()
    }

    fn of_library(&mut self) -> Result<()> {
        let dtype = self.wide_float()?;
        let shape = self.small_shape()?;
        let a = self.load_special(dtype, &shape)?.name;
        let (text, dtype, rough) = match self.u.int_in_range(0..=4)? {
            0 => (
                format!("tl.abs(libdevice.{}({a}))", self.choose_word(&EXACT)?),
                dtype,
                false,
            ),
            1 => {
                let (outer, inner) = (self.choose_word(&EXACT)?, self.choose_word(&EXACT)?);
                let text = format!(
                    "libdevice.{outer}(libdevice.{inner}({a})).to({})",
                    render_dtype(dtype)
                );
                (text, dtype, false)
            }
            2 => (
                format!("libdevice.{}({a}) + {a}", self.choose_word(&ROUNDED)?),
                dtype,
                true,
            ),
            3 => {
                let test = self.choose_word(&["isnan", "isinf"])?;
                (format!("libdevice.{test}({a}).to(tl.int32)"), DType::I32, false)
            }
            _ => {
                let b = self.load_special(dtype, &shape)?.name;
                let text = format!(
                    "libdevice.{}({a}, {b}).to({})",
                    self.choose_word(&OF_TWO)?,
                    render_dtype(dtype)
                );
                (text, dtype, false)
            }
        };
        self.assign(&Text { text, rough }, dtype, &shape);
        Ok(())
    }

    fn of_library_bits(&mut self) -> Result<()> {
        let dtype = *self.u.choose(&[DType::I32, DType::I32, DType::I64])?;
        let shape = self.small_shape()?;
        let a = self.load_special(dtype, &shape)?.name;
        let (text, dtype) = if self.u.ratio(1, 3)? {
            (format!("libdevice.brev({a}) ^ {a}"), dtype)
        } else {
            (
                format!("libdevice.{}({a}).to(tl.int32)", self.choose_word(&OF_BITS)?),
                DType::I32,
            )
        };
        self.assign(&Text::from_exact(text), dtype, &shape);
        Ok(())
    }

    /// A function of scalars, of every element.
    fn mapped(&mut self) -> Result<()> {
        let dtype = *self.u.choose(&[DType::I32, DType::F32, DType::I64])?;
        let shape = self.small_shape()?;
        let (a, b) = (
            self.load_special(dtype, &shape)?.name,
            self.load_special(dtype, &shape)?.name,
        );
        let body = self.choose_word(&[
            "    return a + b\n",
            "    if a > b:\n        return a\n    else:\n        return b\n",
            "    return tl.where(a == b, a, b)\n",
        ])?;
        let function = self.add_function("a, b", body);
        let text = Text {
            text: format!("tl.map_elementwise({function}, {a}, {b})"),
            rough: dtype.is_float() && body.contains('+'),
        };
        self.assign(&text, dtype, &shape);
        Ok(())
    }

    /// A function as a method of a block.
    fn as_method(&mut self) -> Result<()> {
        let dtype = self.wide_float()?;
        let found = self.choose_value(|value| value.dtype == dtype && !value.shape.is_empty())?;
        let value = match found {
            Some(value) if count(&value.shape) <= MAX_ELEMENTS => value,
            _ => {
                let shape = self.small_shape()?;
                self.load_special(dtype, &shape)?
            }
        };
        let method = self.choose_word(&METHODS)?;
        let text = Text {
            text: format!("{}.{method}()", value.name),
            rough: value.rough || method != "floor",
        };
        self.assign(&text, dtype, &value.shape);
        let integer = *self.u.choose(&[DType::I32, DType::I8, DType::I16, DType::I64])?;
        if self.form.limits.is_at_least(3, 4) && self.u.ratio(1, 4)? {
            let shape = self.small_shape()?;
            let value = self.load_special(integer, &shape)?;
            let text = Text::from_exact(format!("{}.cdiv(3).to({})", value.name, render_dtype(integer)));
            self.assign(&text, integer, &shape);
        }
        Ok(())
    }
}
