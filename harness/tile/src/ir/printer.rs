//! IR as text, in the manner of TTIR: for snapshots, messages and `cerith explain`. There is no reader.
//!
//! The text of a function is a function of the function alone: values are named after their Python variable, or
//! numbered in the order of the text, and a name that is taken gets a number of its own.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::{AssertedBy, Block, Function, LocId, MemoryOrder, OpKind, Operation, Rounding, ValueId};
use crate::source::{SourceId, Span};

impl Function {
    /// The text, with where each operation came from at the end of its line: `// 12:5`, and for inlined code
    /// `// 12:5 from 30:9`. A file that is not the kernel's own is named.
    pub fn display_with_locations(&self) -> impl fmt::Display + '_ {
        Printed {
            function: self,
            locations: true,
        }
    }

    /// One line for one operation, its regions as `{ … }`, and values named after their numbers in the table. Works
    /// for malformed functions too.
    pub(super) fn operation_text(&self, operation: &Operation) -> String {
        let mut text = String::new();
        let names = Names {
            function: self,
            value_names: HashMap::new(),
        };
        // Writing to a `String` does not fail.
        let _ = Writer {
            function: self,
            names: &names,
            out: &mut text,
            locations: false,
            brief: true,
        }
        .write_operation(operation, 0);
        text.truncate(text.trim_end().len());
        text
    }
}

/// The text without locations.
impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printed {
            function: self,
            locations: false,
        }
        .fmt(f)
    }
}

struct Printed<'a> {
    function: &'a Function,
    locations: bool,
}

impl fmt::Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Names::from_function(self.function);
        Writer {
            function: self.function,
            names: &names,
            out: f,
            locations: self.locations,
            brief: false,
        }
        .function()
    }
}

/// The names of values.
struct Names<'a> {
    function: &'a Function,
    value_names: HashMap<ValueId, String>,
}

impl<'a> Names<'a> {
    fn from_function(function: &'a Function) -> Self {
        let mut naming = Naming {
            function,
            value_names: HashMap::new(),
            used_names: HashSet::new(),
            namesakes: HashMap::new(),
            next: 0,
        };
        for param in &function.params {
            naming.name_value(param.value);
        }
        naming.block(&function.body, 0);
        Self {
            function,
            value_names: naming.value_names,
        }
    }

    fn write(&self, value: ValueId, out: &mut dyn fmt::Write) -> fmt::Result {
        if let Some(name) = self.value_names.get(&value) {
            return write!(out, "%{name}");
        }
        match self
            .function
            .values
            .get(value.0 as usize)
            .and_then(|info| info.name.as_deref())
        {
            Some(name) => write!(out, "%{name}#{}", value.0),
            None => write!(out, "%#{}", value.0),
        }
    }
}

struct Naming<'a> {
    function: &'a Function,
    value_names: HashMap<ValueId, String>,
    used_names: HashSet<String>,
    /// Number of values with each name so far.
    namesakes: HashMap<&'a str, usize>,
    next: usize,
}

impl Naming<'_> {
    fn block(&mut self, block: &Block, depth: usize) {
        for &arg in &block.args {
            self.name_value(arg);
        }
        for operation in &block.ops {
            for &result in &operation.results {
                self.name_value(result);
            }
            if depth < DEEPEST {
                for region in operation.kind.regions() {
                    self.block(region, depth + 1);
                }
            }
        }
    }

    fn name_value(&mut self, value: ValueId) {
        if self.value_names.contains_key(&value) {
            return;
        }
        let name = match self
            .function
            .values
            .get(value.0 as usize)
            .and_then(|info| info.name.as_deref())
        {
            None => {
                self.next += 1;
                (self.next - 1).to_string()
            }
            Some(name) if self.used_names.insert(name.to_owned()) => name.to_owned(),
            Some(name) => {
                let number = self.namesakes.entry(name).or_default();
                loop {
                    *number += 1;
                    let candidate = format!("{name}_{number}");
                    if self.used_names.insert(candidate.clone()) {
                        break candidate;
                    }
                }
            }
        };
        self.value_names.insert(value, name);
    }
}

/// Deeper regions are omitted from the text. The verifier rejects such functions.
pub(super) const DEEPEST: usize = 200;

struct Writer<'a, W: fmt::Write> {
    function: &'a Function,
    names: &'a Names<'a>,
    out: W,
    locations: bool,
    brief: bool,
}

impl<W: fmt::Write> Writer<'_, W> {
    fn function(&mut self) -> fmt::Result {
        write!(self.out, "func @{}(", self.function.name)?;
        for (nth, param) in self.function.params.iter().enumerate() {
            if nth > 0 {
                self.out.write_str(", ")?;
            }
            self.write_value(param.value)?;
            self.out.write_str(": ")?;
            self.write_type(param.value)?;
        }
        self.out.write_str(") {\n")?;
        for operation in &self.function.body.ops {
            self.write_operation(operation, 1)?;
        }
        self.out.write_str("}\n")
    }

    fn write_value(&mut self, value: ValueId) -> fmt::Result {
        self.names.write(value, &mut self.out)
    }

    fn write_values(&mut self, values: &[ValueId]) -> fmt::Result {
        for (nth, &value) in values.iter().enumerate() {
            if nth > 0 {
                self.out.write_str(", ")?;
            }
            self.write_value(value)?;
        }
        Ok(())
    }

    fn write_type(&mut self, value: ValueId) -> fmt::Result {
        match self.function.values.get(value.0 as usize) {
            Some(info) => write!(self.out, "{}", info.ty),
            None => self.out.write_str("?"),
        }
    }

    fn write_types(&mut self, values: &[ValueId]) -> fmt::Result {
        for (nth, &value) in values.iter().enumerate() {
            if nth > 0 {
                self.out.write_str(", ")?;
            }
            self.write_type(value)?;
        }
        Ok(())
    }

    fn write_args(&mut self, values: &[ValueId]) -> fmt::Result {
        self.out.write_str("(")?;
        for (nth, &value) in values.iter().enumerate() {
            if nth > 0 {
                self.out.write_str(", ")?;
            }
            self.write_value(value)?;
            self.out.write_str(": ")?;
            self.write_type(value)?;
        }
        self.out.write_str(")")
    }

    fn indent(&mut self, depth: usize) -> fmt::Result {
        for _ in 0..depth {
            self.out.write_str("  ")?;
        }
        Ok(())
    }

    fn write_operation(&mut self, operation: &Operation, depth: usize) -> fmt::Result {
        self.indent(depth)?;
        if !operation.results.is_empty() {
            self.write_values(&operation.results)?;
            self.out.write_str(" = ")?;
        }
        self.out.write_str(&operation.kind.mnemonic())?;
        if !operation.operands.is_empty() {
            self.out.write_str(" ")?;
            self.write_values(&operation.operands)?;
        }
        self.write_attributes(&operation.kind, operation)?;
        self.write_signature(operation)?;
        for (nth, region) in operation.kind.regions().enumerate() {
            if nth > 0 {
                self.out
                    .write_str(if matches!(operation.kind, OpKind::While { .. }) {
                        " do"
                    } else {
                        " else"
                    })?;
            }
            self.write_region(region, depth)?;
        }
        self.write_location(operation.loc)?;
        self.out.write_str("\n")
    }

    fn write_region(&mut self, region: &Block, depth: usize) -> fmt::Result {
        if !region.args.is_empty() {
            self.out.write_str(" ")?;
            self.write_args(&region.args)?;
        }
        if self.brief || depth >= DEEPEST {
            return self.out.write_str(" { … }");
        }
        self.out.write_str(" {\n")?;
        for operation in &region.ops {
            self.write_operation(operation, depth + 1)?;
        }
        self.indent(depth)?;
        self.out.write_str("}")
    }

    fn write_attributes(&mut self, kind: &OpKind, operation: &Operation) -> fmt::Result {
        let out = &mut self.out;
        match kind {
            OpKind::Constant(bits) => {
                let dtype = operation
                    .results
                    .first()
                    .and_then(|result| self.function.values.get(result.0 as usize))
                    .and_then(|info| info.ty.elem.num());
                match dtype {
                    Some(dtype) if crate::numeric::is_nan(dtype, *bits) => write!(out, " nan({bits:#x})"),
                    Some(dtype) => write!(out, " {}", crate::numeric::format(dtype, *bits)),
                    None => write!(out, " {bits:#x}"),
                }
            }
            OpKind::ProgramId(axis) | OpKind::NumPrograms(axis) => write!(out, " {axis}"),
            OpKind::Range { start, end } => write!(out, " {start} to {end}"),
            OpKind::Cast {
                rounding: Rounding::TowardZero,
                ..
            } => out.write_str(" rtz"),
            OpKind::Reshape { reorder: true } | OpKind::Cat { reorder: true } => out.write_str(" reorder"),
            OpKind::Trans { order } => write!(out, " {:?}", order.as_slice()),
            OpKind::Gather { axis } => write!(out, " axis {axis}"),
            OpKind::Load {
                mask,
                has_other: other,
                volatile,
            } => {
                for (set, text) in [(mask, " masked"), (other, " other"), (volatile, " volatile")] {
                    if *set {
                        out.write_str(text)?;
                    }
                }
                Ok(())
            }
            OpKind::AtomicPoll { timeout: true } => out.write_str(" timeout"),
            OpKind::AtomicRmw { mask, order, .. } => {
                out.write_str(if *mask { " masked" } else { "" })?;
                write_order(out, *order)
            }
            OpKind::AtomicCas { order } => write_order(out, *order),
            OpKind::Store { mask: true } | OpKind::Histogram { mask: true } => out.write_str(" masked"),
            OpKind::Reduce { axis, combine, .. } => {
                write!(out, " axis {axis}")?;
                combine.map_or(Ok(()), |combine| write!(out, " {}", combine.name()))
            }
            OpKind::Scan {
                axis,
                reverse,
                combine,
                ..
            } => {
                write!(out, " axis {axis}")?;
                out.write_str(if *reverse { " reverse" } else { "" })?;
                combine.map_or(Ok(()), |combine| write!(out, " {}", combine.name()))
            }
            OpKind::Dot {
                precision,
                max_imprecise,
            } => {
                write!(out, " {}", precision.name())?;
                if *max_imprecise == 0 {
                    Ok(())
                } else {
                    write!(out, " max_imprecise {max_imprecise}")
                }
            }
            OpKind::Assert { message, mask, check } => {
                let check = match check {
                    AssertedBy::Kernel => "",
                    AssertedBy::OverflowCheck => " overflow",
                    AssertedBy::CombineOverflowCheck => " combine_overflow",
                };
                write!(out, " {message:?}{}{check}", if *mask { " masked" } else { "" })
            }
            OpKind::Print { prefix, hex } => write!(out, " {prefix:?}{}", if *hex { " hex" } else { "" }),
            OpKind::Hint { values, .. } => write!(out, " {:?}", values.as_slice()),
            OpKind::Unsupported(name) => write!(out, " {name:?}"),
            _ => Ok(()),
        }
    }

    /// `: type` if operands and results have one type, `: operands -> results` if they don't.
    fn write_signature(&mut self, operation: &Operation) -> fmt::Result {
        let (operands, results) = (&operation.operands, &operation.results);
        if operands.is_empty() && results.is_empty() {
            return Ok(());
        }
        self.out.write_str(" : ")?;
        let types = |value: &ValueId| self.function.values.get(value.0 as usize).map(|info| &info.ty);
        let mut all = operands.iter().chain(results).map(types);
        let first = all.next();
        if all.all(|ty| Some(ty) == first) {
            let only = operands.iter().chain(results).next().copied();
            return only.map_or(Ok(()), |value| self.write_type(value));
        }
        self.write_types(operands)?;
        if results.is_empty() {
            return Ok(());
        }
        self.out
            .write_str(if operands.is_empty() { "" } else { " -> " })?;
        self.write_types(results)
    }

    fn write_location(&mut self, loc: LocId) -> fmt::Result {
        if !self.locations {
            return Ok(());
        }
        let home = self
            .function
            .locs
            .first()
            .map_or(SourceId(0), |loc| loc.span.source);
        // A malformed table of places may lead in a circle.
        for (nth, span) in self.function.call_stack(loc).take(DEEPEST).enumerate() {
            self.out.write_str(if nth == 0 { "  // " } else { " from " })?;
            self.write_position(span, home)?;
        }
        Ok(())
    }

    fn write_position(&mut self, span: Span, home: SourceId) -> fmt::Result {
        let Some(file) = self.function.sources.get(span.source) else {
            return self.out.write_str("?");
        };
        if span.source != home {
            write!(self.out, "{}:", file.name)?;
        }
        let (line, column) = file.line_column(span.start);
        write!(self.out, "{line}:{column}")
    }
}

/// Writes the memory order of an atomic, unless it is the default.
fn write_order(out: &mut impl fmt::Write, order: MemoryOrder) -> fmt::Result {
    match order {
        MemoryOrder::AcquireRelease => Ok(()),
        weaker => write!(out, " {}", weaker.name()),
    }
}
