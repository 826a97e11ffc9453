//! Words in braces, and what stands for them: values and numbers of the kernel, and storages of the lines' own. A word stands for
//! the same thing everywhere in the lines.
//!
//! | word | stands for |
//! |---|---|
//! | `N`, `NP`, `double` | a number of elements; the same for all programs; twice as many |
//! | `d` | `0, 1, …`, N of them |
//! | `z` | 0: written out, of the launch, out of memory |
//! | `k`, `far`, `m` | 1 or more; beyond all programs' elements; less than N |
//! | `zero`, `three` | a number of the launch |
//! | `x`, `o`, `one`, `bad`, `unset`, `bytes` | storages: 0, 1, …; zeros; one element; what has no defined value; uninitialised; i8 |
//! | `any` | a storage of some dtype with 0, 1, … |
//! | `t`, `w`, `j` | new names |
//! | `i`, `u`, `f`, `b` | a block in scope: integers, unsigned ones, floats, any |
//! | `i_offsets`, `b_rank`, `b_shape`, `b_wide`, `b_extent`, … | of that block |
//! | `s` | a scalar integer in scope |

use std::collections::BTreeMap;

use arbitrary::Result;
use cerith_tile::DType;

use super::super::maker::{Maker, Value};
use super::super::types;
use super::BAD;

/// Lines that are being filled in.
pub(super) struct Snippet<'m, 'u, 'b> {
    maker: &'m mut Maker<'u, 'b>,
    filled: BTreeMap<String, String>,
    values: BTreeMap<char, Value>,
    /// Names of the kernel that the lines take.
    names: Vec<String>,
    count: usize,
}

impl<'m, 'u, 'b> Snippet<'m, 'u, 'b> {
    pub(super) fn new(maker: &'m mut Maker<'u, 'b>) -> Self {
        Self {
            maker,
            filled: BTreeMap::new(),
            values: BTreeMap::new(),
            names: vec!["pid".to_owned()],
            count: 0,
        }
    }

    /// Names of the kernel that the lines take.
    pub(super) fn names(self) -> Vec<String> {
        self.names
    }

    pub(super) fn fill(&mut self, lines: &str) -> Result<String> {
        self.count = 1 << self.maker.u.int_in_range(2..=8)?;
        let mut text = String::new();
        let mut rest = lines;
        while let Some((before, after)) = rest.split_once('{') {
            let (word, behind) = after.split_once('}').unwrap_or((after, ""));
            text.push_str(before);
            text.push_str(&self.fill_word(word)?);
            rest = behind;
        }
        text.push_str(rest);
        Ok(text)
    }

    fn fill_word(&mut self, word: &str) -> Result<String> {
        if let Some(known) = self.filled.get(word) {
            return Ok(known.clone());
        }
        let text = self.expand_word(word)?;
        self.filled.insert(word.to_owned(), text.clone());
        Ok(text)
    }

    fn expand_word(&mut self, word: &str) -> Result<String> {
        let all = self.count * self.maker.programs;
        Ok(match word {
            "N" => self.count.to_string(),
            "NP" => all.to_string(),
            "double" => (2 * self.count).to_string(),
            "d" => format!("tl.arange(0, {})", self.count),
            "k" => (*self.maker.u.choose(&[1, 2, 3, 16, 1000, 1 << 20])?).to_string(),
            "far" => (all + *self.maker.u.choose(&[0, 1, 3, 16, 1000, 1 << 20])?).to_string(),
            "m" => {
                let most = self.count - 1;
                let m = self.maker.u.int_in_range(0..=most)?;
                self.choose_number(m)?
            }
            "z" => self.zero()?,
            "zero" => self.take_int(0),
            "three" => self.take_int(3),
            "x" => self.add_storage("x", DType::I32, all, "arange"),
            "any" => {
                let dtype = types::choose_dtype(self.maker.u)?;
                let fill = if dtype == DType::I1 { "zeros" } else { "arange" };
                self.add_storage("x", dtype, all, fill)
            }
            "o" => self.add_storage("o", DType::I32, all, "zeros"),
            "one" => self.add_storage("o", DType::I32, 1, "zeros"),
            "unset" => {
                let dtype = types::choose_dtype(self.maker.u)?;
                self.add_storage("x", dtype, all, "uninit")
            }
            "bytes" => self.add_storage("x", DType::I8, 8 * all, "zeros"),
            "bad" => self.add_storage(BAD, DType::I32, all, "zeros"),
            "t" | "w" => self.maker.make_name("v"),
            "j" => self.maker.make_name("j"),
            "s" => {
                let found = self.maker.choose_value(|value| {
                    value.shape.is_empty() && !value.dtype.is_float() && value.dtype != DType::I1
                })?;
                match found {
                    Some(value) => self.take(value.name),
                    None => "pid".to_owned(),
                }
            }
            _ => {
                let kind = word.chars().next().unwrap_or('b');
                let value = self.block(kind)?;
                self.of_block(word, &value)
            }
        })
    }

    /// A known property of a block.
    fn of_block(&mut self, word: &str, value: &Value) -> String {
        let count: usize = value.shape.iter().product();
        match word.split_once('_').map(|(_, what)| what) {
            Some("rank") => value.shape.len().to_string(),
            Some("below") => format!("-{}", value.shape.len() + 1),
            Some("shape") => format!("{:?}", value.shape),
            Some("extent") => value.shape[0].to_string(),
            Some("half") => format!("[{}]", (count / 2).max(1)),
            Some("count") => count.to_string(),
            // No axis of 1 is in it, and none of the block's own where that is more than 1.
            Some("wide") => format!(
                "{:?}",
                value.shape.iter().map(|n| 2 * n.max(&2)).collect::<Vec<_>>()
            ),
            Some("bad") => {
                let all = count * self.maker.programs;
                let bad = self.add_storage(BAD, DType::I32, all, "zeros");
                self.maker.build_address(&bad, &value.shape)
            }
            _ => value.name.clone(),
        }
    }

    /// A block of a kind: one in scope, or one made for it.
    fn block(&mut self, kind: char) -> Result<Value> {
        if let Some(value) = self.values.get(&kind) {
            return Ok(value.clone());
        }
        let fits = |dtype: DType| match kind {
            'i' => !dtype.is_float() && dtype != DType::I1,
            'f' => dtype.is_float(),
            'u' => dtype.is_unsigned_int(),
            _ => dtype != DType::I1,
        };
        let found = self
            .maker
            .choose_value(|value| fits(value.dtype) && value.shape.iter().any(|&n| n > 1))?;
        let value = if let Some(value) = found {
            self.take(value.name.clone());
            value
        } else {
            let dtype = match kind {
                'f' => DType::F32,
                'u' => DType::U32,
                _ => DType::I32,
            };
            Value {
                name: format!("tl.arange(0, {}).to({})", self.count, types::render_dtype(dtype)),
                dtype,
                shape: vec![self.count],
                rough: false,
            }
        };
        self.values.insert(kind, value.clone());
        Ok(value)
    }

    fn take(&mut self, name: String) -> String {
        if !self.names.contains(&name) {
            self.names.push(name.clone());
        }
        name
    }

    /// A number of the launch.
    fn take_int(&mut self, value: usize) -> String {
        let name = self.maker.run_time_int(value);
        self.take(name)
    }

    /// A number, written out or of the launch.
    fn choose_number(&mut self, value: usize) -> Result<String> {
        Ok(if self.maker.u.ratio(1, 2)? {
            value.to_string()
        } else {
            self.take_int(value)
        })
    }

    /// 0, known to the compiler, at the launch, or only at run time.
    fn zero(&mut self) -> Result<String> {
        Ok(match self.maker.u.int_in_range(0..=3)? {
            0 => "0".to_owned(),
            1 => self.take_int(0),
            2 => {
                let zeros = self.add_storage("x", DType::I32, 1, "zeros");
                format!("tl.load({zeros})")
            }
            _ => {
                let zeros = self.add_storage("x", DType::I32, self.count, "zeros");
                format!("tl.load({zeros} + tl.arange(0, {}))", self.count)
            }
        })
    }

    fn add_storage(&mut self, kind: &str, dtype: DType, count: usize, fill: &str) -> String {
        let name = self.maker.make_name(kind);
        self.maker.storages.push((
            name.clone(),
            format!("{{ dtype: {}, shape: [{count}], fill: {fill} }}", dtype.name()),
        ));
        self.maker.add_parameter(&name, "", name.clone());
        self.take(name)
    }
}
