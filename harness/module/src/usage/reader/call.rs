//! Calls in a kernel: of the language's functions, which access memory or create ranges of lanes, of methods, and of
//! other kernels. Any other call has an unknown value, see [`super::unknown`].

use std::collections::BTreeSet;

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged as _;

use super::super::access::{Access, find_dimensions};
use super::super::polynomial::{Atom, Extent, Polynomial};
use super::Reader;
use super::unknown::{build_unknown, shorten};

/// Arguments by name that are strings, and one that is always right.
const WORDS: [(&str, &str); 4] = [
    ("cache_modifier", ""),
    ("eviction_policy", ""),
    ("input_precision", "ieee"),
    ("padding_option", ""),
];

/// Methods and functions that give their first argument in another shape, or with a promise about it.
const TRANSPARENT: [&str; 14] = [
    "broadcast_to",
    "cast",
    "expand_dims",
    "item",
    "max_constancy",
    "max_contiguous",
    "multiple_of",
    "ravel",
    "reshape",
    "to",
    "trans",
    "tensor",
    "unsqueeze",
    "view",
];

impl Reader<'_> {
    pub(super) fn read_call(&mut self, call: &ast::ExprCall) -> Polynomial {
        let argument = |name, at| call.arguments.find_argument_value(name, at);
        if let Some(Expr::Name(name)) = argument("dtype", usize::MAX) {
            self.usage.dtypes.extend(self.find_parameter(&name.id));
        }
        for (keyword, text) in WORDS {
            if let Some(Expr::Name(name)) = argument(keyword, usize::MAX)
                && let Some(parameter) = self.find_parameter(&name.id)
            {
                self.usage.texts.push((parameter, text.to_owned()));
            }
        }
        if let Some((module, def)) = self.library.find_function(self.module, self.outer, &call.func) {
            let values = self.inline_call(module, def, call);
            return match values.as_slice() {
                [value] => value.clone(),
                values => build_unknown(format!("{} {}", def.name, self.calls), values),
            };
        }
        let (name, object) = match &*call.func {
            Expr::Name(name) => (name.id.as_str(), None),
            Expr::Attribute(attribute) => (attribute.attr.as_str(), Some(&*attribute.value)),
            _ => ("", None),
        };
        let of_language = object.is_none_or(|object| matches!(object, Expr::Name(_)));
        match name {
            "program_id" => {
                let axis = self.read_axis(argument("axis", 0));
                self.axes = self.axes.max(usize::from(axis) + 1);
                Polynomial::from_atom(Atom::Program(axis))
            }
            "num_programs" => {
                let axis = self.read_axis(argument("axis", 0));
                build_unknown(format!("num_programs {axis}"), &[])
            }
            "arange" => self.read_lanes(argument("start", 0), argument("end", 1)),
            "make_block_ptr" | "make_tensor_descriptor" => self.read_block(call),
            "advance" if of_language => {
                let value = argument("base", 0).map(|value| self.evaluate(value));
                self.read_other_arguments(call, 1);
                value.unwrap_or_default()
            }
            "load" | "store" | "gather" | "scatter" | "atomic_add" | "atomic_max" | "atomic_min"
                if !of_language || self.is_block(object) =>
            {
                let block = object.and_then(|object| self.block_of(object));
                for value in &call.arguments.args {
                    self.evaluate(value);
                }
                let stores = name != "load" && name != "gather";
                match (block, object.map(|object| self.evaluate(object))) {
                    (Some(at), _) => self.record_block_access(at, stores),
                    (None, Some(object)) => {
                        if let Some(parameter) = object.as_param() {
                            self.record_descriptor(parameter, argument("offsets", 0), stores);
                        }
                    }
                    _ => {}
                }
                build_unknown(format!("{name} {}", self.accesses.len()), &[])
            }
            "load" if of_language => {
                let loaded = self.record_access(argument("pointer", 0), false, call);
                let around = std::mem::replace(&mut self.loads, true);
                self.read_other_arguments(call, 1);
                self.loads = around;
                Polynomial::from_atom(Atom::Other {
                    text: shorten(format!("load {loaded:?} {:?}", self.accesses.len())),
                    programs: BTreeSet::new(),
                    below: None,
                    part: None,
                    loaded,
                })
            }
            "store" if of_language => {
                self.record_access(argument("pointer", 0), true, call);
                self.read_other_arguments(call, 1);
                Polynomial::default()
            }
            _ if name.starts_with("atomic_") && of_language => {
                let tensor = self.record_access(argument("pointer", 0), true, call);
                self.record_access(argument("pointer", 0), false, call);
                if name == "atomic_cas" {
                    self.locks.extend(tensor);
                }
                self.read_other_arguments(call, 1);
                build_unknown(name.to_owned(), &[])
            }
            _ if TRANSPARENT.contains(&name) => {
                if name == "to"
                    && let Some(Expr::Name(dtype)) = argument("dtype", 0)
                {
                    self.usage.dtypes.extend(self.find_parameter(&dtype.id));
                }
                let is_module = matches!(object, Some(Expr::Name(module)) if matches!(module.id.as_str(), "tl" | "language" | "triton"));
                match (object, call.arguments.args.first()) {
                    (Some(object), _) if !is_module => self.evaluate(object),
                    (_, Some(first)) => self.evaluate(first),
                    _ => build_unknown(name.to_owned(), &[]),
                }
            }
            "device_assert" | "assume" if of_language => {
                let around = std::mem::replace(&mut self.asserts, true);
                self.read_other_arguments(call, 0);
                self.asserts = around;
                build_unknown(name.to_owned(), &[])
            }
            _ => {
                self.usage.has_dots |= name == "dot" || name == "dot_scaled";
                let mut values: Vec<Polynomial> = call
                    .arguments
                    .args
                    .iter()
                    .map(|value| self.evaluate(value))
                    .collect();
                values.extend(
                    call.arguments
                        .keywords
                        .iter()
                        .map(|keyword| self.evaluate(&keyword.value)),
                );
                build_unknown(format!("{name} {values:?}"), &values)
            }
        }
    }

    /// The axis of a program id. A function may pass it on: `def program_id(axis): return tl.program_id(axis)`.
    fn read_axis(&mut self, axis: Option<&Expr>) -> u8 {
        let axis = axis.map(|axis| self.evaluate(axis)).unwrap_or_default();
        axis.as_number().unwrap_or(0).clamp(0, 2) as u8
    }

    /// Reads the creation of a block pointer or a descriptor, whose arguments give its dimensions.
    fn read_block(&mut self, call: &ast::ExprCall) -> Polynomial {
        let argument = |name, at| call.arguments.find_argument_value(name, at);
        let is_pointer = argument("offsets", usize::MAX).is_some()
            || argument("order", usize::MAX).is_some()
            || call.arguments.args.len() > 4;
        let base = argument("base", 0)
            .map(|base| self.evaluate(base))
            .unwrap_or_default();
        let shape = self.read_list(argument("shape", 1));
        let strides = self.read_list(argument("strides", 2));
        let (offsets, extents) = if is_pointer {
            (
                self.read_list(argument("offsets", 3)),
                self.read_list(argument("block_shape", 4)),
            )
        } else {
            (Vec::new(), self.read_list(argument("block_shape", 3)))
        };
        let mut address = Some(base.clone());
        for (at, (extent, stride)) in extents.iter().zip(&strides).enumerate() {
            let lane = Polynomial::from_atom(Atom::Lane(self.read_extent(extent)));
            let index = match offsets.get(at) {
                Some(offset) => lane.plus(offset).unwrap_or(lane),
                None => lane,
            };
            if let Some(size) = shape.get(at) {
                self.compared.extend(index.minus(size));
            }
            address = address
                .zip(index.times(stride))
                .and_then(|(address, step)| address.plus(&step));
        }
        self.blocks.push(Block {
            address: address.unwrap_or(base),
        });
        build_unknown(format!("block {}", self.blocks.len() - 1), &[])
    }

    fn read_list(&mut self, expr: Option<&Expr>) -> Vec<Polynomial> {
        match expr {
            Some(Expr::Tuple(tuple)) => tuple.elts.iter().map(|value| self.evaluate(value)).collect(),
            Some(Expr::List(list)) => list.elts.iter().map(|value| self.evaluate(value)).collect(),
            _ => Vec::new(),
        }
    }

    fn is_block(&mut self, object: Option<&Expr>) -> bool {
        object.is_some_and(|object| {
            self.block_of(object).is_some()
                || matches!(object, Expr::Name(name) if self.depth == 0 && self.parameters.iter().any(|one| *one == *name.id))
        })
    }

    /// The number of the block pointer or descriptor that a name is.
    fn block_of(&mut self, object: &Expr) -> Option<usize> {
        let Expr::Name(name) = object else { return None };
        block_number(&self.find_variable(&name.id))
    }

    fn record_block_access(&mut self, at: usize, stores: bool) {
        if let Some(block) = self.blocks.get(at) {
            let address = block.address.clone();
            self.record_access_at(&address, stores);
        }
    }

    /// Records an access through a parameter that is a descriptor.
    fn record_descriptor(&mut self, parameter: &str, offsets: Option<&Expr>, stores: bool) {
        let dimensions = match offsets {
            Some(Expr::List(list)) => list.elts.len(),
            Some(Expr::Tuple(tuple)) => tuple.elts.len(),
            _ => 2,
        };
        let known = self.usage.descriptors.entry(parameter.to_owned()).or_default();
        known.dimensions = dimensions;
        known.read |= !stores;
        known.written |= stores;
    }

    /// Evaluates all arguments except the pointer.
    fn read_other_arguments(&mut self, call: &ast::ExprCall, from: usize) {
        for value in call.arguments.args.iter().skip(from) {
            self.evaluate(value);
        }
        for keyword in &call.arguments.keywords {
            if keyword.arg.as_ref().is_none_or(|name| name.as_str() != "pointer") {
                self.evaluate(&keyword.value);
            }
        }
    }

    fn read_lanes(&mut self, start: Option<&Expr>, end: Option<&Expr>) -> Polynomial {
        let start = start.map(|start| self.evaluate(start)).unwrap_or_default();
        let end = end.map(|end| self.evaluate(end)).unwrap_or_default();
        let extent = self.read_extent(&end);
        let lane = Polynomial::from_atom(Atom::Lane(extent));
        lane.plus(&start).unwrap_or(lane)
    }

    fn read_extent(&mut self, end: &Polynomial) -> Extent {
        match (end.as_number(), end.as_param()) {
            (Some(number), _) => Extent::Number(number),
            (None, Some(name)) => {
                self.usage.blocks.insert(name.to_owned());
                Extent::Param(name.to_owned())
            }
            (None, None) => {
                // A range is a power of two, and so is each factor of one.
                if let [(product, _)] = end.terms().collect::<Vec<_>>().as_slice() {
                    let factors = product.iter().filter_map(|atom| match atom {
                        Atom::Param(name) => Some(name.clone()),
                        _ => None,
                    });
                    self.usage.factors.extend(factors);
                }
                Extent::Text(shorten(format!("{end:?}")))
            }
        }
    }

    /// Notes an access through an address, and gives the tensor's name.
    fn record_access(
        &mut self,
        address: Option<&Expr>,
        stores: bool,
        call: &ast::ExprCall,
    ) -> Option<String> {
        let address = self.evaluate(address?);
        // After the address: it may have loads of its own.
        self.at = (self.depth == 0).then(|| call.range().start().to_u32());
        if let Some(at) = block_number(&address) {
            self.record_block_access(at, stores);
            return None;
        }
        self.record_access_at(&address, stores)
    }

    fn record_access_at(&mut self, address: &Polynomial, stores: bool) -> Option<String> {
        let alone: Vec<String> = address
            .terms()
            .filter(|&(_, factor)| factor == 1)
            .filter_map(|(product, _)| match product.as_slice() {
                [Atom::Param(name)] if !self.constants.contains(name) => Some(name.clone()),
                _ => None,
            })
            .collect();
        let is_pointer = |name: &&String| {
            let lower = name.to_lowercase();
            lower.split('_').any(|word| word == "ptr" || word == "pointer") || lower.ends_with("ptr")
        };
        let known = |name: &&String| self.accesses.iter().any(|access| access.tensor == **name);
        let tensor = alone
            .iter()
            .find(is_pointer)
            .or_else(|| alone.iter().find(known))
            .or_else(|| self.parameters.iter().find(|name| alone.contains(name)))
            .cloned();
        let Some(tensor) = tensor else {
            self.usage.lost += 1;
            return None;
        };
        for atom in address.atoms() {
            if let Atom::Other {
                loaded: Some(loaded), ..
            } = atom
            {
                self.indexing.insert(loaded.clone());
            }
        }
        let rest = address.minus(&Polynomial::from_atom(Atom::Param(tensor.clone())))?;
        self.accesses.push(Access {
            tensor: tensor.clone(),
            moved: rest.number_term() > 0
                || rest.terms().any(|(product, _)| {
                    !product.is_empty() && product.iter().all(|atom| matches!(atom, Atom::Param(_)))
                }),
            dimensions: find_dimensions(&rest),
            stores,
            at: self.at,
            offset: rest,
        });
        Some(tensor)
    }
}

/// A block pointer or a descriptor that the kernel makes.
#[derive(Debug)]
pub(super) struct Block {
    /// The addresses of its first block.
    address: Polynomial,
}

fn block_number(value: &Polynomial) -> Option<usize> {
    match value.as_atom()? {
        Atom::Other { text, .. } => text.strip_prefix("block ")?.parse().ok(),
        _ => None,
    }
}
