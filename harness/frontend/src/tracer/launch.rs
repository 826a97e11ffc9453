//! A launch from its start to its end: the file is read, the kernel found, its arguments bound and its body run.

use std::collections::BTreeSet;
use std::rc::Rc;

use cerith_python::nearest::find_nearest;
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::rules::Rule;
use cerith_tile::source::Span;
use ruff_text_size::Ranged;

use super::frame::{Frame, collect_leaves};
use super::{Tracer, refusal, uses};
use crate::plain::Modules;
use crate::text::{span_of, with_stack};
use crate::traced::{self, Binding, Refused};
use cerith_language::lowering::Lowering;
use cerith_language::request::{Request, RequestArg};
use cerith_language::stop::{Refusal, Stop, Traced};
use cerith_language::value::callable::UserFunction;
use cerith_language::value::plain::{Arguments, Plain, ScopeId};

/// A traced kernel's bindings, and every argument by name.
type Launched = (Vec<Binding>, Vec<(String, RequestArg)>);

/// Traces a kernel for one specialisation.
pub(crate) fn trace(request: &Request) -> Result<traced::Traced, Refused> {
    with_stack(|| {
        let mut tracer = Tracer::new(request);
        let launched = tracer.launch();
        match launched.and_then(|launched| tracer.lo.check_sizes().map(|()| launched)) {
            Ok(launched) => finish_trace(tracer.lo, launched),
            Err(stop) => Err(Refused {
                refusal: stop.into_refusal(),
                sources: std::mem::take(tracer.lo.builder.sources()),
                consulted_quirks: tracer.lo.consulted_quirks(),
            }),
        }
    })
}

/// The IR that was made, if it verifies and the compiler's passes take it.
fn finish_trace(lo: Lowering, (bindings, arguments): Launched) -> Result<traced::Traced, Refused> {
    let asked = lo.consulted_quirks();
    let clears = lo.clears;
    let function = lo.builder.finish();
    let refusal = match function.verify() {
        Ok(()) => refusal::find_refusal(&function, lo.rules, &lo.library)
            .or_else(|| refusal::find_constant_store(&function, lo.read_only))
            .map(|diagnostic| Refusal::Rejected(Box::new(diagnostic))),
        Err(error) => {
            let message = format!("the reference made IR of this kernel that is wrong: {error}");
            let span = function.locs.first().map_or_else(Span::default, |loc| loc.span);
            let diagnostic = Diagnostic::error("internal", span, message);
            Some(Refusal::Unsupported(Box::new(diagnostic)))
        }
    };
    match refusal {
        Some(refusal) => Err(Refused {
            refusal,
            sources: function.sources,
            consulted_quirks: asked,
        }),
        None => Ok(traced::Traced {
            function,
            bindings,
            arguments,
            uses: uses::collect_uses(&lo.uses),
            clears,
            consulted_quirks: asked,
        }),
    }
}

impl<'a> Tracer<'a> {
    fn new(request: &'a Request) -> Self {
        Self {
            lo: Lowering::new(request),
            modules: Modules::new(request),
            request,
            frame: Frame::default(),
            calls: Vec::new(),
            regions: 0,
            held_arguments: Vec::new(),
            discovering: 0,
        }
    }

    fn launch(&mut self) -> Traced<Launched> {
        let request = self.request;
        let module = request.file.name.rsplit(['/', '\\']).next().unwrap_or("kernel");
        let module = module.strip_suffix(".py").unwrap_or(module);
        let scope = self.plain().load(module, &request.file)?;
        let function = self.find_kernel(scope)?;
        let source = self.modules.source_of(function.scope);
        self.lo.span = span_of(source, function.def.name.range());
        if !self.lo.rules.holds(Rule::DebugIsAnOption) {
            self.lo.options.retain(|(name, _)| &**name != "debug");
        }
        if let Some(debug) = function.options.debug
            && (self.lo.rules.holds(Rule::DebugHasADefault) || !self.lo.rules.holds(Rule::DebugIsAnOption))
        {
            self.lo
                .options
                .insert(0, ("debug".into(), RequestArg::Bool(debug)));
        }
        let loc = self.lo.builder.add_loc(self.lo.span, None);
        self.lo.builder.set_loc(loc);
        let given = self.collect_arguments(&function)?;
        self.check_warps()?;
        self.check_dependencies(&function)?;
        let (bound, bindings) = self.specialise(&function, &given)?;
        let result = self.run_body(&function, Span::default(), bound)?;
        if !collect_leaves(&result).is_empty() {
            self.lo.span = span_of(source, function.def.name.range());
            return Err(self.lo.reject("a kernel cannot return a value"));
        }
        let arguments = given
            .into_iter()
            .map(|(name, given)| (name.to_string(), given))
            .collect();
        Ok((bindings, arguments))
    }

    /// Refuses numbers of warps that no GPU has.
    fn check_warps(&self) -> Traced<()> {
        match self.lo.find_option("num_warps") {
            Some(RequestArg::Int(warps)) if *warps <= 0 || warps.count_ones() != 1 => {
                Err(self.lo.reject_with(
                    "bad-arguments",
                    format!("num_warps must be a power of 2, not {warps}"),
                ))
            }
            _ => Ok(()),
        }
    }

    /// The rejection of a name that a file, or a function in it, does not define.
    fn no_kernel(&mut self, scope: ScopeId, name: &str) -> Stop {
        self.lo.span = Span::new(self.modules.source_of(scope), 0, 0);
        let message = format!("the file defines no kernel `{}`", self.request.kernel);
        let mut diagnostic = self.lo.build_diagnostic("no-kernel", message);
        let names = self
            .modules
            .scope(scope)
            .into_iter()
            .flat_map(|scope| &scope.names);
        let kernels: BTreeSet<&str> = names
            .filter(|(_, value)| matches!(value, Plain::Jit(_)))
            .map(|(name, _)| &**name)
            .collect();
        if let Some(near) = find_nearest(name, kernels.iter().copied()) {
            diagnostic.help = Some(format!("did you mean `{near}`?"));
        } else if !kernels.is_empty() {
            let kernels: Vec<&str> = kernels.into_iter().collect();
            diagnostic
                .notes
                .push(format!("its kernels are {}", kernels.join(", ")));
        }
        Stop::Rejected(Box::new(diagnostic))
    }

    /// The kernel that the request names.
    fn find_kernel(&mut self, module: ScopeId) -> Traced<Rc<UserFunction>> {
        let request = self.request;
        let mut scope = module;
        let names = self.modules.scope(module).map(|scope| &scope.names);
        // A static method of a class.
        if let Some(Plain::Jit(function)) = names.and_then(|names| names.get(request.kernel.as_str())) {
            return Ok(Rc::clone(function));
        }
        let mut parts = request.kernel.split('.').peekable();
        while let Some(part) = parts.next() {
            let found = self
                .modules
                .scope(scope)
                .and_then(|scope| scope.names.get(part))
                .cloned();
            match found {
                Some(Plain::Jit(function)) if parts.peek().is_none() => return Ok(function),
                Some(Plain::Function(function)) if parts.peek().is_some() => {
                    let source = self.modules.source_of(scope);
                    let span = function
                        .parameters()
                        .map_or_else(Span::default, |parameters| span_of(source, parameters.range()));
                    let none = Arguments {
                        positional: Vec::new(),
                        keyword: Vec::new(),
                    };
                    match self.plain().call_function(&function, none, span)? {
                        (_, Some(inner)) => scope = inner,
                        (Plain::Unknown(unknown), None) => {
                            self.lo.span = unknown.span;
                            return Err(self.lo.report_unsupported(&unknown.description));
                        }
                        _ => return Err(self.lo.report_unsupported(format!("running `{part}`"))),
                    }
                }
                Some(Plain::Unknown(unknown)) => {
                    self.lo.span = unknown.span;
                    return Err(self
                        .lo
                        .report_unsupported(format!("`{part}`: it is {}", unknown.description)));
                }
                Some(_) => {
                    self.lo.span = Span::new(self.modules.source_of(scope), 0, 0);
                    return Err(self.lo.reject_with(
                        "no-kernel",
                        format!("`{}` is not a @triton.jit function", request.kernel),
                    ));
                }
                None => return Err(self.no_kernel(scope, part)),
            }
        }
        Err(self.lo.reject_with("no-kernel", "no kernel is named"))
    }
}
