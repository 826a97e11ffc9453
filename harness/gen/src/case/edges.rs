//! Tiles that hang over the edges of their matrix on either side, loaded and stored through block pointers or descriptors; atomics,
//! gathers and scatters through descriptors.

use arbitrary::Result;
use cerith_tile::DType;

use super::block::count;
use super::maker::{Maker, Text};
use super::tiles::Matrix;

impl Maker<'_, '_> {
    /// One of those that the versions have.
    pub(super) fn edges(&mut self) -> Result<()> {
        let limits = self.form.limits;
        if self.depth > 1 {
            return Ok(());
        }
        match self.u.int_in_range(0..=5)? {
            0 | 1 if limits.descriptors => self.over_descriptor(),
            2 | 3 if limits.descriptors => self.atomic_descriptor(),
            4 if limits.descriptors && limits.hardware.emulated() => self.rows_of_descriptor(),
            _ if limits.block_pointers => self.over_pointer(),
            _ => Ok(()),
        }
    }

    /// A block pointer to a tile that begins before the matrix or ends after it.
    fn over_pointer(&mut self) -> Result<()> {
        let Matrix {
            pointer,
            dtype,
            rows,
            columns,
            stride,
            tile: [height, width],
        } = self.add_matrix(1)?;
        let (block, padding) = (self.make_name("p"), self.choose_padding(dtype)?);
        let off = self.choose_word(&["", " - 1", " - 2", " + 1"])?;
        let column = self.choose_word(&["0", "-1", "1", "-3"])?;
        self.emit_line(&format!(
            "{block} = tl.make_block_ptr({pointer}, ({rows}, {columns}), ({stride}, 1), (pid * {height}{off}, {column}), ({height}, {width}), (1, 0))"
        ));
        let load = format!("tl.load({block}, boundary_check=(0, 1), padding_option=\"{padding}\")");
        let value = self.assign(&Text::from_exact(load), dtype, &[height, width]);
        if self.u.ratio(1, 3)? {
            let (out, target) = (self.make_name("o"), self.make_name("p"));
            self.add_output(&out, dtype, &[height, width]);
            // Programs write rows of their own: none before the first one.
            let column = self.choose_word(&["0", "-1", "1"])?;
            self.emit_line(&format!(
                "{target} = tl.make_block_ptr({out} + pid * {}, ({height}, {width}), ({width}, 1), (1, {column}), ({height}, {width}), (1, 0))",
                height * width
            ));
            self.emit_line(&format!(
                "tl.store({target}, {}, boundary_check=(0, 1))",
                value.name
            ));
        }
        Ok(())
    }

    /// The padding of lanes out of bounds: integers have no NaN.
    fn choose_padding(&mut self, dtype: DType) -> Result<&'static str> {
        if dtype.is_float() {
            self.choose_word(&["zero", "nan", "nan"])
        } else {
            Ok("zero")
        }
    }

    /// A descriptor; a tile of it is loaded that begins before the matrix or ends after it.
    fn over_descriptor(&mut self) -> Result<()> {
        let Matrix {
            pointer,
            dtype,
            rows,
            columns,
            stride,
            tile,
        } = self.add_matrix(1)?;
        let descriptor = self.make_name("d");
        let mut how = String::new();
        if self.form.limits.hold_since(3, 5, 1) {
            how = format!(", padding_option=\"{}\"", self.choose_padding(dtype)?);
        }
        self.emit_line(&format!(
            "{descriptor} = tl.make_tensor_descriptor({pointer}, [{rows}, {columns}], [{stride}, 1], {tile:?}{how})"
        ));
        let off = self.choose_word(&["", " - 1", " - 2", " + 1"])?;
        let column = (16 / (dtype.bits() as usize / 8)).max(1);
        let column = match self.u.int_in_range(0..=2)? {
            0 => format!("-{column}"),
            1 => column.to_string(),
            _ => "0".to_owned(),
        };
        let text = Text::from_exact(format!("{descriptor}.load([pid * {}{off}, {column}])", tile[0]));
        self.assign(&text, dtype, &tile);
        Ok(())
    }

    /// An atomic through a descriptor: each program has rows of its own.
    fn atomic_descriptor(&mut self) -> Result<()> {
        let dtype = *self.u.choose(&[
            DType::I32,
            DType::U32,
            DType::U64,
            DType::I64,
            DType::F32,
            DType::F16,
            DType::BF16,
        ])?;
        let op = match dtype {
            DType::F32 | DType::F16 | DType::BF16 => "add",
            DType::I32 | DType::U32 => self.choose_word(&["add", "min", "max", "and", "or", "xor"])?,
            DType::U64 => self.choose_word(&["add", "min", "max"])?,
            _ => self.choose_word(&["min", "max"])?,
        };
        let tile = [1usize << self.u.int_in_range(0..=2)?, 16];
        let (out, descriptor) = (self.make_name("o"), self.make_name("d"));
        let rows = tile[0] * self.programs;
        self.keep(&out, dtype, &[rows * 16], "arange");
        self.add_parameter(&out, "", out.clone());
        let columns = self.choose_word(&["16", "16", "8"])?;
        self.emit_line(&format!(
            "{descriptor} = tl.make_tensor_descriptor({out}, [{rows}, {columns}], [16, 1], {tile:?})"
        ));
        let value = self.load_special(dtype, &tile)?;
        self.emit_line(&format!(
            "{descriptor}.atomic_{op}([pid * {}, 0], {})",
            tile[0], value.name
        ));
        Ok(())
    }

    /// Rows gathered through a descriptor, and scattered through another one.
    fn rows_of_descriptor(&mut self) -> Result<()> {
        let dtype = *self
            .u
            .choose(&[DType::F32, DType::F16, DType::I32, DType::BF16, DType::I8])?;
        let width = 32 / (dtype.bits() as usize / 8);
        let shape = [8, width];
        let base = self.add_storage(dtype, &[8 * width])?;
        let (pointer, descriptor) = (self.make_name("x"), self.make_name("d"));
        self.add_parameter(&pointer, "", base);
        self.emit_line(&format!(
            "{descriptor} = tl.make_tensor_descriptor({pointer}, [8, {width}], [{width}, 1], [1, {width}])"
        ));
        let at = self.build_indices(8, &[8])?;
        let off = self.choose_word(&["", "", " + 3", " - 2"])?;
        let text = Text::from_exact(format!("{descriptor}.gather({at}{off}, 0)"));
        let value = self.assign(&text, dtype, &shape);
        if self.u.ratio(1, 2)? {
            let (out, target) = (self.make_name("o"), self.make_name("d"));
            self.add_output(&out, dtype, &shape);
            self.emit_line(&format!(
                "{target} = tl.make_tensor_descriptor({out} + pid * {}, [8, {width}], [{width}, 1], [1, {width}])",
                count(&shape)
            ));
            let back =
                self.choose_word(&["tl.arange(0, 8)", "7 - tl.arange(0, 8)", "tl.arange(0, 8) + 2"])?;
            self.emit_line(&format!("{target}.scatter({}, {back}, 0)", value.name));
        }
        Ok(())
    }
}
