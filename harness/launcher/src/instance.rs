//! Instances of classes that a file defines: what their constructors leave in them, their methods and properties. Bases are classes of
//! the same file; metaclasses and descriptors other than properties are left out.

use std::rc::Rc;

use ruff_python_ast::{self as ast, Expr, Stmt};

use super::arguments::Arguments;
use super::call::new_object;
use super::machine::{Eval, Halt, Machine};
use super::module::Global;
use super::roots::has_decorator;
use super::value::Value;

/// The field of an instance that holds its class, as in Python.
const CLASS: &str = "__class__";

/// Classes that a lookup visits.
const MAX_BASES: usize = 16;

impl<'a> Machine<'a> {
    /// Constructs an instance: runs `__init__`, or gives a dataclass its fields. Keywords become fields if the class has neither.
    pub fn make_instance(&mut self, class: &'a ast::StmtClassDef, args: &Arguments<'a>) -> Eval<'a> {
        let object = new_object();
        if let Value::Object(fields) = &object {
            let mut fields = fields.borrow_mut();
            fields.extend(args.keywords.iter().cloned());
            fields.insert(CLASS.to_owned(), Value::Class(class));
        }
        if let Some(Stmt::FunctionDef(init)) = self.find_member(class, "__init__") {
            let closure = self.function_value(init, None);
            let mut all = args.clone();
            all.positional.insert(0, object.clone());
            match self.apply(&closure, &all) {
                // Fields that the rest of the constructor would have set stay unknown.
                Ok(_) | Err(Halt::Stopped(_)) => {}
                Err(halt) => return Err(halt),
            }
            return Ok(object);
        }
        self.set_fields(class, &object, args)?;
        Ok(object)
    }

    /// Sets the fields that a class body annotates, as a dataclass and a named tuple have.
    fn set_fields(
        &mut self,
        class: &'a ast::StmtClassDef,
        object: &Value<'a>,
        args: &Arguments<'a>,
    ) -> Eval<'a, ()> {
        let mut positional = args.positional.iter();
        for stmt in &class.body {
            let Stmt::AnnAssign(field) = stmt else { continue };
            let Expr::Name(name) = &*field.target else {
                continue;
            };
            let value = match (positional.next(), args.keyword(name.id.as_str()), &field.value) {
                (Some(value), _, _) => value.clone(),
                (None, Some(value), _) => value,
                (None, None, Some(default)) => self.eval_in_class(class, default)?,
                (None, None, None) => continue,
            };
            if let Value::Object(fields) = object {
                fields.borrow_mut().insert(name.id.to_string(), value);
            }
        }
        Ok(())
    }

    /// An attribute that an instance has by its class: a property's value, a bound method, or a value of the class body. `None` if the
    /// class has no such name.
    pub fn instance_attribute(&mut self, object: &Value<'a>, name: &str) -> Eval<'a, Option<Value<'a>>> {
        let Some(class) = find_class(object) else {
            return Ok(None);
        };
        let Some(member) = self.find_member(class, name) else {
            return Ok(None);
        };
        Ok(match member {
            Stmt::FunctionDef(def) => {
                let function = self.function_value(def, None);
                let is_property = has_decorator(def, "property") || has_decorator(def, "cached_property");
                if is_property {
                    Some(self.apply(&function, &Arguments::of(vec![object.clone()]))?)
                } else if has_decorator(def, "staticmethod") || matches!(function, Value::Kernel(_)) {
                    Some(function)
                } else {
                    let receiver = if has_decorator(def, "classmethod") {
                        Value::Class(class)
                    } else {
                        object.clone()
                    };
                    Some(bind(function, receiver))
                }
            }
            Stmt::Assign(assign) => Some(self.eval_in_class(class, &assign.value)?),
            Stmt::AnnAssign(assign) => match &assign.value {
                Some(value) => Some(self.eval_in_class(class, value)?),
                None => None,
            },
            _ => None,
        })
    }

    /// Calls an instance: `__call__`, or `forward` of a layer. `None` if its class has neither.
    pub fn call_instance(&mut self, object: &Value<'a>, args: &Arguments<'a>) -> Eval<'a, Option<Value<'a>>> {
        for name in ["__call__", "forward"] {
            if let Some(method) = self.instance_attribute(object, name)? {
                return self.apply(&method, args).map(Some);
            }
        }
        Ok(None)
    }

    /// The statement that gives a class a name, in the class itself or in its bases.
    fn find_member(&self, class: &'a ast::StmtClassDef, name: &str) -> Option<&'a Stmt> {
        let is_name = |target: &Expr| target.as_name_expr().is_some_and(|one| one.id.as_str() == name);
        let mut open = vec![class];
        for _ in 0..MAX_BASES {
            let class = open.pop()?;
            let found = class.body.iter().rev().find(|stmt| match stmt {
                Stmt::FunctionDef(def) => def.name.as_str() == name,
                Stmt::Assign(assign) => assign.targets.iter().any(is_name),
                Stmt::AnnAssign(assign) => assign.value.is_some() && is_name(&assign.target),
                _ => false,
            });
            if found.is_some() {
                return found;
            }
            for base in class.bases().iter().rev() {
                let base = base
                    .as_name_expr()
                    .and_then(|base| self.module.globals.get(base.id.as_str()));
                if let Some(Global::Class(base)) = base {
                    open.push(*base);
                }
            }
        }
        None
    }

    fn eval_in_class(&mut self, class: &'a ast::StmtClassDef, expr: &'a Expr) -> Eval<'a> {
        let scope = self.enter(&class.name, None)?;
        let value = self.eval(expr, &scope);
        self.leave();
        value
    }
}

/// The class of an instance that a constructor made.
fn find_class<'a>(object: &Value<'a>) -> Option<&'a ast::StmtClassDef> {
    let Value::Object(fields) = object else {
        return None;
    };
    match fields.borrow().get(CLASS) {
        Some(Value::Class(class)) => Some(*class),
        _ => None,
    }
}

/// A function whose first argument is given.
fn bind<'a>(function: Value<'a>, receiver: Value<'a>) -> Value<'a> {
    Value::Method(Rc::new((
        Value::tuple(vec![function, receiver]),
        "bound".to_owned(),
    )))
}
