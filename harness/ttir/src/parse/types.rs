//! Types. Left out: what a value of one holds.

use super::DEEPEST;
use super::cursor::{Cursor, SyntaxError};
use crate::syntax::Type;

/// One type.
pub(super) fn ty(cursor: &mut Cursor<'_>, depth: usize) -> Result<Type, SyntaxError> {
    if depth >= DEEPEST {
        return Err(cursor.error("types are nested too deep"));
    }
    match cursor.peek() {
        Some(b'!') => dialect(cursor, depth),
        // A type whose name the operation knows: `: <f32>`.
        Some(b'<') => {
            let start = cursor.at();
            skip_angles(cursor);
            Ok(Type::Other(cursor.since(start).to_owned()))
        }
        Some(b'(') => {
            let start = cursor.at();
            result_types(cursor, depth + 1)?;
            if cursor.eat("->") {
                result_types(cursor, depth + 1)?;
            }
            Ok(Type::Other(cursor.since(start).to_owned()))
        }
        _ => {
            let start = cursor.at();
            let word = cursor.word()?;
            if word == "tensor" && cursor.eat("<") {
                let (shape, element) = shaped(cursor, depth)?;
                return Ok(Type::Tensor(shape, Box::new(element)));
            }
            Ok(plain(word).unwrap_or_else(|| {
                if cursor.raw() == Some(b'<') {
                    skip_angles(cursor);
                }
                Type::Other(cursor.since(start).to_owned())
            }))
        }
    }
}

fn plain(word: &str) -> Option<Type> {
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

/// `!tt.ptr<…>` and the like.
fn dialect(cursor: &mut Cursor<'_>, depth: usize) -> Result<Type, SyntaxError> {
    let start = cursor.at();
    cursor.next_byte();
    match cursor.word()? {
        "tt.ptr" => {
            cursor.expect('<')?;
            let pointee = ty(cursor, depth + 1)?;
            rest(cursor);
            Ok(Type::Ptr(Box::new(pointee)))
        }
        "tt.tensordesc" => {
            cursor.expect('<')?;
            if cursor.eat_word("tensor") {
                cursor.expect('<')?;
                let (shape, element) = shaped(cursor, depth)?;
                rest(cursor);
                return Ok(Type::Descriptor(shape, Box::new(element)));
            }
            let (shape, element) = shaped(cursor, depth)?;
            Ok(Type::Descriptor(shape, Box::new(element)))
        }
        "ttg.memdesc" | "tt.memdesc" | "triton_gpu.memdesc" => {
            cursor.expect('<')?;
            let (shape, element) = shaped(cursor, depth)?;
            Ok(Type::Memory(shape, Box::new(element)))
        }
        _ => {
            if cursor.raw() == Some(b'<') {
                skip_angles(cursor);
            }
            Ok(Type::Other(cursor.since(start).to_owned()))
        }
    }
}

/// `64x32xf16, …>`, behind the opening bracket.
fn shaped(cursor: &mut Cursor<'_>, depth: usize) -> Result<(Vec<u64>, Type), SyntaxError> {
    let mut shape = Vec::new();
    while cursor.peek().is_some_and(|byte| byte.is_ascii_digit()) {
        shape.push(cursor.natural()?);
        if !cursor.eat("x") {
            return Err(cursor.error("`x` is missing behind an extent"));
        }
    }
    let element = ty(cursor, depth + 1)?;
    rest(cursor);
    Ok((shape, element))
}

/// Leaves what is left of a type's parameters behind, with the bracket that closes them: encodings and memory spaces.
fn rest(cursor: &mut Cursor<'_>) {
    let mut open = 1_usize;
    while open > 0 {
        match cursor.raw() {
            None => return,
            Some(b'"') => {
                if cursor.string().is_err() {
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

/// Leaves `<…>` behind.
pub(super) fn skip_angles(cursor: &mut Cursor<'_>) {
    cursor.next_byte();
    rest(cursor);
}

/// `f32`, `(f32, i32)`, `()`.
pub(super) fn result_types(cursor: &mut Cursor<'_>, depth: usize) -> Result<Vec<Type>, SyntaxError> {
    if !cursor.eat("(") {
        return Ok(vec![ty(cursor, depth)?]);
    }
    let mut types = Vec::new();
    loop {
        cursor.skip_lines();
        if cursor.eat(")") {
            return Ok(types);
        }
        types.push(ty(cursor, depth)?);
        // Attributes of a result.
        if cursor.peek() == Some(b'{') {
            super::attr::dict(cursor, depth)?;
        }
        cursor.eat(",");
    }
}
