//! 8-bit floats: loaded, made from bytes, cast from and to other floats, moved, stored. Computations in them are rare, and test
//! which engines accept them. They never enter the scope: they end as wide floats or bytes.

use arbitrary::Result;
use cerith_tile::DType;
use cerith_tile::rules::Rule;

use super::block::count;
use super::maker::{Maker, Text};
use super::types::render_dtype;

impl Maker<'_, '_> {
    pub(super) fn narrow_dtype(&mut self) -> Result<DType> {
        let mut all = vec![
            DType::F8E5,
            DType::F8E4NV,
            DType::F8E5,
            DType::F8E4NV,
            DType::F8E4B15,
        ];
        if self.form.limits.hardware.emulated() {
            all.extend([DType::F8E4B8, DType::F8E5B16]);
        }
        if !self.form.limits.hardware.e4m3() {
            all.retain(|&dtype| dtype != DType::F8E4NV);
        }
        self.u.choose(&all).copied()
    }

    /// A block of 8-bit floats, moved about, and then a wide float or in memory.
    pub(super) fn narrow(&mut self) -> Result<()> {
        let dtype = self.narrow_dtype()?;
        let mut shape = self.small_shape()?;
        let source = self.narrow_source(dtype, &shape)?;
        let mut name = self.make_name("e");
        self.emit_line(&format!("{name} = {source}"));
        let moves = self.u.int_in_range(0..=2)?;
        for _ in 0..moves {
            let moved = self.narrow_moved(&name, &mut shape)?;
            name = self.make_name("e");
            self.emit_line(&format!("{name} = {moved}"));
        }
        if dtype == DType::F8E4B15 && self.u.ratio(1, 4)? {
            let positive = self.make_name("e");
            self.emit_line(&format!("{positive} = tl.abs({name})"));
            name = positive;
        }
        if self.u.ratio(1, 40)? {
            let computed = self.make_name("e");
            let op = self.choose_word(&["+", "*", "-"])?;
            self.emit_line(&format!(
                "{computed} = ({name} {op} {name}).to({})",
                render_dtype(dtype)
            ));
            // Compilers refuse it only if something uses it. A twin stores what comes into scope, and would use it.
            if self.u.arbitrary()? {
                let out = self.make_name("o");
                self.add_output(&out, DType::U8, &shape);
                let place = self.build_address(&out, &shape);
                self.emit_line(&format!(
                    "tl.store({place}, {computed}.to(tl.uint8, bitcast=True))"
                ));
            }
        }
        self.narrow_end(&name, dtype, &shape)
    }

    /// An expression that is a block of 8-bit floats.
    fn narrow_source(&mut self, dtype: DType, shape: &[usize]) -> Result<String> {
        let in_memory = matches!(dtype, DType::F8E5 | DType::F8E4NV);
        Ok(match self.u.int_in_range(0..=7)? {
            0 | 1 if in_memory => {
                let all = self.programs * count(shape);
                let seed: u16 = self.u.arbitrary()?;
                let (storage, pointer) = (self.make_name("b"), self.make_name("x"));
                let fill = self.choose_word(&["random: ", "random: ", "arange: "])?;
                self.keep(&storage, dtype, &[all], &format!("{{ {fill}{} }}", seed % 100));
                self.add_parameter(&pointer, "", storage);
                let place = self.build_address(&pointer, shape);
                let masked = self.form.limits.hold_since(3, 7, 1) && self.u.ratio(1, 2)?;
                let mask = if masked {
                    self.build_full_expr(DType::I1, shape, 1)?
                } else {
                    Text::from_exact("")
                };
                if masked && !mask.rough {
                    let other = self.choose_word(&["0.0", "1.5", "-2.0"])?;
                    format!("tl.load({place}, mask={}, other={other})", mask.text)
                } else {
                    format!("tl.load({place})")
                }
            }
            2 | 3 => {
                let from = *self.u.choose(&[DType::U8, DType::I8])?;
                let bytes = self.load_special(from, shape)?.name;
                format!("{bytes}.to({}, bitcast=True)", render_dtype(dtype))
            }
            4 if in_memory && self.form.limits.hold_since(3, 7, 1) => {
                let number = self.choose_word(&["1.5", "0.0", "-3.0", "448.0", "0.3125"])?;
                format!("tl.full({shape:?}, {number}, {})", render_dtype(dtype))
            }
            5 if in_memory => format!("tl.full({shape:?}, 1.5, tl.float32).to({})", render_dtype(dtype)),
            _ => {
                // Nothing but these two is cast to fp8e4b15.
                let from = match dtype {
                    DType::F8E4B15 => *self.u.choose(&[DType::F32, DType::F16])?,
                    _ => *self
                        .u
                        .choose(&[DType::F32, DType::F32, DType::F16, DType::BF16])?,
                };
                let value = self.load_special(from, shape)?.name;
                let toward_zero = dtype == DType::F8E5 && from == DType::F32 && self.u.ratio(1, 4)?;
                let how = if toward_zero {
                    ", fp_downcast_rounding=\"rtz\""
                } else {
                    ""
                };
                format!("{value}.to({}{how})", render_dtype(dtype))
            }
        })
    }

    /// The same block in another shape or order, or with lanes of it chosen.
    fn narrow_moved(&mut self, name: &str, shape: &mut Vec<usize>) -> Result<String> {
        let rank = shape.len();
        let all = count(shape);
        Ok(match self.u.int_in_range(0..=6)? {
            0 => {
                *shape = vec![all];
                format!("tl.reshape({name}, [{all}])")
            }
            1 if rank == 2 => {
                shape.reverse();
                format!("tl.trans({name})")
            }
            2 if shape[rank - 1] > 1 => format!("tl.flip({name}, {})", rank - 1),
            3 if rank < 3 && all <= 512 => {
                shape.push(2);
                format!("tl.join({name}, {name})")
            }
            4 if rank < 3 => {
                shape.insert(0, 1);
                format!("tl.expand_dims({name}, 0)")
            }
            5 if rank == 1 && self.form.limits.hold_since(3, 3, 1) => {
                let at = self.build_indices(all, shape)?;
                format!("tl.gather({name}, {at}, 0)")
            }
            _ => {
                let mask = self.build_full_expr(DType::I1, shape, 1)?;
                if mask.rough || !self.form.limits.hold(Rule::Fp8PairsPromote) {
                    return Ok(format!("tl.ravel({name}).reshape({shape:?})"));
                }
                format!("tl.where({}, {name}, {name})", mask.text)
            }
        })
    }

    /// Converts 8-bit floats to wide floats or bytes, which may enter the scope.
    fn narrow_end(&mut self, name: &str, dtype: DType, shape: &[usize]) -> Result<()> {
        let in_memory = matches!(dtype, DType::F8E5 | DType::F8E4NV);
        match self.u.int_in_range(0..=7)? {
            0 | 1 if in_memory => {
                let out = self.make_name("o");
                self.add_output(&out, dtype, shape);
                self.emit_line(&format!("tl.store({}, {name})", self.build_address(&out, shape)));
            }
            2 if in_memory => {
                // A store casts to the pointer's element type.
                let out = self.make_name("o");
                self.add_output(&out, dtype, shape);
                let value = self.load_special(DType::F32, shape)?.name;
                self.emit_line(&format!(
                    "tl.store({}, {value} + {name}.to(tl.float32))",
                    self.build_address(&out, shape)
                ));
            }
            3 | 4 => {
                let text = Text::from_exact(format!("{name}.to(tl.uint8, bitcast=True)"));
                self.assign(&text, DType::U8, shape);
            }
            kind => {
                let wide = match kind {
                    5 => DType::F16,
                    6 => DType::BF16,
                    _ => DType::F32,
                };
                let text = Text::from_exact(format!("{name}.to({})", render_dtype(wide)));
                self.assign(&text, wide, shape);
            }
        }
        Ok(())
    }
}
