//! Parses operations, blocks and regions. An operation ends with its line, or with its location (`loc`); its regions
//! span lines.

use super::DEEPEST;
use super::attr::{parse_attr, parse_dict, parse_place};
use super::cursor::{Cursor, SyntaxError};
use super::types::{parse_result_types, parse_type};
use crate::syntax::{Attr, Block, BlockArg, Location, Operand, Operation, Region};

/// Parses the blocks of a region after the opening brace, up to and including the closing one.
pub(super) fn parse_region(cursor: &mut Cursor<'_>, depth: usize) -> Result<Region, SyntaxError> {
    if depth >= DEEPEST {
        return Err(cursor.error("regions are nested too deep"));
    }
    let mut region = Region::default();
    let mut block = Block::default();
    loop {
        cursor.skip_lines();
        match cursor.peek() {
            None => return Err(cursor.error("a region has no end")),
            Some(b'}') => {
                cursor.next_byte();
                region.blocks.push(block);
                return Ok(region);
            }
            Some(b'^') => {
                let is_first = region.blocks.is_empty() && block.ops.is_empty() && block.label.is_empty();
                if !is_first {
                    region.blocks.push(block);
                }
                cursor.next_byte();
                block = Block {
                    label: cursor.expect_name()?.to_owned(),
                    ..Block::default()
                };
                if cursor.take("(") {
                    block.args = parse_block_args(cursor)?;
                }
                cursor.expect(':')?;
            }
            Some(_) => block.ops.push(parse_operation(cursor, depth)?),
        }
    }
}

/// Parses `%a: i32 loc(…), …)` after the opening parenthesis, up to and including the closing one.
pub(super) fn parse_block_args(cursor: &mut Cursor<'_>) -> Result<Vec<BlockArg>, SyntaxError> {
    let mut args = Vec::new();
    loop {
        cursor.skip_lines();
        if cursor.take(")") {
            return Ok(args);
        }
        if !cursor.take("%") {
            return Err(cursor.error("an argument is missing"));
        }
        let name = cursor.expect_name()?.to_owned();
        cursor.expect(':')?;
        let ty = parse_type(cursor, 0)?;
        if cursor.peek() == Some(b'{') {
            parse_dict(cursor, 0)?;
        }
        let place = if cursor.take_word("loc") {
            parse_place(cursor, 0)?
        } else {
            Location::Unknown
        };
        args.push(BlockArg { name, ty, place });
        cursor.skip_lines();
        cursor.take(",");
    }
}

/// Parses one operation.
pub(super) fn parse_operation(cursor: &mut Cursor<'_>, depth: usize) -> Result<Operation, SyntaxError> {
    let at = cursor.offset();
    let mut results = Vec::new();
    if cursor.peek() == Some(b'%') {
        while cursor.take("%") {
            let name = cursor.expect_name()?.to_owned();
            let count = if cursor.take(":") {
                usize::try_from(cursor.expect_natural()?).unwrap_or(usize::MAX)
            } else {
                1
            };
            results.push((name, count));
            cursor.take(",");
        }
        cursor.expect('=')?;
    }
    let name = if cursor.peek() == Some(b'"') {
        cursor.expect_string()?
    } else {
        cursor.expect_word()?.to_owned()
    };
    let mut reader = Reader {
        op: Operation {
            name,
            results,
            operands: Vec::new(),
            brackets: Vec::new(),
            bindings: Vec::new(),
            words: Vec::new(),
            words_at: Vec::new(),
            attrs: Vec::new(),
            types: Vec::new(),
            results_types: Vec::new(),
            successors: Vec::new(),
            regions: Vec::new(),
            place: Location::Unknown,
            offset: at,
        },
        depth,
    };
    while reader.parse_part(cursor)? {}
    Ok(reader.op)
}

/// The state of the parser within one operation.
struct Reader {
    op: Operation,
    depth: usize,
}

impl Reader {
    /// Parses the next part. Returns whether there was one.
    fn parse_part(&mut self, cursor: &mut Cursor<'_>) -> Result<bool, SyntaxError> {
        if cursor.is_at_line_end() {
            return Ok(false);
        }
        match cursor.peek() {
            Some(b'}' | b')') | None => return Ok(false),
            Some(b',' | b'*') => cursor.next_byte(),
            Some(b'%') => self.parse_value(cursor)?,
            Some(b'^') => {
                let successor = parse_successor(cursor)?;
                self.op.successors.push(successor);
            }
            Some(b'(') => self.parse_parentheses(cursor)?,
            Some(b'[') => self.parse_brackets(cursor)?,
            Some(b'{') => self.parse_braces(cursor)?,
            Some(b'<') if cursor.take("<{") => {
                // `parse_dict` expects the brace, and the cursor can't go back.
                self.parse_properties(cursor)?;
            }
            Some(b':') => {
                cursor.next_byte();
                self.parse_types(cursor)?;
            }
            Some(b'-') if cursor.take("->") => {
                let types = parse_result_types(cursor, 0)?;
                self.op.results_types.extend(types);
                // Inline assembly has result types without parentheses.
                while cursor.take(",") {
                    self.op.results_types.push(parse_type(cursor, 0)?);
                }
            }
            Some(_) => return self.parse_word(cursor),
        }
        Ok(true)
    }

    /// Adds a word or a value.
    fn push_word(&mut self, word: Attr) {
        self.op.words.push(word);
        self.op.words_at.push(self.op.operands.len());
    }

    fn parse_value(&mut self, cursor: &mut Cursor<'_>) -> Result<(), SyntaxError> {
        let operand = parse_operand(cursor)?;
        if cursor.take("=") {
            self.op.bindings.push(operand.name);
        } else {
            self.op.operands.push(operand);
        }
        Ok(())
    }

    /// Parses operands, bindings, regions, or a row of offsets.
    fn parse_parentheses(&mut self, cursor: &mut Cursor<'_>) -> Result<(), SyntaxError> {
        cursor.next_byte();
        loop {
            cursor.skip_spaces();
            match cursor.peek() {
                Some(b')') => {
                    cursor.next_byte();
                    return Ok(());
                }
                Some(b',') => cursor.next_byte(),
                Some(b'%') => self.parse_value(cursor)?,
                Some(b'{') => {
                    cursor.next_byte();
                    let region = parse_region(cursor, self.depth + 1)?;
                    self.op.regions.push(region);
                }
                _ => {
                    let value = parse_attr(cursor, 0)?;
                    self.push_word(value);
                }
            }
        }
    }

    fn parse_brackets(&mut self, cursor: &mut Cursor<'_>) -> Result<(), SyntaxError> {
        let mut ahead = *cursor;
        ahead.next_byte();
        if !matches!(ahead.peek(), Some(b'%' | b'^' | b']')) {
            let list = parse_attr(cursor, 0)?;
            self.push_word(list);
            return Ok(());
        }
        cursor.next_byte();
        let first = self.op.operands.len();
        loop {
            match cursor.peek() {
                Some(b']') => {
                    cursor.next_byte();
                    self.op.brackets.push(first..self.op.operands.len());
                    return Ok(());
                }
                Some(b',') => cursor.next_byte(),
                Some(b'%') => self.parse_value(cursor)?,
                Some(b'^') => {
                    let successor = parse_successor(cursor)?;
                    self.op.successors.push(successor);
                }
                _ => return Err(cursor.error("`]` is missing")),
            }
        }
    }

    /// Parses a region if the line ends after the brace, otherwise attributes.
    fn parse_braces(&mut self, cursor: &mut Cursor<'_>) -> Result<(), SyntaxError> {
        let mut ahead = *cursor;
        ahead.next_byte();
        if ahead.is_at_line_end() {
            *cursor = ahead;
            let region = parse_region(cursor, self.depth + 1)?;
            self.op.regions.push(region);
        } else {
            let entries = parse_dict(cursor, 0)?;
            self.op.attrs.extend(entries);
        }
        Ok(())
    }

    /// Parses `<{a = 1}>` after its opening.
    fn parse_properties(&mut self, cursor: &mut Cursor<'_>) -> Result<(), SyntaxError> {
        loop {
            cursor.skip_lines();
            if cursor.take("}>") {
                return Ok(());
            }
            let name = cursor.expect_word()?.to_owned();
            let value = if cursor.take("=") {
                cursor.skip_spaces();
                parse_attr(cursor, 0)?
            } else {
                Attr::Bool(true)
            };
            self.op.attrs.push((name, value));
            cursor.skip_lines();
            cursor.take(",");
        }
    }

    /// Parses the part after a colon: types, an arrow, more types. For `tt.print` it contains operands.
    fn parse_types(&mut self, cursor: &mut Cursor<'_>) -> Result<(), SyntaxError> {
        loop {
            match cursor.peek() {
                Some(b'%') => return Ok(()),
                Some(b'(') => {
                    let types = parse_result_types(cursor, 0)?;
                    self.op.types.extend(types);
                }
                _ => {
                    let one = parse_type(cursor, 0)?;
                    self.op.types.push(one);
                }
            }
            if cursor.take_word("to") {
                let types = parse_result_types(cursor, 0)?;
                self.op.results_types.extend(types);
                return Ok(());
            }
            if !cursor.take(",") && !cursor.take("*") {
                return Ok(());
            }
        }
    }

    /// Parses a word: the operation's location, an attribute, or a plain word.
    fn parse_word(&mut self, cursor: &mut Cursor<'_>) -> Result<bool, SyntaxError> {
        let mut ahead = *cursor;
        if ahead.take_word("loc") && ahead.peek() == Some(b'(') {
            *cursor = ahead;
            self.op.place = parse_place(cursor, 0)?;
            return Ok(false);
        }
        let mut ahead = *cursor;
        if let Ok(name) = ahead.expect_word()
            && ahead.peek() == Some(b'=')
        {
            ahead.next_byte();
            if ahead.peek() != Some(b'%') {
                *cursor = ahead;
                let value = parse_attr(cursor, 0)?;
                self.op.attrs.push((name.to_owned(), value));
                return Ok(true);
            }
        }
        let start = cursor.offset();
        let value = if matches!(cursor.peek(), Some(b'"')) {
            Attr::Text(cursor.expect_string()?)
        } else {
            parse_value_or_word(cursor)?
        };
        self.push_word(value);
        if cursor.offset() == start {
            return Err(cursor.error("nothing that can be read"));
        }
        Ok(true)
    }
}

/// Parses a value or a word. The type after a value stays for the operation: `arith.constant 7 : i32`.
fn parse_value_or_word(cursor: &mut Cursor<'_>) -> Result<Attr, SyntaxError> {
    let before = *cursor;
    let value = parse_attr(cursor, 0)?;
    if !matches!(
        value,
        Attr::Int(_) | Attr::Bits(_) | Attr::Float(_) | Attr::Dense(_)
    ) {
        return Ok(value);
    }
    // Returns to the colon if one was read.
    let read = cursor.text_since(before.offset());
    let mut back = before;
    if let Some(colon) = read.rfind(" : ") {
        while back.offset() < before.offset() + colon {
            back.next_byte();
        }
        *cursor = back;
    }
    Ok(value)
}

/// `%name` or `%name#2`.
fn parse_operand(cursor: &mut Cursor<'_>) -> Result<Operand, SyntaxError> {
    cursor.next_byte();
    let name = cursor.expect_name()?.to_owned();
    let nth = if cursor.raw() == Some(b'#') {
        cursor.next_byte();
        usize::try_from(cursor.expect_natural()?).unwrap_or(usize::MAX)
    } else {
        0
    };
    Ok(Operand { name, nth })
}

/// `^bb1`, `^bb1(%a, %b : i32, f32)`.
fn parse_successor(cursor: &mut Cursor<'_>) -> Result<(String, Vec<Operand>), SyntaxError> {
    cursor.next_byte();
    let label = cursor.expect_name()?.to_owned();
    let mut operands = Vec::new();
    if cursor.raw() == Some(b'(') {
        cursor.next_byte();
        loop {
            match cursor.peek() {
                Some(b'%') => operands.push(parse_operand(cursor)?),
                Some(b',') => cursor.next_byte(),
                Some(b')') => {
                    cursor.next_byte();
                    break;
                }
                Some(b':') => {
                    cursor.next_byte();
                    loop {
                        parse_type(cursor, 0)?;
                        if !cursor.take(",") {
                            break;
                        }
                    }
                }
                _ => return Err(cursor.error("`)` is missing")),
            }
        }
    }
    Ok((label, operands))
}
