//! Tiles of matrices: tensor descriptors, block pointers, and loops that load tiles and multiply them, which compilers pipeline.

use arbitrary::Result;
use cerith_tile::DType;

use super::block::count;
use super::maker::{Maker, Text, offsets};
use super::types;

/// Descriptors' last extents are at least so many bytes.
const RUN: usize = 16;

/// A matrix that tiles are taken of, and the names of what the kernel knows of it.
pub(super) struct Matrix {
    pub(super) pointer: String,
    pub(super) dtype: DType,
    /// Rows and columns that are there.
    pub(super) rows: String,
    pub(super) columns: String,
    /// Elements from one row to the next.
    pub(super) stride: usize,
    pub(super) tile: [usize; 2],
}

impl Maker<'_, '_> {
    /// A matrix with at least a part of a tile for each program; its last tile may hang over.
    pub(super) fn matrix(&mut self, turns: usize) -> Result<Matrix> {
        let mut dtype = types::any(self.u)?;
        if dtype == DType::I1 {
            dtype = DType::I8;
        }
        let size = dtype.bits() as usize / 8;
        let least = (RUN / size).trailing_zeros();
        let width = 1usize << self.u.int_in_range(least..=least + 2)?;
        let height = 1usize << self.u.int_in_range(0..=4)?;
        let over = self.u.ratio(1, 3)?;
        let rows = height * self.programs * turns;
        let rows = if over { rows - height / 2 } else { rows };
        let columns = if over && self.u.ratio(1, 2)? {
            width - width / 4
        } else {
            width
        };
        let stride = width * self.u.int_in_range(1..=2)?;
        let base = self.storage(dtype, &[rows.max(1), stride])?;
        let pointer = self.fresh("x");
        self.parameter(&pointer, "", base);
        let rows = self.run_time_int(rows.max(1));
        let columns = if self.u.ratio(1, 2)? {
            self.run_time_int(columns)
        } else {
            columns.to_string()
        };
        Ok(Matrix {
            pointer,
            dtype,
            rows,
            columns,
            stride,
            tile: [height, width],
        })
    }

    /// Loads a tile through a tensor descriptor that the kernel makes; may store it through another one.
    pub(super) fn described(&mut self) -> Result<()> {
        if !self.form.limits.descriptors || self.depth > 1 {
            return Ok(());
        }
        let Matrix {
            pointer,
            dtype,
            rows,
            columns,
            stride,
            tile,
        } = self.matrix(1)?;
        let descriptor = self.fresh("d");
        self.line(&format!(
            "{descriptor} = tl.make_tensor_descriptor({pointer}, [{rows}, {columns}], [{stride}, 1], {tile:?})"
        ));
        let row = format!("pid * {}", tile[0]);
        let text = Text::exact(format!("{descriptor}.load([{row}, 0])"));
        let value = self.assign(&text, dtype, &tile);
        if self.u.ratio(1, 3)? {
            let out = self.fresh("o");
            let all = [tile[0] * self.programs, tile[1]];
            self.output(&out, dtype, &tile);
            let target = self.fresh("d");
            self.line(&format!(
                "{target} = tl.make_tensor_descriptor({out}, {all:?}, [{}, 1], {tile:?})",
                tile[1]
            ));
            let stored = self.full(dtype, &tile, 1)?;
            let stored = if stored.rough { value.name } else { stored.text };
            self.line(&format!("{target}.store([{row}, 0], {stored})"));
        }
        Ok(())
    }

    /// Loads tiles through a block pointer that a loop advances.
    pub(super) fn block_pointer(&mut self) -> Result<()> {
        if !self.form.limits.block_pointers || self.depth > 1 {
            return Ok(());
        }
        let turns = self.u.int_in_range(1..=3)?;
        let Matrix {
            pointer,
            dtype,
            rows,
            columns,
            stride,
            tile,
        } = self.matrix(turns)?;
        let block = self.fresh("p");
        self.line(&format!(
            "{block} = tl.make_block_ptr({pointer}, ({rows}, {columns}), ({stride}, 1), (pid * {}, 0), ({}, {}), (1, 0))",
            tile[0] * turns,
            tile[0],
            tile[1]
        ));
        let sum = self.fresh("v");
        let wide = if dtype.is_float() { DType::F32 } else { DType::I32 };
        let wide = if dtype.bits() == 64 { dtype } else { wide };
        self.line(&format!("{sum} = tl.zeros({tile:?}, {})", types::tl(wide)));
        self.line(&format!("for {block}_i in range({turns}):"));
        self.depth += 1;
        let load = format!("tl.load({block}, boundary_check=(0, 1), padding_option=\"zero\")");
        self.line(&format!("{sum} += {load}.to({})", types::tl(wide)));
        self.line(&format!("{block} = tl.advance({block}, ({}, 0))", tile[0]));
        self.depth -= 1;
        self.named(sum, wide, &tile, wide.is_float());
        Ok(())
    }

    /// A loop that loads two tiles in each turn and adds their product to what it carries; may use what it loads once more, and
    /// may load where it was told to by another load.
    pub(super) fn pipelined(&mut self) -> Result<()> {
        if self.depth > 1 {
            return Ok(());
        }
        let dtype = *self
            .u
            .choose(&[DType::F16, DType::BF16, DType::F32, DType::I8, DType::F16])?;
        let m = 16usize << self.u.int_in_range(0..=2)?;
        let n = 16usize << self.u.int_in_range(0..=2)?;
        let k = 32usize << self.u.int_in_range(0..=1)?;
        let turns = self.u.int_in_range(0..=5)?;
        let result = if dtype == DType::I8 {
            DType::I32
        } else {
            DType::F32
        };
        let places = turns.max(1);
        let (a, b) = (
            self.storage(dtype, &[places * m, k])?,
            self.storage(dtype, &[places * k, n])?,
        );
        let (x, y) = (self.fresh("x"), self.fresh("x"));
        self.parameter(&x, "", a);
        self.parameter(&y, "", b);
        let order = if self.u.ratio(1, 3)? {
            let name = self.fresh("x");
            let storage = self.fresh("b");
            let fill = format!("{{ dtype: i32, shape: [{places}], fill: arange }}");
            self.storages.push((storage.clone(), fill));
            self.parameter(&name, "", storage);
            Some(name)
        } else {
            None
        };
        let (acc, sum, j) = (self.fresh("v"), self.fresh("v"), self.fresh("j"));
        let count_of = self.run_time_int(turns);
        let stages = self.u.int_in_range(0..=4)?;
        let how = match dtype {
            DType::F32 => ", input_precision=\"ieee\"",
            DType::I8 => ", out_dtype=tl.int32",
            _ => "",
        };
        let twice = self.u.ratio(1, 2)?;
        let stored = self.u.ratio(1, 4)?;
        self.line(&format!("{acc} = tl.zeros([{m}, {n}], {})", types::tl(result)));
        self.line(&format!("{sum} = tl.zeros([{m}], {})", types::tl(result)));
        let head = match stages {
            0 => format!("range({count_of})"),
            stages => format!("tl.range(0, {count_of}, num_stages={stages})"),
        };
        let out = self.fresh("o");
        if stored {
            self.output(&out, dtype, &[places * m * k]);
        }
        self.line(&format!("for {j} in {head}:"));
        self.depth += 1;
        let at = match &order {
            Some(order) => format!("tl.load({order} + {j})"),
            None => j.clone(),
        };
        let (left, right) = (self.fresh("v"), self.fresh("v"));
        self.line(&format!(
            "{left} = tl.load({x} + {at} * {} + {})",
            m * k,
            offsets(&[m, k])
        ));
        self.line(&format!(
            "{right} = tl.load({y} + {j} * {} + {})",
            k * n,
            offsets(&[k, n])
        ));
        if stored {
            let place = format!(
                "{out} + (pid * {places} + {j}) * {} + {}",
                m * k,
                offsets(&[m, k])
            );
            self.line(&format!("tl.store({place}, {left})"));
        }
        self.line(&format!("{acc} = tl.dot({left}, {right}, {acc}{how})"));
        if twice {
            self.line(&format!(
                "{sum} += tl.sum({left}.to({}), axis=1)",
                types::tl(result)
            ));
        }
        self.depth -= 1;
        let rough = result.is_float();
        debug_assert!(count(&[m, n]) <= super::maker::MOST, "a block of few elements");
        self.named(acc, result, &[m, n], rough);
        self.named(sum, result, &[m], rough);
        Ok(())
    }
}
