//! Records the names of Triton's language that a kernel's own lines use, and their dtypes, for `cerith coverage`. Lines of
//! Triton's library do not count, and neither does the plain Python around a kernel.

use cerith_tile::DType;
use cerith_tile::ir::CmpPredicate;
use ruff_python_ast::UnaryOp;

use super::Tracer;
use crate::probe;
use crate::traced::Use;
use cerith_language::constant::PyBinary;
use cerith_language::lowering::Uses;
use cerith_language::value::Value;
use cerith_language::value::callable::Builtin;

/// Uses as the caller of [`crate::trace`] gets them, in order.
pub(super) fn collect_uses(uses: &Uses) -> Vec<Use> {
    let mut told: Vec<Use> = uses
        .iter()
        .map(|&(home, name, dtype)| Use {
            name: if home.is_empty() {
                name.to_owned()
            } else {
                format!("{home}.{name}")
            },
            dtype,
        })
        .collect();
    told.sort();
    told.dedup();
    told
}

impl Tracer<'_> {
    fn use_of(&mut self, home: &'static str, name: &'static str, values: &[&Value]) {
        if self.lo.library.contains(&self.frame.source) {
            return;
        }
        let mut dtypes = Vec::new();
        for value in values {
            self.dtypes_of(value, &mut dtypes);
        }
        // A mask's dtype is not the dtype of the masked values.
        if dtypes.iter().any(|&dtype| dtype != DType::I1) {
            dtypes.retain(|&dtype| dtype != DType::I1);
        }
        if dtypes.is_empty() {
            self.lo.uses.insert((home, name, None));
        }
        for dtype in dtypes {
            self.lo.uses.insert((home, name, Some(dtype)));
        }
    }

    /// The dtypes of tensors, and of the elements that pointers, block pointers and descriptors address.
    fn dtypes_of(&self, value: &Value, dtypes: &mut Vec<DType>) {
        let tensor = match value {
            Value::Tensor(tensor) => *tensor,
            Value::BlockPointer(pointer) => pointer.base,
            Value::Descriptor(descriptor) => descriptor.base,
            Value::Tuple { items, .. } | Value::List(items) => {
                for item in items.iter() {
                    self.dtypes_of(item, dtypes);
                }
                return;
            }
            _ => return,
        };
        let mut elem = self.lo.ty(tensor).elem;
        while let Some(pointee) = elem.pointee() {
            elem = pointee;
        }
        dtypes.extend(elem.num());
    }

    /// A builtin was called with these arguments and gave this; as a method if `is_method`.
    pub(super) fn used_call(
        &mut self,
        builtin: &'static Builtin,
        is_method: bool,
        args: &[Value],
        result: &Value,
    ) {
        let mut values: Vec<&Value> = args.iter().collect();
        if !args.iter().any(|arg| matches!(arg, Value::Tensor(_))) {
            values.push(result);
        }
        if is_method && !builtin.name().starts_with("tensor_descriptor.") {
            self.use_of("tensor", builtin.short_name(), &values);
        }
        self.use_of("", builtin.name(), &values);
    }

    /// `lhs op rhs`, at least one of them a tensor.
    pub(super) fn used_binary(&mut self, op: PyBinary, lhs: &Value, rhs: &Value) {
        let of_tensor = matches!(lhs, Value::Tensor(_));
        let name = match (op, of_tensor) {
            (PyBinary::Add, true) => "__add__",
            (PyBinary::Add, false) => "__radd__",
            (PyBinary::Sub, true) => "__sub__",
            (PyBinary::Sub, false) => "__rsub__",
            (PyBinary::Mul, true) => "__mul__",
            (PyBinary::Mul, false) => "__rmul__",
            (PyBinary::Div, true) => "__truediv__",
            (PyBinary::Div, false) => "__rtruediv__",
            (PyBinary::FloorDiv, true) => "__floordiv__",
            (PyBinary::FloorDiv, false) => "__rfloordiv__",
            (PyBinary::Mod, true) => "__mod__",
            (PyBinary::Mod, false) => "__rmod__",
            (PyBinary::LShift, true) => "__lshift__",
            (PyBinary::LShift, false) => "__rlshift__",
            (PyBinary::RShift, true) => "__rshift__",
            (PyBinary::RShift, false) => "__rrshift__",
            (PyBinary::BitAnd, true) => "__and__",
            (PyBinary::BitAnd, false) => "__rand__",
            (PyBinary::BitOr, true) => "__or__",
            (PyBinary::BitOr, false) => "__ror__",
            (PyBinary::BitXor, true) => "__xor__",
            (PyBinary::BitXor, false) => "__rxor__",
            (PyBinary::Pow, _) => return,
        };
        self.use_of("tensor", name, &[lhs, rhs]);
    }

    /// A comparison, at least one of its sides a tensor.
    pub(super) fn used_comparison(&mut self, predicate: CmpPredicate, lhs: &Value, rhs: &Value) {
        let of_tensor = matches!(lhs, Value::Tensor(_));
        let name = match (predicate, of_tensor) {
            (CmpPredicate::Eq, true) => "__eq__",
            (CmpPredicate::Eq, false) => "__req__",
            (CmpPredicate::Ne, true) => "__ne__",
            (CmpPredicate::Ne, false) => "__rne__",
            (CmpPredicate::Lt, true) => "__lt__",
            (CmpPredicate::Lt, false) => "__rlt__",
            (CmpPredicate::Le, true) => "__le__",
            (CmpPredicate::Le, false) => "__rle__",
            (CmpPredicate::Gt, true) => "__gt__",
            (CmpPredicate::Gt, false) => "__rgt__",
            (CmpPredicate::Ge, true) => "__ge__",
            (CmpPredicate::Ge, false) => "__rge__",
        };
        self.use_of("tensor", name, &[lhs, rhs]);
    }

    /// `op operand`, a tensor.
    pub(super) fn used_unary(&mut self, op: UnaryOp, operand: &Value) {
        let name = match op {
            UnaryOp::Invert => "__invert__",
            UnaryOp::Not => "__not__",
            UnaryOp::USub => "__neg__",
            UnaryOp::UAdd => return,
        };
        self.use_of("tensor", name, &[operand]);
    }

    /// `value.name` or `value[…]` was read.
    pub(super) fn used_attribute(&mut self, value: &Value, name: &str) {
        let home = match value {
            Value::Tensor(_) => "tensor",
            Value::Descriptor(_) => "tensor_descriptor",
            Value::Module(path) if &**path == "tl" => "tl",
            Value::Module(path) if &**path == "tl.random" => "tl.random",
            _ => return,
        };
        if let Some(name) = probe::find_probe_name(home, name) {
            self.use_of(home, name, &[value]);
        }
    }
}
