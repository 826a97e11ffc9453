//! Parses PTX: directives, declarations, functions. It resolves every name in its scope, so that later stages use
//! numbers. See [`crate::decode`] for instructions. Debug information (`.section`) is skipped.

mod body;
mod declaration;
mod line;
mod operand;
mod scope;

use std::collections::HashMap;

use crate::lex::{Lexer, Token};
use crate::syntax::{
    Function, Location, Module, Operand, Role, Source, Space, SyntaxError, Type, Variable, VariableId,
};
use scope::{Entry, Scopes};

/// Maximum registers of a function.
pub(crate) const MOST_REGISTERS: usize = 1 << 18;

/// Parses a module.
///
/// # Errors
/// The text is not PTX, or has an unsupported directive.
pub fn parse(text: &str) -> Result<Module, SyntaxError> {
    let mut parser = Parser::new(text)?;
    parser.parse_module()?;
    Ok(parser.module)
}

/// The state of the parser, and the next token.
struct Parser<'t> {
    lexer: Lexer<'t>,
    token: Token<'t>,
    place: Location,
    module: Module,
    /// The current function.
    function: Function,
    scopes: Scopes<'t>,
    source: Option<Source>,
    /// The last inlining location of each file, line and column in the function's `.loc`.
    inlined: HashMap<[u32; 3], u32>,
    /// The index of each of [`Module::callers`].
    callers: HashMap<Source, u32>,
    /// Labels that the function's instructions use, in order.
    used: Vec<body::Used<'t>>,
    /// The function's lists of labels, by name.
    tables: HashMap<&'t str, Vec<Operand>>,
}

type Read<T> = Result<T, SyntaxError>;

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Read<Self> {
        let mut lexer = Lexer::new(text);
        let token = lexer.next()?;
        Ok(Self {
            place: lexer.place(),
            lexer,
            token,
            module: Module::default(),
            function: Function::default(),
            scopes: Scopes::new(),
            source: None,
            inlined: HashMap::new(),
            callers: HashMap::new(),
            used: Vec::new(),
            tables: HashMap::new(),
        })
    }

    fn error<T>(&self, message: impl Into<String>) -> Read<T> {
        Err(SyntaxError {
            place: self.place,
            message: message.into(),
        })
    }

    /// Fails: the next token must be something else.
    fn fail_expected<T>(&self, what: &str) -> Read<T> {
        let found = match self.token {
            Token::Name(word) => format!("`{word}`"),
            Token::Dot(word) => format!("`.{word}`"),
            Token::Text(_) => "a text".to_owned(),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::Int(_) | Token::Single(_) | Token::Double(_) => "a number".to_owned(),
            Token::End => "the end".to_owned(),
        };
        self.error(format!("{what} is expected here, not {found}"))
    }

    fn advance(&mut self) -> Read<Token<'t>> {
        let next = self.lexer.next()?;
        self.place = self.lexer.place();
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn is_sign(&self, sign: char) -> bool {
        self.token == Token::Sign(sign)
    }

    /// Takes this punctuation character if it is next. Returns whether it was.
    fn take_sign(&mut self, sign: char) -> Read<bool> {
        let there = self.is_sign(sign);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    fn expect_sign(&mut self, sign: char) -> Read<()> {
        if self.take_sign(sign)? {
            return Ok(());
        }
        self.fail_expected(&format!("`{sign}`"))
    }

    fn take_dot(&mut self, word: &str) -> Read<bool> {
        let there = self.token == Token::Dot(word);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    fn expect_name(&mut self) -> Read<&'t str> {
        let Token::Name(name) = self.token else {
            return self.fail_expected("a name");
        };
        self.advance()?;
        Ok(name)
    }

    fn expect_int(&mut self) -> Read<u64> {
        let Token::Int(number) = self.token else {
            return self.fail_expected("a whole number");
        };
        self.advance()?;
        Ok(number)
    }

    fn expect_type(&mut self) -> Read<Type> {
        if let Token::Dot(word) = self.token
            && let Some(ty) = Type::from_word(word)
        {
            self.advance()?;
            return Ok(ty);
        }
        self.fail_expected("a type")
    }

    /// Takes the rest of the line. The next token is then the one after it.
    fn take_line(&mut self) -> Read<&'t str> {
        let line = self.lexer.rest_of_line();
        self.advance()?;
        Ok(line)
    }

    fn parse_module(&mut self) -> Read<()> {
        loop {
            match self.token {
                Token::End => return Ok(()),
                Token::Dot("version") => {
                    line_of(self.take_line()?).clone_into(&mut self.module.version);
                }
                Token::Dot("target") => {
                    line_of(self.take_line()?).clone_into(&mut self.module.target);
                }
                Token::Dot("address_size") => {
                    if self.take_line()? != "64" {
                        return self.error("only 64-bit addresses are supported");
                    }
                }
                Token::Dot("file") => self.parse_file()?,
                Token::Dot("section") => self.skip_section()?,
                Token::Dot("pragma") => {
                    self.advance()?;
                    self.parse_pragma()?;
                }
                Token::Dot("loc") => self.parse_location()?,
                Token::Dot(_) => self.parse_linking()?,
                Token::Sign(';') => {
                    self.advance()?;
                }
                _ => return self.fail_expected("a directive"),
            }
        }
    }

    /// Parses a variable or a function with a linking directive.
    fn parse_linking(&mut self) -> Read<()> {
        let mut external = false;
        loop {
            match self.token {
                Token::Dot("visible" | "weak" | "common") => {
                    self.advance()?;
                }
                Token::Dot("extern") => {
                    external = true;
                    self.advance()?;
                }
                Token::Dot("entry") => {
                    self.advance()?;
                    return self.parse_function(true, external);
                }
                Token::Dot("func") => {
                    self.advance()?;
                    return self.parse_function(false, external);
                }
                Token::Dot("global") => return self.parse_variables(Space::Global),
                Token::Dot("const") => return self.parse_variables(Space::Const),
                Token::Dot("shared") => return self.parse_variables(Space::Shared),
                _ => return self.fail_expected("a variable or a function"),
            }
        }
    }

    /// Parses variables of the module.
    fn parse_variables(&mut self, space: Space) -> Read<()> {
        self.advance()?;
        let declared = self.parse_declarations(space, Role::Own)?;
        for (name, variable) in declared {
            let number = self.module.variables.len() as u32;
            self.module.variables.push(variable);
            self.scopes
                .declare_global(name, Entry::Variable(VariableId::Module(number)));
        }
        self.expect_sign(';')
    }

    fn parse_pragma(&mut self) -> Read<()> {
        while !self.take_sign(';')? {
            if self.token == Token::End {
                return self.fail_expected("`;`");
            }
            self.advance()?;
        }
        Ok(())
    }

    fn skip_section(&mut self) -> Read<()> {
        while !self.is_sign('{') {
            if self.token == Token::End {
                return self.fail_expected("`{`");
            }
            self.advance()?;
        }
        let mut depth = 0u32;
        loop {
            match self.advance()? {
                Token::Sign('{') => depth = depth.saturating_add(1),
                Token::Sign('}') => depth = depth.saturating_sub(1),
                Token::End => return self.fail_expected("`}`"),
                _ => {}
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn parse_function(&mut self, entry: bool, external: bool) -> Read<()> {
        self.scopes.open();
        self.function = Function {
            entry,
            ..Function::default()
        };
        if self.is_sign('(') {
            self.parse_parameters(Role::Result)?;
        }
        let name = self.expect_name()?;
        name.clone_into(&mut self.function.name);
        if self.is_sign('(') {
            self.parse_parameters(Role::Parameter)?;
        }
        self.parse_attributes()?;
        // A function may be declared before its definition; calls refer to the definition.
        let number = self.module.functions.len() as u32;
        self.scopes
            .declare_global(name, Entry::Variable(VariableId::Function(number)));
        if self.take_sign(';')? {
            self.scopes.close_all();
        } else {
            if external {
                return self.fail_expected("`;`");
            }
            self.parse_body()?;
            self.function.defined = true;
        }
        let function = std::mem::take(&mut self.function);
        self.module.functions.push(function);
        Ok(())
    }

    /// `(.param .u64 .ptr .global .align 1 x, …)`.
    fn parse_parameters(&mut self, role: Role) -> Read<()> {
        self.expect_sign('(')?;
        while !self.take_sign(')')? {
            if self.take_dot("reg")? {
                return self.error("parameters in registers are unsupported");
            }
            if !self.take_dot("param")? {
                return self.fail_expected("`.param`");
            }
            let (name, variable) = self.parse_declaration(Space::Param, role)?;
            self.declare_variable(name, variable)?;
            if !self.is_sign(')') {
                self.expect_sign(',')?;
            }
        }
        Ok(())
    }

    /// Declares a variable of the function.
    fn declare_variable(&mut self, name: &'t str, variable: Variable) -> Read<()> {
        let number = self.function.variables.len();
        if number >= MOST_REGISTERS {
            return self.error("too many variables");
        }
        self.function.variables.push(variable);
        self.scopes
            .declare(name, Entry::Variable(VariableId::Own(number as u32)));
        Ok(())
    }

    /// `.reqntid 128`, `.minnctapersm 1`, `.noreturn`, …
    fn parse_attributes(&mut self) -> Read<()> {
        while let Token::Dot(word) = self.token {
            let numbers = match word {
                "reqntid" | "maxntid" | "reqnctapercluster" => 3,
                "minnctapersm" | "maxnreg" | "maxnctapersm" | "maxclusterrank" => 1,
                "noreturn" | "noinline" | "blocksareclusters" | "explicitcluster" => 0,
                "pragma" => {
                    self.advance()?;
                    self.parse_pragma()?;
                    continue;
                }
                _ => return self.fail_expected("an attribute of the function"),
            };
            self.advance()?;
            let mut given = [1; 3];
            for (nth, number) in given.iter_mut().enumerate().take(numbers) {
                if nth > 0 && !self.take_sign(',')? {
                    break;
                }
                *number = self.expect_int()? as u32;
            }
            match word {
                "reqnctapercluster" => self.function.cluster = Some(given),
                "reqntid" | "maxntid" => self.function.threads = Some(given),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Returns a directive's text without the end of the statement.
fn line_of(line: &str) -> &str {
    line.trim_end_matches(';').trim()
}
