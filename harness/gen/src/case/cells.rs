//! Atomics in which each lane has an element of its own, so that what they return has one value: of every dtype that they take,
//! with every order and scope.

use arbitrary::Result;
use cerith_tile::DType;

use super::maker::{Maker, Text};
use super::types::render_dtype;

const INTS: [DType; 4] = [DType::I32, DType::I64, DType::U32, DType::U64];
const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];

impl Maker<'_, '_> {
    /// An atomic whose result is used.
    pub(super) fn cells(&mut self) -> Result<()> {
        let shape = self.small_shape()?;
        let float = self.u.ratio(1, 2)?;
        let dtype = *self.u.choose(if float { &FLOATS } else { &INTS })?;
        let wide = dtype.bits() >= 32;
        let mut ops = vec!["cas"];
        if !float {
            ops.extend(["add", "max", "min", "and", "or", "xor", "xchg"]);
        } else if wide {
            ops.extend(["add", "max", "min", "max", "min", "xchg"]);
        } else if dtype == DType::F16 || self.form.limits.is_at_least(3, 4) {
            ops.extend(["add", "add"]);
        }
        let op = self.choose_word(&ops)?;
        let value = self.load_special(dtype, &shape)?.name;
        let out = self.make_name("o");
        let all = self.programs * shape.iter().product::<usize>();
        let fill = match self.u.int_in_range(0..=3)? {
            0 => "zeros".to_owned(),
            1 => "arange".to_owned(),
            _ => format!("{{ random: {} }}", self.u.int_in_range(0..=255u16)?),
        };
        self.keep(&out, dtype, &[all], &fill);
        self.add_parameter(&out, "", out.clone());
        let place = self.build_address(&out, &shape);
        let order = self.choose_word(&[
            "",
            ", sem=\"relaxed\"",
            ", sem=\"acquire\"",
            ", sem=\"release\"",
            ", sem=\"acq_rel\"",
        ])?;
        let scope = self.choose_word(&["", ", scope=\"gpu\"", ", scope=\"cta\"", ", scope=\"sys\""])?;
        let how = format!("{order}{scope}");
        let text = if op == "cas" {
            let expected = self.choose_word(&["0", "1", "3"])?;
            let expected = format!("tl.full({shape:?}, {expected}, {})", render_dtype(dtype));
            format!("tl.atomic_cas({place}, {expected}, {value}{how})")
        } else if self.u.ratio(1, 4)? {
            let mask = self.build_full_expr(DType::I1, &shape, 1)?;
            if !mask.rough {
                // A masked-off lane returns no defined value.
                self.emit_line(&format!(
                    "tl.atomic_{op}({place}, {value}, mask={}{how})",
                    mask.text
                ));
                return Ok(());
            }
            format!("tl.atomic_{op}({place}, {value}{how})")
        } else {
            format!("tl.atomic_{op}({place}, {value}{how})")
        };
        self.assign(&Text::from_exact(text), dtype, &shape);
        Ok(())
    }
}
