//! Describes the parts of a case: storages with their tensors, and launches.

use std::fmt::Write as _;

use cerith_case::Case;
use cerith_report::{Palette, describe, safe};

use super::render_heading;
use crate::picture::draw_storage;

/// Describes the storages of a case, with their tensors, and its launches.
pub fn render_layout(case: &Case, palette: Palette) -> String {
    let mut text = String::new();
    let memory = case.memory();
    for (id, storage) in case.storages.iter() {
        text.push_str(&render_heading(palette, &format!("storage {}", storage.name())));
        let declared = case.declared.get(id.0 as usize).map_or_else(
            || "made by an expression that copies".to_owned(),
            |declared| {
                format!(
                    "{} {:?}, filled with {}",
                    declared.dtype, declared.shape, declared.fill
                )
            },
        );
        let _ = writeln!(text, "    {} bytes, {declared}", storage.size());
        for pointer in storage.pointers() {
            let target = case
                .storages
                .get(pointer.target)
                .map_or("?", |target| target.name());
            let _ = writeln!(
                text,
                "    byte {} holds the address of {target} + {}",
                pointer.offset, pointer.target_offset
            );
        }
        for named in memory.tensors().iter().filter(|named| named.tensor.storage == id) {
            let tensor = &named.tensor;
            let _ = writeln!(
                text,
                "    {}: {} shape {:?} strides {:?} offset {}",
                named.name,
                tensor.dtype,
                tensor.shape.as_slice(),
                tensor.strides.as_slice(),
                tensor.offset
            );
        }
        if storage.is_sparse() {
            let _ = writeln!(
                text,
                "    sparse: only the pages that a launch touches are in memory"
            );
        } else {
            text.push_str(&draw_storage(id, storage.size(), memory.tensors()));
        }
    }
    if case.is_import_only() {
        text.push_str(&render_heading(palette, "import"));
        let _ = writeln!(
            text,
            "    {} must import on a machine without a GPU",
            safe::escape_line(&case.module.file.name)
        );
    }
    text.push_str(&render_launches(case, palette));
    if case.compile.is_some() {
        text.push_str(&render_heading(palette, "compile"));
        for line in case.canonical().compile {
            let _ = writeln!(text, "    {line}");
        }
    }
    text
}

fn render_launches(case: &Case, palette: Palette) -> String {
    let mut text = String::new();
    for (nth, launch) in case.launches.iter().enumerate() {
        text.push_str(&render_heading(palette, &format!("launch {}", nth + 1)));
        let grid: Vec<String> = launch
            .grid
            .iter()
            .take(launch.grid_dims.into())
            .map(ToString::to_string)
            .collect();
        let arguments: Vec<String> = launch
            .arguments()
            .map(|(name, arg)| match name {
                Some(name) => format!("{name}={}", describe::render_value(&arg.value)),
                None => describe::render_value(&arg.value),
            })
            .chain(
                launch
                    .options
                    .iter()
                    .map(|(name, option)| format!("{name}={}", describe::render_value(option))),
            )
            .collect();
        let _ = writeln!(
            text,
            "    {}: {}[{}]({})",
            safe::escape_line(&launch.kernel.module.file.name),
            safe::escape_line(&launch.kernel.name),
            grid.join(", "),
            arguments.join(", ")
        );
        if let Some(host) = &launch.host {
            let _ = writeln!(
                text,
                "    made by {}:{}(kernel, grid, args)",
                safe::escape_line(&host.module.file.name),
                safe::escape_line(&host.name)
            );
        }
    }
    text
}
