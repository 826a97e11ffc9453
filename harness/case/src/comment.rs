//! Comments of a kernel's file that are for `cerith check`: what callers promise
//! (`# cerith: requires K % BLOCK_K == 0`), and findings to ignore (`# cerith: ignore[race] reason`).
//!
//! A comment after code belongs to its statement. A comment on a line of its own belongs to the statement below it.
//! If that statement is a `def` or a decorator, the comment belongs to the whole function. Codes of findings are not
//! checked here.

use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use cerith_memory::Storages;
use cerith_python::nearest::{find_nearest, suggest_spelling};
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::{SourceId, Span};
use ruff_python_ast::token::TokenKind;
use ruff_python_ast::visitor::{Visitor, walk_expr};
use ruff_python_ast::{BoolOp, CmpOp, Expr, Number, Operator, PySourceType, Stmt, StmtFunctionDef};
use ruff_text_size::Ranged;

use crate::argument::ArgValue;
use crate::case::Launch;
use cerith_expression::{ExprError, Expression, Names, Value};
use cerith_module::excerpt::{is_kernel, visit_bodies};
use cerith_module::module;

/// Begins a comment for Cerith, after its `#`.
const MARK: &str = "cerith:";

/// The words that may follow the mark.
const DIRECTIVES: [&str; 2] = ["requires", "ignore"];

/// Something that the callers of a kernel promise.
#[derive(Clone, Debug)]
pub struct Requirement {
    expression: Expression,
}

/// A comment that hides findings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignore {
    /// The lines whose findings it hides, from 1.
    pub lines: RangeInclusive<u32>,
    /// The codes of these findings.
    pub codes: Vec<String>,
    /// The reason why they are hidden.
    pub reason: String,
    /// The location of the comment.
    pub span: Span,
    /// The line of the comment, from 1.
    pub line: u32,
}

/// The comments of one file.
#[derive(Clone, Debug, Default)]
pub struct Declarations {
    /// Promises, with the kernels that they are about.
    pub requirements: Vec<(String, Requirement)>,
    /// Findings to ignore.
    pub ignores: Vec<Ignore>,
}

/// The reason why a promise is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BadRequirement {
    /// One line, no full stop.
    pub message: String,
    /// The bytes of the expression.
    pub range: Range<usize>,
    /// How to fix it.
    pub help: Option<String>,
}

/// The reason why a promise has no value for a launch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequirementError {
    /// The value is not a bool.
    #[error("`{text}` is a {kind}, not a bool")]
    NotBool {
        /// The text of the expression.
        text: String,
        /// The kind of its value.
        kind: &'static str,
    },
    /// The expression has no value.
    #[error(transparent)]
    Expression(#[from] ExprError),
}

impl Requirement {
    /// Parses a promise about a kernel with these parameters.
    ///
    /// # Errors
    /// It is not an expression, or has a name that is not a parameter.
    pub fn parse<'p>(
        text: &str,
        parameters: impl Iterator<Item = &'p str> + Clone,
    ) -> Result<Self, BadRequirement> {
        let expression = Expression::parse(text).map_err(|error| BadRequirement {
            message: format!("`requires` needs a Python expression: {}", error.message),
            range: error.range,
            help: error.help,
        })?;
        let names = expression.free_names();
        let is_parameter = |name: &str| parameters.clone().any(|one| one == name);
        if let Some((name, range)) = names.iter().find(|(name, _)| !is_parameter(name)) {
            return Err(BadRequirement {
                message: format!("the kernel has no parameter `{name}`"),
                range: range.clone(),
                help: suggest_spelling(name, parameters),
            });
        }
        if names.is_empty() {
            return Err(BadRequirement {
                message: format!("`{text}` names no parameter of the kernel"),
                range: 0..text.len(),
                help: None,
            });
        }
        Ok(Self { expression })
    }

    /// The text of the expression.
    pub fn text(&self) -> &str {
        self.expression.text()
    }

    /// The parameters that it is about.
    pub fn parameters(&self) -> BTreeSet<String> {
        let names = self.expression.free_names().into_iter();
        names.map(|(name, _)| name).collect()
    }

    /// The integers in it.
    pub fn numbers(&self) -> BTreeSet<i64> {
        let mut numbers = Numbers::default();
        numbers.visit_expr(self.expression.tree());
        numbers.0
    }

    /// Whether it declares that `divisor` (a parameter or a number) divides something.
    pub fn is_divisible_by(&self, divisor: &str) -> bool {
        says_divisible(self.expression.tree(), divisor)
    }

    /// Whether a launch keeps it. `storages` are those of the launch's case.
    ///
    /// # Errors
    /// It has no value for this launch.
    pub fn holds(&self, launch: &Launch, storages: &Storages) -> Result<bool, RequirementError> {
        let mut names = Names::new();
        for (name, argument) in launch.arguments() {
            if let (Some(name), Some(value)) = (name, to_value(&argument.value)) {
                names.insert(name.to_owned(), value);
            }
        }
        let parameters = launch.kernel.function().map(|function| &function.parameters);
        for parameter in parameters.into_iter().flatten() {
            let default = parameter.default.as_deref();
            if let Some(text) = default.filter(|_| !names.contains_key(&parameter.name))
                && let Ok(value) = Expression::parse(text)
                    .and_then(|default| default.evaluate(&Names::new(), &mut Storages::new()))
            {
                names.insert(parameter.name.clone(), value);
            }
        }
        // Methods such as `contiguous` add storages.
        let mut storages = storages.clone();
        match self.expression.evaluate(&names, &mut storages)? {
            Value::Bool(holds) => Ok(holds),
            Value::Int(number) => Ok(number != 0),
            other => Err(RequirementError::NotBool {
                text: self.text().to_owned(),
                kind: other.kind(),
            }),
        }
    }
}

/// Collects the integers of an expression.
#[derive(Default)]
struct Numbers(BTreeSet<i64>);

impl<'a> Visitor<'a> for Numbers {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Some(number) = read_integer(expr) {
            self.0.insert(number);
        }
        walk_expr(self, expr);
    }
}

fn read_integer(expr: &Expr) -> Option<i64> {
    match &expr.as_number_literal_expr()?.value {
        Number::Int(int) => int.as_i64(),
        Number::Float(_) | Number::Complex { .. } => None,
    }
}

/// Whether `… % divisor == 0` is among the conditions that must all hold.
fn says_divisible(expr: &Expr, divisor: &str) -> bool {
    match expr {
        Expr::BoolOp(all) if all.op == BoolOp::And => {
            all.values.iter().any(|part| says_divisible(part, divisor))
        }
        Expr::Compare(compare) => {
            let [CmpOp::Eq] = &*compare.ops else { return false };
            let [right] = &*compare.comparators else {
                return false;
            };
            let Expr::BinOp(left) = &*compare.left else {
                return false;
            };
            let is_divisor = match (&*left.right, divisor.parse::<i64>()) {
                (Expr::Name(name), _) => name.id.as_str() == divisor,
                (by, Ok(divisor)) => read_integer(by).is_some_and(|by| by.checked_rem(divisor) == Some(0)),
                _ => false,
            };
            left.op == Operator::Mod && read_integer(right) == Some(0) && is_divisor
        }
        _ => false,
    }
}

/// The value of an argument in expressions. `None` if it has none.
fn to_value(argument: &ArgValue) -> Option<Value> {
    Some(match argument {
        ArgValue::None => Value::None,
        ArgValue::Bool(value) => Value::Bool(*value),
        ArgValue::Int(value) => Value::Int(*value),
        ArgValue::Float(value) => Value::Float(*value),
        ArgValue::Str(text) => Value::Str(text.clone()),
        ArgValue::DType(dtype) => Value::DType(*dtype),
        ArgValue::Tensor { tensor, .. } => Value::Tensor(tensor.clone()),
        ArgValue::Address { address, .. } => Value::Address(*address),
        ArgValue::Tuple(items) | ArgValue::NamedTuple { items, .. } => {
            Value::Tuple(items.iter().map(to_value).collect::<Option<_>>()?)
        }
        ArgValue::Constexpr(inner) => to_value(inner)?,
        ArgValue::Descriptor(_) | ArgValue::Global(_) => return None,
    })
}

/// Reads the comments of a module.
///
/// # Errors
/// The module has a syntax error, or comments are wrong.
pub fn read_declarations(source: SourceId, text: &str) -> Result<Declarations, Vec<Diagnostic>> {
    if !text.contains(MARK) {
        return Ok(Declarations::default());
    }
    // Its limits make the walk below safe.
    module::parse(source, text)?;
    module::with_stack(text, || {
        let parsed = ruff_python_parser::parse_unchecked_source(text, PySourceType::Python);
        let mut kernels = Vec::new();
        collect_functions(&parsed.syntax().body, "", &mut kernels);
        let lines = Lines::new(text);
        let mut reader = Reader {
            source,
            text,
            lines: &lines,
            functions: &kernels,
            declarations: Declarations::default(),
            problems: Vec::new(),
        };
        let mut waiting: Vec<Range<usize>> = Vec::new();
        let mut inside: Vec<Range<usize>> = Vec::new();
        let mut statement: Option<Range<usize>> = None;
        for token in parsed.tokens() {
            let range = token.start().to_usize()..token.end().to_usize();
            match token.kind() {
                TokenKind::Comment if statement.is_some() => inside.push(range),
                TokenKind::Comment => waiting.push(range),
                TokenKind::Newline => {
                    let end = range.start;
                    let start = statement.take().map_or(end, |statement| statement.start);
                    for comment in waiting.drain(..).chain(inside.drain(..)) {
                        reader.read_comment(comment, start..end);
                    }
                }
                TokenKind::NonLogicalNewline
                | TokenKind::Indent
                | TokenKind::Dedent
                | TokenKind::EndOfFile => {}
                _ => {
                    statement.get_or_insert(range);
                }
            }
        }
        for comment in waiting.into_iter().chain(inside) {
            let end = comment.end;
            reader.read_comment(comment, end..end);
        }
        if reader.problems.is_empty() {
            Ok(reader.declarations)
        } else {
            Err(reader.problems)
        }
    })
}

/// A function of the module.
struct FunctionRange {
    name: String,
    /// From its first decorator to its end.
    bytes: Range<usize>,
    /// The bytes of its body.
    body: Range<usize>,
    is_kernel: bool,
    parameters: Arc<[String]>,
}

fn collect_functions(body: &[Stmt], prefix: &str, all: &mut Vec<FunctionRange>) {
    for stmt in body {
        match stmt {
            Stmt::FunctionDef(def) => {
                let name = format!("{prefix}{}", def.name);
                let first = def.body.first();
                all.push(FunctionRange {
                    bytes: def.start().to_usize()..def.end().to_usize(),
                    body: first.map_or(def.end(), Ranged::start).to_usize()..def.end().to_usize(),
                    is_kernel: is_kernel(def),
                    parameters: list_parameters(def),
                    name: name.clone(),
                });
                collect_functions(&def.body, &format!("{name}."), all);
            }
            Stmt::ClassDef(class) => {
                collect_functions(&class.body, &format!("{prefix}{}.", class.name), all);
            }
            other => visit_bodies(other, &mut |body| collect_functions(body, prefix, all)),
        }
    }
}

/// The bytes of a kernel by its dotted name, from its first decorator to its end.
pub(crate) fn find_kernel_bytes(body: &[Stmt], kernel: &str) -> Option<Range<usize>> {
    let mut all = Vec::new();
    collect_functions(body, "", &mut all);
    all.into_iter()
        .rfind(|function| function.name == kernel)
        .map(|function| function.bytes)
}

fn list_parameters(def: &StmtFunctionDef) -> Arc<[String]> {
    let parameters = def.parameters.iter();
    parameters.map(|one| one.name().to_string()).collect()
}

/// The starts of a text's lines.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self(std::iter::once(0).chain(breaks).collect())
    }

    /// The line of a byte, from 1.
    fn find_line(&self, byte: usize) -> u32 {
        self.0.partition_point(|&start| start <= byte) as u32
    }
}

struct Reader<'a> {
    source: SourceId,
    text: &'a str,
    lines: &'a Lines,
    functions: &'a [FunctionRange],
    declarations: Declarations,
    problems: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn to_span(&self, range: &Range<usize>) -> Span {
        Span::new(self.source, range.start as u32, range.end as u32)
    }

    fn add_problem(&mut self, range: &Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        let problem = Diagnostic::error("bad-declaration", self.to_span(range), message);
        self.problems.push(problem.help(help));
    }

    /// Reads a comment, and the statement that it belongs to.
    fn read_comment(&mut self, comment: Range<usize>, statement: Range<usize>) {
        let text = self.text.get(comment.clone()).unwrap_or_default();
        let Some(rest) = text.trim_start_matches('#').trim_start().strip_prefix(MARK) else {
            return;
        };
        let rest = rest.trim();
        let word = rest
            .split(|c: char| !c.is_alphanumeric())
            .next()
            .unwrap_or_default();
        let after = rest.get(word.len()..).unwrap_or_default();
        match word {
            "requires" => self.read_requirement(comment, after.trim(), &statement),
            "ignore" => self.read_ignore(comment, after, &statement),
            _ => {
                let near = find_nearest(word, DIRECTIVES);
                let help = near.map_or_else(
                    || "write `# cerith: requires EXPRESSION` or `# cerith: ignore[CODE] REASON`".to_owned(),
                    |near| format!("did you mean `{near}`?"),
                );
                self.add_problem(&comment, format!("unknown comment `cerith: {word}`"), help);
            }
        }
    }

    /// The innermost function around a place, or which begins there.
    fn find_function(&self, comment: &Range<usize>, statement: &Range<usize>) -> Option<&FunctionRange> {
        let holds = |function: &&FunctionRange, byte: usize| function.bytes.contains(&byte);
        let begins = |function: &&FunctionRange| {
            holds(function, statement.start) && !function.body.contains(&statement.start)
        };
        let at_head = self.functions.iter().rfind(begins);
        at_head.or_else(|| {
            self.functions
                .iter()
                .rfind(|function| holds(function, comment.start))
        })
    }

    fn read_requirement(&mut self, comment: Range<usize>, text: &str, statement: &Range<usize>) {
        let Some(function) = self
            .find_function(&comment, statement)
            .filter(|one| one.is_kernel)
        else {
            return self.add_problem(
                &comment,
                "`requires` belongs to no kernel",
                "write it inside of a function with `@triton.jit`, or directly above it",
            );
        };
        let parsed = Requirement::parse(text, function.parameters.iter().map(String::as_str));
        let name = function.name.clone();
        match parsed {
            Ok(requirement) => self.declarations.requirements.push((name, requirement)),
            Err(error) => {
                let offset = self.text.get(comment.clone()).and_then(|all| all.rfind(text));
                let start = comment.start + offset.unwrap_or_default();
                let range = start + error.range.start..start + error.range.end;
                let help = error.help.unwrap_or_else(|| {
                    "write a condition on parameters: `# cerith: requires K % BLOCK_K == 0`".to_owned()
                });
                self.add_problem(&range, error.message, help);
            }
        }
    }

    fn read_ignore(&mut self, comment: Range<usize>, after: &str, statement: &Range<usize>) {
        let help =
            "write `# cerith: ignore[CODE] REASON`, such as `# cerith: ignore[race] the caller locks x`";
        let Some((codes, reason)) = after.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
            return self.add_problem(&comment, "`ignore` needs the code of a finding in brackets", help);
        };
        let codes: Vec<String> = codes.split(',').map(|code| code.trim().to_owned()).collect();
        if codes.iter().any(String::is_empty) {
            return self.add_problem(&comment, "`ignore` needs the code of a finding in brackets", help);
        }
        if reason.trim().is_empty() {
            return self.add_problem(&comment, "`ignore` needs a reason after the brackets", help);
        }
        let head = self.functions.iter().rfind(|function| {
            function.bytes.contains(&statement.start) && !function.body.contains(&statement.start)
        });
        let bytes = head.map_or(statement, |function| &function.bytes);
        let ignore = Ignore {
            lines: self.lines.find_line(bytes.start)..=self.lines.find_line(bytes.end),
            codes,
            reason: reason.trim().to_owned(),
            span: self.to_span(&comment),
            line: self.lines.find_line(comment.start),
        };
        self.declarations.ignores.push(ignore);
    }
}
