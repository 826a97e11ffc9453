//! Arguments with which a function that launches a kernel can be called: those of its evaluation, for callers that execute it.

use super::plan::{Kind, Layout, Plan, Scalar};
use super::roots::{find_outer, list_parameters};
use super::solve::{Solver, UNREACHED};

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum HostArgument {
    /// A tensor.
    Tensor {
        /// torch's name: `float32`.
        dtype: String,
        /// Its sizes.
        shape: Vec<i64>,
        /// How it lies in its storage.
        layout: Layout,
    },
    /// `None`.
    None,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A string.
    Text(String),
    /// A dtype, by its module and name: `torch.float16`.
    Dtype(String),
    /// A list.
    Items(Vec<Self>),
}

/// A call of a function, by the names of its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct HostCall {
    /// The difference from the plain call, which has none: `x[33, 1]`, `padded x`, `float16`.
    pub variant: String,
    /// The arguments. A parameter without one has its default.
    pub arguments: Vec<(String, HostArgument)>,
}

/// Why no arguments of a function were found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCalls {
    /// There is no such function.
    #[error("there is no function `{0}` at the top of the file")]
    NoFunction(String),
    /// It cannot be evaluated up to a launch.
    #[error("{}", .0.join("; "))]
    Unknown(Vec<String>),
    /// It launches the kernel nowhere.
    #[error("it does not launch the kernel")]
    Unreached,
    /// An argument is an object.
    #[error("the parameter `{0}` is an object, which is not made")]
    Object(String),
}

impl Solver<'_> {
    /// The calls that reach a launch, the plain one first.
    pub fn find_calls(&self, most: usize) -> Result<Vec<HostCall>, NoCalls> {
        let mut found: Vec<HostCall> = Vec::new();
        let mut problem = None;
        let base = self.find_base().map_err(|failure| {
            if failure.unknown == [UNREACHED] {
                NoCalls::Unreached
            } else {
                NoCalls::Unknown(failure.unknown)
            }
        })?;
        self.visit_plans(&base, &mut |machine, variant, _| {
            match self.export(&machine.plan) {
                Ok(arguments) if found.iter().all(|known| known.arguments != arguments) => {
                    found.push(HostCall {
                        variant: variant.to_owned(),
                        arguments,
                    });
                }
                Ok(_) => {}
                Err(why) => problem = Some(why),
            }
            found.len() < most
        });
        match problem {
            Some(why) if found.is_empty() => Err(why),
            _ => Ok(found),
        }
    }

    fn export(&self, plan: &Plan) -> Result<Vec<(String, HostArgument)>, NoCalls> {
        let mut arguments = Vec::new();
        for (at, parameter) in list_parameters(find_outer(self.root)).enumerate() {
            let name = parameter.parameter.name.as_str();
            match export_input(plan, at) {
                Some(argument) => arguments.push((name.to_owned(), argument)),
                None if parameter.default.is_some() => {}
                None => return Err(NoCalls::Object(name.to_owned())),
            }
        }
        Ok(arguments)
    }
}

/// `None` if the input is undecided, or an object.
fn export_input(plan: &Plan, input: usize) -> Option<HostArgument> {
    Some(match plan.kind(input)? {
        Kind::Undecided | Kind::Object(_) => return None,
        Kind::Tensor(tensor) => HostArgument::Tensor {
            dtype: plan.dtype(tensor).long().rsplit('.').next()?.to_owned(),
            shape: tensor.dims.iter().map(|dim| plan.size(*dim)).collect(),
            layout: tensor.layout,
        },
        Kind::Scalar(Scalar::None) => HostArgument::None,
        Kind::Scalar(Scalar::Bool(value)) => HostArgument::Bool(*value),
        Kind::Scalar(Scalar::Int(value)) => HostArgument::Int(*value),
        Kind::Scalar(Scalar::Float(value)) => HostArgument::Float(*value),
        Kind::Scalar(Scalar::Str(value)) => HostArgument::Text(value.clone()),
        Kind::Scalar(Scalar::Dtype(dtype)) => HostArgument::Dtype(dtype.long()),
        Kind::Items(items) => {
            let items = items.iter().map(|item| export_input(plan, *item));
            HostArgument::Items(items.collect::<Option<_>>()?)
        }
    })
}
