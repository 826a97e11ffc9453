//! Tiles of matrices: tensor descriptors, block pointers, and loops that load tiles and multiply them, which compilers pipeline.

use arbitrary::Result;
use cerith_tile::DType;

use super::block::count;
use super::maker::{Maker, Text, build_offsets};
use super::types;

/// Descriptors' last extents are at least so many bytes.
const RUN: usize = 16;

/// A matrix with tiles, and the names of its properties in the kernel.
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
    pub(super) fn add_matrix(&mut self, turns: usize) -> Result<Matrix> {
        let mut dtype = types::choose_dtype(self.u)?;
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
        let base = self.add_storage(dtype, &[rows.max(1), stride])?;
        let pointer = self.make_name("x");
        self.add_parameter(&pointer, "", base);
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
        } = self.add_matrix(1)?;
        let descriptor = self.make_name("d");
        self.emit_line(&format!(
            "{descriptor} = tl.make_tensor_descriptor({pointer}, [{rows}, {columns}], [{stride}, 1], {tile:?})"
        ));
        let row = format!("pid * {}", tile[0]);
        let text = Text::from_exact(format!("{descriptor}.load([{row}, 0])"));
        let value = self.assign(&text, dtype, &tile);
        if self.u.ratio(1, 3)? {
            let out = self.make_name("o");
            let all = [tile[0] * self.programs, tile[1]];
            self.add_output(&out, dtype, &tile);
            let target = self.make_name("d");
            self.emit_line(&format!(
                "{target} = tl.make_tensor_descriptor({out}, {all:?}, [{}, 1], {tile:?})",
                tile[1]
            ));
            let stored = self.build_full_expr(dtype, &tile, 1)?;
            let stored = if stored.rough { value.name } else { stored.text };
            self.emit_line(&format!("{target}.store([{row}, 0], {stored})"));
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
        } = self.add_matrix(turns)?;
        let block = self.make_name("p");
        self.emit_line(&format!(
            "{block} = tl.make_block_ptr({pointer}, ({rows}, {columns}), ({stride}, 1), (pid * {}, 0), ({}, {}), (1, 0))",
            tile[0] * turns,
            tile[0],
            tile[1]
        ));
        let sum = self.make_name("v");
        let wide = if dtype.is_float() { DType::F32 } else { DType::I32 };
        let wide = if dtype.bits() == 64 { dtype } else { wide };
        self.emit_line(&format!(
            "{sum} = tl.zeros({tile:?}, {})",
            types::render_dtype(wide)
        ));
        self.emit_line(&format!("for {block}_i in range({turns}):"));
        self.depth += 1;
        let load = format!("tl.load({block}, boundary_check=(0, 1), padding_option=\"zero\")");
        self.emit_line(&format!("{sum} += {load}.to({})", types::render_dtype(wide)));
        self.emit_line(&format!("{block} = tl.advance({block}, ({}, 0))", tile[0]));
        self.depth -= 1;
        self.add_value(sum, wide, &tile, wide.is_float());
        Ok(())
    }

    /// A loop that loads two tiles in each turn and adds their product to a carried value; it may use a loaded tile again, and
    /// may load at indices from a different load.
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
            self.add_storage(dtype, &[places * m, k])?,
            self.add_storage(dtype, &[places * k, n])?,
        );
        let (x, y) = (self.make_name("x"), self.make_name("x"));
        self.add_parameter(&x, "", a);
        self.add_parameter(&y, "", b);
        let order = if self.u.ratio(1, 3)? {
            let name = self.make_name("x");
            let storage = self.make_name("b");
            let fill = format!("{{ dtype: i32, shape: [{places}], fill: arange }}");
            self.storages.push((storage.clone(), fill));
            self.add_parameter(&name, "", storage);
            Some(name)
        } else {
            None
        };
        let (acc, sum, j) = (self.make_name("v"), self.make_name("v"), self.make_name("j"));
        let count_of = self.run_time_int(turns);
        let stages = self.u.int_in_range(0..=4)?;
        let how = match dtype {
            DType::F32 => ", input_precision=\"ieee\"",
            DType::I8 => ", out_dtype=tl.int32",
            _ => "",
        };
        let twice = self.u.ratio(1, 2)?;
        let stored = self.u.ratio(1, 4)?;
        self.emit_line(&format!(
            "{acc} = tl.zeros([{m}, {n}], {})",
            types::render_dtype(result)
        ));
        self.emit_line(&format!(
            "{sum} = tl.zeros([{m}], {})",
            types::render_dtype(result)
        ));
        let head = match stages {
            0 => format!("range({count_of})"),
            stages => format!("tl.range(0, {count_of}, num_stages={stages})"),
        };
        let out = self.make_name("o");
        if stored {
            self.add_output(&out, dtype, &[places * m * k]);
        }
        self.emit_line(&format!("for {j} in {head}:"));
        self.depth += 1;
        let at = match &order {
            Some(order) => format!("tl.load({order} + {j})"),
            None => j.clone(),
        };
        let (left, right) = (self.make_name("v"), self.make_name("v"));
        self.emit_line(&format!(
            "{left} = tl.load({x} + {at} * {} + {})",
            m * k,
            build_offsets(&[m, k])
        ));
        self.emit_line(&format!(
            "{right} = tl.load({y} + {j} * {} + {})",
            k * n,
            build_offsets(&[k, n])
        ));
        if stored {
            let place = format!(
                "{out} + (pid * {places} + {j}) * {} + {}",
                m * k,
                build_offsets(&[m, k])
            );
            self.emit_line(&format!("tl.store({place}, {left})"));
        }
        self.emit_line(&format!("{acc} = tl.dot({left}, {right}, {acc}{how})"));
        if twice {
            self.emit_line(&format!(
                "{sum} += tl.sum({left}.to({}), axis=1)",
                types::render_dtype(result)
            ));
        }
        self.depth -= 1;
        let rough = result.is_float();
        debug_assert!(
            count(&[m, n]) <= super::maker::MAX_ELEMENTS,
            "a block of few elements"
        );
        self.add_value(acc, result, &[m, n], rough);
        self.add_value(sum, result, &[m], rough);
        Ok(())
    }
}
