//! How a kernel uses its parameters, according to its text: which are tensors, how many dimensions they have, which
//! parameter is a stride and for which dimension, the bound of each index, and the meaning of the grid's axes. See
//! `cerith-survey` for choosing launches.
//!
//! The text is read as sums of products ([`polynomial`]). An address is the sum of a tensor and of an index times a
//! stride for each dimension. A comparison bounds an index, whether it is in a mask, in a condition or in the end of
//! a loop. A bound that is off by one is still the bound of its parameter.

mod access;
mod assigned;
mod bound;
mod contract;
mod control;
mod facts;
pub mod library;
pub mod polynomial;
mod reader;
mod tensor;

use std::collections::BTreeSet;

use ruff_python_ast::Expr;
use ruff_python_ast::visitor::{self, Visitor};

use self::bound::{find_size, read_axis};
pub use self::contract::Contract;
use self::contract::{find_overlaps, find_repeated_axes, find_unused_stride};
pub use self::facts::{AxisUse, Bound, DescriptorUse, Dimension, Flags, Sentinel, Stride, TensorUse, Usage};
use self::library::{Library, Texts};
use self::polynomial::Atom;
use self::reader::Reader;
use self::tensor::{read_tensor, separate_rows};
use crate::kernel::{Function, ParameterKind};
use crate::module::body_of;

/// Stack for reading a kernel and what it calls.
const READING_STACK: usize = 8 << 20;

/// How a kernel of a module uses its parameters; `None` if there is no such kernel, or the module can't be read.
pub fn usage_of(text: &str, name: &str) -> Option<Usage> {
    let mut sources = cerith_tile::source::Sources::default();
    let source = sources.add(cerith_tile::source::SourceFile::new("kernel", text));
    let contents = crate::module::parse(source, text).ok()?;
    let function = contents.functions.iter().find(|function| function.name == name)?;
    let texts = Texts::new([("kernel", text)]);
    Some(read_usage(
        &Library::new(&texts),
        "kernel",
        function,
        &Flags::new(),
    ))
}

/// Reads a kernel of a module of the library. It skips the branches of an `if` that these flags do not take.
pub fn read_usage(library: &Library<'_>, module: &str, function: &Function, flags: &Flags) -> Usage {
    let parameters: Vec<String> = function
        .parameters
        .iter()
        .filter(|parameter| {
            !matches!(
                parameter.kind,
                ParameterKind::VarPositional | ParameterKind::VarKeyword
            )
        })
        .map(|parameter| parameter.name.clone())
        .collect();
    let constants: BTreeSet<String> = function
        .parameters
        .iter()
        .filter(|parameter| parameter.constexpr)
        .map(|parameter| parameter.name.clone())
        .collect();
    let mut reader = Reader::new(library, module, &parameters, &constants, flags);
    // Calls nest deeper than any text.
    stacker::maybe_grow(READING_STACK, READING_STACK, || reader.read(&function.name));
    let mut usage = build_usage(&reader, &parameters);
    let body = body_of(library.find_body(module), &function.name).unwrap_or_default();
    let mut named = Names::default();
    stacker::maybe_grow(READING_STACK, READING_STACK, || named.visit_body(body));
    let mut bindings = Bindings::default();
    stacker::maybe_grow(READING_STACK, READING_STACK, || {
        bindings.visit_body(library.find_body(module));
    });
    usage.bound = bindings.0;
    usage.control = control::find_control(body);
    usage.unused = parameters
        .iter()
        .filter(|name| !named.0.contains(*name))
        .cloned()
        .collect();
    usage.contracts = find_repeated_axes(body, &usage.control);
    let stores = reader.accesses.iter().filter(|access| access.stores);
    let stores = stores.map(|access| (&access.offset, access.at));
    usage.contracts.extend(find_overlaps(stores));
    let stride = find_unused_stride(&parameters, &usage.unused, body);
    usage.contracts.extend(stride);
    usage
}

/// Every name in a text.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl<'a> Visitor<'a> for Names {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr {
            self.0.insert(name.id.to_string());
        }
        visitor::walk_expr(self, expr);
    }
}

/// The names that a text binds by assignments and loops.
#[derive(Default)]
struct Bindings(BTreeSet<String>);

impl<'a> Visitor<'a> for Bindings {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr
            && name.ctx.is_store()
        {
            self.0.insert(name.id.to_string());
        }
        visitor::walk_expr(self, expr);
    }
}

/// Builds the usage from everything read, by tensor and by axis.
fn build_usage(reader: &Reader<'_>, parameters: &[String]) -> Usage {
    let mut usage = reader.usage.clone();
    usage.tensors = parameters
        .iter()
        .filter_map(|name| read_tensor(name, reader, parameters))
        .collect();
    separate_rows(&mut usage, reader);
    for (_, _, index) in reader.accesses.iter().flat_map(|access| &access.dimensions) {
        let index = index.without_number();
        let lane = index
            .terms()
            .find_map(|(product, factor)| match product.as_slice() {
                [Atom::Lane(extent)] if factor == 1 => Some(extent.clone()),
                _ => None,
            });
        let (Some(extent), Some(size)) = (lane, find_size(&index, reader)) else {
            continue;
        };
        let is_alone = index.terms().nth(1).is_none();
        let known = if is_alone {
            &mut usage.covered_sizes
        } else {
            &mut usage.cut_sizes
        };
        if !known.iter().any(|(known, _)| *known == size) {
            known.push((size, extent));
        }
    }
    usage.axes = (0..reader.axes)
        .map(|axis| read_axis(axis as u8, reader))
        .collect();
    usage
}
