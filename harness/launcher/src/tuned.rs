//! Configurations that launchers and decorators compute: lists of `triton.Config`.

use ruff_python_ast as ast;

use super::arguments::Arguments;
use super::machine::{Eval, Machine};
use super::value::Value;
use cerith_module::excerpt::{is_autotune, strip_arguments};

impl<'a> Machine<'a> {
    /// `triton.Config(…)`: an object with its keyword arguments of the kernel.
    #[expect(clippy::unused_self, reason = "a function that is called, as others")]
    pub fn config_of(&self, args: &Arguments<'a>) -> Value<'a> {
        let Some(kwargs @ Value::Dict(_)) = args.get(0, "kwargs") else {
            return Value::unknown("a configuration of unknown values");
        };
        let number = |at: usize, name: &str, or: i64| args.get(at, name).unwrap_or_else(|| Value::int(or));
        Value::build_object(vec![
            ("num_warps", number(1, "num_warps", 4)),
            ("num_stages", number(2, "num_stages", 2)),
            ("kwargs", kwargs),
        ])
    }

    /// Notes the configurations that a launcher tunes a kernel with.
    pub fn tune(&mut self, def: &'a ast::StmtFunctionDef, configs: &Value<'a>) {
        if let Some(config) = least_config(configs) {
            self.tuned.insert(std::ptr::from_ref(def) as usize, config);
        }
    }

    /// The values of the smallest configuration that the launcher or the kernel's decorator computes.
    pub fn evaluate_config(&mut self, def: &'a ast::StmtFunctionDef) -> Eval<'a, Vec<(String, Value<'a>)>> {
        if let Some(known) = self.tuned.get(&(std::ptr::from_ref(def) as usize)) {
            return Ok(known.clone());
        }
        for decorator in &def.decorator_list {
            let ast::Expr::Call(call) = &decorator.expression else {
                continue;
            };
            let Some(configs) = call.arguments.find_argument_value("configs", 0) else {
                continue;
            };
            if !is_autotune(strip_arguments(&decorator.expression)) {
                continue;
            }
            let scope = self.enter(def.name.as_str(), None)?;
            let configs = self.eval(configs, &scope);
            self.leave();
            if let Some(config) = least_config(&configs?) {
                return Ok(config);
            }
        }
        Ok(Vec::new())
    }
}

/// The configuration with the smallest blocks, if all of its values are known.
fn least_config<'a>(configs: &Value<'a>) -> Option<Vec<(String, Value<'a>)>> {
    let mut best: Option<(i64, Vec<(String, Value<'a>)>)> = None;
    for config in configs.elements()? {
        let Value::Object(fields) = config else { continue };
        let fields = fields.borrow();
        let Some(Value::Dict(items)) = fields.get("kwargs") else {
            continue;
        };
        let mut values = Vec::new();
        let mut volume = 1_i64;
        for (key, value) in items.borrow().iter() {
            let Value::Str(key, _) = key else { continue };
            volume = volume.saturating_mul(value.number().map_or(1, |number| number.value.max(1)));
            values.push((key.to_string(), value.clone()));
        }
        let is_known = !values.is_empty() && values.iter().all(|(_, value)| value.reason().is_none());
        if is_known && best.as_ref().is_none_or(|(known, _)| volume < *known) {
            best = Some((volume, values));
        }
    }
    best.map(|(_, values)| values)
}
