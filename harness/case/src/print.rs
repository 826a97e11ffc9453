//! A resolved case as a case file of its own: what a fuzzer found, or a reducer left, as a test to check in.
//!
//! The text shows the case as it runs, not as it was written: values instead of fills, `as_strided` instead of views,
//! one point instead of a matrix. Recorded bytes stay in their archive if the storage still holds them. Reading the
//! text produces a case with the same [`Case::content_hash`].
//!
//! Its pieces are public for others who write case files.
//!
//! The kernel's text and data archives are not included. Put the file into the kernel's folder.

use std::fmt::Write as _;

use cerith_memory::{ByteState, Pointer, Storage, StorageId, Tensor};
use cerith_tile::DType;
use cerith_tile::numeric;
use cerith_tile::quirk::Quirk;

use crate::argument::{Arg, ArgValue};
use crate::case::{Case, Launch};
use crate::compile::Compile;
use crate::descriptor::{Descriptor, Padding};
use crate::expectation::Expectation;
use crate::fill::render_content;
use crate::recorded::{Ending, RecordedRun, Source};
use crate::resolve::without_addresses;

impl Case {
    /// The case as the text of a case file, to be put into the folder of its module. `None` when there is no way to
    /// write it: an initialised byte beside an uninitialised one in one element.
    pub fn to_case_file(&self) -> Option<String> {
        Printer::new(self).print()
    }

    /// As [`Self::to_case_file`], with the declared dtypes, shapes and fills of storages in place of their contents. The text is of
    /// a case whose storages have other sizes if these were changed. `None` if a storage is not declared, as copies are.
    pub fn to_declared_file(&self) -> Option<String> {
        let is_declared = self.declared.len() == self.storages.len();
        let printer = Printer {
            keeps_fills: true,
            ..Printer::new(self)
        };
        is_declared.then(|| printer.print())?
    }
}

struct Printer<'a> {
    case: &'a Case,
    /// How each storage is written: its name, dtype and shape.
    storages: Vec<(String, DType, Vec<i64>)>,
    /// Whether fills are written as they were declared.
    keeps_fills: bool,
    out: String,
}

impl<'a> Printer<'a> {
    fn new(case: &'a Case) -> Self {
        let mut taken: Vec<String> = case
            .storages
            .iter()
            .map(|(_, storage)| storage.name().to_owned())
            .collect();
        let mut storages: Vec<(String, DType, Vec<i64>)> = Vec::with_capacity(case.storages.len());
        for (at, (_, storage)) in case.storages.iter().enumerate() {
            if let Some(declared) = case.declared.get(at) {
                storages.push((storage.name().to_owned(), declared.dtype, declared.shape.clone()));
                continue;
            }
            // A copy has bytes only, and no name that an expression could use. One of more names than are taken is free.
            let dtype = if storage.pointers().is_empty() {
                DType::U8
            } else {
                DType::I64
            };
            let mut names = (0..=taken.len()).map(|number| format!("copy_{number}"));
            let name = names.find(|name| !taken.contains(name)).unwrap_or_default();
            taken.push(name.clone());
            storages.push((name, dtype, vec![(storage.bytes().len() / dtype.size()) as i64]));
        }
        Self {
            case,
            storages,
            keeps_fills: false,
            out: String::new(),
        }
    }

    fn print_line(&mut self, indent: usize, text: &str) {
        let _ = writeln!(self.out, "{:indent$}{text}", "");
    }

    fn print(mut self) -> Option<String> {
        self.print_line(0, &format!("about: {}", quote_yaml(&self.case.summary)));
        if let Some(origin) = &self.case.origin {
            self.print_line(0, &format!("origin: {}", quote_yaml(origin)));
        }
        if let Some(found) = &self.case.discovery {
            let engines: Vec<String> = found.engines.iter().map(ToString::to_string).collect();
            self.print_line(
                0,
                &format!(
                    "found: {{ by: {}, engine: [{}], upstream: {}, state: {} }}",
                    found.finder,
                    engines.join(", "),
                    quote_yaml(found.upstream.as_deref().unwrap_or("new")),
                    found.state
                ),
            );
        }
        let module = &self.case.module;
        let own = module.path.rsplit('/').next().unwrap_or_default();
        let kernel = self.case.launches.first().map(|launch| &launch.kernel);
        match kernel.filter(|kernel| kernel.module.path == module.path) {
            Some(kernel) => self.print_line(
                0,
                &format!("kernel: {}", quote_yaml(&format!("{own}:{}", kernel.name))),
            ),
            None => self.print_line(0, &format!("import: {}", quote_yaml(own))),
        }
        if !self.case.inspectable {
            self.print_line(0, "inspectable: false");
        }
        if let Some(timeout) = self.case.timeout {
            self.print_line(0, &format!("timeout: {}", timeout.as_secs_f64()));
        }
        if !self.storages.is_empty() {
            self.print_line(0, "storages:");
        }
        for ((name, dtype, shape), (id, storage)) in
            self.storages.clone().iter().zip(self.case.storages.iter())
        {
            let declared = self.case.declared.get(id.0 as usize).filter(|_| self.keeps_fills);
            let fill = match (declared, self.recorded_fill(id, storage)) {
                (Some(declared), _) => render_described(&declared.fill)?,
                (None, Some(fill)) => fill,
                (None, None) => self.render_fill(storage, *dtype)?,
            };
            self.print_line(
                2,
                &format!("{name}: {{ dtype: {dtype}, shape: {shape:?}, fill: {fill} }}"),
            );
        }
        if !self.case.launches.is_empty() {
            self.print_line(0, "launches:");
        }
        for launch in &self.case.launches {
            self.print_launch(launch);
        }
        if let Some(compile) = &self.case.compile {
            self.print_compile(compile);
        }
        if let Some(recorded) = &self.case.recorded {
            self.print_recorded(recorded);
        }
        if !self.case.expected_contents.is_empty() {
            self.print_line(0, "gives:");
        }
        for given in &self.case.expected_contents {
            let (name, dtype, _) = self.storages.get(given.storage.0 as usize).cloned()?;
            let fill = self.render_fill(&given.content, dtype)?;
            self.print_line(2, &format!("{name}: {fill}"));
        }
        if let Some(like) = &self.case.like {
            let text = match &like.module {
                Some(file) => {
                    let path = make_relative(&module.path, &file.path);
                    format!("{path}:{}", like.written.function)
                }
                None => like.written.to_string(),
            };
            self.print_line(0, &format!("like: {}", quote_yaml(&text)));
        }
        if !self.case.expectations.is_empty() {
            self.print_line(0, "expect:");
        }
        for expectation in &self.case.expectations {
            self.print_line(2, &format!("- {}", render_expectation(expectation)));
        }
        Some(self.out)
    }

    /// The archive entry of a storage's recorded bytes, if the storage still holds them.
    fn recorded_fill(&self, id: StorageId, storage: &Storage) -> Option<String> {
        let (source, hash) = self.case.declared.get(id.0 as usize)?.recorded.as_ref()?;
        let whole = storage.states().iter().all(|&state| state == ByteState::Init);
        (whole && *hash == without_addresses(storage))
            .then(|| self.render_bytes(source, storage.pointers()))?
    }

    /// Recorded bytes, and the addresses among them.
    fn render_bytes(&self, source: &Source, pointers: &[Pointer]) -> Option<String> {
        let path = make_relative(&self.case.module.path, &source.archive);
        let bytes = quote_yaml(&escape_braces(&format!("{path}/{}", source.entry)));
        if pointers.is_empty() {
            return Some(format!("{{ bytes: {bytes} }}"));
        }
        let addresses: Vec<String> = pointers
            .iter()
            .map(|pointer| {
                let (target, ..) = self.storages.get(pointer.target.0 as usize)?;
                let element = pointer.offset / 8;
                (pointer.offset % 8 == 0)
                    .then(|| format!("{element}: {target}.data_ptr() + {}", pointer.target_offset))
            })
            .collect::<Option<_>>()?;
        Some(format!(
            "{{ bytes: {bytes}, addresses: {{ {} }} }}",
            addresses.join(", ")
        ))
    }

    fn print_recorded(&mut self, recorded: &RecordedRun) {
        let mut lines = vec![format!("engine: {}", quote_yaml(&recorded.engine))];
        match &recorded.ending {
            Ending::Unknown => {}
            Ending::Raised {
                kind,
                message,
                compiling,
            } => lines.push(format!(
                "raised: {{ kind: {}, message: {}, compiling: {compiling} }}",
                quote_yaml(kind),
                quote_yaml(message)
            )),
            Ending::Finished(left) => {
                let left: Option<Vec<String>> = left
                    .iter()
                    .map(|after| {
                        let (name, ..) = self.storages.get(after.storage.0 as usize)?;
                        Some(format!(
                            "{name}: {}",
                            self.render_bytes(&after.source, &after.pointers)?
                        ))
                    })
                    .collect();
                // Omit contents that can't be written.
                lines.extend(left.map(|left| format!("after: {{ {} }}", left.join(", "))));
            }
        }
        self.print_line(0, "recorded:");
        for line in lines {
            self.print_line(2, &line);
        }
    }

    fn render_fill(&self, storage: &Storage, dtype: DType) -> Option<String> {
        if let Some(content) = storage.content() {
            return Some(render_content(content));
        }
        let all = |state| storage.states().iter().all(|&other| other == state);
        if all(ByteState::Uninit) && !storage.bytes().is_empty() {
            return Some("uninit".to_owned());
        }
        if storage.pointers().is_empty()
            && all(ByteState::Init)
            && storage.bytes().iter().all(|&byte| byte == 0)
        {
            return Some("zeros".to_owned());
        }
        let size = dtype.size();
        let mut elements = Vec::with_capacity(storage.bytes().len() / size);
        for (at, (bytes, states)) in storage
            .bytes()
            .chunks_exact(size)
            .zip(storage.states().chunks_exact(size))
            .enumerate()
        {
            if let Some(pointer) = storage
                .pointers()
                .iter()
                .find(|pointer| pointer.offset == at * size)
            {
                let (target, ..) = self.storages.get(pointer.target.0 as usize)?;
                elements.push(format!("{target}.data_ptr() + {}", pointer.target_offset));
                continue;
            }
            if states.iter().all(|&state| state == ByteState::Uninit) {
                elements.push("null".to_owned());
                continue;
            }
            if states.iter().any(|&state| state != ByteState::Init) {
                return None;
            }
            let mut bits = [0; 8];
            bits.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            elements.push(render_element(dtype, u64::from_le_bytes(bits)));
        }
        Some(format!("[{}]", elements.join(", ")))
    }

    fn print_launch(&mut self, launch: &Launch) {
        let grid = launch
            .grid
            .get(..usize::from(launch.grid_dims.clamp(1, 3)))
            .unwrap_or(&launch.grid);
        self.print_line(2, &format!("- grid: {grid:?}"));
        let first = self.case.launches.first().map(|first| &first.kernel);
        if first != Some(&launch.kernel) || launch.kernel.module.path != self.case.module.path {
            let path = make_relative(&self.case.module.path, &launch.kernel.module.path);
            self.print_line(
                4,
                &format!(
                    "kernel: {}",
                    quote_yaml(&format!("{path}:{}", launch.kernel.name))
                ),
            );
        }
        let mut args: Vec<String> = launch.positional.iter().map(|arg| self.render_arg(arg)).collect();
        if !launch.keyword.is_empty() {
            let pairs: Vec<_> = launch
                .keyword
                .iter()
                .map(|(name, arg)| format!("{}: {}", quote_yaml(name), self.render_arg(arg)))
                .collect();
            args.push(format!("{{ {} }}", pairs.join(", ")));
        }
        self.print_line(4, &format!("args: [{}]", args.join(", ")));
        if !launch.options.is_empty() {
            let pairs: Vec<_> = launch
                .options
                .iter()
                .map(|(name, value)| format!("{}: {}", quote_yaml(name), self.render_value(value)))
                .collect();
            self.print_line(4, &format!("options: {{ {} }}", pairs.join(", ")));
        }
        if let Some(host) = &launch.host {
            let path = make_relative(&self.case.module.path, &host.module.path);
            self.print_line(
                4,
                &format!("host: {}", quote_yaml(&format!("{path}:{}", host.name))),
            );
        }
        if launch.unchecked {
            self.print_line(4, "unchecked: true");
        }
    }

    fn print_compile(&mut self, compile: &Compile) {
        self.print_line(0, "compile:");
        let dynamic = compile.dynamic.map_or("null".to_owned(), |flag| flag.to_string());
        self.print_line(2, &format!("dynamic: {dynamic}"));
        for (key, marks) in [
            ("mark_dynamic", &compile.mark_dynamic),
            ("maybe_mark_dynamic", &compile.maybe_mark_dynamic),
        ] {
            let pairs: Vec<_> = marks
                .iter()
                .map(|(name, dimensions)| format!("{}: {dimensions:?}", quote_yaml(name)))
                .collect();
            if !pairs.is_empty() {
                self.print_line(2, &format!("{key}: {{ {} }}", pairs.join(", ")));
            }
        }
        let calls: Vec<String> = compile
            .before
            .iter()
            .map(|call| {
                let pairs: Vec<_> = call
                    .iter()
                    .map(|(name, value)| format!("{}: {}", quote_yaml(name), self.render_value(value)))
                    .collect();
                format!("{{ {} }}", pairs.join(", "))
            })
            .collect();
        if !calls.is_empty() {
            self.print_line(2, &format!("before: [{}]", calls.join(", ")));
        }
    }

    fn render_arg(&self, arg: &Arg) -> String {
        self.render_value(&arg.value)
    }

    fn render_value(&self, value: &ArgValue) -> String {
        match value {
            ArgValue::None => "null".to_owned(),
            ArgValue::Bool(value) => value.to_string(),
            ArgValue::Int(value) => value.to_string(),
            ArgValue::Float(value) => render_float(*value),
            ArgValue::Str(text) => quote_yaml(&quote_python(text)),
            ArgValue::DType(dtype) => format!("tl.{}", dtype.triton_name()),
            ArgValue::Constexpr(inner) => format!("{{ constexpr: {} }}", self.render_value(inner)),
            ArgValue::Global(name) => format!("{{ global: {} }}", quote_yaml(name)),
            ArgValue::Tensor { tensor, .. } => quote_yaml(&self.render_tensor(tensor)),
            ArgValue::Address { address: at, .. } => {
                let storage = self.storages.get(at.storage.0 as usize);
                quote_yaml(&render_address(storage.map_or("", |(name, ..)| name), at.offset))
            }
            ArgValue::Descriptor(descriptor) => self.render_descriptor(descriptor),
            ArgValue::Tuple(items) => {
                let items: Vec<_> = items.iter().map(|item| self.render_value(item)).collect();
                format!("[{}]", items.join(", "))
            }
            ArgValue::NamedTuple { fields, items } => {
                let items = items.iter().map(|item| self.render_value(item));
                render_named_tuple(fields, items)
            }
        }
    }

    fn render_descriptor(&self, descriptor: &Descriptor) -> String {
        let mut text = format!(
            "{{ descriptor: {}, block_shape: {:?}",
            quote_yaml(&self.render_tensor(&descriptor.base)),
            descriptor.block_shape
        );
        if !descriptor.is_whole() {
            let _ = write!(
                text,
                ", shape: {:?}, strides: {:?}",
                descriptor.shape, descriptor.strides
            );
        }
        if descriptor.padding != Padding::Zero {
            let _ = write!(text, ", padding: {}", descriptor.padding);
        }
        if descriptor.round_f32_to_tf32 {
            text.push_str(", round_f32_to_tf32: true");
        }
        text.push_str(" }");
        text
    }

    /// An expression for a view, however it was created.
    fn render_tensor(&self, tensor: &Tensor) -> String {
        let Some((name, dtype, shape)) = self.storages.get(tensor.storage.0 as usize) else {
            return String::new();
        };
        render_view(
            name,
            *dtype,
            shape,
            self.case.storages.size(tensor.storage),
            tensor,
        )
    }
}

/// The expression for a tensor, however it was created: a view of a storage with this name, declared dtype and shape,
/// and size in bytes.
pub fn render_view(name: &str, dtype: DType, shape: &[i64], bytes: usize, tensor: &Tensor) -> String {
    if *tensor == Tensor::new_contiguous(tensor.storage, dtype, shape) {
        return name.to_owned();
    }
    let mut text = name.to_owned();
    if tensor.dtype != dtype {
        // `view(dtype)` needs a whole number of elements of either dtype.
        let unit = tensor.dtype.size().max(dtype.size());
        let count = bytes / unit * unit / dtype.size();
        let _ = write!(text, ".as_strided(({count},), (1,), 0).view({})", tensor.dtype);
    }
    let tuple = |dims: &[i64]| {
        let dims: Vec<_> = dims.iter().map(i64::to_string).collect();
        format!("({}{})", dims.join(", "), if dims.len() == 1 { "," } else { "" })
    };
    let _ = write!(
        text,
        ".as_strided({}, {}, {})",
        tuple(&tensor.shape),
        tuple(&tensor.strides),
        tensor.offset
    );
    text
}

/// A computed fill from its description ([`Fill::describe`]); `None` if it is of another kind.
///
/// [`Fill::describe`]: crate::fill::Fill::describe
fn render_described(fill: &str) -> Option<String> {
    let mut words = fill.split_whitespace();
    let kind = words.next()?;
    let rest: Vec<&str> = words.collect();
    match (kind, rest.as_slice()) {
        ("uninit" | "zeros" | "ones" | "arange", []) => Some(kind.to_owned()),
        ("full", [value]) => Some(format!("{{ full: {value} }}")),
        ("arange", ["from", start, "by", step]) => {
            Some(format!("{{ arange: {{ start: {start}, step: {step} }} }}"))
        }
        ("random", pairs) if pairs.len() % 2 == 0 => {
            let pairs = pairs.iter().step_by(2).zip(pairs.iter().skip(1).step_by(2));
            let pairs = pairs.map(|(key, value)| match value.parse::<i64>() {
                Ok(number) => format!("{key}: {number}"),
                Err(_) => format!("{key}: {}", quote_yaml(value)),
            });
            Some(format!(
                "{{ random: {{ {} }} }}",
                pairs.collect::<Vec<_>>().join(", ")
            ))
        }
        _ => None,
    }
}

/// Whether [`Case::to_declared_file`] can write a fill that is described so.
pub fn is_computed_fill(fill: &str) -> bool {
    render_described(fill).is_some()
}

/// The expression for the address of a byte of a storage.
pub fn render_address(storage: &str, offset: i64) -> String {
    match offset {
        0 => format!("{storage}.data_ptr()"),
        1.. => format!("{storage}.data_ptr() + {offset}"),
        _ => format!("{storage}.data_ptr() - {}", offset.unsigned_abs()),
    }
}

/// A named tuple of items that are written already.
pub fn render_named_tuple(fields: &[String], items: impl Iterator<Item = String>) -> String {
    let pairs: Vec<_> = fields
        .iter()
        .zip(items)
        .map(|(name, item)| format!("{}: {item}", quote_yaml(name)))
        .collect();
    format!("{{ namedtuple: {{ {} }} }}", pairs.join(", "))
}

/// A number that reads back as the same bits, or the bits.
fn render_element(dtype: DType, bits: u64) -> String {
    let text = numeric::format(dtype, bits);
    let same = !text.contains("nan") && numeric::parse(dtype, &text).is_ok_and(|read| read == bits);
    match text.as_str() {
        _ if !same => format!("bits({bits:#x})"),
        "inf" => ".inf".to_owned(),
        "-inf" => "-.inf".to_owned(),
        _ => text,
    }
}

/// A float as an argument.
pub fn render_float(value: f64) -> String {
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    format!("{value:?}")
}

fn render_expectation(expectation: &Expectation) -> String {
    let engines: Vec<_> = expectation.engines.iter().map(ToString::to_string).collect();
    let mut pairs = vec![
        format!("engine: [{}]", engines.join(", ")),
        format!("versions: {}", quote_yaml(&expectation.versions.to_string())),
    ];
    if !expectation.axes.is_empty() {
        let axes: Vec<_> = expectation.axes.iter().map(|axis| axis.name()).collect();
        pairs.push(format!("axis: [{}]", axes.join(", ")));
    }
    pairs.extend(expectation.verdict.map(|verdict| format!("verdict: {verdict}")));
    pairs.extend(expectation.outcome.map(|outcome| format!("outcome: {outcome}")));
    pairs.extend(
        expectation
            .message
            .as_deref()
            .map(|message| format!("message: {}", quote_yaml(message))),
    );
    if !expectation.quirks.is_empty() {
        let quirks: Vec<_> = expectation.quirks.iter().map(Quirk::name).collect();
        pairs.push(format!("quirk: [{}]", quirks.join(", ")));
    }
    pairs.push(format!("why: {}", quote_yaml(&expectation.reason)));
    pairs.extend(
        expectation
            .link
            .as_deref()
            .map(|link| format!("link: {}", quote_yaml(link))),
    );
    format!("{{ {} }}", pairs.join(", "))
}

/// The path of `to` from the folder of `from`.
fn make_relative(from: &str, to: &str) -> String {
    let mut from: Vec<&str> = from.split('/').collect();
    from.pop();
    let to: Vec<&str> = to.split('/').collect();
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", from.len() - shared);
    up.chain(to.into_iter().skip(shared))
        .collect::<Vec<_>>()
        .join("/")
}

/// A Python string literal, for an expression; braces are doubled, because they begin placeholders.
pub fn quote_python(text: &str) -> String {
    let mut literal = String::from("'");
    for c in text.chars() {
        match c {
            '\'' | '\\' => literal.extend(['\\', c]),
            // Characters that are special in neither YAML nor placeholders.
            ' '..='~' => literal.push(c),
            _ => {
                let _ = write!(literal, "\\U{:08x}", c as u32);
            }
        }
    }
    literal.push('\'');
    escape_braces(&literal)
}

/// Text in which nothing is a placeholder.
fn escape_braces(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

/// A double-quoted YAML string; a plain word stays one.
pub fn quote_yaml(text: &str) -> String {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !matches!(
            text,
            "true" | "false" | "null" | "True" | "False" | "Null" | "TRUE" | "FALSE" | "NULL"
        );
    if plain {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            ' '..='~' => quoted.push(c),
            _ => {
                let _ = write!(quoted, "\\U{:08x}", c as u32);
            }
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_from_one_folder_to_another() {
        assert_eq!(make_relative("a/k.py", "a/l.py"), "l.py");
        assert_eq!(make_relative("a/k.py", "b/c/l.py"), "../b/c/l.py");
        assert_eq!(make_relative("k.py", "b/l.py"), "b/l.py");
        assert_eq!(make_relative("a/b/k.py", "l.py"), "../../l.py");
    }

    #[test]
    fn text_is_quoted_for_python_and_for_yaml() {
        assert_eq!(quote_yaml("a_b"), "a_b");
        assert_eq!(quote_yaml("a: \"b\"\n"), "\"a: \\\"b\\\"\\U0000000a\"");
        assert_eq!(quote_yaml("true"), "\"true\"");
        assert_eq!(quote_python("it's {é}"), "'it\\'s {{\\U000000e9}}'");
    }
}
