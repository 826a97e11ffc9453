//! A comparison as text, 80 columns wide.

use std::fmt::Write as _;

use cerith_oracle::{Contract, Tolerance};
use cerith_tile::DType;

use super::message::{Operation, OutputAnswer, Verdict, describe_distant};

/// A value, as few digits as identify a number of the dtype.
pub(super) fn render(value: f64, dtype: DType) -> String {
    match dtype {
        _ if dtype.is_int() || value.is_nan() || value.is_infinite() => format!("{value}"),
        DType::F64 => format!("{value:?}"),
        _ if value != 0.0 && value as f32 == 0.0 => format!("{value:.3e}"),
        _ => format!("{:?}", value as f32),
    }
}

/// A number of units: two significant digits.
fn render_units(units: f64) -> String {
    if units >= 100.0 || units == units.trunc() {
        format!("{units:.0}")
    } else {
        format!("{units:.1}")
    }
}

/// Describes the comparison of all outputs.
pub(super) fn describe(
    outputs: &[OutputAnswer],
    operation: Option<&Operation>,
    contract: Contract,
    tolerance: Option<Tolerance>,
) -> String {
    let mut text = String::new();
    for output in outputs {
        describe_output(&mut text, output, contract, tolerance);
        if output.verdict == Verdict::Inaccurate
            && let Some(Operation { name, file, line }) = operation
        {
            let _ = write!(text, "  most of it is lost in `{name}`");
            if let (Some(file), Some(line)) = (file, line) {
                let _ = write!(text, " at {file}:{line}");
            }
            text.push('\n');
        }
    }
    text
}

fn describe_output(
    text: &mut String,
    output: &OutputAnswer,
    contract: Contract,
    tolerance: Option<Tolerance>,
) {
    let OutputAnswer {
        name,
        verdict,
        elements,
        wrong,
        inaccurate,
        undecided,
        distant,
        unwritten,
        worst_ulps,
        allowed_ulps,
        example,
        reason,
    } = output;
    let accumulate = contract.accumulate;
    let _ = match verdict {
        Verdict::Agree => writeln!(
            text,
            "{name}: agrees, {elements} elements, {} of {} ulp",
            render_units(*worst_ulps),
            render_units(*allowed_ulps)
        ),
        Verdict::Wrong if *unwritten > 0 => {
            writeln!(
                text,
                "{name}: wrong: {unwritten} of {elements} elements were never written"
            )
        }
        Verdict::Wrong => writeln!(text, "{name}: wrong: {wrong} of {elements} elements"),
        Verdict::Inaccurate => writeln!(
            text,
            "{name}: less accurate than {accumulate} accumulation: {} ulp of {}, in {inaccurate} of {elements} elements",
            render_units(*worst_ulps),
            render_units(*allowed_ulps)
        ),
        Verdict::Undecided => writeln!(
            text,
            "{name}: undecided: {} of {elements} elements",
            if *undecided > 0 {
                *undecided
            } else {
                *wrong + *inaccurate
            }
        ),
    };
    if *verdict == Verdict::Undecided && *distant > 0 {
        let _ = writeln!(text, "  {}", describe_distant(*distant, *elements));
    }
    if let Some(reason) = reason {
        let _ = writeln!(text, "  {reason}");
    }
    if let Some(example) = example {
        let index: Vec<String> = example.index.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            text,
            "  at [{}]: {}, expected {}",
            index.join(", "),
            example.kernel,
            example.expected
        );
        if let (Some(low), Some(high), None) = (&example.low, &example.high, tolerance) {
            let _ = writeln!(text, "  the kernel's formula admits {low} to {high}");
        }
    }
    if tolerance.is_some() {
        let _ = writeln!(
            text,
            "  with the given tolerance; the largest distance is {} ulp",
            render_units(*worst_ulps)
        );
    }
}
