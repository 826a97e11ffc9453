//! Laws that hold of every kernel: launches are deterministic and never panic, and the execution with intervals, which
//! shares nothing with the fast one but the arithmetic of single lanes, accepts what the fast one computes.

mod kernels;

use conch_interp::{Acceptance, AcceptanceMap, Accepted, Arg, Checks, Config, Outcome, Program};
use conch_memory::{ByteState, Memory};
use conch_tile::ir::{
    AtomicOp, BinaryOp, CastKind, CmpPredicate, Combine, Elem, Function, OpKind, Rounding, TernaryOp, Type,
    UnaryOp, ValueId,
};
use conch_tile::{DType, numeric};
use kernels::{Kernel, World};
use proptest::prelude::*;

const ELEMENTS: usize = 64;

/// What a random operation is made of.
#[derive(Clone, Copy, Debug)]
struct Choice {
    op: u8,
    a: u16,
    b: u16,
    c: u16,
}

fn choices(most: usize) -> impl Strategy<Value = Vec<Choice>> {
    let choice = (any::<u8>(), any::<u16>(), any::<u16>(), any::<u16>());
    proptest::collection::vec(choice.prop_map(|(op, a, b, c)| Choice { op, a, b, c }), 1..most)
}

/// Makes a kernel of choices: each one takes values that are there and adds another.
struct Maker {
    k: Kernel,
    pool: Vec<ValueId>,
}

const SHAPES: [&[usize]; 4] = [&[16], &[4, 8], &[8, 1], &[32]];
/// Some more often than others.
const DTYPES: [DType; 10] = [
    DType::F32,
    DType::I32,
    DType::F32,
    DType::I1,
    DType::F16,
    DType::F32,
    DType::I64,
    DType::U8,
    DType::BF16,
    DType::F64,
];

impl Maker {
    fn pick(&self, nth: u16, fits: impl Fn(&Type) -> bool) -> Option<ValueId> {
        let all: Vec<ValueId> = self
            .pool
            .iter()
            .copied()
            .filter(|&v| fits(self.k.b.ty(v)))
            .collect();
        (!all.is_empty()).then(|| all[nth as usize % all.len()])
    }

    fn like(&self, nth: u16, value: ValueId) -> ValueId {
        let ty = self.k.b.ty(value).clone();
        self.pick(nth, |other| *other == ty).unwrap_or(value)
    }

    #[expect(clippy::unnecessary_wraps, reason = "every way to make a value ends with it")]
    fn put(&mut self, value: ValueId) -> Option<()> {
        self.pool.push(value);
        Some(())
    }

    fn dtype(&self, value: ValueId) -> Option<DType> {
        self.k.b.ty(value).elem.num()
    }

    /// A pointer block into the storage, mostly inside of it.
    fn pointer(&mut self, choice: Choice, base: ValueId) -> Option<ValueId> {
        let index = self.pick(choice.b, |ty| ty.elem == Elem::Num(DType::I32) && !ty.is_scalar())?;
        let index = if choice.c.is_multiple_of(4) {
            index
        } else {
            let limit = self.k.int(ELEMENTS as i32 - 1);
            self.k.binary(BinaryOp::And, index, limit)
        };
        Some(self.k.offset(base, index))
    }

    fn step(&mut self, choice: Choice, pointers: &[ValueId]) -> Option<()> {
        let Choice { a, b, c, .. } = choice;
        let base = pointers[c as usize / 4 % pointers.len()];
        match choice.op % 24 {
            0 => {
                let n = [16, 32][a as usize % 2];
                let range = self.k.arange(n);
                self.put(range)
            }
            1 | 2 => {
                let shape = SHAPES[a as usize % SHAPES.len()];
                let dtype = DTYPES[b as usize % DTYPES.len()];
                let bits = u64::from(c) << (dtype.bits().max(16) - 16);
                let value = self.k.b.constant(bits, Type::block(Elem::Num(dtype), shape));
                self.put(value)
            }
            3..=6 => {
                let x = self.pick(a, |ty| ty.elem.num().is_some())?;
                let y = self.like(b, x);
                let op = BinaryOp::ALL[c as usize % BinaryOp::ALL.len()];
                // Most divisors here are zero in some lane.
                let divides = matches!(op, BinaryOp::IntDiv | BinaryOp::Rem | BinaryOp::FloorRem);
                (!divides || self.dtype(x)?.is_float() || b % 8 == 0).then_some(())?;
                let defined = numeric::binary_defined(op, self.dtype(x)?);
                defined.then_some(())?;
                let value = self.k.same(OpKind::Binary(op), &[x, y]);
                self.put(value)
            }
            7 => {
                let x = self.pick(a, |ty| ty.elem.num().is_some())?;
                let op = UnaryOp::ALL[c as usize % UnaryOp::ALL.len()];
                let dtype = self.dtype(x)?;
                numeric::unary_defined(op, dtype).then_some(())?;
                let ty = self
                    .k
                    .b
                    .ty(x)
                    .with_elem(Elem::Num(numeric::unary_result(op, dtype)));
                let value = self.k.b.op(OpKind::Unary(op), &[x], ty);
                self.put(value)
            }
            8 | 9 => {
                let x = self.pick(a, |ty| ty.elem.num().is_some())?;
                let y = self.like(b, x);
                let value = self.k.compare(CmpPredicate::ALL[c as usize % 6], x, y);
                self.put(value)
            }
            10 | 11 => {
                let condition = self.pick(a, |ty| ty.elem == Elem::Num(DType::I1))?;
                let shape = self.k.shape(condition);
                let x = self.pick(b, |ty| ty.shape.as_slice() == shape)?;
                let y = self.like(c, x);
                let value = self.k.select(condition, x, y);
                self.put(value)
            }
            12 => {
                let x = self.pick(a, |ty| ty.elem.num().is_some())?;
                let to = DTYPES[b as usize % DTYPES.len()];
                let value = self.k.cast(x, to);
                self.put(value)
            }
            13 => {
                let x = self.pick(a, |ty| ty.shape.as_slice() == [32])?;
                let value = self.k.reshape(x, &[4, 8]);
                self.put(value)
            }
            14 => {
                let x = self.pick(a, |ty| ty.shape.as_slice() == [4, 8])?;
                let ty = Type::block(self.k.b.ty(x).elem, [8, 4].as_slice());
                let turned = self.k.b.op(
                    OpKind::Trans {
                        order: [1, 0].as_slice().into(),
                    },
                    &[x],
                    ty,
                );
                let value = self.k.reshape(turned, &[4, 8]);
                self.put(value)
            }
            15 => {
                let x = self.pick(a, |ty| ty.shape.len() == 2 && ty.elem.num().is_some())?;
                let axis = b as usize % 2;
                let (combine, op) = [
                    (Combine::Add, BinaryOp::Add),
                    (Combine::Max, BinaryOp::Max),
                    (Combine::Xor, BinaryOp::Xor),
                    (Combine::Min, BinaryOp::Min),
                ][c as usize % 4];
                numeric::binary_defined(op, self.dtype(x)?).then_some(())?;
                let reduced = self.k.reduce(x, axis, combine, op);
                let n = self.k.shape(reduced)[0];
                let reduced = if axis == 0 {
                    self.k.reshape(reduced, &[1, n])
                } else {
                    self.k.column(reduced)
                };
                let shape = self.k.shape(x);
                let value = self.k.spread(reduced, &shape);
                self.put(value)
            }
            16 | 17 => {
                let pointer = self.pointer(choice, base)?;
                let shape = self.k.shape(pointer);
                let mask = self.pick(a, |ty| {
                    ty.elem == Elem::Num(DType::I1) && ty.shape.as_slice() == shape
                });
                let elem = self.k.b.ty(pointer).elem.pointee()?;
                let other = mask.and_then(|_| self.pick(b, |ty| *ty == Type::block(elem, shape.as_slice())));
                let value = self.k.load(pointer, mask, other.filter(|_| b % 3 != 0));
                self.put(value)
            }
            18 | 19 => {
                let pointer = self.pointer(choice, base)?;
                let shape = self.k.shape(pointer);
                let elem = self.k.b.ty(pointer).elem.pointee()?;
                let value = self.pick(a, |ty| *ty == Type::block(elem, shape.as_slice()))?;
                let mask = self.pick(b, |ty| {
                    ty.elem == Elem::Num(DType::I1) && ty.shape.as_slice() == shape
                });
                self.k.store(pointer, value, mask.filter(|_| b % 2 == 0));
                Some(())
            }
            20 => {
                let pointer = self.pointer(choice, base)?;
                let ty = self.k.b.ty(pointer).clone();
                let elem = ty.elem.pointee()?;
                let value = self.pick(a, |other| *other == ty.with_elem(elem))?;
                let float = elem.num()?.is_float();
                let op = AtomicOp::ALL[b as usize % AtomicOp::ALL.len()];
                let bitwise = matches!(op, AtomicOp::And | AtomicOp::Or | AtomicOp::Xor);
                (!(float && bitwise)).then_some(())?;
                let kind = OpKind::AtomicRmw { op, mask: false };
                let old = self.k.b.op(kind, &[pointer, value], ty.with_elem(elem));
                self.put(old)
            }
            21 => {
                let x = self.pick(a, |ty| ty.elem.num().is_some())?;
                let (y, z) = (self.like(b, x), self.like(c, x));
                let op = TernaryOp::ALL[b as usize % TernaryOp::ALL.len()];
                numeric::ternary_defined(op, self.dtype(x)?).then_some(())?;
                let value = self.k.same(OpKind::Ternary(op), &[x, y, z]);
                self.put(value)
            }
            22 => {
                let x = self.pick(a, |ty| {
                    ty.shape.len() == 1 && ty.elem.num().is_some_and(DType::is_int)
                })?;
                let pid = self.k.program_id(0);
                let pid = self.k.cast(pid, self.dtype(x)?);
                let value = self
                    .k
                    .binary([BinaryOp::Add, BinaryOp::Mul][b as usize % 2], x, pid);
                self.put(value)
            }
            _ => self.scan_by_region(choice),
        }
    }

    /// A scan or reduction whose region is no well-known operation: the larger one and its index.
    fn scan_by_region(&mut self, Choice { a, b, c, .. }: Choice) -> Option<()> {
        let x = self.pick(a, |ty| ty.shape.len() == 1 && ty.elem.num().is_some())?;
        let n = self.k.shape(x)[0];
        let index = self.k.arange(n as i32);
        let types = [x, index].map(|v| Type::scalar(self.k.b.ty(v).elem));
        let args: Vec<ValueId> = types
            .iter()
            .chain(&types)
            .map(|ty| self.k.b.value(ty.clone()))
            .collect();
        self.k.b.open_block(&args);
        let greater = self.k.compare(CmpPredicate::Gt, args[2], args[0]);
        let value = self.k.select(greater, args[2], args[0]);
        let place = self.k.select(greater, args[3], args[1]);
        // A sum of indices does not change, however it is associated; a difference does.
        let value = if c % 3 == 0 && self.dtype(x)?.is_float() {
            self.k.add(args[0], args[2])
        } else {
            value
        };
        let region = self.k.b.close_block(&[value, place]);
        if b % 2 == 0 {
            let tys = [x, index].map(|v| self.k.b.ty(v).clone());
            let kind = OpKind::Scan {
                axis: 0,
                reverse: c % 2 == 0,
                combine: None,
                region,
            };
            let results = self.k.b.op_multi(kind, &[x, index], &tys);
            self.pool.extend(results);
        } else {
            let kind = OpKind::Reduce {
                axis: 0,
                combine: None,
                region,
            };
            let results = self.k.b.op_multi(kind, &[x, index], &types);
            for result in results {
                let value = self.k.spread(result, &[n]);
                self.pool.push(value);
            }
        }
        Some(())
    }
}

fn function(choices: &[Choice]) -> Function {
    let mut k = Kernel::new("kernel\n");
    let pointers = [("f", DType::F32), ("i", DType::I32), ("h", DType::F16)].map(|(n, d)| k.pointer(n, d));
    let range = k.arange(16);
    let mut maker = Maker { k, pool: vec![range] };
    for &choice in choices {
        // A choice that fits nothing there adds nothing.
        let _ = maker.step(choice, &pointers);
    }
    // What was computed last is stored, so that it is seen.
    for value in maker.pool.clone().into_iter().rev().take(3) {
        let ty = maker.k.b.ty(value).clone();
        let Some(dtype) = ty.elem.num() else { continue };
        let flat = maker.k.reshape(value, &[ty.numel()]);
        let (pointer, flat) = match dtype {
            DType::F16 | DType::F32 | DType::BF16 => (pointers[0], maker.k.cast(flat, DType::F32)),
            _ => (pointers[1], maker.k.cast(flat, DType::I32)),
        };
        let index = maker.k.arange(ty.numel() as i32);
        let place = maker.k.offset(pointer, index);
        maker.k.store(place, flat, None);
    }
    maker.k.finish()
}

fn world() -> (Memory, Vec<Arg>) {
    let mut world = World::default();
    let floats: Vec<f32> = (0..ELEMENTS).map(|i| (i as f32 - 20.0) * 0.37).collect();
    world.floats("f", &floats);
    let ints: Vec<i32> = (0..ELEMENTS as i32).map(|i| i * 7 - 90).collect();
    world.ints("i", &ints);
    let halves: Vec<u8> = (0..ELEMENTS as u16)
        .flat_map(|i| (0x3400 + i * 91).to_le_bytes())
        .collect();
    world.tensor("h", DType::F16, ELEMENTS, Some(&halves));
    world.finish()
}

/// Whether the bytes that a launch left are accepted.
fn accepted(memory: &Memory, exact: &Memory, map: &AcceptanceMap) -> Result<(), String> {
    for id in memory.ids() {
        let size = [4, 4, 2][id.0 as usize];
        for at in (0..memory.size(id)).step_by(size) {
            let states = &memory.states(id)[at..at + size];
            if states.contains(&ByteState::Poison)
                || exact.states(id)[at..at + size].contains(&ByteState::Poison)
            {
                continue;
            }
            let bits = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |sum, &b| sum << 8 | u64::from(b));
            let got = bits(&memory.bytes(id)[at..at + size]);
            let name = memory.name(id);
            match map.at(id, at).1 {
                Accepted::Unknown => {}
                Accepted::Exact => {
                    let dtype = [DType::F32, DType::I32, DType::F16][id.0 as usize];
                    let expected = bits(&exact.bytes(id)[at..at + size]);
                    let nans = numeric::is_nan(dtype, got) && numeric::is_nan(dtype, expected);
                    if got != expected && !nans {
                        return Err(format!("{name}+{at}: {got:#x}, exactly {expected:#x}"));
                    }
                }
                Accepted::Within {
                    dtype,
                    low,
                    high,
                    nan,
                } => {
                    let value = numeric::decode(dtype, got);
                    if !(low <= value && value <= high || nan && value.is_nan()) {
                        return Err(format!("{name}+{at}: {value} is not in {low}..={high}"));
                    }
                }
            }
        }
    }
    Ok(())
}

fn check(choices: &[Choice], programs: u32) -> Result<(), TestCaseError> {
    let function = function(choices);
    let program = Program::prepare(function).expect("verified");
    let (memory, args) = world();
    let config = Config::default();
    let run = |config: &Config| {
        let mut memory = memory.clone();
        let outcome = program
            .launch([programs, 1, 1], &args, &mut memory, config)
            .expect("no bug of ours");
        (outcome, memory)
    };
    let (outcome, after) = run(&config);
    let again = run(&config);
    prop_assert_eq!(&outcome, &again.0);
    prop_assert_eq!(&after, &again.1);
    let Outcome::Finished(_) = outcome else {
        return Ok(());
    };
    let (fast, after_fast) = run(&Config {
        checks: Checks::Fast,
        ..config
    });
    prop_assert!(matches!(fast, Outcome::Finished(_)));
    prop_assert_eq!(&after, &after_fast);
    let (mut exact, mut map) = (memory.clone(), AcceptanceMap::default());
    let acceptance = program
        .accept([programs, 1, 1], &args, &mut exact, &mut map, &config)
        .expect("no bug of ours");
    match acceptance {
        Acceptance::Known => {
            if let Err(message) = accepted(&after, &exact, &map) {
                let text = program.function().to_string();
                return Err(TestCaseError::fail(format!("{message}\n{text}")));
            }
        }
        Acceptance::Inconclusive { .. } => {}
        Acceptance::Stopped(outcome) => return Err(TestCaseError::fail(format!("{outcome:?}"))),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.max(2000),
        // What was found becomes a test of its own.
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_two_executions_agree(choices in choices(24), programs in prop_oneof![4 => Just(1), 1 => Just(2)]) {
        check(&choices, programs)?;
    }
}

/// How many random kernels say anything: a test of the test.
#[test]
fn most_random_kernels_finish() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let strategy = choices(24);
    let mut finished = 0;
    for _ in 0..200 {
        let choices = strategy.new_tree(&mut runner).expect("a tree").current();
        let program = Program::prepare(function(&choices)).expect("verified");
        let (mut memory, args) = world();
        let outcome = program
            .launch([1, 1, 1], &args, &mut memory, &Config::default())
            .expect("no bug of ours");
        finished += usize::from(matches!(outcome, Outcome::Finished(_)));
    }
    assert!(finished > 80, "{finished} of 200");
}

#[test]
fn bitcasts_of_pointers_and_numbers() {
    let mut k = Kernel::new("kernel\n");
    let x = k.pointer("i", DType::I32);
    let bits = CastKind::Bits;
    let rounding = Rounding::NearestEven;
    let address =
        k.b.op(OpKind::Cast { kind: bits, rounding }, &[x], Type::num(DType::I64));
    let back = k.b.op(
        OpKind::Cast { kind: bits, rounding },
        &[address],
        Type::scalar(Elem::ptr_to(DType::I32)),
    );
    let value = k.load(back, None, None);
    let one = k.int(1);
    let value = k.add(value, one);
    k.store(x, value, None);
    let mut world = World::default();
    world.ints("i", &[41]);
    let (mut memory, args) = world.finish();
    kernels::finish(&k.finish(), [1, 1, 1], &args, &mut memory);
    assert_eq!(kernels::ints(&memory, 0), [42]);
}
