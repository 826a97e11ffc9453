//! Signatures of builtins: reading them, and binding a call's arguments as Python would.
//!
//! Each builtin checks its own bound arguments.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use cerith_python::nearest::find_nearest;

use crate::constant::Constant;
use crate::lowering::Lowering;
use crate::stop::{Stop, Traced};
use crate::value::Value;
use crate::value::callable::Builtin;

/// The way a parameter takes its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// By position or by name.
    Plain,
    /// `*args`: what is left of the positional ones.
    Rest,
    /// By name alone.
    Keyword,
}

/// One parameter of a signature.
#[derive(Clone, Debug)]
struct Parameter {
    name: &'static str,
    kind: Kind,
    default: Option<Value>,
}

/// A signature that was read.
#[derive(Debug)]
pub struct Signature {
    parameters: Vec<Parameter>,
}

thread_local! {
    static SIGNATURES: RefCell<HashMap<&'static str, Rc<Signature>>> = RefCell::new(HashMap::new());
}

/// The number of parameters without a default.
pub(super) fn count_required(builtin: &Builtin) -> usize {
    let signature = get_signature(builtin);
    let parameters = signature.parameters.iter();
    parameters.filter(|parameter| parameter.default.is_none()).count()
}

fn get_signature(builtin: &Builtin) -> Rc<Signature> {
    SIGNATURES.with_borrow_mut(|cache| {
        Rc::clone(
            cache
                .entry(builtin.signature)
                .or_insert_with(|| Rc::new(Signature::read(builtin.signature))),
        )
    })
}

/// Binds a call's arguments to the signature's parameters, in their order, defaults filled in. What `*args`
/// collected is one tuple.
pub fn bind(
    builtin: &Builtin,
    lo: &Lowering,
    positional: Vec<Value>,
    keyword: Vec<(Rc<str>, Value)>,
) -> Traced<Vec<Value>> {
    let signature = get_signature(builtin);
    let parameters = &signature.parameters;
    let name = builtin.short_name();
    let mut bound: Vec<Option<Value>> = vec![None; parameters.len()];
    let given = positional.len();
    let mut positional = positional.into_iter();
    for (slot, parameter) in bound.iter_mut().zip(parameters) {
        match parameter.kind {
            Kind::Plain => *slot = positional.next(),
            Kind::Rest => *slot = Some(Value::new_tuple(positional.by_ref())),
            Kind::Keyword => {}
        }
    }
    if positional.next().is_some() {
        let most = parameters
            .iter()
            .filter(|parameter| parameter.kind == Kind::Plain)
            .count();
        let noun = if most == 1 { "argument" } else { "arguments" };
        return Err(reject_call(
            builtin,
            lo,
            format!("{name}() takes at most {most} positional {noun} but {given} were given"),
        ));
    }
    for (key, value) in keyword {
        let found = parameters
            .iter()
            .position(|parameter| parameter.kind != Kind::Rest && parameter.name == &*key);
        let Some(slot) = found.and_then(|at| bound.get_mut(at)) else {
            return Err(reject_keyword(builtin, lo, &signature, &key));
        };
        if slot.replace(value).is_some() {
            return Err(reject_call(
                builtin,
                lo,
                format!("{name}() got multiple values for argument `{key}`"),
            ));
        }
    }
    let mut complete = Vec::with_capacity(bound.len());
    let mut missing = Vec::new();
    for (slot, parameter) in bound.into_iter().zip(parameters) {
        match slot.or_else(|| parameter.default.clone()) {
            Some(value) => complete.push(value),
            None => missing.push(format!("`{}`", parameter.name)),
        }
    }
    if missing.is_empty() {
        return Ok(complete);
    }
    let noun = if missing.len() == 1 {
        "argument"
    } else {
        "arguments"
    };
    Err(reject_call(
        builtin,
        lo,
        format!("{name}() is missing the {noun} {}", missing.join(", ")),
    ))
}

fn reject_call(builtin: &Builtin, lo: &Lowering, message: String) -> Stop {
    Stop::Rejected(Box::new(
        lo.build_diagnostic("bad-call", message)
            .help(format!("it is `{}`", builtin.signature)),
    ))
}

fn reject_keyword(builtin: &Builtin, lo: &Lowering, signature: &Signature, key: &str) -> Stop {
    let names = signature
        .parameters
        .iter()
        .filter(|parameter| parameter.kind != Kind::Rest);
    let message = format!(
        "{}() got an unexpected keyword argument `{key}`",
        builtin.short_name()
    );
    let diagnostic = lo.build_diagnostic("bad-call", message);
    Stop::Rejected(Box::new(
        match find_nearest(key, names.map(|parameter| parameter.name)) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic.help(format!("it is `{}`", builtin.signature)),
        },
    ))
}

impl Signature {
    /// Reads `name(a, b=None, *rest, c=False)`. The text is our own; `signatures_are_readable` reads every one.
    fn read(text: &'static str) -> Self {
        let inside = text
            .split_once('(')
            .and_then(|(_, rest)| rest.rsplit_once(')'))
            .map_or("", |(inside, _)| inside);
        let mut parameters = Vec::new();
        let mut named_only = false;
        for piece in split_top_level(inside) {
            let (name, default) = match piece.split_once('=') {
                Some((name, default)) => (name.trim(), Some(parse_default(default.trim()))),
                None => (piece, None),
            };
            match name.strip_prefix('*') {
                Some("") => named_only = true,
                Some(name) => {
                    parameters.push(Parameter {
                        name,
                        kind: Kind::Rest,
                        default: None,
                    });
                    named_only = true;
                }
                None => {
                    let kind = if named_only { Kind::Keyword } else { Kind::Plain };
                    parameters.push(Parameter { name, kind, default });
                }
            }
        }
        Self { parameters }
    }
}

/// The pieces between commas that are in no bracket or string.
fn split_top_level(text: &'static str) -> impl Iterator<Item = &'static str> {
    let mut depth = 0usize;
    let mut quoted = false;
    text.split(move |c| {
        match c {
            '\'' | '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => return true,
            _ => {}
        }
        false
    })
    .map(str::trim)
    .filter(|piece| !piece.is_empty())
}

/// A default: `None`, a bool, an int, a string, `()`, or a name of Triton's (`PropagateNan.NONE`), kept as its text.
fn parse_default(text: &'static str) -> Value {
    match text {
        "None" => Value::NONE,
        "True" => Value::from_bool(true),
        "False" => Value::from_bool(false),
        "()" => Value::new_tuple([]),
        _ => match text.parse::<i128>() {
            Ok(number) => Value::from_int(number),
            Err(_) => Value::Constant(Constant::Str(text.trim_matches(['\'', '"']).into())),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_read_as_python_would() {
        let signature = Signature::read("tl.f(a, b=None, *rest, c='x, y', d=(), e=3)");
        let shown: Vec<String> = signature
            .parameters
            .iter()
            .map(|p| format!("{:?} {} {:?}", p.kind, p.name, p.default))
            .collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        Plain a None
        Plain b Some(Constant(None))
        Rest rest None
        Keyword c Some(Constant(Str("x, y")))
        Keyword d Some(Tuple { items: [], names: [] })
        Keyword e Some(Constant(Int(3)))
        "#);
    }

    #[test]
    fn signatures_are_readable() {
        for row in crate::builtin::TABLES.iter().copied().flatten() {
            let text = row.builtin.signature;
            let mut seen = Vec::new();
            for parameter in Signature::read(text).parameters {
                let name = parameter.name;
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                assert!(
                    !name.is_empty() && name.chars().all(is_name),
                    "`{name}` of {text}"
                );
                assert!(!seen.contains(&name), "`{name}` twice in {text}");
                seen.push(name);
            }
        }
    }
}
