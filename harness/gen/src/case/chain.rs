//! Chains: operations on whole blocks, each on the last one's result, because compilers get these wrong. Each change of shape
//! needs another layout of lanes and threads, and so does the reduction, scan, sort or product at the end.

use arbitrary::Result;
use cerith_tile::DType;

use super::maker::{MAX_ELEMENTS, Maker, Value};

impl Maker<'_, '_> {
    /// Some changes of shape on a block, and what needs a layout of its own at the end.
    pub(super) fn chain(&mut self) -> Result<()> {
        let found = self.choose_value(|value| !value.shape.is_empty())?;
        let Some(mut value) = found else {
            return Ok(());
        };
        let links = self.u.int_in_range(1..=4)?;
        for _ in 0..links {
            match self.u.int_in_range(0..=7)? {
                0 => self.elementwise_of(&value)?,
                1 if value.dtype != DType::I1 => self.scan_value(&value)?,
                _ => self.reshape(value.clone())?,
            }
            value = self.last_block(value);
        }
        match self.u.int_in_range(0..=9)? {
            0..=3 => self.reduce_value(&value),
            4 => self.combine_value(&value),
            5 if value.dtype != DType::I1 => self.scan_value(&value),
            6 => self.scan_with(&value),
            7 | 8 if value.dtype != DType::I1 && value.shape.last().is_some_and(|&n| n > 1) => {
                self.sort(&value)
            }
            _ => self.product_of(&value),
        }
    }

    /// The last value, if it is a block; otherwise the one before.
    fn last_block(&self, before: Value) -> Value {
        let last = self.values.last().filter(|value| !value.shape.is_empty());
        last.cloned().unwrap_or(before)
    }

    /// Something elementwise of a block: other lanes come in, or it is used twice.
    fn elementwise_of(&mut self, value: &Value) -> Result<()> {
        let text = self.build_full_expr(value.dtype, &value.shape, 1)?;
        let own = super::maker::Text {
            text: value.name.clone(),
            rough: value.rough,
        };
        let text = self.join_exprs(value.dtype, own, text)?;
        self.assign(&text, value.dtype, &value.shape);
        Ok(())
    }

    /// A product of a block with itself, reshaped to be square enough.
    fn product_of(&mut self, value: &Value) -> Result<()> {
        let count: usize = value.shape.iter().product();
        if !(256..=MAX_ELEMENTS).contains(&count) || value.dtype == DType::I1 {
            return self.reduce_value(value);
        }
        let rows = 16;
        let name = self.make_name("v");
        self.emit_line(&format!(
            "{name} = tl.reshape({}, [{rows}, {}])",
            value.name,
            count / rows
        ));
        self.add_value(name, value.dtype, &[rows, count / rows], value.rough);
        self.product()
    }
}
