//! Attributes and places. Left out: what an operation makes of them.

use super::DEEPEST;
use super::cursor::{Cursor, SyntaxError};
use super::types::{skip_angles, ty};
use crate::syntax::{Attr, Place};

/// One attribute, with the type behind it left out.
pub(super) fn attr(cursor: &mut Cursor<'_>, depth: usize) -> Result<Attr, SyntaxError> {
    if depth >= DEEPEST {
        return Err(cursor.error("attributes are nested too deep"));
    }
    let start = cursor.at();
    let attr = match cursor.peek() {
        Some(b'"') => Attr::Text(cursor.string()?),
        Some(b'@') => {
            let name = cursor.symbol()?;
            while cursor.eat("::") {
                cursor.symbol()?;
            }
            Attr::Symbol(name)
        }
        Some(b'[') => Attr::List(list(cursor, ']', depth)?),
        Some(b'{') => Attr::Dict(dict(cursor, depth + 1)?),
        Some(b'-' | b'0'..=b'9') => number(cursor)?,
        Some(b'!' | b'(') => return Ok(Attr::Type(ty(cursor, depth + 1)?)),
        Some(b'#') => {
            cursor.next_byte();
            cursor.name()?;
            if cursor.raw() == Some(b'<') {
                skip_angles(cursor);
            }
            Attr::Other(cursor.since(start).trim().to_owned())
        }
        _ => word(cursor, depth)?,
    };
    // `16 : i32`
    let mut ahead = *cursor;
    if matches!(
        attr,
        Attr::Int(_) | Attr::Bits(_) | Attr::Float(_) | Attr::Dense(_) | Attr::Text(_)
    ) && ahead.eat(":")
        && ahead.peek() != Some(b'%')
    {
        ty(&mut ahead, depth + 1)?;
        *cursor = ahead;
    }
    Ok(attr)
}

fn word(cursor: &mut Cursor<'_>, depth: usize) -> Result<Attr, SyntaxError> {
    let start = cursor.at();
    let mut ahead = *cursor;
    let word = ahead.word()?;
    Ok(match word {
        "true" | "false" => {
            *cursor = ahead;
            Attr::Bool(word == "true")
        }
        "dense" if ahead.eat("<") => {
            *cursor = ahead;
            let inner = if cursor.peek() == Some(b'>') {
                Attr::List(Vec::new())
            } else {
                attr(cursor, depth + 1)?
            };
            cursor.expect('>')?;
            Attr::Dense(Box::new(inner))
        }
        "array" if ahead.eat("<") => {
            *cursor = ahead;
            ty(cursor, depth + 1)?;
            if cursor.eat(":") {
                Attr::List(list_until(cursor, '>', depth)?)
            } else {
                cursor.expect('>')?;
                Attr::List(Vec::new())
            }
        }
        "tensor" => Attr::Type(ty(cursor, depth + 1)?),
        _ => {
            *cursor = ahead;
            if cursor.raw() == Some(b'<') {
                skip_angles(cursor);
            }
            Attr::Word(cursor.since(start).trim().to_owned())
        }
    })
}

fn list(cursor: &mut Cursor<'_>, end: char, depth: usize) -> Result<Vec<Attr>, SyntaxError> {
    cursor.next_byte();
    list_until(cursor, end, depth)
}

fn list_until(cursor: &mut Cursor<'_>, end: char, depth: usize) -> Result<Vec<Attr>, SyntaxError> {
    let mut buffer = [0; 4];
    let end = end.encode_utf8(&mut buffer);
    let mut items = Vec::new();
    loop {
        cursor.skip_lines();
        if cursor.eat(end) {
            return Ok(items);
        }
        items.push(attr(cursor, depth + 1)?);
        cursor.skip_lines();
        cursor.eat(",");
    }
}

/// `{a = 1 : i32, b}`.
pub(super) fn dict(cursor: &mut Cursor<'_>, depth: usize) -> Result<Vec<(String, Attr)>, SyntaxError> {
    if depth >= DEEPEST {
        return Err(cursor.error("attributes are nested too deep"));
    }
    cursor.expect('{')?;
    let mut entries = Vec::new();
    loop {
        cursor.skip_lines();
        if cursor.eat("}") {
            return Ok(entries);
        }
        let name = if cursor.peek() == Some(b'"') {
            cursor.string()?
        } else {
            cursor.word()?.to_owned()
        };
        let value = if cursor.eat("=") {
            cursor.skip_spaces();
            attr(cursor, depth + 1)?
        } else {
            Attr::Bool(true)
        };
        entries.push((name, value));
        cursor.skip_lines();
        cursor.eat(",");
    }
}

fn number(cursor: &mut Cursor<'_>) -> Result<Attr, SyntaxError> {
    let negative = cursor.eat("-");
    let start = cursor.at();
    if cursor.eat("0x") {
        let digits = cursor.at();
        while cursor.raw().is_some_and(|byte| byte.is_ascii_hexdigit()) {
            cursor.next_byte();
        }
        let bits = u128::from_str_radix(cursor.since(digits), 16);
        return bits
            .map(Attr::Bits)
            .map_err(|_| cursor.error("no hexadecimal number"));
    }
    let mut is_float = false;
    loop {
        match cursor.raw() {
            Some(b'0'..=b'9') => {}
            Some(b'.') => is_float = true,
            Some(b'e' | b'E') if is_float => {
                cursor.next_byte();
                if matches!(cursor.raw(), Some(b'+' | b'-')) {
                    cursor.next_byte();
                }
                continue;
            }
            _ => break,
        }
        cursor.next_byte();
    }
    let text = cursor.since(start);
    if is_float {
        let number: f64 = text.parse().map_err(|_| cursor.error("no number"))?;
        return Ok(Attr::Float(if negative { -number } else { number }));
    }
    let number: i128 = text.parse().map_err(|_| cursor.error("no number"))?;
    Ok(Attr::Int(if negative { -number } else { number }))
}

/// `(…)` behind `loc`.
pub(super) fn place(cursor: &mut Cursor<'_>, depth: usize) -> Result<Place, SyntaxError> {
    cursor.expect('(')?;
    let place = inner(cursor, depth)?;
    cursor.expect(')')?;
    Ok(place)
}

fn inner(cursor: &mut Cursor<'_>, depth: usize) -> Result<Place, SyntaxError> {
    if depth >= DEEPEST {
        return Err(cursor.error("places are nested too deep"));
    }
    match cursor.peek() {
        Some(b'#') => {
            cursor.next_byte();
            Ok(Place::Alias(cursor.word()?.to_owned()))
        }
        Some(b'"') => {
            let text = cursor.string()?;
            if cursor.eat(":") {
                let line = cursor.natural()?;
                cursor.expect(':')?;
                let column = cursor.natural()?;
                // `to 3:4`, `to :4`
                if cursor.eat_word("to") {
                    while matches!(cursor.peek(), Some(b':' | b'0'..=b'9')) {
                        cursor.next_byte();
                    }
                }
                let narrow = |number| u32::try_from(number).unwrap_or(u32::MAX);
                return Ok(Place::File(text, narrow(line), narrow(column)));
            }
            if cursor.peek() == Some(b'(') {
                return Ok(Place::Named(text, Box::new(place(cursor, depth + 1)?)));
            }
            Ok(Place::Named(text, Box::new(Place::Unknown)))
        }
        _ => match cursor.word()? {
            "callsite" => {
                cursor.expect('(')?;
                let callee = inner(cursor, depth + 1)?;
                if !cursor.eat_word("at") {
                    return Err(cursor.error("`at` is missing"));
                }
                let caller = inner(cursor, depth + 1)?;
                cursor.expect(')')?;
                Ok(Place::CallSite(Box::new(callee), Box::new(caller)))
            }
            "fused" => {
                if cursor.raw() == Some(b'<') {
                    skip_angles(cursor);
                }
                cursor.expect('[')?;
                let mut places = Vec::new();
                while !cursor.eat("]") {
                    places.push(inner(cursor, depth + 1)?);
                    cursor.eat(",");
                }
                Ok(Place::Fused(places))
            }
            _ => Ok(Place::Unknown),
        },
    }
}
