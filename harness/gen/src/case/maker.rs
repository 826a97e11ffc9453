//! The state of a kernel that is being made.

use std::collections::HashMap;
use std::fmt::Write as _;

use arbitrary::{Result, Unstructured};
use cerith_tile::DType;
use cerith_tile::rules::Rule;

use super::form::{Detail, Form, Twist};
use super::generated::{FIRST, Generated, ValueType};
use super::types::{self, convert};

/// A value that a name in scope has.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) name: String,
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
    /// Whether engines may round it differently.
    pub(super) rough: bool,
}

/// An expression, and whether engines may round it differently.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) text: String,
    pub(super) rough: bool,
}

impl Text {
    pub(super) fn from_exact(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            rough: false,
        }
    }
}

/// A scalar parameter whose value is known only to the launch.
#[derive(Clone, Debug)]
pub(super) struct Scalar {
    pub(super) name: String,
    pub(super) float: bool,
}

/// A kernel that is being made.
pub(super) struct Maker<'u, 'b> {
    pub(super) u: &'u mut Unstructured<'b>,
    pub(super) name: String,
    pub(super) form: Form,
    /// Functions above the kernel.
    pub(super) above: String,
    /// Lines right above the kernel.
    pub(super) decorators: String,
    pub(super) lines: String,
    /// How deep in loops and branches the next line is.
    pub(super) depth: usize,
    pub(super) values: Vec<Value>,
    pub(super) scalars: Vec<Scalar>,
    /// Names of parameters that are constants of the kernel, of small integers.
    pub(super) constants: Vec<String>,
    pub(super) parameters: Vec<String>,
    pub(super) storages: Vec<(String, String)>,
    pub(super) tensors: Vec<(String, String)>,
    pub(super) arguments: Vec<(String, String)>,
    /// Whether it has few operations.
    pub(super) small: bool,
    /// The shape that most values have.
    pub(super) shape: Vec<usize>,
    pub(super) programs: usize,
    /// Whether `pid` is known: only in the kernel itself.
    pub(super) has_program: bool,
    /// How often a line here is executed, over all programs.
    pub(super) turns: usize,
    names: usize,
    outputs: usize,
    /// How many times something was twisted or could have been.
    pub(super) twisted: usize,
    /// How many names a twist has made.
    pub(super) twist_names: usize,
    /// Elements that engines take one by one, so far.
    one_by_one: usize,
    /// The types of all values, in scope or not.
    pub(super) value_types: HashMap<String, ValueType>,
    /// The idioms that it is written in.
    pub(super) idioms: Vec<&'static str>,
}

/// One in this many kernels has an idiom that its compilers reject.
const STRAYS: u32 = 139;

/// The maximum number of elements of a block.
pub(super) const MAX_ELEMENTS: usize = 4096;

/// Warps and stages of a launch that names none.
const WARPS: u32 = 4;
const STAGES: u32 = 3;

/// Other warps and stages that a case is tried with: few and many, without pipelining and with much of it.
const OPTIONS: [(u32, u32); 4] = [(8, 1), (1, 4), (2, 2), (4, 3)];

impl<'u, 'b> Maker<'u, 'b> {
    pub(super) fn new(name: &str, form: Form, u: &'u mut Unstructured<'b>) -> Result<Self> {
        let small = u.ratio(form.limits.small, 10)?;
        let programs = if u.ratio(1, if small { 6 } else { 3 })? {
            2
        } else {
            1
        };
        let programs = programs + usize::from(form.programs);
        let extent = |u: &mut Unstructured<'b>, most: u32| Ok(1usize << u.int_in_range(0..=most)?);
        let few = form.limits.one_by_one < MAX_ELEMENTS && u.ratio(2, 3)?;
        let shape = match u.int_in_range(0..=9)? {
            0..=3 if few => vec![2 * extent(u, 3)?],
            4..=7 if few => vec![extent(u, 3)?, extent(u, 2)?],
            8 if few => vec![2 * extent(u, 1)?, 1, 2 * extent(u, 2)?],
            0..=3 => vec![2 * extent(u, 8)?],
            4 | 5 => vec![2 * extent(u, 4)?, 2 * extent(u, 4)?],
            6 => vec![extent(u, 5)?, extent(u, 5)?],
            7 => vec![16 * extent(u, 1)?; 2],
            8 => vec![32, 32],
            _ => vec![extent(u, 3)?, 2 * extent(u, 2)?, 2 * extent(u, 3)?],
        };
        Ok(Self {
            u,
            name: name.to_owned(),
            form,
            above: String::new(),
            decorators: "@triton.jit".to_owned(),
            lines: String::new(),
            depth: 1,
            values: Vec::new(),
            scalars: Vec::new(),
            constants: Vec::new(),
            parameters: Vec::new(),
            storages: Vec::new(),
            tensors: Vec::new(),
            arguments: Vec::new(),
            small,
            shape,
            programs,
            has_program: true,
            turns: programs,
            names: 0,
            outputs: 0,
            twisted: 0,
            twist_names: 0,
            one_by_one: 0,
            value_types: HashMap::new(),
            idioms: Vec::new(),
        })
    }

    /// One of some choices, each with its weight.
    pub(super) fn choose_weighted<T: Copy>(&mut self, choices: &[(u32, T)]) -> Result<T> {
        let all: u32 = choices.iter().map(|(weight, _)| weight).sum();
        let mut at = self.u.int_in_range(0..=all - 1)?;
        for &(weight, choice) in choices {
            if at < weight {
                return Ok(choice);
            }
            at -= weight;
        }
        Ok(choices[0].1)
    }

    pub(super) fn make_name(&mut self, kind: &str) -> String {
        self.names += 1;
        format!("{kind}{}", self.names)
    }

    pub(super) fn emit_line(&mut self, text: &str) {
        let _ = writeln!(self.lines, "{:indent$}{text}", "", indent = 4 * self.depth);
    }

    /// A parameter with its argument as a case file writes it.
    pub(super) fn add_parameter(&mut self, name: &str, annotation: &str, argument: impl Into<String>) {
        self.parameters.push(format!("{name}{annotation}"));
        self.arguments.push((name.to_owned(), argument.into()));
    }

    /// A new name for a value, which is stored at once if every value is.
    pub(super) fn assign(&mut self, text: &Text, dtype: DType, shape: &[usize]) -> Value {
        let name = self.make_name("v");
        let text = Text {
            text: self.convert_loaded(dtype, &text.text),
            rough: text.rough,
        };
        self.emit_line(&format!("{name} = {}", text.text));
        self.add_value(name, dtype, shape, text.rough)
    }

    /// A value that the lines above have given this name.
    pub(super) fn add_value(&mut self, name: String, dtype: DType, shape: &[usize], rough: bool) -> Value {
        let value = Value {
            name,
            dtype,
            shape: shape.to_vec(),
            rough,
        };
        self.record_type(&value);
        self.values.push(value.clone());
        self.twist(&value);
        if self.form.detail == Detail::Every && self.depth == 1 {
            self.store(&value, "t");
        }
        value
    }

    /// A loaded value, as this dtype: bools come as bytes before 3.2.
    pub(super) fn convert_loaded(&self, dtype: DType, text: &str) -> String {
        let bytes = dtype == DType::I1 && !self.form.limits.hold(Rule::LoadedBoolsAreI1);
        if bytes && text.starts_with("tl.load(") {
            format!("({text} != 0)")
        } else {
            text.to_owned()
        }
    }

    /// A value of this dtype after an operation with a number, as this dtype: before 3.2 a number has 32 bits or more.
    pub(super) fn restore_dtype(&self, dtype: DType, text: String) -> String {
        if self.form.limits.hold(Rule::WeakPythonScalars) || !(8..32).contains(&dtype.bits()) {
            return text;
        }
        format!("({text}).to({})", types::render_dtype(dtype))
    }

    /// Records the type of a value, for the kernel's description.
    pub(super) fn record_type(&mut self, value: &Value) {
        let (dtype, shape) = (value.dtype, value.shape.clone());
        self.value_types
            .insert(value.name.clone(), ValueType { dtype, shape });
    }

    /// Stores a value in a storage of its own, in order.
    pub(super) fn store(&mut self, value: &Value, kind: &str) {
        self.outputs += 1;
        let out = format!("{kind}{}", self.outputs);
        self.add_output(&out, value.dtype, &value.shape);
        let address = self.build_address(&out, &value.shape);
        self.emit_line(&format!("tl.store({address}, {})", value.name));
    }

    /// Values that a test accepts.
    pub(super) fn find_values(&self, test: impl Fn(&Value) -> bool) -> Vec<Value> {
        self.values.iter().filter(|value| test(value)).cloned().collect()
    }

    /// Some value that a test accepts; a later one is likelier.
    pub(super) fn choose_value(&mut self, test: impl Fn(&Value) -> bool) -> Result<Option<Value>> {
        let found = self.find_values(test);
        if found.is_empty() {
            return Ok(None);
        }
        let from = if self.u.ratio(1, 2)? {
            found.len().saturating_sub(3)
        } else {
            0
        };
        Ok(Some(self.u.choose(&found[from..])?.clone()))
    }

    /// A value of exactly this shape, as one of this dtype: one in scope, or numbers in order.
    pub(super) fn build_anchor(&mut self, dtype: DType, shape: &[usize]) -> Result<Text> {
        let same = self.choose_value(|value| value.shape == shape && value.dtype == dtype)?;
        let found = match same {
            Some(value) => Some(value),
            None => self.choose_value(|value| value.shape == shape)?,
        };
        Ok(match found {
            Some(value) => Text {
                text: convert(&value.name, value.dtype, dtype),
                rough: value.rough,
            },
            None => Text::from_exact(convert(&build_offsets(shape), DType::I32, dtype)),
        })
    }

    /// The case.
    pub(super) fn finish(mut self) -> Result<Generated> {
        self.begin()?;
        let steps = self.u.int_in_range(1..=if self.small { 2 } else { 9 })?;
        for _ in 0..steps {
            self.step()?;
        }
        // Without bytes, everything is the least number, and most kernels should still compile.
        if self.u.int_in_range(0..=STRAYS)? == STRAYS {
            self.stray()?;
        }
        self.end()
    }

    /// A kernel's first lines.
    pub(super) fn begin(&mut self) -> Result<()> {
        let pid = match self.form.twist {
            Some(Twist::Order) => format!("{} - tl.program_id(0)", self.programs - 1),
            Some(Twist::Launches) => {
                self.parameters.push(FIRST.to_owned());
                format!("tl.program_id(0) + {FIRST}")
            }
            _ => "tl.program_id(0)".to_owned(),
        };
        self.emit_line(&format!("pid = {pid}"));
        self.launch_scalars()?;
        let inputs = self.u.int_in_range(1..=if self.small { 2 } else { 3 })?;
        for _ in 0..inputs {
            self.input()?;
        }
        Ok(())
    }

    /// Ends the kernel with its stores, and returns the case.
    pub(super) fn end(&mut self) -> Result<Generated> {
        self.stores()?;
        let mut options = self.options()?;
        let launched = self.choose_launch(&mut options)?;
        Ok(Generated {
            name: self.name.clone(),
            functions: self.functions(),
            storages: self.storages.clone(),
            tensors: self.tensors.clone(),
            arguments: self.arguments.clone(),
            options,
            launched,
            programs: self.programs,
            split: self.form.twist == Some(Twist::Launches),
            value_types: self.value_types.clone(),
            idioms: self.idioms.clone(),
        })
    }

    /// How the kernel is compiled.
    fn options(&mut self) -> Result<Vec<(&'static str, String)>> {
        let mut warps = None;
        let mut stages = None;
        let mut options = Vec::new();
        if self.u.ratio(3, 4)? {
            warps = Some(*self.u.choose(&[4, 1, 2, 8, 4, 16])?);
        }
        if self.u.ratio(1, 4)? {
            stages = Some(*self.u.choose(&[3, 1, 2, 4, 5])?);
        }
        if self.u.ratio(1, 8)? {
            options.push(("enable_fp_fusion", "false".to_owned()));
        }
        if self.u.ratio(1, 40)? {
            options.push(("num_ctas", "2".to_owned()));
        }
        if let Some(nth) = self.form.options.checked_sub(1) {
            let own = (warps.unwrap_or(WARPS), stages.unwrap_or(STAGES));
            let mut others = OPTIONS.into_iter().filter(|&other| other != own);
            if let Some((other_warps, other_stages)) = others.nth(usize::from(nth)) {
                (warps, stages) = (Some(other_warps), Some(other_stages));
            }
        }
        if self.has_twist(Twist::Options) {
            warps = Some(if warps == Some(8) { 2 } else { 8 });
            stages = Some(if stages == Some(1) { 3 } else { 1 });
        }
        options.extend(warps.map(|warps: u32| ("num_warps", warps.to_string())));
        options.extend(stages.map(|stages: u32| ("num_stages", stages.to_string())));
        Ok(options)
    }

    /// Whether so many more elements may be taken one by one; if so, they are.
    pub(super) fn takes_one_by_one(&mut self, count: usize) -> bool {
        let all = self.one_by_one + count * self.turns;
        let within = all <= self.form.limits.one_by_one;
        if within {
            self.one_by_one = all;
        }
        within
    }

    /// The kernel with the functions above it.
    pub(super) fn functions(&self) -> String {
        format!(
            "{above}\n\n{decorators}\ndef {name}({parameters}):\n{lines}",
            above = self.above,
            decorators = self.decorators,
            name = self.name,
            parameters = self.parameters.join(", "),
            lines = self.lines,
        )
    }

    /// One more value or effect.
    pub(super) fn step(&mut self) -> Result<()> {
        type Step<'u, 'b> = fn(&mut Maker<'u, 'b>) -> Result<()>;
        let steps: [(u32, Step<'u, 'b>); 31] = [
            (10, Self::elementwise),
            (5, Self::reduce),
            (3, Self::scan),
            (6, Self::reshaped),
            (3, Self::sorted),
            (2, Self::gathered),
            (1, Self::histogram),
            (4, Self::product),
            (4, Self::loops),
            (3, Self::branch),
            (3, Self::function),
            (1, Self::swap),
            (2, Self::indirect),
            (2, Self::atomic),
            (1, Self::random),
            (2, Self::combined),
            (2, Self::scanned),
            (1, Self::bits),
            (2, Self::scalar),
            (1, Self::input),
            (5, Self::chain),
            (2, Self::pipelined),
            (2, Self::described),
            (3, Self::block_pointer),
            (2, Self::cells),
            (6, Self::corner),
            (3, Self::narrow),
            (2, Self::products),
            (2, Self::library),
            (16, Self::idiom),
            (2, Self::edges),
        ];
        let step = self.choose_weighted(&steps)?;
        step(self)
    }

    /// An elementwise expression as a value.
    fn elementwise(&mut self) -> Result<()> {
        let shape = match self.choose_value(|_| true)? {
            Some(value) if self.u.ratio(1, 3)? => value.shape,
            _ => self.shape.clone(),
        };
        let dtype = types::choose_dtype(self.u)?;
        let depth = self.u.int_in_range(1..=if self.small { 2 } else { 3 })?;
        let text = self.build_full_expr(dtype, &shape, depth)?;
        self.assign(&text, dtype, &shape);
        Ok(())
    }

    /// Stores the last value and some others.
    fn stores(&mut self) -> Result<()> {
        let mut chosen: Vec<Value> = self.values.last().cloned().into_iter().collect();
        let more = self.u.int_in_range(0..=if self.small { 1 } else { 3 })?;
        for _ in 0..more {
            chosen.extend(self.choose_value(|_| true)?);
        }
        let mut seen = Vec::new();
        for value in chosen {
            if seen.contains(&value.name) {
                continue;
            }
            seen.push(value.name.clone());
            self.store_somehow(&value)?;
        }
        Ok(())
    }
}

/// `0, 1, 2, …` in this shape, in `i32`.
pub(super) fn build_offsets(shape: &[usize]) -> String {
    match shape {
        [] => "pid".to_owned(),
        [n] => format!("tl.arange(0, {n})"),
        _ => {
            let terms: Vec<String> = (0..shape.len())
                .map(|axis| {
                    let stride: usize = shape[axis + 1..].iter().product();
                    let index = index(shape, axis);
                    if stride == 1 {
                        index
                    } else {
                        format!("{index} * {stride}")
                    }
                })
                .collect();
            format!("({})", terms.join(" + "))
        }
    }
}

/// The index along an axis, where it broadcasts to the shape.
pub(super) fn index(shape: &[usize], axis: usize) -> String {
    let n = shape[axis];
    if shape.len() == 1 {
        return format!("tl.arange(0, {n})");
    }
    let parts: Vec<&str> = (0..shape.len())
        .map(|d| if d == axis { ":" } else { "None" })
        .collect();
    format!("tl.arange(0, {n})[{}]", parts.join(", "))
}
