//! Contracts of a kernel that its text states without a launch: axes of the grid and strides that no address depends
//! on, and blocks that overlap.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::Ranged as _;

use super::polynomial::{Atom, Extent, Polynomial, Product};

/// A condition on the launch that the kernel's text states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contract {
    /// Its kind, for reports.
    pub kind: &'static str,
    /// The reason for it.
    pub message: String,
    /// The condition.
    pub demand: String,
    /// The location in the kernel's module, in bytes.
    pub offset: u32,
}

/// Functions of Python that kernels call by their bare names.
const BUILTINS: [&str; 8] = [
    "range",
    "min",
    "max",
    "len",
    "print",
    "int",
    "float",
    "isinstance",
];

/// Finds axes of the grid that no address, mask, condition or loop depends on: their programs all do the same. An
/// axis that the kernel does not name is one if it names a higher one.
pub(super) fn find_repeated_axes(body: &[Stmt], control: &BTreeSet<String>) -> Vec<Contract> {
    let mut finder = AxisFinder::default();
    finder.visit_body(body);
    if finder.is_computed {
        return Vec::new();
    }
    let calls_others = finder.calls_others;
    let highest = finder.uses.iter().map(|one| one.axis).max();
    let axes = 0..=highest.unwrap_or_default();
    let repeated = axes.filter_map(|axis| {
        let mut uses = finder.uses.iter().filter(|one| one.axis == axis);
        let Some(first) = uses.clone().next() else {
            // A function that the kernel calls may read it.
            let other = finder.uses.iter().find(|one| one.axis > axis && !calls_others)?;
            return Some(build_repeated(
                axis,
                other.offset,
                "the kernel does not read its number",
            ));
        };
        let is_lost = |one: &AxisRead| {
            let target = one.target.as_ref();
            target.is_some_and(|target| !control.contains(target))
        };
        uses.all(is_lost)
            .then(|| build_repeated(axis, first.offset, "no address depends on its number"))
    });
    repeated.collect()
}

fn build_repeated(axis: i64, offset: u32, reason: &str) -> Contract {
    Contract {
        kind: "repeated-axis",
        message: format!("all programs on axis {axis} of the grid access the same elements: {reason}"),
        demand: format!("axis {axis} of the grid has one program"),
        offset,
    }
}

/// A `tl.program_id` of a text.
struct AxisRead {
    axis: i64,
    offset: u32,
    /// The variable that it is assigned to, if that is all.
    target: Option<String>,
}

#[derive(Default)]
struct AxisFinder {
    uses: Vec<AxisRead>,
    target: Option<String>,
    /// Whether an axis is not a literal.
    is_computed: bool,
    /// Whether it calls functions of its own file.
    calls_others: bool,
}

impl<'a> Visitor<'a> for AxisFinder {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.target = match stmt {
            Stmt::Assign(assign) => match assign.targets.as_slice() {
                [Expr::Name(name)] => Some(name.id.to_string()),
                _ => None,
            },
            _ => None,
        };
        visitor::walk_stmt(self, stmt);
        self.target = None;
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr {
            let name = match &*call.func {
                Expr::Name(name) => name.id.as_str(),
                Expr::Attribute(attribute) => attribute.attr.as_str(),
                _ => "",
            };
            self.calls_others |= call.func.is_name_expr() && !BUILTINS.contains(&name);
            if name == "program_id" {
                let axis = call.arguments.find_argument_value("axis", 0);
                match axis.and_then(read_number) {
                    Some(axis @ 0..=2) => self.uses.push(AxisRead {
                        axis,
                        offset: call.start().to_u32(),
                        target: self.target.clone(),
                    }),
                    _ => self.is_computed = true,
                }
            }
        }
        visitor::walk_expr(self, expr);
    }
}

/// The number that an expression is, if it is a literal integer.
pub(super) fn read_number(expr: &Expr) -> Option<i64> {
    let Expr::NumberLiteral(literal) = expr else {
        return None;
    };
    literal.value.as_int()?.as_i64()
}

/// Finds stores at which the blocks of two programs overlap: the number of the program and a lane are added, and
/// neither is multiplied.
pub(super) fn find_overlaps<'a>(
    stores: impl Iterator<Item = (&'a Polynomial, Option<u32>)>,
) -> Vec<Contract> {
    let mut stores = stores;
    let overlap = stores.find_map(|(offset, at)| {
        let lanes = offset.terms().filter_map(|(product, factor)| {
            let position = product.iter().position(|atom| match atom {
                Atom::Lane(Extent::Number(number)) => *number > 1,
                Atom::Lane(_) => true,
                _ => false,
            })?;
            Some((without_atom(product, position), factor))
        });
        let lanes: Vec<(Product, i64)> = lanes.collect();
        let axis = offset.terms().find_map(|(product, factor)| {
            let (position, axis) = product
                .iter()
                .enumerate()
                .find_map(|(position, atom)| match atom {
                    Atom::Program(axis) => Some((position, *axis)),
                    _ => None,
                })?;
            lanes
                .contains(&(without_atom(product, position), factor))
                .then_some(axis)
        })?;
        // Another term may keep the programs apart.
        let times = offset.terms().filter(|(product, _)| {
            product
                .iter()
                .any(|atom| matches!(atom, Atom::Program(other) if *other == axis))
        });
        (times.count() == 1).then_some((axis, at?))
    });
    let build = |(axis, offset): (u8, u32)| Contract {
        kind: "overlapping-blocks",
        message: format!(
            "a program on axis {axis} of the grid begins one element after the one before, and each stores a block"
        ),
        demand: format!("axis {axis} of the grid has one program"),
        offset,
    };
    overlap.map(build).into_iter().collect()
}

fn without_atom(product: &[Atom], at: usize) -> Product {
    let others = product.iter().enumerate().filter(|(nth, _)| *nth != at);
    others.map(|(_, atom)| atom.clone()).collect()
}

/// Finds a stride that nothing is multiplied with, although a later stride of the same tensor is used: `stride_am`
/// beside `stride_ak`. The last stride counts if the kernel uses those of all other tensors: many kernels take it for 1.
pub(super) fn find_unused_stride(
    parameters: &[String],
    unused: &BTreeSet<String>,
    body: &[Stmt],
) -> Vec<Contract> {
    let is_stride = |name: &str| name.to_lowercase().contains("stride");
    let found = parameters.iter().enumerate().find_map(|(nth, name)| {
        if !is_stride(name) || !unused.contains(name) {
            return None;
        }
        let later = parameters
            .get(nth + 1..)?
            .iter()
            .take_while(|other| is_stride(other));
        let mut later =
            later.filter(|other| find_owner(other) == find_owner(name) && !unused.contains(*other));
        Some((name.as_str(), later.next()?.as_str()))
    });
    let strides = parameters
        .iter()
        .map(String::as_str)
        .filter(|name| is_stride(name));
    let (name, other, demand) = if let Some((name, other)) = found {
        let demand = format!("the dimension of `{name}` has one element, or another stride stands for it");
        (name, other, demand)
    } else if let Some((name, other)) = find_unused_last(strides, unused) {
        (name, other, format!("`{name}` is 1"))
    } else {
        return Vec::new();
    };
    let mut finder = NameFinder {
        name: other.to_owned(),
        offset: None,
    };
    finder.visit_body(body);
    let build = |offset| Contract {
        kind: "unused-stride",
        message: format!("no address depends on `{name}`, and some depend on `{other}`"),
        demand,
        offset,
    };
    finder.offset.map(build).into_iter().collect()
}

/// The only last stride of a tensor that is not used, and another stride of this tensor.
fn find_unused_last<'a>(
    strides: impl Iterator<Item = &'a str>,
    unused: &BTreeSet<String>,
) -> Option<(&'a str, &'a str)> {
    let mut tensors: Vec<(&str, Vec<&str>)> = Vec::new();
    for name in strides {
        let owner = find_owner(name);
        match tensors.iter_mut().find(|(one, _)| *one == owner) {
            Some((_, own)) => own.push(name),
            None => tensors.push((owner, vec![name])),
        }
    }
    let lasts = tensors.iter().filter_map(|(_, own)| match own.as_slice() {
        [first, .., last] => Some((*first, *last)),
        _ => None,
    });
    let (lost, kept): (Vec<_>, Vec<_>) = lasts.partition(|(_, last)| unused.contains(*last));
    let [(first, last)] = lost.as_slice() else {
        return None;
    };
    (kept.len() >= 2 && !unused.contains(*first)).then_some((*last, *first))
}

/// The part of a stride's name that its tensor's other strides share: `stride_a` of `stride_ak`, `x_stride` of `x_stride_row`.
fn find_owner(name: &str) -> &str {
    let lower = name.to_lowercase();
    let by_word = name.rsplit_once('_').filter(|(head, tail)| {
        let is_last = lower.ends_with("stride") || head.eq_ignore_ascii_case("stride");
        !is_last && !tail.is_empty() && head.to_lowercase().contains("stride")
    });
    if let Some((head, _)) = by_word {
        return head;
    }
    let last = name.char_indices().next_back().map_or(0, |(at, _)| at);
    name.get(..last).unwrap_or_default()
}

/// The first use of a name.
struct NameFinder {
    name: String,
    offset: Option<u32>,
}

impl<'a> Visitor<'a> for NameFinder {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr
            && self.offset.is_none()
            && name.id.as_str() == self.name
        {
            self.offset = Some(name.start().to_u32());
        }
        visitor::walk_expr(self, expr);
    }
}
