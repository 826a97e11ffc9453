//! Workers' requests for cases: modules, launches, values, and the files that they name. Memory is not covered: each engine with workers
//! handles it in its own way.

use std::path::PathBuf;
use std::sync::Arc;

use cerith_case::{ArgValue, Case, Padding};
use cerith_memory::{Memory, Tensor};
use cerith_module::Module;
use cerith_tile::DType;
use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::source::SourceFile;
use cerith_toolchain::request::{self, Grid, Value};

/// A module of the corpus, as far as the case needs it.
pub(crate) fn convert_module(case: &Case, module: &Module) -> request::Module {
    request::Module {
        path: PathBuf::from(&module.file.name),
        text: case.text_of(module),
    }
}

/// The case's launches.
pub(crate) fn convert_launches(case: &Case) -> Vec<request::Launch> {
    case.launches
        .iter()
        .map(|launch| request::Launch {
            kernel: launch.kernel.name.clone(),
            grid: Grid::Fixed(
                launch
                    .grid
                    .iter()
                    .take(launch.grid_dims.into())
                    .enumerate()
                    .map(|(axis, &n)| {
                        if axis == 2 && is_planted(Fault::InterpreterLosesGrid) {
                            1
                        } else {
                            n.into()
                        }
                    })
                    .collect(),
            ),
            args: launch
                .positional
                .iter()
                .map(|arg| convert_value(&arg.value))
                .collect(),
            kwargs: launch
                .keyword
                .iter()
                .map(|(name, arg)| (name.clone(), convert_value(&arg.value)))
                .collect(),
            host: launch.host.as_ref().map(|host| request::Host {
                module: convert_module(case, &host.module),
                function: host.name.clone(),
            }),
            options: launch
                .options
                .iter()
                .map(|(name, option)| (name.clone(), convert_value(option)))
                .collect(),
        })
        .collect()
}

/// The storages in which an address may end up: copied from a table, or made with `ptr.to(tl.int64)`.
pub(crate) fn may_hold_addresses(case: &Case, memory: &Memory) -> Vec<usize> {
    let pointers = memory.ids().any(|id| !memory.pointers(id).is_empty()) || case.passes_addresses();
    memory
        .ids()
        .map(|id| id.0 as usize)
        .filter(|&id| {
            let declared = case.declared.get(id).map(|declared| declared.dtype);
            pointers || matches!(declared, Some(DType::I64 | DType::U64))
        })
        .collect()
}

fn view(tensor: &Tensor) -> request::Tensor {
    request::Tensor {
        storage: tensor.storage.0 as usize,
        dtype: tensor.dtype,
        shape: tensor.shape.to_vec(),
        strides: tensor.strides.to_vec(),
        offset: tensor.offset,
    }
}

pub(crate) fn convert_value(value: &ArgValue) -> Value {
    match value {
        ArgValue::None => Value::None,
        ArgValue::Bool(flag) => Value::Bool(*flag),
        ArgValue::Int(number) if is_planted(Fault::InterpreterSwapsNumbers) => Value::Int(number.abs()),
        ArgValue::Int(number) => Value::Int(*number),
        ArgValue::Float(number) => Value::Float(*number),
        ArgValue::Str(text) => Value::Str(text.clone()),
        ArgValue::DType(dtype) => Value::DType(*dtype),
        ArgValue::Constexpr(inner) => Value::Constexpr(Box::new(convert_value(inner))),
        ArgValue::Global(name) => Value::Global(name.clone()),
        ArgValue::Tensor { tensor, .. } => Value::Tensor(view(tensor)),
        ArgValue::Descriptor(descriptor) => Value::Descriptor(Box::new(request::Descriptor {
            base: view(&descriptor.base),
            shape: descriptor.shape.clone(),
            strides: descriptor.strides.clone(),
            block_shape: descriptor.block_shape.clone(),
            padding: (descriptor.padding != Padding::Zero).then(|| descriptor.padding.name().to_owned()),
            round_f32_to_tf32: descriptor.round_f32_to_tf32,
        })),
        ArgValue::Address { address: at, .. } => Value::Address {
            storage: at.storage.0 as usize,
            offset: at.offset,
        },
        ArgValue::Tuple(values) => Value::Tuple(values.iter().map(convert_value).collect()),
        ArgValue::NamedTuple { fields, items } => Value::NamedTuple {
            fields: fields.clone(),
            items: items.iter().map(convert_value).collect(),
        },
    }
}

/// The module of the kernels and those of host functions.
pub(crate) fn list_modules(case: &Case) -> impl Iterator<Item = &Arc<Module>> {
    let hosts = case.launches.iter().filter_map(|launch| launch.host.as_ref());
    std::iter::once(&case.module).chain(hosts.map(|host| &host.module))
}

/// Whether a case's Python may affect later cases of the same file: with a host function, or with a module beside the kernel's
/// that changes the imports of others.
pub(crate) fn shares_nothing(case: &Case) -> bool {
    let has_host = case.launches.iter().any(|launch| launch.host.is_some());
    has_host || !case.module.imports.is_empty()
}

/// The files of a case's modules and of their imports.
pub(crate) fn list_files(case: &Case) -> impl Iterator<Item = &Arc<SourceFile>> {
    list_modules(case).flat_map(|module| {
        let imports = module.imports.iter().map(|(_, file)| file);
        std::iter::once(&module.file).chain(imports)
    })
}

/// The same files, under a compiler's names for them.
pub(crate) fn compiled_files(case: &Case) -> impl Iterator<Item = (String, &Arc<SourceFile>)> {
    list_files(case).map(|file| {
        let path = std::path::absolute(&file.name).unwrap_or_else(|_| PathBuf::from(&file.name));
        (path.to_string_lossy().into_owned(), file)
    })
}

/// The texts of the modules that a case's modules import.
pub(crate) fn list_imports(case: &Case) -> Vec<Arc<str>> {
    list_modules(case)
        .flat_map(|module| module.imports.iter().map(|(_, file)| Arc::clone(&file.text)))
        .collect()
}
