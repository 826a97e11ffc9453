//! Calls of launchers, for callers that execute them.

use cerith_launcher::{HostArgument, HostCall, Layout, NoCalls, read_calls};

/// A kernel and launchers of it, one with NumPy.
const ROWS: &str = "\
import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def scale_rows(x, out, cols, stride, factor, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * stride + at, mask=at < cols)
    tl.store(out + row * cols + at, value * factor, mask=at < cols)


def scale(x, factor: float, eps=1e-5, dtype=torch.float32):
    rows, cols = x.shape
    out = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
    scale_rows[(rows,)](x, out, cols, x.stride(0), factor, BLOCK=triton.next_power_of_2(cols))
    return out


def scale_array(x, factor: float):
    rows, cols = x.shape
    out = np.zeros((rows, cols), dtype=np.float32)
    scale_rows[(rows,)](x, out, cols, x.stride(0), factor, BLOCK=triton.next_power_of_2(cols))
    return out


def leave(x):
    return x
";

fn read(function: &str) -> Result<Vec<HostCall>, NoCalls> {
    read_calls(ROWS, "rows.py", "scale_rows", function)
}

/// A call as text: `x=float32[33, 49], factor=0.5`.
fn describe(call: &HostCall) -> String {
    let arguments = call.arguments.iter().map(|(name, argument)| match argument {
        HostArgument::Tensor { dtype, shape, layout } => {
            let layout = match layout {
                Layout::Dense => "",
                Layout::Padded => " padded",
                Layout::Transposed => " transposed",
            };
            format!("{name}={dtype}{shape:?}{layout}")
        }
        other => format!("{name}={other:?}"),
    });
    arguments.collect::<Vec<_>>().join(", ")
}

#[test]
fn arguments_are_those_with_which_a_launcher_launches() {
    let calls = read("scale").expect("calls");
    let plain = describe(&calls[0]);
    // A default that is not a literal is left to Python.
    assert_eq!(plain, "x=float32[33, 49], factor=Float(0.5), eps=Float(1e-5)");
    let others: Vec<String> = calls.iter().skip(1).map(|call| call.variant.clone()).collect();
    for variant in ["padded x", "float16", "x[33, 1]"] {
        assert!(others.iter().any(|other| other == variant), "{others:?}");
    }
    let padded = calls
        .iter()
        .find(|call| call.variant == "padded x")
        .expect("a variant");
    assert!(
        describe(padded).starts_with("x=float32[33, 49] padded"),
        "{padded:?}"
    );
    let arrays = read("scale_array").expect("calls");
    assert_eq!(describe(&arrays[0]), "x=float32[33, 49], factor=Float(0.5)");
}

#[test]
fn a_function_without_a_launch_has_no_calls() {
    assert_eq!(read("leave"), Err(NoCalls::Unreached));
    assert_eq!(read("nothing"), Err(NoCalls::NoFunction("nothing".to_owned())));
    assert_eq!(
        read("scale_rows.fn"),
        Err(NoCalls::NoFunction("scale_rows.fn".to_owned()))
    );
}
