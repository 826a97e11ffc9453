//! Twins: additions to a kernel, and changes, after which it must store the same. A value's number decides its twist, which uses
//! up none of the bytes, so that the rest of the kernel stays as it is.

use cerith_tile::DType;

use super::form::Twist;
use super::maker::{Maker, Value};

/// A number that the launch passes and no kernel is above.
const NEVER: &str = "7";

impl Maker<'_, '_> {
    pub(super) fn has_twist(&self, twist: Twist) -> bool {
        self.form.twist == Some(twist)
    }

    /// Applies a twist to a new value, which must not change it.
    pub(super) fn twist(&mut self, value: &Value) {
        match self.form.twist {
            Some(Twist::Shapes) => self.there_and_back(value),
            Some(Twist::Memory) => self.through_memory(value),
            Some(Twist::Branch) => self.in_no_branch(value),
            _ => {}
        }
    }

    /// A name that the kernel itself does not have.
    fn make_twist_name(&mut self, kind: &str) -> String {
        self.twist_names += 1;
        format!("{kind}_{}", self.twist_names)
    }

    fn there_and_back(&mut self, value: &Value) {
        let Value { name, shape, .. } = value;
        let rank = shape.len();
        let count: usize = shape.iter().product();
        let order: Vec<usize> = (0..rank).rev().collect();
        self.twisted += 1;
        let text = match (self.twisted % 6, rank) {
            (_, 0) => return,
            (0, _) => format!("tl.reshape(tl.reshape({name}, [{count}]), {shape:?})"),
            (1, 2..) => format!("tl.permute(tl.permute({name}, {order:?}), {order:?})"),
            (2, 1..4) => format!("tl.reshape(tl.expand_dims({name}, 0), {shape:?})"),
            (3, _) if count > 1 => {
                let half = [2, count / 2];
                format!("tl.reshape(tl.trans(tl.trans(tl.reshape({name}, {half:?}))), {shape:?})")
            }
            (4, 1..4) => format!("tl.split(tl.join({name}, {name}))[0]"),
            (5, _) if count > 1 && shape[0] > 1 => {
                let halves = [count / 2, 2];
                let (x, y) = (self.make_twist_name("w"), self.make_twist_name("w"));
                self.emit_line(&format!("{x}, {y} = tl.split(tl.reshape({name}, {halves:?}))"));
                format!("tl.reshape(tl.join({x}, {y}), {shape:?})")
            }
            _ => return,
        };
        self.emit_line(&format!("{name} = {text}"));
    }

    fn through_memory(&mut self, value: &Value) {
        let place = self.make_twist_name("s");
        self.add_output(&place, value.dtype, &value.shape);
        let address = self.build_address(&place, &value.shape);
        let name = &value.name;
        if self.depth > 1 {
            // The turn before may still be reading.
            self.emit_line("tl.debug_barrier()");
        }
        self.emit_line(&format!("tl.store({address}, {name})"));
        self.emit_line("tl.debug_barrier()");
        let loaded = self.convert_loaded(value.dtype, &format!("tl.load({address})"));
        self.emit_line(&format!("{name} = {loaded}"));
    }

    fn in_no_branch(&mut self, value: &Value) {
        self.twisted += 1;
        if self.twisted.is_multiple_of(2) {
            return;
        }
        let never = self.make_twist_name("n");
        self.add_parameter(&never, "", NEVER);
        let name = &value.name;
        let other = match value.dtype {
            DType::I1 => format!("~{name}"),
            dtype if dtype.is_float() => format!("-{name}"),
            _ => format!("{name} + {name}"),
        };
        self.emit_line(&format!("if {never} > {NEVER}:"));
        self.depth += 1;
        self.emit_line(&format!("{name} = {other}"));
        self.depth -= 1;
    }

    /// An operation on two integers, in another order and another grouping where the twist says so. Both have the dtype
    /// that comes out, in which arithmetic is modulo its range.
    pub(super) fn build_operation(&mut self, dtype: DType, a: &str, op: &str, b: &str) -> String {
        let plain = |a: &str, b: &str| match op {
            "min" => format!("tl.minimum({a}, {b})"),
            "max" => format!("tl.maximum({a}, {b})"),
            _ => format!("({a} {op} {b})"),
        };
        if !self.has_twist(Twist::Operands) || dtype.is_float() {
            return plain(a, b);
        }
        self.twisted += 1;
        match (op, self.twisted % 3) {
            ("+", 1) => self.restore_dtype(dtype, format!("(({b} - 5) + ({a} + 5))")),
            ("-", 0 | 1) => self.restore_dtype(dtype, format!("(({a} + 5) - ({b} + 5))")),
            ("*", 1) => self.restore_dtype(dtype, format!("(({b} - 1) * {a} + {a})")),
            ("^", 1) if dtype != DType::I1 => self.restore_dtype(dtype, format!("(({b} ^ 5) ^ ({a} ^ 5))")),
            ("-", _) => plain(a, b),
            _ => plain(b, a),
        }
    }
}
