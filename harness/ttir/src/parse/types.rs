//! Parses types.

use super::DEEPEST;
use super::cursor::{Cursor, SyntaxError};
use crate::syntax::Type;

/// Parses one type.
pub(super) fn parse_type(cursor: &mut Cursor<'_>, depth: usize) -> Result<Type, SyntaxError> {
    if depth >= DEEPEST {
        return Err(cursor.error("types are nested too deep"));
    }
    match cursor.peek() {
        Some(b'!') => parse_dialect_type(cursor, depth),
        // A type whose name is implied by the operation: `: <f32>`.
        Some(b'<') => {
            let start = cursor.offset();
            skip_angles(cursor);
            Ok(Type::Other(cursor.text_since(start).to_owned()))
        }
        Some(b'(') => {
            let start = cursor.offset();
            parse_result_types(cursor, depth + 1)?;
            if cursor.take("->") {
                parse_result_types(cursor, depth + 1)?;
            }
            Ok(Type::Other(cursor.text_since(start).to_owned()))
        }
        _ => {
            let start = cursor.offset();
            let word = cursor.expect_word()?;
            if word == "tensor" && cursor.take("<") {
                let (shape, element) = parse_shape(cursor, depth)?;
                return Ok(Type::Tensor(shape, Box::new(element)));
            }
            Ok(plain_type(word).unwrap_or_else(|| {
                if cursor.raw() == Some(b'<') {
                    skip_angles(cursor);
                }
                Type::Other(cursor.text_since(start).to_owned())
            }))
        }
    }
}

fn plain_type(word: &str) -> Option<Type> {
    if word == "index" {
        return Some(Type::Index);
    }
    if let Some(Ok(bits)) = word.strip_prefix('i').map(str::parse) {
        return Some(Type::Int(bits));
    }
    for (prefix, has_sign) in [("si", true), ("ui", false)] {
        if let Some(Ok(bits)) = word.strip_prefix(prefix).map(str::parse) {
            return Some(Type::Signed(has_sign, bits));
        }
    }
    let float = word.strip_prefix("bf").or_else(|| word.strip_prefix('f'))?;
    float
        .starts_with(|first: char| first.is_ascii_digit())
        .then(|| Type::Float(word.to_owned()))
}

/// Parses `!tt.ptr<…>` and other types of dialects.
fn parse_dialect_type(cursor: &mut Cursor<'_>, depth: usize) -> Result<Type, SyntaxError> {
    let start = cursor.offset();
    cursor.next_byte();
    match cursor.expect_word()? {
        "tt.ptr" => {
            cursor.expect('<')?;
            let pointee = parse_type(cursor, depth + 1)?;
            skip_parameters(cursor);
            Ok(Type::Ptr(Box::new(pointee)))
        }
        "tt.tensordesc" => {
            cursor.expect('<')?;
            if cursor.take_word("tensor") {
                cursor.expect('<')?;
                let (shape, element) = parse_shape(cursor, depth)?;
                skip_parameters(cursor);
                return Ok(Type::Descriptor(shape, Box::new(element)));
            }
            let (shape, element) = parse_shape(cursor, depth)?;
            Ok(Type::Descriptor(shape, Box::new(element)))
        }
        "ttg.memdesc" | "tt.memdesc" | "triton_gpu.memdesc" => {
            cursor.expect('<')?;
            let (shape, element) = parse_shape(cursor, depth)?;
            Ok(Type::Memory(shape, Box::new(element)))
        }
        _ => {
            if cursor.raw() == Some(b'<') {
                skip_angles(cursor);
            }
            Ok(Type::Other(cursor.text_since(start).to_owned()))
        }
    }
}

/// Parses `64x32xf16, …>` after the opening bracket.
fn parse_shape(cursor: &mut Cursor<'_>, depth: usize) -> Result<(Vec<u64>, Type), SyntaxError> {
    let mut shape = Vec::new();
    while cursor.peek().is_some_and(|byte| byte.is_ascii_digit()) {
        shape.push(cursor.expect_natural()?);
        if !cursor.take("x") {
            return Err(cursor.error("`x` is missing after an extent"));
        }
    }
    let element = parse_type(cursor, depth + 1)?;
    skip_parameters(cursor);
    Ok((shape, element))
}

/// Skips the remaining parameters of a type and the closing bracket: encodings and memory spaces.
fn skip_parameters(cursor: &mut Cursor<'_>) {
    let mut open = 1_usize;
    while open > 0 {
        match cursor.raw() {
            None => return,
            Some(b'"') => {
                if cursor.expect_string().is_err() {
                    return;
                }
                continue;
            }
            Some(b'<') => open += 1,
            Some(b'-') => cursor.next_byte(),
            Some(b'>') => open -= 1,
            Some(_) => {}
        }
        cursor.next_byte();
    }
}

/// Skips `<…>`.
pub(super) fn skip_angles(cursor: &mut Cursor<'_>) {
    cursor.next_byte();
    skip_parameters(cursor);
}

/// Parses result types: `f32`, `(f32, i32)`, `()`.
pub(super) fn parse_result_types(cursor: &mut Cursor<'_>, depth: usize) -> Result<Vec<Type>, SyntaxError> {
    if !cursor.take("(") {
        return Ok(vec![parse_type(cursor, depth)?]);
    }
    let mut types = Vec::new();
    loop {
        cursor.skip_lines();
        if cursor.take(")") {
            return Ok(types);
        }
        types.push(parse_type(cursor, depth)?);
        // The attributes of a result.
        if cursor.peek() == Some(b'{') {
            super::attr::parse_dict(cursor, depth)?;
        }
        cursor.take(",");
    }
}
