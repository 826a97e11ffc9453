//! Properties of the GPU that a kernel is compiled for and runs on: `tl.target_info`, `tl.extra.cuda`.
//!
//! Unsupported: properties that differ between runs (the clock, the multiprocessor's number), and inline assembly.

use super::argument::{expect_int, get_argument};
use super::row::{Row, row};
use crate::lowering::Lowering;
use crate::request::RequestArg;
use crate::value::Value;

/// The compute capability that kernels are compiled for here: an H100's.
const CAPABILITY: i128 = 90;
/// Warps of a launch without `num_warps`, in Triton's compiler.
const DEFAULT_WARPS: i128 = 4;
const WARP: i128 = 32;

pub(super) const ROWS: &[Row] = &[
    row("tl.target_info.is_cuda()", |_, _| Ok(Value::from_bool(true))).since(3, 5, 1),
    row("tl.target_info.is_hip()", |_, _| Ok(Value::from_bool(false))).since(3, 5, 1),
    row("tl.target_info.is_hip_cdna3()", |_, _| {
        Ok(Value::from_bool(false))
    })
    .since(3, 5, 1),
    row("tl.target_info.is_hip_cdna4()", |_, _| {
        Ok(Value::from_bool(false))
    })
    .since(3, 5, 1),
    row("tl.target_info.is_hip_gfx1250()", |_, _| {
        Ok(Value::from_bool(false))
    })
    .since(3, 8, 0),
    row(
        "tl.target_info.cuda_capability_geq(major, minor=0)",
        |lo, args| {
            let (major, minor) = (
                expect_int(lo, get_argument(args, 0), "the major capability")?,
                expect_int(lo, get_argument(args, 1), "the minor capability")?,
            );
            Ok(Value::from_bool(
                CAPABILITY >= major.saturating_mul(10).saturating_add(minor),
            ))
        },
    )
    .since(3, 5, 1),
    row("tl.target_info.current_target()", |lo, _| {
        Err(lo.report_unsupported("`tl.target_info.current_target`, an object of the compiler's"))
    })
    .since(3, 5, 1),
    row("tl.extra.cuda.num_warps()", |lo, _| {
        Ok(Value::from_int(read_num_warps(lo)))
    }),
    row("tl.extra.cuda.num_threads()", |lo, _| {
        Ok(Value::from_int(read_num_warps(lo).saturating_mul(WARP)))
    }),
    // Launches follow each other here, so whatever an earlier kernel wrote is there.
    row("tl.extra.cuda.gdc_wait()", |_, _| Ok(Value::NONE)).since(3, 4, 0),
    row("tl.extra.cuda.gdc_launch_dependents()", |_, _| Ok(Value::NONE)).since(3, 4, 0),
    row("tl.extra.cuda.globaltimer()", |lo, _| {
        Err(lo.report_unsupported("`tl.extra.cuda.globaltimer`, which differs from run to run,"))
    }),
    row("tl.extra.cuda.smid()", |lo, _| {
        Err(lo.report_unsupported("`tl.extra.cuda.smid`, which differs from run to run,"))
    }),
    row("tl.extra.cuda.convert_custom_float8_sm80(*args)", |lo, _| {
        Err(lo.report_unsupported("`tl.extra.cuda.convert_custom_float8_sm80`, which is inline assembly,"))
    }),
    row("tl.extra.cuda.convert_custom_float8_sm70(*args)", |lo, _| {
        Err(lo.report_unsupported("`tl.extra.cuda.convert_custom_float8_sm70`, which is inline assembly,"))
    }),
    row(
        "tl.extra.cuda.experimental_device_tensormap_create1d(*args)",
        |lo, _| Err(lo.report_unsupported("`tl.extra.cuda.experimental_device_tensormap_create1d`")),
    )
    .since(3, 2, 0)
    .removed_in(3, 4, 0),
    row(
        "tl.extra.cuda.experimental_device_tensormap_create2d(*args)",
        |lo, _| Err(lo.report_unsupported("`tl.extra.cuda.experimental_device_tensormap_create2d`")),
    )
    .since(3, 2, 0)
    .removed_in(3, 4, 0),
    row(
        "tl.extra.cuda.experimental_tensormap_fenceproxy_acquire(*args)",
        |lo, _| Err(lo.report_unsupported("`tl.extra.cuda.experimental_tensormap_fenceproxy_acquire`")),
    )
    .since(3, 2, 0)
    .removed_in(3, 4, 0),
];

fn read_num_warps(lo: &Lowering) -> i128 {
    match lo.find_option("num_warps") {
        Some(RequestArg::Int(warps)) => *warps,
        _ => DEFAULT_WARPS,
    }
}
