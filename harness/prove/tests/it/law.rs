//! Laws of generated kernels: a load that is proved to be in bounds never traps, for any sizes that its contract allows; exact
//! integers change nothing that doesn't wrap; and no launch refutes a proof. Kernels have sums, products, quotients, minima and loops
//! in indices and masks, with as many wrong masks as right ones.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use cerith_frontend::{Request, RequestArg, Traced, trace};
use cerith_interp::{Config, LaunchOutcome, ParamValue, Program, TrapKind};
use cerith_memory::{ByteState, Content, Memory, Rule, Storages, Tensor};
use cerith_prove::exact::widen_integers;
use cerith_prove::overflow::{Freedom, Trial, Wrap, find_wraps};
use cerith_prove::{Contract, ObligationKind, Size, Sizes, prove};
use cerith_tile::DType;
use cerith_tile::ir::{Elem, LocId};
use cerith_tile::rules::Rules;
use cerith_tile::source::SourceFile;
use proptest::prelude::*;

/// A kernel with one load, and its contract.
#[derive(Clone, Debug)]
struct Sample {
    index: String,
    mask: String,
    elements: Size,
    grid: Size,
    is_loop: bool,
    /// Whether lanes have two dimensions.
    is_matrix: bool,
    sizes: Vec<[i64; 3]>,
    /// The elements of `y`.
    loaded: [i32; 4],
}

fn size(name: &str) -> Size {
    Size::Name(name.to_owned())
}

/// An integer expression of the kernel, of the program, a lane, parameters and small numbers.
fn index() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => Just("i".to_owned()),
        2 => Just("p".to_owned()),
        2 => Just("k".to_owned()),
        1 => Just("n".to_owned()),
        1 => Just("s".to_owned()),
        1 => Just("v".to_owned()),
        1 => Just("w".to_owned()),
        1 => Just("u".to_owned()),
        1 => Just("j".to_owned()),
        1 => Just("q".to_owned()),
        1 => (0..3i64).prop_map(|number| number.to_string()),
    ];
    leaf.prop_recursive(3, 8, 2, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            4 => pair.clone().prop_map(|(a, b)| format!("({a} + {b})")),
            3 => pair.clone().prop_map(|(a, b)| format!("({a} * {b})")),
            1 => pair.clone().prop_map(|(a, b)| format!("({a} - {b})")),
            1 => pair.clone().prop_map(|(a, b)| format!("tl.minimum({a}, {b})")),
            1 => pair.clone().prop_map(|(a, b)| format!("tl.maximum({a}, {b})")),
            1 => pair.clone().prop_map(|(a, b)| format!("tl.where(v > 2, {a}, {b})")),
            1 => pair.clone().prop_map(|(a, b)| format!("tl.where({a} < {b}, {a}, {b})")),
            1 => pair.prop_map(|(a, b)| format!("({a} - {b} + n)")),
            2 => inner.clone().prop_map(|a| format!("({a} // m)")),
            2 => inner.clone().prop_map(|a| format!("({a} % n)")),
            1 => inner.prop_map(|a| format!("({a} % 4)")),
        ]
    })
}

fn mask() -> impl Strategy<Value = String> {
    let bound = prop_oneof![
        4 => Just("n"),
        2 => Just("m"),
        1 => Just("n + 1"),
        1 => Just("n - 1"),
        1 => Just("s"),
    ];
    let one = (index(), prop_oneof![3 => Just("<"), 1 => Just("<=")], bound)
        .prop_map(|(index, operator, bound)| format!("({index} {operator} {bound})"));
    let likely = prop_oneof![
        Just("(i < n)".to_owned()),
        Just("(i < n) & (p < m)".to_owned()),
        Just("(i <= n)".to_owned()),
        Just("(k < n) & (i < m)".to_owned()),
        Just("(i < n) | (i < m)".to_owned()),
    ];
    let any = prop_oneof![3 => one, 3 => likely];
    (any.clone(), prop_oneof![3 => Just(None), 2 => any.prop_map(Some)])
        .prop_map(|(a, b)| b.map_or_else(|| a.clone(), |b| format!("({a}) & ({b})")))
}

fn sample() -> impl Strategy<Value = Sample> {
    let elements = prop_oneof![
        3 => Just(size("n")),
        2 => Just(Size::Product(vec![size("m"), size("n")])),
        1 => Just(Size::Sum(vec![Size::Product(vec![size("m"), size("s")]), size("n")])),
        1 => Just(Size::Sum(vec![size("m"), size("n")])),
    ];
    let grid = prop_oneof![
        Just(Size::Cdiv(Box::new(size("n")), Box::new(Size::Number(4)))),
        Just(size("m")),
        Just(Size::Product(vec![
            size("m"),
            Size::Cdiv(Box::new(size("n")), Box::new(Size::Number(4)))
        ])),
    ];
    let likely = prop_oneof![
        Just("i".to_owned()),
        Just("(p * n + i)".to_owned()),
        Just("(p * s + k)".to_owned()),
        Just("(i % n)".to_owned()),
        Just("(k * m + p)".to_owned()),
        Just("(w - u)".to_owned()),
        Just("(i + j - s)".to_owned()),
    ];
    let index = prop_oneof![2 => likely, 3 => index()];
    let sizes = prop::collection::vec([2..14i64, 2..9i64, 2..9i64], 4);
    let loaded = prop::array::uniform4(-3..14i32);
    let flags = (any::<bool>(), any::<bool>());
    (index, mask(), elements, grid, flags, sizes, loaded).prop_map(
        |(index, mask, elements, grid, (is_loop, is_matrix), sizes, loaded)| Sample {
            index,
            mask,
            elements,
            grid,
            is_loop,
            is_matrix,
            sizes,
            loaded,
        },
    )
}

fn evaluate(one: &Size, [n, m, s]: [i64; 3]) -> i64 {
    let inner = |one: &Size| evaluate(one, [n, m, s]);
    match one {
        Size::Number(number) => *number,
        Size::Name(name) => match name.as_str() {
            "n" => n,
            "m" => m,
            _ => s,
        },
        Size::Sum(parts) => parts.iter().map(inner).sum(),
        Size::Product(parts) => parts.iter().map(inner).product(),
        Size::Cdiv(a, b) => (inner(a) + inner(b) - 1) / inner(b),
    }
}

impl Sample {
    fn text(&self) -> String {
        let mut text = "import triton
import triton.language as tl

@triton.jit
def kernel(x, y, n, m, s):
    p = tl.program_id(0)
    k = tl.arange(0, 4)
    i = p * 4 + k
    v = tl.load(y + k)
    w = tl.where(v.to(tl.float32) > 2.5, n, m)
    u = w
    j = s
    if p < m:
        q = n
    else:
        q = s
"
        .to_owned();
        if self.is_matrix {
            text.push_str("    u = w[None, :]\n    w = w[:, None]\n    v = v[:, None]\n    i = i[:, None]\n    k = k[None, :]\n");
        }
        let (index, mask) = (&self.index, &self.mask);
        let (index, mask) = (
            format!("({index}) + 0 * (k + i)"),
            format!("({mask}) & (k + i >= 0)"),
        );
        if self.is_loop {
            let start = if self.is_matrix {
                "tl.arange(0, 4)[:, None]"
            } else {
                "k"
            };
            let _ = writeln!(
                text,
                "    for t in range(0, n, 4):\n        i = t + {start}\n        tl.load(x + {index}, mask={mask})\n        j += m"
            );
        } else {
            let _ = writeln!(text, "    tl.load(x + {index}, mask={mask})");
        }
        text
    }

    fn trace(&self) -> Option<Traced> {
        let number = |number| RequestArg::Int(number);
        trace(&Request {
            file: Arc::new(SourceFile::new("kernel.py", self.text())),
            modules: Vec::new(),
            kernel: "kernel".to_owned(),
            positional: vec![
                RequestArg::Pointer(Elem::Num(DType::I32)),
                RequestArg::Pointer(Elem::Num(DType::I32)),
                number(7),
                number(7),
                number(7),
            ],
            keyword: Vec::new(),
            options: Vec::new(),
            rules: Rules::default(),
        })
        .ok()
    }

    fn contract(&self) -> Contract {
        let most = i64::from(i32::MAX) - 65_536;
        Contract {
            elements: [
                ("x".to_owned(), self.elements.clone()),
                ("y".to_owned(), Size::Number(4)),
            ]
            .into(),
            grid: [
                Some(self.grid.clone()),
                Some(Size::Number(1)),
                Some(Size::Number(1)),
            ],
            ranges: ["n", "m", "s"].map(|name| (name.to_owned(), (1, most))).into(),
            ..Contract::default()
        }
    }
}

/// Executes a kernel for some sizes: all programs, or the one with a number. `x` is sparse, and its elements are all 1.
fn launch(
    sample: &Sample,
    program: &Program,
    sizes: [i64; 3],
    only_program: Option<u64>,
) -> Result<LaunchOutcome, TestCaseError> {
    let failed = |error: &dyn std::fmt::Debug| TestCaseError::fail(format!("{error:?}"));
    let mut storages = Storages::new();
    let elements = evaluate(&sample.elements, sizes);
    let x = storages
        .add_sparse("x", elements.unsigned_abs() * 4)
        .map_err(|error| failed(&error))?;
    let x = Tensor::new_contiguous(x, DType::I32, &[elements]);
    storages.set_content(x.storage, Content::new(Arc::new(FilledWithOnes)));
    let y = storages
        .allocate("y", DType::I32, &[4])
        .map_err(|error| failed(&error))?;
    storages.write(y.storage, 0, &sample.loaded.map(i32::to_le_bytes).concat());
    let mut memory = Memory::new(&storages, Vec::new());
    let mut arguments = vec![
        ParamValue::tensor(&memory, &x, "x"),
        ParamValue::tensor(&memory, &y, "y"),
    ];
    arguments.extend(sizes.map(|size| ParamValue::Number(size as u64)));
    let grid = [evaluate(&sample.grid, sizes) as u32, 1, 1];
    let config = Config {
        only_program,
        fuel: 1 << 20,
        program_fuel: 1 << 20,
        ..Config::default()
    };
    program
        .launch(grid, &arguments, &mut memory, &config)
        .map_err(|error| failed(&error))
}

/// Elements that are 1.
#[derive(Debug)]
struct FilledWithOnes;

impl Rule for FilledWithOnes {
    fn write(&self, offset: u64, bytes: &mut [u8], states: &mut [ByteState]) {
        for (at, byte) in (offset..).zip(bytes) {
            *byte = u8::from(at % 4 == 0);
        }
        states.fill(ByteState::Init);
    }

    fn describe(&self) -> String {
        "ones".to_owned()
    }
}

/// A program in its form for execution, as it is or with exact integers.
fn prepare(traced: &Traced, is_exact: bool) -> Result<Program, TestCaseError> {
    let function = if is_exact {
        widen_integers(&traced.function, None)
    } else {
        traced.function.clone()
    };
    Program::prepare(function).map_err(|error| TestCaseError::fail(format!("{error:?}")))
}

/// The kind of a trap, if an outcome is one.
fn find_trap(outcome: &LaunchOutcome) -> Option<TrapKind> {
    match outcome {
        LaunchOutcome::Trapped(trap) => Some(trap.kind),
        _ => None,
    }
}

/// With sizes for which nothing wraps, exact integers change nothing. Returns whether the kernel did something.
fn check_exact(sample: &Sample) -> Result<bool, TestCaseError> {
    let Some(traced) = sample.trace() else {
        return Ok(false);
    };
    let programs = [prepare(&traced, false)?, prepare(&traced, true)?];
    for &sizes in &sample.sizes {
        let [plain, exact] = [
            launch(sample, &programs[0], sizes, None)?,
            launch(sample, &programs[1], sizes, None)?,
        ];
        let is_same = match (&plain, &exact) {
            (LaunchOutcome::Finished(a), LaunchOutcome::Finished(b)) => {
                a.stats.bytes_stored == b.stats.bytes_stored
            }
            (LaunchOutcome::Exhausted(_), _) | (_, LaunchOutcome::Exhausted(_)) => true,
            _ => find_trap(&plain).is_some() && find_trap(&plain) == find_trap(&exact),
        };
        if !is_same {
            let message = format!("n, m, s = {sizes:?}\n{}\n{plain:?}\n{exact:?}", sample.text());
            return Err(TestCaseError::fail(message));
        }
    }
    Ok(true)
}

/// Launches that were chosen for a sample, executed.
struct Launches<'a> {
    sample: &'a Sample,
    programs: [Program; 2],
    /// The sizes of the first launch that leaves `x` only because an integer wraps.
    wrapping_sizes: Option<[i64; 3]>,
    failed: Option<TestCaseError>,
}

impl Trial for Launches<'_> {
    fn is_wanted(&self, _: LocId) -> bool {
        self.wrapping_sizes.is_none() && self.failed.is_none()
    }

    fn accepts(&self, sizes: &BTreeMap<String, i64>) -> bool {
        let Some(sizes) = read_sizes(sizes) else {
            return false;
        };
        let large = |one: &Size, limit: i128| {
            let names = ["n", "m", "s"].into_iter().zip(sizes);
            let numbers = names.map(|(name, size)| (name.to_owned(), size)).collect();
            one.evaluate(&numbers)
                .is_none_or(|value| i128::from(value) > limit)
        };
        !large(&self.sample.elements, 1 << 44) && !large(&self.sample.grid, i128::from(i32::MAX))
    }

    fn replay(&mut self, wrap: &Wrap) -> bool {
        let Some(sizes) = read_sizes(&wrap.sizes) else {
            return false;
        };
        let number = Some(wrap.program[0].unsigned_abs());
        let run = |program| launch(self.sample, program, sizes, number);
        match (run(&self.programs[0]), run(&self.programs[1])) {
            (Ok(plain), Ok(exact)) => {
                let is_shown = find_trap(&plain) == Some(TrapKind::OutOfBounds)
                    && matches!(exact, LaunchOutcome::Finished(_));
                if is_shown {
                    self.wrapping_sizes.get_or_insert(sizes);
                }
                is_shown
            }
            (Err(error), _) | (_, Err(error)) => {
                self.failed = Some(error);
                false
            }
        }
    }
}

fn read_sizes(sizes: &BTreeMap<String, i64>) -> Option<[i64; 3]> {
    let read = |name: &str| sizes.get(name).copied();
    Some([read("n")?, read("m")?, read("s")?])
}

/// No load is proved for all sizes if a chosen launch inside of its contract shows that an integer wraps. Returns whether there is
/// such a launch.
fn check_wraps(sample: &Sample) -> Result<bool, TestCaseError> {
    let Some(traced) = sample.trace() else {
        return Ok(false);
    };
    let contract = sample.contract();
    let mut launches = Launches {
        sample,
        programs: [prepare(&traced, false)?, prepare(&traced, true)?],
        wrapping_sizes: None,
        failed: None,
    };
    let freedom = Freedom {
        start: ["n", "m", "s"].map(|name| (name.to_owned(), 7)).into(),
        ranges: contract.ranges.clone(),
        ..Freedom::default()
    };
    find_wraps(&traced.function, &contract, &freedom, &mut launches);
    if let Some(error) = launches.failed {
        return Err(error);
    }
    let Some(sizes) = launches.wrapping_sizes else {
        return Ok(false);
    };
    let proof = prove(&traced.function, &contract);
    let accesses = proof
        .obligations
        .iter()
        .filter(|one| one.tensor.as_deref() == Some("x"));
    for one in accesses {
        if one.proved() == Some(Sizes::All) {
            return Err(TestCaseError::fail(format!(
                "n, m, s = {sizes:?} refutes a proof\n{}",
                sample.text()
            )));
        }
    }
    Ok(true)
}

/// Whether the load of a sample is proved, and that it never traps if it is.
fn check(sample: &Sample) -> Result<bool, TestCaseError> {
    let Some(traced) = sample.trace() else {
        return Ok(false);
    };
    let proof = prove(&traced.function, &sample.contract());
    let mut loads = proof
        .obligations
        .iter()
        .filter(|one| matches!(one.kind, ObligationKind::InBounds(_)) && one.tensor.as_deref() == Some("x"));
    let is_proved = loads.next().is_some_and(|one| one.proved().is_some());
    if !is_proved {
        return Ok(false);
    }
    let program =
        Program::prepare(traced.function).map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
    for &sizes in &sample.sizes {
        let mut storages = Storages::new();
        let x = storages.allocate("x", DType::I32, &[evaluate(&sample.elements, sizes)]);
        let x = x.map_err(|error| TestCaseError::fail(error.to_string()))?;
        storages.write(x.storage, 0, &vec![1; storages.size(x.storage)]);
        let y = storages.allocate("y", DType::I32, &[4]);
        let y = y.map_err(|error| TestCaseError::fail(error.to_string()))?;
        storages.write(y.storage, 0, &sample.loaded.map(i32::to_le_bytes).concat());
        let mut memory = Memory::new(&storages, Vec::new());
        let mut arguments = vec![
            ParamValue::tensor(&memory, &x, "x"),
            ParamValue::tensor(&memory, &y, "y"),
        ];
        arguments.extend(sizes.map(|size| ParamValue::Number(size as u64)));
        let grid = [evaluate(&sample.grid, sizes) as u32, 1, 1];
        let outcome = program.launch(grid, &arguments, &mut memory, &Config::default());
        match outcome {
            Ok(LaunchOutcome::Trapped(trap)) if trap.kind == TrapKind::OutOfBounds => {
                let shown = trap.diagnostic.render(&program.function().sources, false);
                return Err(TestCaseError::fail(format!(
                    "n, m, s = {sizes:?}\n{}\n{shown}",
                    sample.text()
                )));
            }
            Ok(_) => {}
            Err(error) => return Err(TestCaseError::fail(format!("{error:?}"))),
        }
    }
    Ok(true)
}

/// Checks generated samples. At least one of so many of them must be one that the law applies to.
fn check_samples(cases: u32, rarity: u32, check: impl Fn(&Sample) -> Result<bool, TestCaseError>) {
    let cases = std::env::var("CERITH_LAW_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(cases);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let counted = std::cell::Cell::new(0u32);
    let result = runner.run(&sample(), |sample| {
        if check(&sample)? {
            counted.set(counted.get() + 1);
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    // A law about nothing would always hold.
    assert!(
        counted.get() * rarity >= cases,
        "{} of {cases} samples count",
        counted.get()
    );
}

#[test]
fn proved_loads_never_trap() {
    check_samples(120, 120, check);
}

#[test]
fn exact_integers_change_nothing_that_does_not_wrap() {
    check_samples(60, 2, check_exact);
}

#[test]
fn no_proof_is_refuted() {
    check_samples(120, 120, check_wraps);
}
