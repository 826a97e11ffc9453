//! Parses a snippet of PTX: register declarations, blocks, and instructions with their operands. Labels, branches and
//! addresses are unsupported.

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Statement {
    /// `{`
    Open,
    /// `}`
    Close,
    /// `.reg .b32 a, b<2>;`: the type, and the names.
    Registers(String, Vec<String>),
    /// An instruction.
    Instruction(Instruction),
}

/// `@!p add.s32 $0, $1, 2;`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Instruction {
    /// The predicate, and whether it is negated.
    pub guard: Option<(String, bool)>,
    /// The name with its modifiers: `["add", "s32"]`.
    pub name: Vec<String>,
    /// The operands, the results first.
    pub operands: Vec<Operand>,
    /// The source text.
    pub text: String,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    /// `$2`: an argument of the snippet.
    Argument(usize),
    /// A register.
    Register(String),
    /// `!p`
    Not(String),
    /// An integer.
    Int(i128),
    /// `0f3F800000`
    Single(u32),
    /// `0d3FF0000000000000`
    Double(u64),
    /// `1.5`
    Float(f64),
    /// `{a, b}`
    Several(Vec<Self>),
    /// `p|q`
    Both(String, String),
}

/// An unsupported part of a snippet, shortened to one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SyntaxError {
    /// The last statement does not end.
    #[error("`{0}` without a `;` at the end")]
    Unterminated(String),
    /// A statement has another form.
    #[error("`{0}`")]
    Statement(String),
}

/// Parses a snippet.
pub(crate) fn parse(asm: &str) -> Result<Vec<Statement>, SyntaxError> {
    let asm = without_comments(asm);
    let mut statements = Vec::new();
    let mut rest = asm.trim();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('{') {
            statements.push(Statement::Open);
            rest = after.trim_start();
        } else if let Some(after) = rest.strip_prefix('}') {
            statements.push(Statement::Close);
            rest = after.trim_start();
        } else if let Some(after) = rest.strip_prefix(';') {
            rest = after.trim_start();
        } else {
            let Some((statement, after)) = rest.split_once(';') else {
                return Err(SyntaxError::Unterminated(abbreviate_snippet(rest)));
            };
            statements.push(parse_statement(statement.trim())?);
            rest = after.trim_start();
        }
    }
    Ok(statements)
}

/// Shortens a part of a snippet to one line.
pub(crate) fn abbreviate_snippet(text: &str) -> String {
    const MAX_CHARS: usize = 80;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line,
    }
}

fn without_comments(asm: &str) -> String {
    let mut text = String::with_capacity(asm.len());
    let mut rest = asm;
    while let Some(at) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        let (before, comment) = rest.split_at(at);
        text.push_str(before);
        text.push(' ');
        let end = if comment.starts_with("//") { "\n" } else { "*/" };
        rest = comment.split_once(end).map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    text
}

fn parse_statement(text: &str) -> Result<Statement, SyntaxError> {
    let unknown = || SyntaxError::Statement(abbreviate_snippet(text));
    if let Some(declaration) = text.strip_prefix(".reg") {
        let declaration = declaration.trim_start();
        let (ty, names) = declaration.split_once(char::is_whitespace).ok_or_else(unknown)?;
        let ty = ty.strip_prefix('.').ok_or_else(unknown)?;
        let mut registers = Vec::new();
        for name in names.split(',').map(str::trim) {
            match name.strip_suffix('>').and_then(|name| name.split_once('<')) {
                Some((stem, count)) => {
                    let count: usize = count.trim().parse().map_err(|_| unknown())?;
                    if count > MOST_REGISTERS {
                        return Err(unknown());
                    }
                    registers.extend((0..count).map(|nth| format!("{stem}{nth}")));
                }
                None if is_name(name) => registers.push(name.to_owned()),
                None => return Err(unknown()),
            }
        }
        return Ok(Statement::Registers(ty.to_owned(), registers));
    }
    let (guard, rest) = match text.strip_prefix('@') {
        None => (None, text),
        Some(guarded) => {
            let (guard, rest) = guarded
                .trim_start()
                .split_once(char::is_whitespace)
                .ok_or_else(unknown)?;
            let guard = match guard.strip_prefix('!') {
                Some(name) => (name.to_owned(), true),
                None => (guard.to_owned(), false),
            };
            (Some(guard), rest.trim_start())
        }
    };
    let end = rest
        .find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | ':' | '_'))
        .unwrap_or(rest.len());
    let (name, operands) = rest.split_at(end);
    if name.is_empty() || name.ends_with(':') {
        return Err(unknown());
    }
    let operands = match operands.trim() {
        "" => Vec::new(),
        operands => parse_operands(operands).ok_or_else(unknown)?,
    };
    Ok(Statement::Instruction(Instruction {
        guard,
        name: name.split('.').map(str::to_owned).collect(),
        operands,
        text: abbreviate_snippet(text),
    }))
}

/// Maximum registers of one declaration.
const MOST_REGISTERS: usize = 256;

fn is_name(text: &str) -> bool {
    let text = text.strip_prefix('%').unwrap_or(text);
    text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$'))
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$'))
}

/// Parses operands between commas.
fn parse_operands(text: &str) -> Option<Vec<Operand>> {
    let mut operands = Vec::new();
    let mut rest = text.trim();
    loop {
        let (operand, after) = if let Some(inside) = rest.strip_prefix('{') {
            let (inside, after) = inside.split_once('}')?;
            let parts = inside.split(',').map(|part| parse_operand(part.trim()));
            (
                Operand::Several(parts.collect::<Option<_>>()?),
                after.trim_start(),
            )
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            let (operand, after) = rest.split_at(end);
            (parse_operand(operand.trim())?, after)
        };
        operands.push(operand);
        match after.strip_prefix(',') {
            Some(after) => rest = after.trim_start(),
            None if after.is_empty() => return Some(operands),
            None => return None,
        }
    }
}

fn parse_operand(text: &str) -> Option<Operand> {
    if let Some(argument) = text.strip_prefix('$') {
        return argument.parse().ok().map(Operand::Argument);
    }
    if let Some(name) = text.strip_prefix('!') {
        return is_name(name).then(|| Operand::Not(name.to_owned()));
    }
    if let Some((one, other)) = text.split_once('|') {
        let (one, other) = (one.trim(), other.trim());
        return (is_name(one) && is_name(other)).then(|| Operand::Both(one.to_owned(), other.to_owned()));
    }
    if is_name(text) {
        return Some(Operand::Register(text.to_owned()));
    }
    parse_number(text)
}

fn parse_number(text: &str) -> Option<Operand> {
    let hexadecimal = |prefix: [&str; 2], digits: usize| {
        let bits = prefix.iter().find_map(|prefix| text.strip_prefix(*prefix))?;
        (bits.len() == digits).then(|| u64::from_str_radix(bits, 16).ok())?
    };
    if let Some(bits) = hexadecimal(["0f", "0F"], 8) {
        return Some(Operand::Single(bits as u32));
    }
    if let Some(bits) = hexadecimal(["0d", "0D"], 16) {
        return Some(Operand::Double(bits));
    }
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits.trim_start()),
        None => (false, text),
    };
    if digits.contains('.') || digits.contains(['e', 'E']) && !digits.starts_with("0x") {
        let value: f64 = digits.parse().ok()?;
        return Some(Operand::Float(if negative { -value } else { value }));
    }
    let digits = digits.trim_end_matches('U');
    let lower = digits.to_ascii_lowercase();
    let value = if let Some(digits) = lower.strip_prefix("0x") {
        i128::from(u64::from_str_radix(digits, 16).ok()?)
    } else if let Some(digits) = lower.strip_prefix("0b") {
        i128::from(u64::from_str_radix(digits, 2).ok()?)
    } else if let Some(digits) = lower.strip_prefix('0').filter(|digits| !digits.is_empty()) {
        i128::from(u64::from_str_radix(digits, 8).ok()?)
    } else {
        i128::from(lower.parse::<u64>().ok()?)
    };
    Some(Operand::Int(if negative { -value } else { value }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(asm: &str, expected: &[(&str, &[Operand])]) {
        let statements = parse(asm).unwrap_or_else(|text| panic!("{text} is not read"));
        let read: Vec<(String, Vec<Operand>)> = statements
            .into_iter()
            .filter_map(|statement| match statement {
                Statement::Instruction(instruction) => {
                    Some((instruction.name.join("."), instruction.operands))
                }
                _ => None,
            })
            .collect();
        let expected: Vec<(String, Vec<Operand>)> = expected
            .iter()
            .map(|(name, operands)| ((*name).to_owned(), operands.to_vec()))
            .collect();
        assert_eq!(read, expected, "{asm}");
    }

    fn register(name: &str) -> Operand {
        Operand::Register(name.to_owned())
    }

    #[test]
    fn statements_are_read() {
        use Operand::{Argument, Float, Int, Several, Single};
        check("mov.b32 $0, $1;", &[("mov.b32", &[Argument(0), Argument(1)])]);
        check(
            "{ .reg .b32 t<2>; // two\n mov.b32 t0, {$1, $2}; /* ; */ add.u32 $0, t0, -0x10; }",
            &[
                (
                    "mov.b32",
                    &[register("t0"), Several(vec![Argument(1), Argument(2)])],
                ),
                ("add.u32", &[Argument(0), register("t0"), Int(-16)]),
            ],
        );
        check(
            "@!p mul.f32 $0,$1,1.5;fma.rn.f32 $0, $0, 0f3F800000, 20.;",
            &[
                ("mul.f32", &[Argument(0), Argument(1), Float(1.5)]),
                (
                    "fma.rn.f32",
                    &[Argument(0), Argument(0), Single(0x3f80_0000), Float(20.0)],
                ),
            ],
        );
        check(
            "griddepcontrol.wait; // dummy $0",
            &[("griddepcontrol.wait", &[])],
        );
        check(
            "add.u32 $0, $1, 017;",
            &[("add.u32", &[Argument(0), Argument(1), Int(15)])],
        );
    }

    #[test]
    fn what_is_not_read_is_named() {
        let check = |asm: &str, expected: &str| {
            let error = parse(asm).expect_err("an unsupported part");
            assert_eq!(error.to_string(), expected);
        };
        check("mov.b32 $0, $1", "`mov.b32 $0, $1` without a `;` at the end");
        check("ld.global.b32 $0, [$1];", "`ld.global.b32 $0, [$1]`");
        check("again: bra again;", "`again: bra again`");
        check("mov.u32 $0, %tid.x;", "`mov.u32 $0, %tid.x`");
        check(".shared .b8 memory[64];", "`.shared .b8 memory[64]`");
    }
}
