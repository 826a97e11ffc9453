//! Matrix products of every dtype, shape and precision that is taken, in batches too, and products of scaled 8-bit and 4-bit
//! floats. Now and then a product is smaller than a version allows.

use std::fmt::Write as _;

use arbitrary::Result;
use cerith_tile::DType;
use cerith_tile::rules::Rule;

use super::maker::{Maker, Text};

impl Maker<'_, '_> {
    pub(super) fn products(&mut self) -> Result<()> {
        if self.depth > 1 {
            return Ok(());
        }
        if self.form.limits.is_at_least(3, 2) && self.u.ratio(1, 4)? {
            self.scaled()
        } else {
            self.dot()
        }
    }

    /// The fewest rows and columns, and the fewest elements between, of a product of this dtype.
    fn find_min_shape(&self, dtype: DType) -> (usize, usize) {
        let limits = self.form.limits;
        let side = if limits.hold(Rule::SmallDots) { 1 } else { 16 };
        let shallow = limits.hold(Rule::ShallowDots);
        let inner = match dtype.bits() {
            8 => 32,
            64 if shallow => 4,
            32 if shallow => 8,
            _ => 16,
        };
        (side, inner)
    }

    /// Numbers for one side of a product, of a storage of their own.
    fn load_factor(&mut self, dtype: DType, shape: &[usize]) -> Result<String> {
        let seed: u16 = self.u.arbitrary()?;
        let seed = seed ^ self.form.data;
        let fill = if self.u.ratio(1, 4)? {
            format!("{{ random: {seed} }}")
        } else if dtype == DType::U8 {
            format!("{{ random: {{ seed: {seed}, low: 0, high: 256, edges: false }} }}")
        } else {
            format!("{{ random: {{ seed: {seed}, low: -4, high: 5, edges: false }} }}")
        };
        Ok(self.factor_of(dtype, shape, &fill))
    }

    fn factor_of(&mut self, dtype: DType, shape: &[usize], fill: &str) -> String {
        let all = self.programs * shape.iter().product::<usize>();
        let (storage, pointer, name) = (self.make_name("b"), self.make_name("x"), self.make_name("e"));
        self.keep(&storage, dtype, &[all], fill);
        self.add_parameter(&pointer, "", storage);
        self.emit_line(&format!(
            "{name} = tl.load({})",
            self.build_address(&pointer, shape)
        ));
        name
    }

    fn dot(&mut self) -> Result<()> {
        let limits = self.form.limits;
        let mut dtypes = vec![
            DType::F32,
            DType::F32,
            DType::F16,
            DType::BF16,
            DType::I8,
            DType::F8E5,
            DType::F8E4NV,
        ];
        if limits.hold(Rule::DotTakesDouble) {
            dtypes.push(DType::F64);
        }
        if !limits.hardware.e4m3() {
            dtypes.retain(|&dtype| dtype != DType::F8E4NV);
        }
        let dtype = *self.u.choose(&dtypes)?;
        let (mut side, mut inner) = self.find_min_shape(dtype);
        if self.u.ratio(1, 24)? {
            // Smaller than what is taken, mostly.
            (side, inner) = (1, 1);
        }
        let extent = |maker: &mut Self, least: usize| -> Result<usize> {
            let most = least.max(32).trailing_zeros();
            Ok(1usize << maker.u.int_in_range(least.trailing_zeros()..=most)?)
        };
        let (m, n, k) = (extent(self, side)?, extent(self, side)?, extent(self, inner)?);
        let batch = if self.u.ratio(1, 5)? { Some(2) } else { None };
        let shaped = |rows: usize, columns: usize| -> Vec<usize> {
            batch.into_iter().chain([rows, columns]).collect()
        };
        let a = self.load_factor(dtype, &shaped(m, k))?;
        let b = self.load_factor(dtype, &shaped(k, n))?;
        let mut how = String::new();
        if matches!(dtype, DType::F32 | DType::F16 | DType::BF16) && self.u.ratio(3, 4)? {
            let mut precisions = vec!["tf32", "tf32x3", "ieee"];
            if limits.hold(Rule::DotSplitsIntoBfloats) {
                precisions.extend(["bf16x3", "bf16x6"]);
            }
            if self.u.ratio(1, 6)? {
                how.push_str(self.choose_word(&[", allow_tf32=True", ", allow_tf32=False"])?);
            } else {
                let _ = write!(how, ", input_precision=\"{}\"", self.choose_word(&precisions)?);
            }
        }
        let mut result = match dtype {
            DType::I8 => DType::I32,
            DType::F64 => DType::F64,
            _ => DType::F32,
        };
        if matches!(dtype, DType::F16 | DType::F8E5 | DType::F8E4NV) && self.u.ratio(1, 4)? {
            result = DType::F16;
            how.push_str(", out_dtype=tl.float16");
        } else if dtype == DType::I8 {
            how.push_str(", out_dtype=tl.int32");
        } else if dtype == DType::F64 {
            how.push_str(", out_dtype=tl.float64");
        }
        if dtype.bits() == 8 && result != DType::I32 && self.u.ratio(1, 3)? {
            how.push_str(self.choose_word(&[", max_num_imprecise_acc=0", ", max_num_imprecise_acc=16"])?);
        }
        let shape = shaped(m, n);
        if self.u.ratio(1, 3)? {
            let acc = self.load_factor(result, &shape)?;
            let _ = write!(how, ", acc={acc}");
        }
        let text = Text {
            text: format!("tl.dot({a}, {b}{how})"),
            rough: result.is_float(),
        };
        self.assign(&text, result, &shape);
        Ok(())
    }

    /// A product of scaled floats.
    fn scaled(&mut self) -> Result<()> {
        let both = self.form.limits.hold(Rule::ScaledDotScalesBoth);
        let (m, n) = (
            16 << self.u.int_in_range(0..=1)?,
            16 << self.u.int_in_range(0..=1)?,
        );
        let k = 64;
        let left = self.choose_word(&["e4m3", "e5m2", "e2m1"])?;
        let right = if both {
            self.choose_word(&["e4m3", "e5m2", "e2m1", "bf16", "fp16"])?
        } else {
            self.choose_word(&["e4m3", "e5m2"])?
        };
        let a = self.scaled_side(left, m, k, false)?;
        let a_scale = self.load_scales(m, k)?;
        let b = self.scaled_side(right, k, n, true)?;
        let b_scale = if both && self.u.ratio(1, 2)? {
            self.load_scales(n, k)?
        } else {
            "None".to_owned()
        };
        let text = Text {
            text: format!("tl.dot_scaled({a}, {a_scale}, \"{left}\", {b}, {b_scale}, \"{right}\")"),
            rough: true,
        };
        self.assign(&text, DType::F32, &[m, n]);
        Ok(())
    }

    fn scaled_side(&mut self, format: &str, rows: usize, columns: usize, right: bool) -> Result<String> {
        let shape = match (format, right) {
            ("e2m1", false) => [rows, columns / 2],
            ("e2m1", true) => [rows / 2, columns],
            _ => [rows, columns],
        };
        let typed = self.form.limits.hold(Rule::ScaledDotScalesBoth) && self.u.ratio(1, 2)?;
        let dtype = match format {
            "bf16" => DType::BF16,
            "fp16" => DType::F16,
            "e4m3" if typed && self.form.limits.hardware.e4m3() => DType::F8E4NV,
            "e5m2" if typed => DType::F8E5,
            _ => DType::U8,
        };
        self.load_factor(dtype, &shape)
    }

    /// Scales of rows of a left side, or of columns of a right one.
    fn load_scales(&mut self, rows: usize, inner: usize) -> Result<String> {
        let seed: u16 = self.u.arbitrary()?;
        let (low, high) = *self.u.choose(&[(124, 131), (124, 131), (0, 256)])?;
        let fill = format!("{{ random: {{ seed: {seed}, low: {low}, high: {high}, edges: false }} }}");
        Ok(self.factor_of(DType::U8, &[rows, inner / 32], &fill))
    }
}
