//! The memory that a kernel reads and writes: inputs with their views, numbers of the launch, outputs, atomics.

use std::fmt::Write as _;

use arbitrary::Result;
use cerith_tile::DType;

use super::form::Layout;
use super::maker::{Maker, Scalar, Text, Value, build_offsets, index};
use super::types::{self, render_dtype};

/// Integers near the values that Triton specialises on, and near the limits of 32 bits.
const INTS: [&str; 12] = [
    "3",
    "0",
    "1",
    "16",
    "-1",
    "2",
    "17",
    "1000",
    "2147483647",
    "2147483648",
    "-2147483649",
    "1099511627776",
];
/// An input that a loop goes through.
pub(super) struct Rows {
    pub(super) pointer: String,
    /// Elements from one row to the next.
    pub(super) stride: usize,
    pub(super) shape: Vec<usize>,
    pub(super) dtype: DType,
}

/// Bytes that lie before a tensor in another layout: pointers stay multiples of 16.
const AHEAD: usize = 64;

const FLOATS: [&str; 6] = ["0.5", "1.0", "-2.0", "0.1", "0.0", "3.25"];

impl Maker<'_, '_> {
    pub(super) fn launch_scalars(&mut self) -> Result<()> {
        let count = self.u.int_in_range(0..=2)?;
        for _ in 0..count {
            let name = self.make_name("n");
            let float = self.u.ratio(1, 3)?;
            let value = if float {
                *self.u.choose(&FLOATS)?
            } else {
                *self.u.choose(&INTS)?
            };
            self.add_parameter(&name, "", value);
            self.scalars.push(Scalar { name, float });
        }
        if self.u.ratio(1, 3)? {
            let name = self.constant()?;
            self.constants.push(name);
        }
        Ok(())
    }

    /// A small integer that is known when the kernel is compiled.
    pub(super) fn constant(&mut self) -> Result<String> {
        let name = self.make_name("K");
        let value = self.u.int_in_range(0..=4)?;
        self.add_parameter(&name, ": tl.constexpr", value.to_string());
        Ok(name)
    }

    /// An integer that only the launch knows.
    pub(super) fn run_time_int(&mut self, value: usize) -> String {
        let name = self.make_name("n");
        self.add_parameter(&name, "", value.to_string());
        name
    }

    /// The initial contents of a storage.
    fn fill(&mut self, dtype: DType) -> Result<String> {
        let seed: u16 = self.u.arbitrary()?;
        let seed = seed ^ self.form.data;
        let kind = self.u.int_in_range(0..=7)?;
        Ok(match (dtype, kind) {
            (DType::I1, _) | (_, 0) => format!("{{ random: {seed} }}"),
            (_, 1) if dtype.is_float() => "{ arange: { start: -3, step: 0.5 } }".to_owned(),
            (_, _) if dtype.is_float() => {
                format!("{{ random: {{ seed: {seed}, low: -4, high: 4, edges: false }} }}")
            }
            (_, 1..=3) => format!("{{ random: {seed} }}"),
            (_, 4) => "arange".to_owned(),
            _ => {
                let low = if dtype.is_signed_int() { -20 } else { 0 };
                format!("{{ random: {{ seed: {seed}, low: {low}, high: 50, edges: false }} }}")
            }
        })
    }

    pub(super) fn add_storage(&mut self, dtype: DType, shape: &[usize]) -> Result<String> {
        let name = self.make_name("b");
        let fill = self.fill(dtype)?;
        self.keep(&name, dtype, shape, &fill);
        Ok(name)
    }

    /// A storage whose only tensor covers all of it.
    pub(super) fn whole_storage(&mut self, dtype: DType, shape: &[usize]) -> Result<String> {
        let name = self.make_name("b");
        let fill = self.fill(dtype)?;
        self.hold(name.clone(), dtype, &format!("{shape:?}"), &fill);
        Ok(name)
    }

    /// Memory of this name and shape: a storage, or, in a different layout, the bytes after the first ones of a larger
    /// one.
    pub(super) fn keep(&mut self, name: &str, dtype: DType, shape: &[usize], fill: &str) {
        // A list of values has as many as there are elements.
        if self.form.layout == Layout::Tight || fill.contains('[') {
            self.hold(name.to_owned(), dtype, &format!("{shape:?}"), fill);
            return;
        }
        let before = AHEAD * 8 / (dtype.bits() as usize).max(8);
        let count: usize = shape.iter().product();
        let storage = format!("{name}_all");
        self.tensors.push((
            name.to_owned(),
            format!("\"{storage}[{before}:-1].view({shape:?})\""),
        ));
        self.hold(storage, dtype, &format!("[{}]", before + count + 1), fill);
    }

    fn hold(&mut self, name: String, dtype: DType, shape: &str, fill: &str) {
        let dtype = dtype.name();
        self.storages.push((
            name,
            format!("{{ dtype: {dtype}, shape: {shape}, fill: {fill} }}"),
        ));
    }

    /// Loads a block through some view of a storage.
    pub(super) fn input(&mut self) -> Result<()> {
        let dtype = types::choose_dtype(self.u)?;
        let shape = match self.u.int_in_range(0..=9)? {
            0 => Vec::new(),
            1 | 2 => {
                let axis = self.u.int_in_range(0..=self.shape.len() - 1)?;
                vec![self.shape[axis]]
            }
            _ => self.shape.clone(),
        };
        let pointer = self.make_name("x");
        if shape.is_empty() {
            let base = self.add_storage(dtype, &[self.programs])?;
            self.add_parameter(&pointer, "", base);
            let text = Text::from_exact(format!("tl.load({pointer} + pid)"));
            self.assign(&text, dtype, &[]);
            return Ok(());
        }
        let mut all = shape.clone();
        all[0] *= self.programs;
        let rank = shape.len();
        let mut masked = None;
        if self.u.ratio(1, 4)? {
            let n = self.u.int_in_range(0..=shape[0])?;
            masked = Some((n, self.run_time_int(n)));
        }
        let full: String = (0..rank).map(|_| ":, ").collect();
        let view = match self.u.int_in_range(0..=9)? {
            0 => {
                // Not from the start: mostly an address that is not a multiple of 16 bytes.
                let off = self.u.int_in_range(1..=5)?;
                let count: usize = all.iter().product();
                let base = self.add_storage(dtype, &[off + count])?;
                Some(format!("{base}[{off}:].view({all:?})"))
            }
            1 => {
                let mut wide = all.clone();
                wide[rank - 1] = all[rank - 1] * 2 + 3;
                let base = self.add_storage(dtype, &wide)?;
                let (from, step) = (self.u.int_in_range(0..=2)?, self.u.int_in_range(1..=2)?);
                let to = from + all[rank - 1] * step;
                Some(format!("{base}[{}{from}:{to}:{step}]", &full[..3 * (rank - 1)]))
            }
            2 if rank > 1 => {
                let back: Vec<usize> = all.iter().rev().copied().collect();
                let base = self.add_storage(dtype, &back)?;
                let order: Vec<String> = (0..rank).rev().map(|axis| axis.to_string()).collect();
                Some(format!("{base}.permute({})", order.join(", ")))
            }
            3 if rank > 1 => {
                let mut one = all.clone();
                one[rank - 1] = 1;
                let base = self.add_storage(dtype, &one)?;
                Some(format!("{base}.expand({all:?})"))
            }
            4 => {
                // Two inputs of one storage; one has all rows of the other except one.
                let mut more = all.clone();
                more[0] += 1;
                let base = self.add_storage(dtype, &more)?;
                let again = self.make_name("x");
                self.load(
                    &again,
                    Some(format!("{base}[:-1]")),
                    base.clone(),
                    dtype,
                    &shape,
                    None,
                )?;
                Some(format!("{base}[1:]"))
            }
            _ => None,
        };
        let base = if view.is_some() {
            String::new()
        } else {
            if let Some((n, _)) = &masked
                && self.programs == 1
            {
                // No byte follows those that the mask covers.
                all[0] = (*n).max(1);
            }
            self.add_storage(dtype, &all)?
        };
        self.load(&pointer, view, base, dtype, &shape, masked.map(|(_, name)| name))
    }

    fn load(
        &mut self,
        pointer: &str,
        view: Option<String>,
        base: String,
        dtype: DType,
        shape: &[usize],
        limit: Option<String>,
    ) -> Result<()> {
        let strides: Option<Vec<String>> = if let Some(view) = view {
            let tensor = format!("t_{pointer}");
            self.tensors.push((tensor.clone(), format!("\"{view}\"")));
            self.add_parameter(pointer, "", tensor.clone());
            let names = (0..shape.len()).map(|axis| {
                let name = format!("{pointer}_s{axis}");
                self.add_parameter(&name, "", format!("{tensor}.stride({axis})"));
                name
            });
            Some(names.collect())
        } else {
            self.add_parameter(pointer, "", base);
            None
        };
        let address = match strides {
            None => self.build_address(pointer, shape),
            Some(strides) => {
                let mut address = self.offset_by_program(pointer, &format!("{} * {}", shape[0], strides[0]));
                for (axis, stride) in strides.iter().enumerate() {
                    let _ = write!(address, " + {} * {stride}", index(shape, axis));
                }
                address
            }
        };
        let text = match limit {
            None => format!("tl.load({address})"),
            Some(n) => {
                let other = *self.u.choose(&["0", "1", "0.0", "3"])?;
                let other = if dtype == DType::I1 { "0" } else { other };
                let other = if dtype.is_float() {
                    other
                } else {
                    other.trim_end_matches(".0")
                };
                format!(
                    "tl.load({address}, mask={} < {n}, other={other})",
                    index(shape, 0)
                )
            }
        };
        self.assign(&Text::from_exact(text), dtype, shape);
        Ok(())
    }

    /// An input; a loop loads one of its rows in each iteration.
    pub(super) fn add_rows(&mut self, times: usize) -> Result<Rows> {
        let dtype = types::choose_dtype(self.u)?;
        let shape = self.shape.clone();
        let stride: usize = shape.iter().product();
        let pointer = self.make_name("x");
        let base = self.add_storage(dtype, &[times.max(1) * stride])?;
        self.add_parameter(&pointer, "", base);
        Ok(Rows {
            pointer,
            stride,
            shape,
            dtype,
        })
    }

    /// An output for a value of this shape from each program.
    pub(super) fn add_output(&mut self, name: &str, dtype: DType, shape: &[usize]) {
        let count = self.programs * shape.iter().product::<usize>();
        self.keep(name, dtype, &[count], "zeros");
        self.add_parameter(name, "", name);
    }

    /// The start of a program's part, with this many elements each. In a small kernel of one program that is the pointer.
    fn offset_by_program(&self, pointer: &str, count: &str) -> String {
        if self.small && self.programs == 1 {
            pointer.to_owned()
        } else {
            format!("{pointer} + pid * {count}")
        }
    }

    /// The address of a program's value of this shape, one program after the other.
    pub(super) fn build_address(&self, pointer: &str, shape: &[usize]) -> String {
        if shape.is_empty() {
            return format!("{pointer} + pid");
        }
        let count: usize = shape.iter().product();
        format!(
            "{} + {}",
            self.offset_by_program(pointer, &count.to_string()),
            build_offsets(shape)
        )
    }

    /// Stores a value: as it is, where a mask says so, transposed, as another dtype.
    pub(super) fn store_somehow(&mut self, value: &Value) -> Result<()> {
        let kind = self.u.int_in_range(0..=9)?;
        let out = self.make_name("o");
        let mut dtype = value.dtype;
        if kind == 0 && dtype != DType::I1 {
            dtype = if dtype.is_float() {
                types::choose_float(self.u)?
            } else {
                types::choose_int(self.u)?
            };
        }
        self.add_output(&out, dtype, &value.shape);
        let mut place = self.build_address(&out, &value.shape);
        let mut mask = String::new();
        match kind {
            1 | 2 if !value.shape.is_empty() => {
                let text = self.build_full_expr(DType::I1, &value.shape, 1)?;
                if !text.rough {
                    mask = format!(", mask={}", text.text);
                }
            }
            3 if value.shape.len() > 1 => {
                let count: usize = value.shape.iter().product();
                place = self.offset_by_program(&out, &count.to_string());
                let mut stride = 1;
                for (axis, extent) in value.shape.iter().enumerate() {
                    let _ = write!(place, " + {} * {stride}", index(&value.shape, axis));
                    stride *= extent;
                }
            }
            _ => {}
        }
        self.emit_line(&format!("tl.store({place}, {}{mask})", value.name));
        Ok(())
    }

    /// Indices below a power of two, of exactly this shape, that every engine knows.
    pub(super) fn build_indices(&mut self, below: usize, shape: &[usize]) -> Result<String> {
        let text = self.build_full_expr(DType::I32, shape, 1)?;
        let text = if text.rough {
            Text::from_exact(build_offsets(shape))
        } else {
            text
        };
        Ok(format!("({} & {})", text.text, below - 1))
    }

    /// A load from computed addresses.
    pub(super) fn indirect(&mut self) -> Result<()> {
        let dtype = types::choose_dtype(self.u)?;
        let count = 1usize << self.u.int_in_range(1..=8)?;
        let pointer = self.make_name("x");
        let base = self.add_storage(dtype, &[count])?;
        self.add_parameter(&pointer, "", base);
        let shape = match self.choose_value(|_| true)? {
            Some(value) => value.shape,
            None => self.shape.clone(),
        };
        let at = self.build_indices(count, &shape)?;
        self.assign(
            &Text::from_exact(format!("tl.load({pointer} + {at})")),
            dtype,
            &shape,
        );
        Ok(())
    }

    /// An atomic operation whose order does not matter, and whose result is unused.
    pub(super) fn atomic(&mut self) -> Result<()> {
        let dtype = *self.u.choose(&[
            DType::I32,
            DType::I64,
            DType::U32,
            DType::U64,
            DType::I32,
            DType::F32,
        ])?;
        let op = if dtype == DType::F32 {
            *self.u.choose(&["add", "max", "min"])?
        } else {
            *self.u.choose(&["add", "max", "min", "and", "or", "xor"])?
        };
        let count = 1usize << self.u.int_in_range(0..=6)?;
        let out = self.make_name("o");
        self.keep(&out, dtype, &[count], "arange");
        self.add_parameter(&out, "", out.clone());
        let shape = match self.choose_value(|_| true)? {
            Some(value) => value.shape,
            None => self.shape.clone(),
        };
        let at = self.build_indices(count, &shape)?;
        let value = self.build_full_expr(dtype, &shape, 1)?;
        let mut mask = String::new();
        if self.u.ratio(1, 3)? {
            let text = self.build_full_expr(DType::I1, &shape, 1)?;
            if !text.rough {
                mask = format!(", mask={}", text.text);
            }
        }
        let order = *self.u.choose(&["", ", sem=\"relaxed\"", ", sem=\"release\""])?;
        self.emit_line(&format!(
            "tl.atomic_{op}({out} + {at}, {}{mask}{order})",
            value.text
        ));
        Ok(())
    }

    /// Random numbers.
    pub(super) fn random(&mut self) -> Result<()> {
        let shape = self.shape.clone();
        let at = self.build_full_expr(DType::I32, &shape, 1)?;
        let seed = self.u.int_in_range(0..=9)?;
        let (text, dtype) = match self.u.int_in_range(0..=3)? {
            0 => (format!("tl.rand({seed}, {})", at.text), DType::F32),
            1 => (
                format!("tl.randint({seed}, {}).to({})", at.text, render_dtype(DType::I32)),
                DType::I32,
            ),
            2 => (format!("tl.randn({seed}, {})", at.text), DType::F32),
            _ => {
                let names: Vec<String> = (0..4).map(|_| self.make_name("v")).collect();
                self.emit_line(&format!(
                    "{} = tl.randint4x({seed}, {})",
                    names.join(", "),
                    at.text
                ));
                let kept = self.u.choose(&names)?.clone();
                (format!("{kept}.to(tl.int64)"), DType::I64)
            }
        };
        let rough = at.rough || text.starts_with("tl.randn");
        self.assign(&Text { text, rough }, dtype, &shape);
        Ok(())
    }
}
