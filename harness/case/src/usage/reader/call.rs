//! Calls in a kernel: of the language's functions, which access memory or make ranges of lanes, of methods, and of other kernels.
//! Left out: what is neither, whose value is unknown ([`super::unknown`]).

use std::collections::BTreeSet;

use ruff_python_ast::{self as ast, Expr, Number};
use ruff_text_size::Ranged as _;

use super::super::polynomial::{Atom, Extent, Polynomial};
use super::super::{Access, dimensions};
use super::Reader;
use super::unknown::{other, short};

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
    pub(super) fn call(&mut self, call: &ast::ExprCall) -> Polynomial {
        let argument = |name, at| call.arguments.find_argument_value(name, at);
        if let Some(Expr::Name(name)) = argument("dtype", usize::MAX) {
            self.usage.dtypes.extend(self.parameter(&name.id));
        }
        for (keyword, text) in WORDS {
            if let Some(Expr::Name(name)) = argument(keyword, usize::MAX)
                && let Some(parameter) = self.parameter(&name.id)
            {
                self.usage.texts.push((parameter, text.to_owned()));
            }
        }
        if let Some((module, def)) = self.library.function(self.module, self.outer, &call.func) {
            let values = self.inlined(module, def, call);
            return match values.as_slice() {
                [value] => value.clone(),
                values => other(format!("{} {}", def.name, self.calls), values),
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
                let axis = number(argument("axis", 0)).clamp(0, 2) as u8;
                self.axes = self.axes.max(usize::from(axis) + 1);
                Polynomial::atom(Atom::Program(axis))
            }
            "num_programs" => {
                let axis = number(argument("axis", 0)).clamp(0, 2);
                other(format!("num_programs {axis}"), &[])
            }
            "arange" => self.lanes(argument("start", 0), argument("end", 1)),
            "make_block_ptr" | "make_tensor_descriptor" => self.block(call),
            "advance" if of_language => {
                let value = argument("base", 0).map(|value| self.value(value));
                self.rest(call, 1);
                value.unwrap_or_default()
            }
            "load" | "store" | "gather" | "scatter" if !of_language || self.is_block(object) => {
                let block = object.and_then(|object| self.block_of(object));
                for value in &call.arguments.args {
                    self.value(value);
                }
                match (block, object.map(|object| self.value(object))) {
                    (Some(at), _) => self.block_access(at, name != "load" && name != "gather"),
                    (None, Some(object)) => {
                        self.usage
                            .descriptors
                            .extend(object.as_param().map(str::to_owned));
                    }
                    _ => {}
                }
                other(format!("{name} {}", self.accesses.len()), &[])
            }
            "load" if of_language => {
                let loaded = self.access(argument("pointer", 0), false, call);
                let around = std::mem::replace(&mut self.loads, true);
                self.rest(call, 1);
                self.loads = around;
                Polynomial::atom(Atom::Other {
                    text: short(format!("load {loaded:?} {:?}", self.accesses.len())),
                    programs: BTreeSet::new(),
                    below: None,
                    part: None,
                    loaded,
                })
            }
            "store" if of_language => {
                self.access(argument("pointer", 0), true, call);
                self.rest(call, 1);
                Polynomial::default()
            }
            _ if name.starts_with("atomic_") && of_language => {
                self.access(argument("pointer", 0), true, call);
                self.access(argument("pointer", 0), false, call);
                self.rest(call, 1);
                other(name.to_owned(), &[])
            }
            _ if TRANSPARENT.contains(&name) => {
                if name == "to"
                    && let Some(Expr::Name(dtype)) = argument("dtype", 0)
                {
                    self.usage.dtypes.extend(self.parameter(&dtype.id));
                }
                let is_module = matches!(object, Some(Expr::Name(module)) if matches!(module.id.as_str(), "tl" | "language" | "triton"));
                match (object, call.arguments.args.first()) {
                    (Some(object), _) if !is_module => self.value(object),
                    (_, Some(first)) => self.value(first),
                    _ => other(name.to_owned(), &[]),
                }
            }
            _ => {
                self.usage.has_dots |= name == "dot" || name == "dot_scaled";
                let mut values: Vec<Polynomial> = call
                    .arguments
                    .args
                    .iter()
                    .map(|value| self.value(value))
                    .collect();
                values.extend(
                    call.arguments
                        .keywords
                        .iter()
                        .map(|keyword| self.value(&keyword.value)),
                );
                other(format!("{name} {values:?}"), &values)
            }
        }
    }

    /// A block pointer or a descriptor that is made: its dimensions are what it says they are.
    fn block(&mut self, call: &ast::ExprCall) -> Polynomial {
        let argument = |name, at| call.arguments.find_argument_value(name, at);
        let is_pointer = argument("offsets", usize::MAX).is_some()
            || argument("order", usize::MAX).is_some()
            || call.arguments.args.len() > 4;
        let base = argument("base", 0)
            .map(|base| self.value(base))
            .unwrap_or_default();
        let shape = self.list(argument("shape", 1));
        let strides = self.list(argument("strides", 2));
        let (offsets, extents) = if is_pointer {
            (
                self.list(argument("offsets", 3)),
                self.list(argument("block_shape", 4)),
            )
        } else {
            (Vec::new(), self.list(argument("block_shape", 3)))
        };
        let mut address = Some(base.clone());
        for (at, (extent, stride)) in extents.iter().zip(&strides).enumerate() {
            let lane = Polynomial::atom(Atom::Lane(self.extent(extent)));
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
        other(format!("block {}", self.blocks.len() - 1), &[])
    }

    fn list(&mut self, expr: Option<&Expr>) -> Vec<Polynomial> {
        match expr {
            Some(Expr::Tuple(tuple)) => tuple.elts.iter().map(|value| self.value(value)).collect(),
            Some(Expr::List(list)) => list.elts.iter().map(|value| self.value(value)).collect(),
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
        block_number(&self.variable(&name.id))
    }

    fn block_access(&mut self, at: usize, stores: bool) {
        if let Some(block) = self.blocks.get(at) {
            let address = block.address.clone();
            self.access_at(&address, stores);
        }
    }

    /// Arguments but for the pointer.
    fn rest(&mut self, call: &ast::ExprCall, from: usize) {
        for value in call.arguments.args.iter().skip(from) {
            self.value(value);
        }
        for keyword in &call.arguments.keywords {
            if keyword.arg.as_ref().is_none_or(|name| name.as_str() != "pointer") {
                self.value(&keyword.value);
            }
        }
    }

    fn lanes(&mut self, start: Option<&Expr>, end: Option<&Expr>) -> Polynomial {
        let start = start.map(|start| self.value(start)).unwrap_or_default();
        let end = end.map(|end| self.value(end)).unwrap_or_default();
        let extent = self.extent(&end);
        let lane = Polynomial::atom(Atom::Lane(extent));
        lane.plus(&start).unwrap_or(lane)
    }

    fn extent(&mut self, end: &Polynomial) -> Extent {
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
                Extent::Text(short(format!("{end:?}")))
            }
        }
    }

    /// Notes an access through an address, and gives the tensor's name.
    fn access(&mut self, address: Option<&Expr>, stores: bool, call: &ast::ExprCall) -> Option<String> {
        let address = self.value(address?);
        // After the address: it may have loads of its own.
        self.at = (self.depth == 0).then(|| call.range().start().to_u32());
        if let Some(at) = block_number(&address) {
            self.block_access(at, stores);
            return None;
        }
        self.access_at(&address, stores)
    }

    fn access_at(&mut self, address: &Polynomial, stores: bool) -> Option<String> {
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
        let rest = address.minus(&Polynomial::atom(Atom::Param(tensor.clone())))?;
        self.accesses.push(Access {
            tensor: tensor.clone(),
            moved: rest.number_term() > 0
                || rest.terms().any(|(product, _)| {
                    !product.is_empty() && product.iter().all(|atom| matches!(atom, Atom::Param(_)))
                }),
            dimensions: dimensions(&rest),
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

fn number(expr: Option<&Expr>) -> i64 {
    match expr {
        Some(Expr::NumberLiteral(number)) => match &number.value {
            Number::Int(int) => int.as_i64().unwrap_or(0),
            _ => 0,
        },
        _ => 0,
    }
}
