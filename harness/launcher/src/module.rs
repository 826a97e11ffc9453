//! A module with launchers: what its names are, and which of its functions lead to launches of a kernel.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::choice::InputChoice;
use cerith_module::excerpt::tuning::{self, Config};
use cerith_module::excerpt::{is_kernel, strip_arguments, visit_bodies};
use cerith_module::kernel::Function;
use cerith_module::usage::library::Library;
use cerith_module::usage::{Flags, Usage, read_usage};

/// A name of a module.
#[derive(Clone, Copy)]
pub(super) enum Global<'a> {
    Function(&'a ast::StmtFunctionDef),
    Class(&'a ast::StmtClassDef),
    Assigned(&'a Expr),
    /// One element of a value that is assigned to a tuple of names.
    Part(&'a Expr, usize),
    /// `import a.b as name`.
    Import(&'a str),
    /// `from a import name`.
    ImportFrom(&'a str, &'a str),
}

/// A function to evaluate for its launches.
#[derive(Clone, Copy)]
pub(super) enum Root<'a> {
    Function(&'a ast::StmtFunctionDef),
    Method(&'a ast::StmtClassDef, &'a ast::StmtFunctionDef),
}

impl<'a> Root<'a> {
    pub const fn def(&self) -> &'a ast::StmtFunctionDef {
        match self {
            Self::Function(def) | Self::Method(_, def) => def,
        }
    }

    pub fn name(&self) -> String {
        match self {
            Self::Function(def) => def.name.to_string(),
            Self::Method(class, def) => format!("{}.{}", class.name, def.name),
        }
    }
}

pub(super) struct HostModule<'a> {
    pub path: &'a str,
    /// The kernel's name, dotted if it is inside of a function.
    pub kernel: &'a str,
    pub globals: HashMap<&'a str, Global<'a>>,
    /// The kernel's configurations, the smallest blocks first; of other kernels too.
    configs: HashMap<String, Vec<Config>>,
    functions: Vec<Function>,
    library: &'a Library<'a>,
    usages: RefCell<HashMap<String, Rc<Usage>>>,
    lines: Vec<usize>,
    /// Lines of other modules before those of this one.
    pub lines_before: u32,
    /// The inputs of its launchers.
    pub choice: InputChoice,
    /// Names that lead to launches of the kernel: the kernel's, and those of functions and classes.
    names: HashSet<&'a str>,
    methods: HashSet<&'a str>,
    /// Names by which calls in the module pass arguments.
    keywords: HashSet<&'a str>,
    pub roots: Vec<Root<'a>>,
    pub text: &'a str,
}

/// The module's name in its library.
pub(super) const MODULE: &str = "module";

impl<'a> HostModule<'a> {
    pub fn new(
        text: &'a str,
        path: &'a str,
        kernel: &'a str,
        body: &'a [Stmt],
        functions: Vec<Function>,
        library: &'a Library<'a>,
    ) -> Self {
        let mut globals = HashMap::new();
        collect(body, &mut globals);
        let configs = tuning::read_metadata(text).into_iter().map(|(name, found)| {
            let mut configs = found.configs;
            configs.sort_by_key(tuning::compute_volume);
            (name, configs)
        });
        let mut module = Self {
            path,
            kernel,
            globals,
            configs: configs.collect(),
            functions,
            library,
            usages: RefCell::default(),
            lines: text.match_indices('\n').map(|(at, _)| at).collect(),
            lines_before: 0,
            choice: InputChoice::default(),
            names: HashSet::from([kernel.rsplit('.').next().unwrap_or(kernel)]),
            methods: HashSet::new(),
            keywords: collect_keywords(body),
            roots: Vec::new(),
            text,
        };
        module.find_roots(body);
        module
    }

    pub fn line_of(&self, node: &impl Ranged) -> u32 {
        let start = node.range().start().to_usize();
        let line = self.lines.partition_point(|line| *line < start) as u32 + 1;
        // A line of another module keeps its number in the joined text.
        line.checked_sub(self.lines_before)
            .filter(|line| *line > 0)
            .unwrap_or(line)
    }

    /// Its functions and methods.
    pub fn functions(&self) -> impl Iterator<Item = &'a ast::StmtFunctionDef> {
        all_functions(&self.globals).into_iter().map(|root| root.def())
    }

    /// Whether a call of a function leads to a launch of the kernel.
    pub fn leads_to_launch(&self, def: &ast::StmtFunctionDef) -> bool {
        let name = def.name.as_str();
        self.names.contains(name) || self.methods.contains(name)
    }

    /// Whether a call in the module passes an argument of this name: then the module itself shows when it may be passed.
    pub fn is_passed(&self, name: &str) -> bool {
        self.keywords.contains(name)
    }

    /// A function at the top of the file.
    pub fn find_root(&self, name: &str) -> Option<Root<'a>> {
        match self.globals.get(name)? {
            Global::Function(def) => Some(Root::Function(def)),
            _ => None,
        }
    }

    /// A kernel by its own name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        let mut functions = self.functions.iter().filter(|function| function.jit);
        functions.find(|function| function.name == name || function.name.rsplit('.').next() == Some(name))
    }

    pub fn configs(&self, name: &str) -> &[Config] {
        let known = self.configs.get(name);
        let inner = || {
            let mut all = self.configs.iter();
            all.find(|(one, _)| one.rsplit('.').next() == Some(name))
        };
        known
            .or_else(|| inner().map(|(_, configs)| configs))
            .map_or(&[], Vec::as_slice)
    }

    pub fn usage(&self, name: &str) -> Option<Rc<Usage>> {
        if let Some(known) = self.usages.borrow().get(name) {
            return Some(Rc::clone(known));
        }
        let function = self.function(name)?;
        let found = Rc::new(read_usage(self.library, MODULE, function, &Flags::new()));
        self.usages
            .borrow_mut()
            .insert(name.to_owned(), Rc::clone(&found));
        Some(found)
    }

    /// How a kernel uses its parameters if these flags have these values.
    pub fn usage_by(&self, name: &str, flags: &Flags) -> Option<Usage> {
        Some(read_usage(self.library, MODULE, self.function(name)?, flags))
    }

    /// The kernel whose launches are read, as case files name it.
    pub fn target(&self) -> String {
        format!("{}:{}", self.path, self.kernel)
    }

    /// Whether a kernel is the one whose launches are read.
    pub fn is_target(&self, def: &ast::StmtFunctionDef) -> bool {
        self.kernel.rsplit('.').next() == Some(def.name.as_str())
    }

    /// Whether statements lead to a launch of the kernel.
    pub fn launches(&self, body: &[Stmt]) -> bool {
        let mut finder = Mentions {
            kernel: self.kernel.rsplit('.').next().unwrap_or_default(),
            names: &self.names,
            methods: &self.methods,
            found: false,
        };
        finder.visit_body(body);
        finder.found
    }

    /// Whether an expression mentions the kernel.
    pub fn mentions_kernel(&self, expr: &Expr) -> bool {
        let kernel = self.kernel.rsplit('.').next();
        matches!(expr, Expr::Name(name) if Some(name.id.as_str()) == kernel)
    }

    /// Functions that statements mention and that lead to launches.
    pub fn callees(&self, root: Root<'a>) -> Vec<Root<'a>> {
        let all = all_functions(&self.globals);
        let mut found = Vec::new();
        for one in all {
            let def = one.def();
            if std::ptr::eq(def, root.def()) || !self.launches(&def.body) || is_skipped(def) {
                continue;
            }
            let (mut names, mut methods) = (HashSet::new(), HashSet::new());
            note(one, &mut names, &mut methods);
            let mut finder = Mentions {
                kernel: "",
                names: &names,
                methods: &methods,
                found: false,
            };
            finder.visit_body(&root.def().body);
            if finder.found {
                found.push(one);
            }
        }
        found
    }

    fn find_roots(&mut self, body: &'a [Stmt]) {
        let all: Vec<Root<'a>> = all_functions(&self.globals)
            .into_iter()
            .filter(|one| !is_skipped(one.def()))
            .collect();
        let _ = body;
        let mut reaching: BTreeSet<usize> = BTreeSet::new();
        loop {
            let before = reaching.len();
            for (at, one) in all.iter().enumerate() {
                if !reaching.contains(&at) && self.launches(&one.def().body) {
                    reaching.insert(at);
                    note(*one, &mut self.names, &mut self.methods);
                }
            }
            if reaching.len() == before {
                break;
            }
        }
        let is_called = |called: &Root<'a>| {
            let (mut names, mut methods) = (HashSet::new(), HashSet::new());
            note(*called, &mut names, &mut methods);
            // Nothing calls a backward function by its name.
            reaching.iter().filter_map(|at| all.get(*at)).any(|caller| {
                if std::ptr::eq(caller.def(), called.def()) {
                    return false;
                }
                let mut finder = Mentions {
                    kernel: "",
                    names: &names,
                    methods: &methods,
                    found: false,
                };
                finder.visit_body(&caller.def().body);
                finder.found
            })
        };
        let mut roots: Vec<Root<'a>> = reaching.iter().filter_map(|at| all.get(*at)).copied().collect();
        let outer: Vec<Root<'a>> = roots.iter().filter(|root| !is_called(root)).copied().collect();
        if !outer.is_empty() {
            roots = outer;
        }
        roots.sort_by_key(|root| root.def().range().start());
        self.roots = roots;
    }
}

/// Collects the names of keyword arguments of all calls.
fn collect_keywords(body: &[Stmt]) -> HashSet<&str> {
    #[derive(Default)]
    struct Keywords<'a>(HashSet<&'a str>);
    impl<'a> Visitor<'a> for Keywords<'a> {
        fn visit_keyword(&mut self, keyword: &'a ast::Keyword) {
            self.0.extend(keyword.arg.as_ref().map(ast::Identifier::as_str));
            visitor::walk_keyword(self, keyword);
        }
    }
    let mut found = Keywords::default();
    found.visit_body(body);
    found.0
}

/// Notes the names by which others call a function.
fn note<'a>(one: Root<'a>, names: &mut HashSet<&'a str>, methods: &mut HashSet<&'a str>) {
    match one {
        Root::Function(def) => {
            names.insert(def.name.as_str());
        }
        Root::Method(class, def) => match def.name.as_str() {
            "forward" | "__call__" | "__init__" => {
                names.insert(class.name.as_str());
            }
            "backward" => {}
            name => {
                methods.insert(name);
            }
        },
    }
}

/// Whether a function is a test, a benchmark or a kernel.
fn is_skipped(def: &ast::StmtFunctionDef) -> bool {
    let name = def.name.to_lowercase();
    let is_measuring = def.decorator_list.iter().any(|decorator| {
        let mut expr = &decorator.expression;
        if let Expr::Call(call) = expr {
            expr = &call.func;
        }
        matches!(expr, Expr::Attribute(attribute) if ["perf_report", "parametrize"].contains(&attribute.attr.as_str()))
    });
    let parameters = &def.parameters;
    let is_empty = parameters.iter_non_variadic_params().next().is_none() && parameters.vararg.is_none();
    is_measuring
        || is_empty
        || is_kernel(def)
        || ["test", "bench", "main"]
            .iter()
            .any(|word| name.starts_with(word))
}

/// Decorators of libraries that make a function's tensors contiguous.
const GUARDS: [&str; 5] = [
    "ensure_contiguous",
    "input_guard",
    "contiguous",
    "contiguous_args",
    "make_contiguous",
];

/// Whether a decorator makes all tensors contiguous that a function takes.
pub(super) fn is_guarded(def: &ast::StmtFunctionDef) -> bool {
    def.decorator_list.iter().any(|decorator| {
        let is_partial = matches!(&decorator.expression, Expr::Call(call) if !call.arguments.is_empty());
        let name = match strip_arguments(&decorator.expression) {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            _ => return false,
        };
        GUARDS.contains(&name) && !is_partial
    })
}

fn all_functions<'a>(globals: &HashMap<&'a str, Global<'a>>) -> Vec<Root<'a>> {
    let mut all = Vec::new();
    for global in globals.values() {
        match global {
            Global::Function(def) => all.push(Root::Function(def)),
            Global::Class(class) => {
                for stmt in &class.body {
                    if let Stmt::FunctionDef(def) = stmt {
                        all.push(Root::Method(class, def));
                    }
                }
            }
            _ => {}
        }
    }
    all.sort_by_key(|root| root.def().range().start());
    all
}

/// Notes what a module's statements bind; the last binding counts, except that of an `except`.
fn collect<'a>(body: &'a [Stmt], globals: &mut HashMap<&'a str, Global<'a>>) {
    for stmt in body {
        match stmt {
            Stmt::FunctionDef(def) => {
                globals.insert(def.name.as_str(), Global::Function(def));
            }
            Stmt::ClassDef(def) => {
                globals.insert(def.name.as_str(), Global::Class(def));
            }
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    match target {
                        Expr::Name(name) => {
                            globals.insert(name.id.as_str(), Global::Assigned(&assign.value));
                        }
                        Expr::Tuple(tuple) => {
                            for (at, one) in tuple.elts.iter().enumerate() {
                                if let Expr::Name(name) = one {
                                    globals.insert(name.id.as_str(), Global::Part(&assign.value, at));
                                }
                            }
                        }
                        _ => {}
                    }
                }
            }
            Stmt::AnnAssign(assign) => {
                if let (Expr::Name(name), Some(value)) = (&*assign.target, &assign.value) {
                    globals.insert(name.id.as_str(), Global::Assigned(value));
                }
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    let name = alias.name.as_str();
                    if let Some(asname) = &alias.asname {
                        globals.insert(asname.as_str(), Global::Import(name))
                    } else {
                        let first = name.split('.').next().unwrap_or(name);
                        globals.insert(first, Global::Import(first))
                    };
                }
            }
            Stmt::ImportFrom(import) => {
                let module = import.module.as_ref().map_or("", |module| module.as_str());
                for alias in &import.names {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
                    globals.insert(name, Global::ImportFrom(module, alias.name.as_str()));
                }
            }
            Stmt::Try(tried) => {
                for handler in &tried.handlers {
                    let ast::ExceptHandler::ExceptHandler(handler) = handler;
                    collect(&handler.body, globals);
                }
                collect(&tried.body, globals);
                collect(&tried.orelse, globals);
            }
            Stmt::If(branches) => {
                // The first branch counts.
                for clause in branches.elif_else_clauses.iter().rev() {
                    collect(&clause.body, globals);
                }
                collect(&branches.body, globals);
            }
            _ => visit_bodies(stmt, &mut |body| collect(body, globals)),
        }
    }
}

/// Finds mentions of names.
struct Mentions<'n, 'a> {
    /// The kernel: a call without a grid is not a launch.
    kernel: &'n str,
    names: &'n HashSet<&'a str>,
    methods: &'n HashSet<&'a str>,
    found: bool,
}

impl<'v> Visitor<'v> for Mentions<'_, '_> {
    fn visit_stmt(&mut self, stmt: &'v Stmt) {
        if !self.found {
            visitor::walk_stmt(self, stmt);
        }
    }

    fn visit_expr(&mut self, expr: &'v Expr) {
        if let Expr::Call(call) = expr
            && matches!(&*call.func, Expr::Name(name) if name.id.as_str() == self.kernel)
        {
            self.visit_arguments(&call.arguments);
            return;
        }
        // `super(Layer, self).__init__()` is not a use of `Layer`.
        if let Expr::Call(call) = expr
            && matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "super")
        {
            return;
        }
        self.found |= match expr {
            Expr::Name(name) => self.names.contains(name.id.as_str()),
            Expr::Attribute(attribute) => {
                let name = attribute.attr.as_str();
                let of_self = matches!(&*attribute.value, Expr::Name(_));
                of_self && (self.methods.contains(name) || self.names.contains(name))
            }
            _ => false,
        };
        if !self.found {
            visitor::walk_expr(self, expr);
        }
    }
}
