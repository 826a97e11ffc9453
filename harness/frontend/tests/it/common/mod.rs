//! Shared helpers of the tests of tracing.
#![allow(dead_code, unused_macros, reason = "each test binary uses its part")]

use std::sync::Arc;

use cerith_frontend::{Refusal, Request, RequestArg, Traced, trace};
use cerith_tile::DType;
use cerith_tile::ir::Elem;
use cerith_tile::quirk::Quirk;
use cerith_tile::rules::{Rules, Version};
use cerith_tile::source::SourceFile;

/// Defines a test that compares a program's outcome with its snapshot.
macro_rules! check {
    ($name:ident, $program:expr) => {
        #[test]
        fn $name() {
            $program.check(stringify!($name));
        }
    };
}

/// A tensor of `f32`.
pub const F32: RequestArg = RequestArg::Pointer(Elem::Num(DType::F32));
/// A tensor of `i32`.
pub const I32: RequestArg = RequestArg::Pointer(Elem::Num(DType::I32));

/// A request for the kernel `k`.
pub struct Program {
    request: Request,
}

impl Program {
    /// Source text after the usual imports. Its first line is line 3 of the file.
    pub fn new(text: &str) -> Self {
        let text = format!("import triton\nimport triton.language as tl\n{text}");
        Self::from_file(&text)
    }

    /// A whole file.
    pub fn from_file(text: &str) -> Self {
        let request = Request {
            file: Arc::new(SourceFile::new("k.py", text)),
            modules: Vec::new(),
            kernel: "k".to_owned(),
            positional: Vec::new(),
            keyword: Vec::new(),
            options: Vec::new(),
            rules: Rules::default(),
        };
        Self { request }
    }

    pub fn with_args(mut self, args: impl IntoIterator<Item = RequestArg>) -> Self {
        self.request.positional = args.into_iter().collect();
        self
    }

    pub fn with_arg(mut self, name: &str, arg: RequestArg) -> Self {
        self.request.keyword.push((name.to_owned(), arg));
        self
    }

    pub fn with_kernel(mut self, kernel: &str) -> Self {
        kernel.clone_into(&mut self.request.kernel);
        self
    }

    pub fn with_module(mut self, name: &str, text: &str) -> Self {
        let file = Arc::new(SourceFile::new(format!("{name}.py"), text));
        self.request.modules.push((name.to_owned(), file));
        self
    }

    /// The request to trace.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Adds a quirk to the request.
    pub fn with_quirk(mut self, quirk: Quirk) -> Self {
        let rules = self.request.rules;
        self.request.rules = rules.with_quirks(rules.quirks.with_quirk(quirk));
        self
    }

    pub fn with_version(mut self, minor: u16) -> Self {
        self.request.rules = Rules::from_version(Version::new(3, minor, 0));
        self
    }

    pub fn with_rules(mut self, rules: Rules) -> Self {
        self.request.rules = rules;
        self
    }

    pub fn traced(&self) -> Result<Traced, String> {
        trace(&self.request).map_err(|refused| {
            let (kind, diagnostic) = match &refused.refusal {
                Refusal::Rejected(diagnostic) => ("rejected", diagnostic),
                Refusal::Unsupported(diagnostic) => ("unsupported", diagnostic),
                Refusal::Exhausted(diagnostic) => ("exhausted", diagnostic),
            };
            format!("{kind}\n{}", diagnostic.render(&refused.sources, false))
        })
    }

    /// The IR, or why there is none.
    pub fn show(&self) -> String {
        self.traced()
            .map_or_else(|refusal| refusal, |traced| traced.function.to_string())
    }
}

impl Program {
    /// Compares [`Self::show`] with the accepted snapshot.
    pub fn check(&self, name: &str) {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../../../../../snapshots/frontend");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.set_description(&*self.request.file.text);
        settings.bind(|| insta::assert_snapshot!(name, self.show()));
    }
}

/// A kernel `k` of a tensor of `i32` and an int.
pub fn build_program(lines: &str) -> Program {
    let lines: String = lines
        .trim_matches('\n')
        .lines()
        .map(|line| ["    ", line, "\n"].concat())
        .collect();
    Program::new(&format!("@triton.jit\ndef k(p, n):\n{lines}")).with_args([I32, RequestArg::Int(5)])
}

/// A function `f` of one int, and the kernel that stores its result.
pub fn build_caller(function: &str) -> Program {
    let kernel = "@triton.jit\ndef k(p, n):\n    tl.store(p, f(n))\n";
    Program::new(&[function, kernel].concat()).with_args([I32, RequestArg::Int(5)])
}
