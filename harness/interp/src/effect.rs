//! Statements of a kernel about itself: prints, assertions, assumptions, promises.

use std::fmt::Write as _;

use cerith_tile::ir::{AssertedBy, Demand, Elem, Promise, Shape};
use cerith_tile::numeric;

use crate::checks::{program_id, promise};
use crate::config::Checks;
use crate::machine::Machine;
use crate::movement::row_major;
use crate::outcome::{Resource, Stop};
use crate::program::Step;
use crate::value::Repr;

impl Machine<'_> {
    /// Traps on the first lane whose condition is false or poison.
    fn hold(
        &mut self,
        step: &Step,
        mask: bool,
        what: &str,
        fails: impl Fn(&Self, Option<usize>) -> Stop,
    ) -> Result<(), Stop> {
        let condition = step.ins[0];
        let mask = if mask { step.ins.get(1).copied() } else { None };
        let layout = self.layout(condition);
        let value = self.value(condition);
        if mask.is_none()
            && value.poison.is_none()
            && matches!(value.repr, Repr::Uniform(bits) if bits & 1 == 1)
        {
            return Ok(());
        }
        for lane in 0..layout.lanes {
            let place = (!layout.scalar).then_some(lane);
            if let Some(mask) = mask {
                let (value, mask_layout) = (self.value(mask), self.layout(mask));
                let at = if mask_layout.scalar { 0 } else { lane };
                if value.poison.is_poison(at) {
                    let mark = value.poison.mark(at);
                    return Err(self.trap_undefined(
                        self.site(step.loc),
                        place,
                        mark,
                        "the mask of an assertion",
                    ));
                }
                if value.bits(at, &mask_layout) & 1 == 0 {
                    continue;
                }
            }
            if value.poison.is_poison(lane) {
                return Err(self.trap_undefined(self.site(step.loc), place, value.poison.mark(lane), what));
            }
            if value.bits(lane, &layout) & 1 == 0 {
                return Err(fails(self, place));
            }
        }
        Ok(())
    }

    pub(crate) fn check_assertion(
        &mut self,
        message: &str,
        mask: bool,
        check: AssertedBy,
        step: &Step,
    ) -> Result<(), Stop> {
        if !self.config.device_asserts {
            return Ok(());
        }
        if check != AssertedBy::Kernel {
            return self.overflow_check(message, check, step);
        }
        self.hold(
            step,
            mask,
            "the condition of `tl.device_assert`",
            |machine, lane| promise::trap_assertion(machine.site(step.loc), lane, message),
        )
    }

    /// Traps on the first lane that overflows. A lane without a value may overflow or not, and so may a combine function, whose
    /// operands are up to the compiler: these are remarked.
    fn overflow_check(&mut self, message: &str, check: AssertedBy, step: &Step) -> Result<(), Stop> {
        let condition = step.ins[0];
        let layout = self.layout(condition);
        let value = self.value(condition);
        if value.poison.is_none() && matches!(value.repr, Repr::Uniform(bits) if bits & 1 == 1) {
            return Ok(());
        }
        let mut open = None;
        for lane in 0..layout.lanes {
            let place = (!layout.scalar).then_some(lane);
            if value.poison.is_poison(lane) {
                open = open.or(Some((place, promise::Open::NoValue)));
            } else if value.bits(lane, &layout) & 1 == 0 {
                if check == AssertedBy::OverflowCheck {
                    return Err(promise::trap_assertion(self.site(step.loc), place, message));
                }
                open = open.or(Some((place, promise::Open::Combined)));
            }
        }
        if let Some((place, why)) = open {
            let warning = promise::open_overflow_check(self.site(step.loc), place, message, why);
            self.add_remark(step.loc, warning);
        }
        Ok(())
    }

    pub(crate) fn assume(&mut self, step: &Step) -> Result<(), Stop> {
        self.hold(step, false, "the condition of `tl.assume`", |machine, lane| {
            promise::assume(machine.site(step.loc), lane)
        })
    }

    pub(crate) fn demand(&mut self, demand: Demand, step: &Step) -> Result<(), Stop> {
        self.hold(step, false, "a part of a tensor descriptor", |machine, _| {
            promise::demand(machine.site(step.loc), demand)
        })
    }

    /// Checks a promise and passes the value on.
    pub(crate) fn check_hint(&mut self, kind: Promise, numbers: &Shape, step: &Step) -> Result<(), Stop> {
        let (a, out) = (step.ins[0], step.outs[0]);
        if self.config.checks == Checks::Full {
            self.check_promise(kind, numbers, step);
        }
        let value = self.copy(a)?;
        self.set(out, value);
        Ok(())
    }

    /// Records a broken promise. Compilers are only known to widen accesses because of one, so the program continues, but
    /// its results can't be used to blame an engine.
    fn check_promise(&mut self, kind: Promise, numbers: &Shape, step: &Step) {
        let a = step.ins[0];
        let (value, layout) = (self.value(a), self.layout(a));
        let unit = match layout.elem {
            Elem::Ptr { .. } => layout.elem.pointee().map_or(1, Elem::size) as u64,
            Elem::Num(_) => 1,
        };
        let ones = layout.element_mask();
        let shape = &self.ty(a).shape;
        let strides = row_major(shape);
        // A promise about a scalar has one number and no dimension.
        let dimensions = if layout.scalar { 1 } else { shape.len() };
        for (d, &number) in numbers.iter().enumerate().take(dimensions) {
            if number <= 1 {
                continue;
            }
            let (stride, extent) = match (strides.get(d), shape.get(d)) {
                (Some(&stride), Some(&extent)) if !layout.scalar => (stride, extent.max(1)),
                _ => (1, 1),
            };
            for lane in (0..layout.lanes).filter(|&lane| !value.poison.is_poison(lane)) {
                let bits = value.bits(lane, &layout);
                let index = lane / stride % extent;
                let before = (index > 0 && !value.poison.is_poison(lane - stride))
                    .then(|| value.bits(lane - stride, &layout));
                let follows = before.is_some_and(|before| before.wrapping_add(unit) & ones == bits);
                // Numbers that rise by 1 along another dimension are inside of a run there: no access begins at them.
                // Triton's own matrix products promise multiples along both dimensions of pointers that rise along one.
                let inside = || {
                    strides.iter().zip(shape).any(|(&stride, &extent)| {
                        lane / stride % extent.max(1) > 0
                            && !value.poison.is_poison(lane - stride)
                            && value.bits(lane - stride, &layout).wrapping_add(unit) & ones == bits
                    })
                };
                let broken = match kind {
                    Promise::MultipleOf => {
                        !follows && bits % number as u64 != 0 && (layout.scalar || !inside())
                    }
                    Promise::MaxContiguous => index % number != 0 && before.is_some() && !follows,
                    Promise::MaxConstancy => {
                        index % number != 0 && before.is_some_and(|before| before != bits)
                    }
                };
                if broken {
                    let warning =
                        promise::build_hint_warning(self.site(step.loc), lane, kind, d, number, bits);
                    return self.add_remark(step.loc, warning);
                }
            }
        }
    }

    /// `pid (0, 0, 0) idx ( 3) prefix: value`, a line for each lane of each operand, as Triton's devices print.
    pub(crate) fn print(&mut self, prefix: &str, hex: bool, step: &Step) -> Result<(), Stop> {
        let prefix = normalise_prefix(prefix, !step.ins.is_empty());
        let id = program_id(self.id);
        if step.ins.is_empty() {
            return self.print_line(format!("pid {id}{prefix}"));
        }
        for (nth, &slot) in step.ins.iter().enumerate() {
            let layout = self.layout(slot);
            let shape = &self.ty(slot).shape;
            let strides = row_major(shape);
            for lane in 0..layout.lanes {
                let mut line = format!("pid {id} idx (");
                for (d, (&extent, &stride)) in shape.iter().zip(&strides).enumerate() {
                    let comma = if d > 0 { ", " } else { "" };
                    let width = extent.saturating_sub(1).max(1).ilog10() as usize + 1;
                    // Writing to a string cannot fail.
                    let _ = write!(line, "{comma}{:width$}", lane / stride % extent.max(1));
                }
                line.push(')');
                line.push_str(&prefix);
                if step.ins.len() > 1 {
                    let _ = write!(line, "(operand {nth}) ");
                }
                let value = self.value(slot);
                if value.poison.is_poison(lane) {
                    line.push_str("undefined");
                } else {
                    line.push_str(&render_lane(layout.elem, value.bits(lane, &layout), hex));
                }
                self.print_line(line)?;
            }
        }
        Ok(())
    }

    fn print_line(&mut self, line: String) -> Result<(), Stop> {
        self.printed = self.printed.saturating_add(line.len());
        if self.printed > self.config.print_limit {
            let limit = self.config.print_limit as u64;
            return Err(Stop::exhausted(Resource::Prints, limit));
        }
        self.prints.push(line);
        Ok(())
    }
}

/// The prefix as `semantic.device_print` changes it.
fn normalise_prefix(prefix: &str, values: bool) -> String {
    let mut text = prefix.to_owned();
    if values && !text.ends_with(' ') {
        text.push(' ');
    }
    if values && !text.ends_with(": ") {
        text.pop();
        text.push_str(": ");
    }
    if text.chars().count() > 2 && !text.starts_with(' ') {
        text.insert(0, ' ');
    }
    text
}

/// A lane as C's `printf` shows it: `%i`, `%u`, `%f`, `%p`, or `0x%0*x`.
fn render_lane(elem: Elem, bits: u64, hex: bool) -> String {
    match elem {
        Elem::Ptr { .. } => format!("{bits:#x}"),
        Elem::Num(dtype) if hex && dtype.is_float() => hex_float(numeric::decode(dtype, bits)),
        Elem::Num(dtype) if hex => format!("0x{bits:0width$x}", width = dtype.size() * 2),
        Elem::Num(dtype) if dtype.is_int() => numeric::decode_int(dtype, bits).to_string(),
        Elem::Num(dtype) => {
            let value = numeric::decode(dtype, bits);
            if value.is_finite() {
                format!("{value:.6}")
            } else {
                not_finite(value)
            }
        }
    }
}

fn not_finite(value: f64) -> String {
    let text = match value {
        _ if value.is_nan() => "nan",
        _ if value < 0.0 => "-inf",
        _ => "inf",
    };
    text.to_owned()
}

/// C's `%a`, which Triton prints floats by since 3.9: `-0x1.8p+1`.
fn hex_float(value: f64) -> String {
    const FRACTION: u64 = (1 << 52) - 1;
    if !value.is_finite() {
        return not_finite(value);
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let (bits, biased) = (value.to_bits() & FRACTION, value.to_bits() >> 52 & 0x7ff);
    let (whole, exponent) = match (biased, bits) {
        (0, 0) => (0, 0),
        (0, _) => (0, -1022),
        _ => (1, biased as i64 - 1023),
    };
    let fraction = format!("{bits:013x}");
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}0x{whole}{point}{fraction}p{exponent:+}")
}
