//! String methods that module-level code calls to build texts for kernels. They return `None` for unusual arguments.

use std::rc::Rc;

use cerith_language::constant;
use cerith_language::value::plain::{Arguments, Plain};

/// The maximum length of a text that a method makes.
const MAX_TEXT_LEN: usize = 1 << 16;

/// `text.method(…)`.
pub(super) fn call(text: &str, method: &str, arguments: &Arguments) -> Option<Plain> {
    let given: Option<Vec<&Rc<str>>> = arguments.positional.iter().map(Plain::as_str).collect();
    let plain = arguments.keyword.is_empty();
    let made = match (method, given.as_deref()) {
        ("format", _) => format(text, arguments)?,
        ("join", _) if plain => join(text, arguments.positional.as_slice())?,
        ("lower", Some([])) if plain => text.to_lowercase(),
        ("upper", Some([])) if plain => text.to_uppercase(),
        ("strip", Some([])) if plain => text.trim().to_owned(),
        ("replace", Some([from, to])) if plain && !from.is_empty() => {
            let found = text.matches(&***from).count();
            (found.saturating_mul(to.len()) <= MAX_TEXT_LEN).then(|| text.replace(&***from, to))?
        }
        ("split", Some([])) if plain => return Some(list(text.split_whitespace())),
        ("split", Some([at])) if plain && !at.is_empty() => return Some(list(text.split(&***at))),
        _ => return None,
    };
    (made.len() <= MAX_TEXT_LEN).then(|| Plain::from_text(&made))
}

fn list<'t>(parts: impl Iterator<Item = &'t str>) -> Plain {
    Plain::List(Rc::new(parts.map(Plain::from_text).collect()))
}

fn join(text: &str, arguments: &[Plain]) -> Option<String> {
    let [parts] = arguments else { return None };
    let parts: Vec<&str> = parts
        .items()?
        .iter()
        .map(|part| part.as_str().map(|part| &**part))
        .collect::<Option<_>>()?;
    let length: usize = parts.iter().map(|part| part.len() + text.len()).sum();
    (length <= MAX_TEXT_LEN).then(|| parts.join(text))
}

/// `{}`, `{0}` and `{name}`, without conversions and formats.
fn format(text: &str, arguments: &Arguments) -> Option<String> {
    let mut made = String::new();
    let mut next = 0;
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        made.push_str(before);
        if let Some(after) = from.strip_prefix("{{") {
            made.push('{');
            rest = after;
            continue;
        }
        if let Some(after) = from.strip_prefix("}}") {
            made.push('}');
            rest = after;
            continue;
        }
        let (field, after) = from.strip_prefix('{')?.split_once('}')?;
        let value = if field.is_empty() {
            next += 1;
            arguments.positional.get(next - 1)
        } else if let Ok(place) = field.parse::<usize>() {
            arguments.positional.get(place)
        } else {
            let mut named = arguments.keyword.iter();
            named.find(|(name, _)| &**name == field).map(|(_, value)| value)
        };
        made.push_str(&constant::to_text(value?.constant()?));
        if made.len() > MAX_TEXT_LEN {
            return None;
        }
        rest = after;
    }
    made.push_str(rest);
    Some(made)
}
