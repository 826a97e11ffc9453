//! A launch's arguments: in the compiler's view, and as the kernel receives them.

use std::sync::Arc;

use cerith_case::{ArgValue, Launch, Padding};
use cerith_frontend::{Part, Request, Traced};
use cerith_memory::Memory;
use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::{Elem, Rounding};
use cerith_tile::quirk::{Quirk, Quirks};
use cerith_tile::rules::Rules;
use cerith_tile::{DType, numeric};

use super::kernel::Kernel;
use crate::engine::Failure;

/// The trace request of a launch.
pub(super) fn request(launch: &Launch, rules: Rules) -> Request {
    let compile_time = |value: &ArgValue| match compile_time(value) {
        // The interpreter leaves it the Python number that it is.
        cerith_frontend::RequestArg::Float(number) if rules.has_quirk(Quirk::FloatArgumentsAreWeak) => {
            cerith_frontend::RequestArg::Constexpr(Box::new(cerith_frontend::RequestArg::Float(number)))
        }
        value => value,
    };
    Request {
        file: Arc::clone(&launch.kernel.module.file),
        modules: launch.kernel.module.imports.clone(),
        kernel: launch.kernel.name.clone(),
        positional: launch
            .positional
            .iter()
            .map(|arg| compile_time(&arg.value))
            .collect(),
        keyword: launch
            .keyword
            .iter()
            .map(|(name, arg)| (name.clone(), compile_time(&arg.value)))
            .collect(),
        options: launch
            .options
            .iter()
            .map(|(name, value)| (name.clone(), compile_time(value)))
            .collect(),
        rules,
    }
}

/// The quirks that may change the arguments.
pub(super) fn find_quirks(request: &Request) -> Quirks {
    let positional = request.positional.iter();
    let named = request.keyword.iter().chain(&request.options);
    let mut values = positional.chain(named.map(|(_, value)| value));
    if values.any(|value| matches!(value, cerith_frontend::RequestArg::Float(_))) {
        Quirks::NONE.with_quirk(Quirk::FloatArgumentsAreWeak)
    } else {
        Quirks::NONE
    }
}

/// An argument as the compiler sees it.
fn compile_time(value: &ArgValue) -> cerith_frontend::RequestArg {
    use cerith_frontend::RequestArg;
    match value {
        ArgValue::None => RequestArg::None,
        ArgValue::Bool(flag) => RequestArg::Bool(*flag),
        ArgValue::Int(number) => RequestArg::Int(*number),
        ArgValue::Float(number) => RequestArg::Float(*number),
        ArgValue::Str(text) => RequestArg::Str(text.clone()),
        ArgValue::DType(dtype) => RequestArg::DType(*dtype),
        ArgValue::Constexpr(inner) => RequestArg::Constexpr(Box::new(compile_time(inner))),
        ArgValue::Global(name) => RequestArg::Global(name.clone()),
        ArgValue::Tensor { tensor, .. } => RequestArg::Pointer(Elem::Num(tensor.dtype)),
        ArgValue::Descriptor(descriptor) => RequestArg::Descriptor(cerith_frontend::Descriptor {
            dtype: descriptor.base.dtype,
            block_shape: descriptor.block_shape.clone(),
            nan: descriptor.padding == Padding::Nan,
            round_f32_to_tf32: descriptor.round_f32_to_tf32,
        }),
        ArgValue::Address { .. } => RequestArg::Address,
        ArgValue::Tuple(values) => RequestArg::Tuple(values.iter().map(compile_time).collect()),
        ArgValue::NamedTuple { fields, items } => RequestArg::NamedTuple {
            fields: fields.clone(),
            items: items.iter().map(compile_time).collect(),
        },
    }
}

/// The values of the traced kernel's parameters.
pub(crate) fn build_arguments(
    launch: &Launch,
    kernel: &Kernel,
    memory: &Memory,
) -> Result<Vec<cerith_interp::ParamValue>, Failure> {
    let Traced {
        function,
        bindings,
        arguments: reached,
        uses: _,
        clears: _,
        consulted_quirks: _,
    } = &*kernel.traced;
    function
        .params
        .iter()
        .zip(bindings)
        .map(|(param, binding)| {
            let elem = function.ty(param.value).elem;
            let given = launch
                .arguments()
                .find(|(name, _)| *name == Some(binding.name.as_str()));
            let passed = match given {
                Some((_, arg)) => find_item(&arg.value, &binding.path)
                    .and_then(|value| run_time(value, binding.part, elem, memory)),
                None => reached
                    .iter()
                    .find(|(name, _)| *name == binding.name)
                    .and_then(|(_, arg)| arg.get_nested(&binding.path))
                    .and_then(|arg| by_default(arg, elem)),
            };
            passed.ok_or_else(|| {
                Failure::internal(
                    format!("bind the arguments of `{}`", function.name),
                    format!("nothing fits parameter `{}`", param.name),
                )
            })
        })
        .collect()
}

fn find_item<'a>(value: &'a ArgValue, path: &[usize]) -> Option<&'a ArgValue> {
    path.iter().try_fold(value, |value, &at| match value {
        ArgValue::Tuple(items) | ArgValue::NamedTuple { items, .. } => items.get(at),
        _ => None,
    })
}

fn run_time(value: &ArgValue, part: Part, elem: Elem, memory: &Memory) -> Option<cerith_interp::ParamValue> {
    if let ArgValue::Descriptor(descriptor) = value {
        let number = |numbers: &[i64], at| {
            let number: &i64 = numbers.get(at)?;
            Some(number_of_int(elem.num()?, i128::from(*number)))
        };
        return match part {
            Part::Whole => None,
            Part::Base => Some(cerith_interp::ParamValue::tensor(
                memory,
                &descriptor.base,
                descriptor.name.clone(),
            )),
            Part::Extent(at) => number(&descriptor.shape, at),
            Part::Stride(at) if is_planted(Fault::DescriptorsAreDense) => number(&descriptor.shape, at),
            Part::Stride(at) => number(&descriptor.strides, at),
        };
    }
    match (value, elem) {
        (ArgValue::Tensor { name, tensor }, Elem::Ptr { .. }) => {
            Some(cerith_interp::ParamValue::tensor(memory, tensor, name.clone()))
        }
        (ArgValue::Int(number), Elem::Ptr { .. }) => Some(cerith_interp::ParamValue::Pointer {
            address: *number as u64,
            storage: None,
            name: None,
            tensor: None,
        }),
        (ArgValue::Int(number), Elem::Num(dtype)) => Some(number_of_int(dtype, *number)),
        (ArgValue::Address { address: at, .. }, Elem::Num(dtype)) => {
            let address = memory.address(at.storage).wrapping_add_signed(at.offset);
            Some(number_of_int(dtype, address.into()))
        }
        (ArgValue::Float(number), Elem::Num(dtype)) => Some(number_of_float(dtype, *number)),
        (ArgValue::Bool(flag), Elem::Num(dtype)) => Some(number_of_int(dtype, i128::from(*flag))),
        _ => None,
    }
}

/// A default value, or one that a heuristic decided, that reached a parameter of the launch.
fn by_default(arg: &cerith_frontend::RequestArg, elem: Elem) -> Option<cerith_interp::ParamValue> {
    match (arg, elem) {
        (cerith_frontend::RequestArg::Int(number), Elem::Num(dtype)) => Some(number_of_int(dtype, *number)),
        (cerith_frontend::RequestArg::Float(number), Elem::Num(dtype)) => {
            Some(number_of_float(dtype, *number))
        }
        (cerith_frontend::RequestArg::Bool(flag), Elem::Num(dtype)) => {
            Some(number_of_int(dtype, i128::from(*flag)))
        }
        _ => None,
    }
}

fn number_of_int(dtype: DType, number: i128) -> cerith_interp::ParamValue {
    cerith_interp::ParamValue::Number(if dtype.is_float() {
        numeric::encode(dtype, number as f64, Rounding::NearestEven)
    } else {
        numeric::encode_int(
            dtype,
            if is_planted(Fault::NumbersAre32Bits) {
                i128::from(number as i32)
            } else {
                number
            },
        )
    })
}

fn number_of_float(dtype: DType, number: f64) -> cerith_interp::ParamValue {
    cerith_interp::ParamValue::Number(if dtype.is_float() {
        numeric::encode(dtype, number, Rounding::NearestEven)
    } else {
        numeric::encode_int(dtype, number as i128)
    })
}
