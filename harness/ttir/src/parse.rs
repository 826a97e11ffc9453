//! Parses MLIR. Triton's operations are printed in forms that differ only in punctuation, so one parser reads all of
//! them: it collects operands, words, attributes, types and regions until the line ends.

mod attr;
mod cursor;
mod operation;
mod types;

use crate::syntax::{Attr, Func, Location, Module, Operation};

use cursor::Cursor;
pub use cursor::SyntaxError;

/// Maximum nesting of regions, types, attributes and locations.
const DEEPEST: usize = 64;

/// Returns whether MLIR's verifier accepts a module: it prints an invalid one in the generic form.
pub fn verifies(text: &str) -> bool {
    !text.lines().any(|line| line.starts_with("\"builtin.module\""))
}

/// Parses a module.
///
/// # Errors
/// The text is not MLIR as Triton prints it. The error is at the first wrong byte.
pub fn parse_module(text: &str) -> Result<Module, SyntaxError> {
    let mut cursor = Cursor::new(text);
    let mut module = Module::default();
    let mut inside = false;
    loop {
        cursor.skip_lines();
        if cursor.is_at_end() {
            return if inside {
                Err(cursor.error("the module ends before its last brace"))
            } else {
                Ok(module)
            };
        }
        match cursor.peek() {
            Some(b'#') => parse_alias(&mut cursor, &mut module)?,
            Some(b'!') => {
                cursor.next_byte();
                cursor.expect_word()?;
                cursor.expect('=')?;
                types::parse_type(&mut cursor, 0)?;
            }
            Some(b'}') if inside => {
                cursor.next_byte();
                inside = false;
                cursor.skip_spaces();
                if cursor.take_word("loc") {
                    attr::parse_place(&mut cursor, 0)?;
                }
            }
            _ if cursor.take_word("module") || cursor.take_word("builtin.module") => {
                if cursor.peek() == Some(b'@') {
                    cursor.expect_symbol()?;
                }
                if cursor.take_word("attributes") {
                    attr::parse_dict(&mut cursor, 0)?;
                }
                cursor.expect('{')?;
                inside = true;
            }
            _ if cursor.take_word("tt.func") => {
                let func = parse_func(&mut cursor)?;
                module.functions.push(func);
            }
            _ if inside => {
                // Globals and similar: no kernel calls them.
                let other = operation::parse_operation(&mut cursor, 0)?;
                if other.name.is_empty() {
                    return Err(cursor.error("neither a function nor an operation"));
                }
            }
            // MLIR prints an invalid module in this form, for example one with an unreachable empty block.
            Some(b'"') => {
                let whole = operation::parse_operation(&mut cursor, 0)?;
                if whole.name != "builtin.module" {
                    return Err(cursor.error("neither a module nor an alias"));
                }
                collect_functions(whole, &mut module);
            }
            _ => return Err(cursor.error("neither a module nor an alias")),
        }
    }
}

/// `#loc3 = loc(…)`, `#blocked = …`.
fn parse_alias(cursor: &mut Cursor<'_>, module: &mut Module) -> Result<(), SyntaxError> {
    cursor.next_byte();
    let name = cursor.expect_word()?.to_owned();
    cursor.expect('=')?;
    cursor.skip_spaces();
    if cursor.take_word("loc") {
        let place = attr::parse_place(cursor, 0)?;
        module.places.push((name, place));
        Ok(())
    } else {
        attr::parse_attr(cursor, 0).map(drop)
    }
}

/// Collects the functions of a module in generic form.
fn collect_functions(whole: Operation, module: &mut Module) {
    let blocks = whole.regions.into_iter().flat_map(|region| region.blocks);
    for mut op in blocks.flat_map(|block| block.ops) {
        let name = op.find_attr("sym_name").and_then(Attr::text).map(str::to_owned);
        let body = op.regions.pop().filter(|_| op.name == "tt.func");
        let (Some(name), Some(mut body)) = (name, body) else {
            continue;
        };
        module.functions.push(Func {
            name,
            is_public: op.find_attr("sym_visibility").and_then(Attr::text) == Some("public"),
            args: body
                .blocks
                .first_mut()
                .map(|entry| std::mem::take(&mut entry.args))
                .unwrap_or_default(),
            body,
            place: op.place,
            offset: op.offset,
        });
    }
}

fn parse_func(cursor: &mut Cursor<'_>) -> Result<Func, SyntaxError> {
    let at = cursor.offset();
    let is_public = cursor.take_word("public");
    if !is_public {
        let _ = cursor.take_word("private") || cursor.take_word("nested");
    }
    let name = cursor.expect_symbol()?;
    cursor.expect('(')?;
    let args = operation::parse_block_args(cursor)?;
    if cursor.take("->") {
        types::parse_result_types(cursor, 0)?;
    }
    if cursor.take_word("attributes") {
        attr::parse_dict(cursor, 0)?;
    }
    cursor.expect('{')?;
    let body = operation::parse_region(cursor, 0)?;
    cursor.skip_spaces();
    let place = if cursor.take_word("loc") {
        attr::parse_place(cursor, 0)?
    } else {
        Location::Unknown
    };
    Ok(Func {
        name,
        is_public,
        args,
        body,
        place,
        offset: at,
    })
}
