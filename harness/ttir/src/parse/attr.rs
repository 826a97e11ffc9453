//! Parses attributes and locations.

use super::DEEPEST;
use super::cursor::{Cursor, SyntaxError};
use super::types::{parse_type, skip_angles};
use crate::syntax::{Attr, Location};

/// Parses one attribute. The type after it is dropped.
pub(super) fn parse_attr(cursor: &mut Cursor<'_>, depth: usize) -> Result<Attr, SyntaxError> {
    if depth >= DEEPEST {
        return Err(cursor.error("attributes are nested too deep"));
    }
    let start = cursor.offset();
    let attr = match cursor.peek() {
        Some(b'"') => Attr::Text(cursor.expect_string()?),
        Some(b'@') => {
            let name = cursor.expect_symbol()?;
            while cursor.take("::") {
                cursor.expect_symbol()?;
            }
            Attr::Symbol(name)
        }
        Some(b'[') => Attr::List(parse_list(cursor, ']', depth)?),
        Some(b'{') => Attr::Dict(parse_dict(cursor, depth + 1)?),
        Some(b'-' | b'0'..=b'9') => parse_number(cursor)?,
        Some(b'!' | b'(') => return Ok(Attr::Type(parse_type(cursor, depth + 1)?)),
        Some(b'#') => {
            cursor.next_byte();
            cursor.expect_name()?;
            if cursor.raw() == Some(b'<') {
                skip_angles(cursor);
            }
            Attr::Other(cursor.text_since(start).trim().to_owned())
        }
        _ => parse_word(cursor, depth)?,
    };
    // `16 : i32`
    let mut ahead = *cursor;
    if matches!(
        attr,
        Attr::Int(_) | Attr::Bits(_) | Attr::Float(_) | Attr::Dense(_) | Attr::Text(_)
    ) && ahead.take(":")
        && ahead.peek() != Some(b'%')
    {
        parse_type(&mut ahead, depth + 1)?;
        *cursor = ahead;
    }
    Ok(attr)
}

fn parse_word(cursor: &mut Cursor<'_>, depth: usize) -> Result<Attr, SyntaxError> {
    let start = cursor.offset();
    let mut ahead = *cursor;
    let word = ahead.expect_word()?;
    Ok(match word {
        "true" | "false" => {
            *cursor = ahead;
            Attr::Bool(word == "true")
        }
        "dense" if ahead.take("<") => {
            *cursor = ahead;
            let inner = if cursor.peek() == Some(b'>') {
                Attr::List(Vec::new())
            } else {
                parse_attr(cursor, depth + 1)?
            };
            cursor.expect('>')?;
            Attr::Dense(Box::new(inner))
        }
        "array" if ahead.take("<") => {
            *cursor = ahead;
            parse_type(cursor, depth + 1)?;
            if cursor.take(":") {
                Attr::List(parse_list_until(cursor, '>', depth)?)
            } else {
                cursor.expect('>')?;
                Attr::List(Vec::new())
            }
        }
        "tensor" => Attr::Type(parse_type(cursor, depth + 1)?),
        _ => {
            *cursor = ahead;
            if cursor.raw() == Some(b'<') {
                skip_angles(cursor);
            }
            Attr::Word(cursor.text_since(start).trim().to_owned())
        }
    })
}

fn parse_list(cursor: &mut Cursor<'_>, end: char, depth: usize) -> Result<Vec<Attr>, SyntaxError> {
    cursor.next_byte();
    parse_list_until(cursor, end, depth)
}

fn parse_list_until(cursor: &mut Cursor<'_>, end: char, depth: usize) -> Result<Vec<Attr>, SyntaxError> {
    let mut buffer = [0; 4];
    let end = end.encode_utf8(&mut buffer);
    let mut items = Vec::new();
    loop {
        cursor.skip_lines();
        if cursor.take(end) {
            return Ok(items);
        }
        items.push(parse_attr(cursor, depth + 1)?);
        cursor.skip_lines();
        cursor.take(",");
    }
}

/// `{a = 1 : i32, b}`.
pub(super) fn parse_dict(cursor: &mut Cursor<'_>, depth: usize) -> Result<Vec<(String, Attr)>, SyntaxError> {
    if depth >= DEEPEST {
        return Err(cursor.error("attributes are nested too deep"));
    }
    cursor.expect('{')?;
    let mut entries = Vec::new();
    loop {
        cursor.skip_lines();
        if cursor.take("}") {
            return Ok(entries);
        }
        let name = if cursor.peek() == Some(b'"') {
            cursor.expect_string()?
        } else {
            cursor.expect_word()?.to_owned()
        };
        let value = if cursor.take("=") {
            cursor.skip_spaces();
            parse_attr(cursor, depth + 1)?
        } else {
            Attr::Bool(true)
        };
        entries.push((name, value));
        cursor.skip_lines();
        cursor.take(",");
    }
}

fn parse_number(cursor: &mut Cursor<'_>) -> Result<Attr, SyntaxError> {
    let negative = cursor.take("-");
    let start = cursor.offset();
    if cursor.take("0x") {
        let digits = cursor.offset();
        while cursor.raw().is_some_and(|byte| byte.is_ascii_hexdigit()) {
            cursor.next_byte();
        }
        let bits = u128::from_str_radix(cursor.text_since(digits), 16);
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
    let text = cursor.text_since(start);
    if is_float {
        let number: f64 = text.parse().map_err(|_| cursor.error("no number"))?;
        return Ok(Attr::Float(if negative { -number } else { number }));
    }
    let number: i128 = text.parse().map_err(|_| cursor.error("no number"))?;
    Ok(Attr::Int(if negative { -number } else { number }))
}

/// Parses `(…)` after `loc`.
pub(super) fn parse_place(cursor: &mut Cursor<'_>, depth: usize) -> Result<Location, SyntaxError> {
    cursor.expect('(')?;
    let place = parse_place_body(cursor, depth)?;
    cursor.expect(')')?;
    Ok(place)
}

fn parse_place_body(cursor: &mut Cursor<'_>, depth: usize) -> Result<Location, SyntaxError> {
    if depth >= DEEPEST {
        return Err(cursor.error("places are nested too deep"));
    }
    match cursor.peek() {
        Some(b'#') => {
            cursor.next_byte();
            Ok(Location::Alias(cursor.expect_word()?.to_owned()))
        }
        Some(b'"') => {
            let text = cursor.expect_string()?;
            if cursor.take(":") {
                let line = cursor.expect_natural()?;
                cursor.expect(':')?;
                let column = cursor.expect_natural()?;
                // `to 3:4`, `to :4`
                if cursor.take_word("to") {
                    while matches!(cursor.peek(), Some(b':' | b'0'..=b'9')) {
                        cursor.next_byte();
                    }
                }
                let narrow = |number| u32::try_from(number).unwrap_or(u32::MAX);
                return Ok(Location::File(text, narrow(line), narrow(column)));
            }
            if cursor.peek() == Some(b'(') {
                return Ok(Location::Named(text, Box::new(parse_place(cursor, depth + 1)?)));
            }
            Ok(Location::Named(text, Box::new(Location::Unknown)))
        }
        _ => match cursor.expect_word()? {
            "callsite" => {
                cursor.expect('(')?;
                let callee = parse_place_body(cursor, depth + 1)?;
                if !cursor.take_word("at") {
                    return Err(cursor.error("`at` is missing"));
                }
                let caller = parse_place_body(cursor, depth + 1)?;
                cursor.expect(')')?;
                Ok(Location::CallSite(Box::new(callee), Box::new(caller)))
            }
            "fused" => {
                if cursor.raw() == Some(b'<') {
                    skip_angles(cursor);
                }
                cursor.expect('[')?;
                let mut places = Vec::new();
                while !cursor.take("]") {
                    places.push(parse_place_body(cursor, depth + 1)?);
                    cursor.take(",");
                }
                Ok(Location::Fused(places))
            }
            _ => Ok(Location::Unknown),
        },
    }
}
