//! Elements against the values of a reference function.

use std::fmt::Write as _;

use cerith_accept::Accepted;
use cerith_oracle::{Contract, Element, Finding, Terms, Tolerance, compare};
use cerith_tile::DType;
use cerith_tile::ir::Rounding;
use cerith_tile::numeric::encode;

fn within(low: f64, high: f64, nan: bool) -> Accepted {
    Accepted::Within {
        dtype: DType::F32,
        low,
        high,
        infinities: [false; 2],
        nan,
    }
}

/// One element of `f32`: the formula's bounds and value, the kernel's value, and the expected one.
fn find(
    bounds: Accepted,
    [formula, kernel, expected]: [f64; 3],
    tolerance: Option<Tolerance>,
) -> Option<Finding> {
    let bits = |value| encode(DType::F32, value, Rounding::NearestEven);
    let element = Element {
        bounds,
        formula: bits(formula),
        kernel: bits(kernel),
        expected,
        integer: None,
    };
    compare(
        DType::F32,
        [element],
        Terms {
            tolerance,
            ..Terms::default()
        },
    )
    .finding()
}

#[track_caller]
fn check(bounds: Accepted, values: [f64; 3], expected: Option<Finding>) {
    assert_eq!(find(bounds, values, None), expected, "{bounds:?}, {values:?}");
}

#[test]
fn bounds_decide() {
    let (wrong, inaccurate, undecided) = (
        Some(Finding::Wrong),
        Some(Finding::Inaccurate),
        Some(Finding::Undecided),
    );
    let nan = f64::NAN;
    check(Accepted::Exact, [1.0, 1.0, 1.0], None);
    check(Accepted::Exact, [1.0, 1.0, 1.0 + 1e-14], None);
    check(Accepted::Exact, [1.0, 1.0, 1.0 + 1e-9], None);
    check(Accepted::Exact, [1.0, 1.0, 1.0 + 1e-6], wrong);
    check(within(0.9, 1.1, false), [1.0, 1.02, 0.98], None);
    check(within(0.9, 1.1, false), [1.0, 1.05, 0.95], undecided);
    check(within(0.9, 1.1, false), [1.0, 1.2, 1.0], inaccurate);
    check(within(0.9, 1.1, false), [1.0, 1.0, 1.2], wrong);
    // NaN equals NaN, and nothing else.
    check(Accepted::Exact, [nan, nan, nan], None);
    check(Accepted::Exact, [nan, nan, 1.0], wrong);
    check(within(0.9, 1.1, true), [1.0, nan, 1.0], inaccurate);
    check(
        within(99.0, f64::INFINITY, false),
        [100.0, f64::INFINITY, 100.0],
        inaccurate,
    );
    check(within(0.9, 1.1, false), [1.0, 1.0, nan], wrong);
    // Without bounds, only the expected value itself is right.
    check(Accepted::Unknown, [0.0, 1.0, 1.0 + 1e-9], None);
    check(Accepted::Unknown, [0.0, 2.0, 1.0], undecided);
    check(Accepted::Unknown, [0.0, nan, 1.0], inaccurate);
    // A number that the dtype lacks is an infinity there, or zero.
    check(Accepted::Exact, [f64::INFINITY, f64::INFINITY, 1e300], None);
    check(Accepted::Exact, [0.0, 0.0, 1e-300], None);
}

#[test]
fn a_reference_that_cancels_is_off_by_a_part_of_its_largest_value() {
    let element = |formula: f32, expected| Element {
        bounds: Accepted::Exact,
        formula: u64::from(formula.to_bits()),
        kernel: u64::from(formula.to_bits()),
        expected,
        integer: None,
    };
    let compared = compare(
        DType::F32,
        [element(2.5, 2.5), element(0.0, 2.5e-16)],
        Terms::default(),
    );
    assert_eq!(compared.finding(), None);
    let alone = compare(DType::F32, [element(0.0, 2.5e-16)], Terms::default());
    assert_eq!(alone.finding(), Some(Finding::Wrong));
}

#[test]
fn a_tolerance_replaces_the_bounds() {
    let tolerance = Some(Tolerance {
        relative: 0.1,
        absolute: 0.0,
    });
    assert_eq!(find(Accepted::Exact, [1.0, 1.0, 1.05], tolerance), None);
    assert_eq!(
        find(Accepted::Unknown, [1.0, 1.2, 1.0], tolerance),
        Some(Finding::Wrong)
    );
    assert_eq!(find(Accepted::Unknown, [0.0, 0.0, 1e-300], tolerance), None);
}

/// Elements of `f32` whose bounds exclude nothing: the kernel's value, and the expected one.
#[track_caller]
fn check_wide(elements: &[[f32; 2]], terms: Terms, distant: usize) {
    let bound = f64::from(f32::MAX);
    let to_element = |&[kernel, expected]: &[f32; 2]| Element {
        bounds: within(-bound, bound, false),
        formula: 0,
        kernel: u64::from(kernel.to_bits()),
        expected: f64::from(expected),
        integer: None,
    };
    let compared = compare(DType::F32, elements.iter().map(to_element), terms);
    let finding = (distant > 0).then_some(Finding::Undecided);
    assert_eq!(compared.finding(), finding, "{elements:?}");
    assert_eq!(compared.distant, distant, "{elements:?}");
}

#[test]
fn bounds_excuse_a_part_of_the_largest_value() {
    let terms = Terms::default();
    check_wide(&[[1.0, 1.05], [0.01, 0.02]], terms, 0);
    check_wide(&[[0.0, 1.0], [0.0, 0.02]], terms, 1);
    // The rounding error of greater numbers.
    check_wide(&[[0.0, 1e-7], [3e-7, -1e-7]], terms, 0);
    check_wide(&[[0.0, 1e-5]], terms, 1);
    let inputs = Terms {
        inputs: 20.0,
        ..terms
    };
    check_wide(&[[0.0, 1e-5]], inputs, 0);
    let inputs = Terms {
        inputs: 1e30,
        ..terms
    };
    check_wide(&[[0.0, 1.0]], inputs, 1);
    let contract = Contract {
        accumulate: DType::F16,
        ..Contract::default()
    };
    check_wide(&[[0.0, 1.0]], Terms { contract, ..terms }, 0);
}

#[test]
fn the_gravest_element_is_shown() {
    let element = |kernel: f32, expected| Element {
        bounds: within(0.5, 1.5, false),
        formula: u64::from(1.0_f32.to_bits()),
        kernel: u64::from(kernel.to_bits()),
        expected,
        integer: None,
    };
    let elements = [
        element(9.0, 1.0),
        element(1.0, 2.0),
        element(1.0, 3.0),
        element(1.0, 1.0),
    ];
    let compared = compare(DType::F32, elements, Terms::default());
    let mut text = String::new();
    let worst = compared.worst.expect("one is wrong");
    let _ = write!(
        text,
        "{} {} {}",
        compared.elements, compared.wrong, compared.inaccurate
    );
    assert_eq!(text, "4 2 1");
    assert_eq!(
        (worst.finding, worst.index, worst.expected),
        (Finding::Wrong, 2, 3.0)
    );
}

#[test]
fn integers_are_equal_or_wrong() {
    let element = |kernel: i64, expected: i64| Element {
        bounds: Accepted::Exact,
        formula: kernel as u64,
        kernel: kernel as u64,
        expected: expected as f64,
        integer: Some(expected),
    };
    let compare_bool = |kernel| compare(DType::I1, [element(kernel, 1)], Terms::default()).finding();
    assert_eq!(compare_bool(1), None);
    assert_eq!(compare_bool(255), Some(Finding::Wrong));
    assert_eq!(
        compare(DType::I64, [element(-3, -3)], Terms::default()).finding(),
        None
    );
    assert_eq!(
        compare(DType::I64, [element(-3, 3)], Terms::default()).finding(),
        Some(Finding::Wrong)
    );
}

#[test]
fn large_excuses_are_listed() {
    let bits = |value| encode(DType::F32, value, Rounding::NearestEven);
    let element = |kernel| Element {
        bounds: within(0.9, 1.1, false),
        formula: bits(1.0),
        kernel: bits(kernel),
        expected: 1.0,
        integer: None,
    };
    let elements = [1.0, 1.0005, 1.01, 0.98, 1.2].map(element);
    let comparison = compare(DType::F32, elements, Terms::default());
    assert_eq!(comparison.excused, [2, 3]);
}
