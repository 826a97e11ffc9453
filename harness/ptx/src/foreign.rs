//! External functions: `vprintf` and `__assertfail`. All others are unsupported.

use crate::lanes::lanes_of;
use crate::machine::{Machine, Stop};
use crate::op::Foreign;
use crate::outcome::{Exhausted, Resource, TrapKind};
use crate::warp::Warp;

impl Machine<'_> {
    pub(crate) fn call_foreign(
        &mut self,
        warp: &mut Warp,
        which: Foreign,
        arguments: [u32; 5],
        result: Option<u32>,
        lanes: u32,
    ) -> Result<(), Stop> {
        let of = |machine: &Self, warp: &Warp, lane: usize, nth: usize| {
            machine.read_argument(warp, lane, arguments.get(nth).copied().unwrap_or(0))
        };
        for lane in lanes_of(lanes) {
            match which {
                Foreign::Assert => {
                    let message = of(self, warp, lane, 0);
                    let file = of(self, warp, lane, 1);
                    let line = of(self, warp, lane, 2) as u32;
                    let kind = TrapKind::Assert {
                        message: self.read_text(warp, lane, message),
                        file: self.read_text(warp, lane, file),
                        line,
                    };
                    return Err(self.trap(warp, lane, kind));
                }
                Foreign::Print => {
                    let format = of(self, warp, lane, 0);
                    let format = self.read_text(warp, lane, format);
                    let from = of(self, warp, lane, 1);
                    let mut values = Values { address: from };
                    let text = self.format_values(warp, lane, &format, &mut values);
                    self.print(&text)?;
                    if let Some(at) = result {
                        let at = self.own_bytes(lane, at);
                        if let Some(to) = warp.private.get_mut(at..at + 4) {
                            to.fill(0);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn print(&mut self, text: &str) -> Result<(), Stop> {
        self.printed = self.printed.saturating_add(text.len().max(1));
        if self.printed > self.config.print_limit {
            return Err(Stop::Exhausted(Exhausted {
                resource: Resource::Prints,
                limit: self.config.print_limit as u64,
            }));
        }
        // The program may print a line in several parts.
        let mut lines = text.split('\n');
        let first = lines.next().unwrap_or_default();
        match self.prints.last_mut() {
            Some(last) if !last.ends_with('\n') => last.push_str(first),
            _ => self.prints.push(first.to_owned()),
        }
        for line in lines {
            if let Some(last) = self.prints.last_mut() {
                last.push('\n');
            }
            if !line.is_empty() {
                self.prints.push(line.to_owned());
            }
        }
        Ok(())
    }

    /// Formats values as C's `printf`.
    fn format_values(&self, warp: &Warp, lane: usize, format: &str, values: &mut Values) -> String {
        let mut out = String::new();
        let mut rest = format;
        while let Some((before, after)) = rest.split_once('%') {
            out.push_str(before);
            let (field, behind) = Field::read(after);
            rest = behind;
            let word = |values: &mut Values, size: u64| {
                values.address = values.address.next_multiple_of(size);
                let value = (0..size).rev().fold(0, |value, nth| {
                    let byte = self.bytes_at(warp, lane, values.address.wrapping_add(nth));
                    value << 8 | u64::from(byte.unwrap_or(0))
                });
                values.address = values.address.wrapping_add(size);
                value
            };
            let size = if field.long { 8 } else { 4 };
            let text = match field.conversion {
                '%' => "%".to_owned(),
                'd' | 'i' => {
                    let value = word(values, size);
                    let value = if field.long {
                        value as i64
                    } else {
                        i64::from(value as i32)
                    };
                    value.to_string()
                }
                'u' => word(values, size).to_string(),
                'x' => format!("{:x}", word(values, size)),
                'X' => format!("{:X}", word(values, size)),
                'o' => format!("{:o}", word(values, size)),
                'c' => char::from(word(values, 4) as u8).to_string(),
                'p' => format!("{:#x}", word(values, 8)),
                'f' | 'F' | 'e' | 'g' => {
                    let value = f64::from_bits(word(values, 8));
                    let digits = field.precision.unwrap_or(6);
                    format!("{value:.digits$}")
                }
                's' => {
                    let at = word(values, 8);
                    self.read_text(warp, lane, at)
                }
                other => format!("%{other}"),
            };
            let width = field.width;
            let text = if field.left {
                format!("{text:<width$}")
            } else if field.zeros && !text.starts_with('-') {
                format!("{text:0>width$}")
            } else {
                format!("{text:>width$}")
            };
            out.push_str(&text);
        }
        out.push_str(rest);
        out
    }
}

/// The address of the next value.
struct Values {
    address: u64,
}

/// A field of a format, `%-8.3lld`.
struct Field {
    left: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
    long: bool,
    conversion: char,
}

/// Maximum width of a field.
const WIDEST: usize = 256;

impl Field {
    /// Parses a field after its `%`. Returns it and the remaining text.
    fn read(text: &str) -> (Self, &str) {
        let mut field = Self {
            left: false,
            zeros: false,
            width: 0,
            precision: None,
            long: false,
            conversion: '%',
        };
        let mut letters = text.char_indices();
        let mut fraction = false;
        let mut longs = 0;
        for (at, letter) in letters.by_ref() {
            let digit = letter.to_digit(10).map(|digit| digit as usize);
            match (letter, digit) {
                ('-', _) => field.left = true,
                ('0', _) if field.width == 0 && !fraction => field.zeros = true,
                (_, Some(digit)) if fraction => {
                    let precision = field.precision.unwrap_or(0) * 10 + digit;
                    field.precision = Some(precision.min(WIDEST));
                }
                (_, Some(digit)) => field.width = (field.width * 10 + digit).min(WIDEST),
                ('.', _) => fraction = true,
                ('l' | 'j' | 'z', _) => longs += 1,
                ('h' | '+' | ' ' | '#', _) => {}
                _ => {
                    field.conversion = letter;
                    field.long = longs > 0;
                    return (field, text.get(at + letter.len_utf8()..).unwrap_or_default());
                }
            }
        }
        (field, "")
    }
}
