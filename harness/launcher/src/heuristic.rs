//! The values that a kernel's heuristics compute for a launch that no function of its file makes.

use cerith_tile::source::SourceId;
use ruff_python_ast::PySourceType;

use super::launch::from_words;
use super::launched::Bindings;
use super::machine::Machine;
use super::module::{Global, HostModule, MODULE};
use super::plan::Plan;
use super::tensor::Fill;
use super::value::{Dtype, Number, Value};
use cerith_module::excerpt::is_kernel;
use cerith_module::module as parsing;
use cerith_module::usage::library::{Library, Texts};

/// Evaluates the heuristics of a kernel with arguments as written in a case file. The result omits values that are
/// unknown, or that are neither integers nor flags.
pub fn evaluate_heuristics(text: &str, kernel: &str, args: &[(String, String)]) -> Vec<(String, String)> {
    let Ok(contents) = parsing::parse(SourceId(0), text) else {
        return Vec::new();
    };
    let texts = Texts::new([(MODULE, text)]);
    parsing::with_stack(text, || {
        let parsed = ruff_python_parser::parse_unchecked_source(text, PySourceType::Python);
        let library = Library::new(&texts);
        let body = &parsed.syntax().body;
        let module = HostModule::new(text, "", kernel, body, contents.functions, &library);
        let def = match module.globals.get(kernel) {
            Some(Global::Function(def)) if is_kernel(def) => *def,
            _ => return Vec::new(),
        };
        let mut machine = Machine::new(&module, Plan::new());
        let mut bindings = Bindings {
            values: Vec::new(),
            options: Vec::new(),
            given: Vec::new(),
            grid: Vec::new(),
        };
        for (name, words) in args {
            let value = match from_words(words) {
                // A tensor: heuristics compare it with `None`. Strides are unknown.
                Value::Unknown(_) if !words.contains(".stride(") => {
                    machine.allocate(vec![Number::plain(1)], &Dtype::torch("f32"), Fill::Given)
                }
                value => value,
            };
            bindings.values.push((name.clone(), value));
        }
        if machine.apply_heuristics(def, &mut bindings).is_err() {
            return Vec::new();
        }
        let is_computed = |name: &String| !args.iter().any(|(one, _)| one == name);
        let computed = bindings.values.iter().filter(|(name, _)| is_computed(name));
        let words = computed.filter_map(|(name, value)| match value {
            Value::Int(number) => Some((name.clone(), number.value.to_string())),
            Value::Bool(value, _) => Some((name.clone(), value.to_string())),
            _ => None,
        });
        words.collect()
    })
}
