//! Lines that have no defined answer. Asserts that do not hold are left out: they are an answer.

use super::{Breach, Foretold};

const OUT: Foretold = Foretold::Trapped("out-of-bounds");
const RACE: Foretold = Foretold::Trapped("race");
const DIVISION: Foretold = Foretold::Trapped("division-by-zero");
const POISON: Foretold = Foretold::Trapped("poison-use");
const PROMISE: Foretold = Foretold::Remarked("false-promise");

pub(super) const BREACHES: &[Breach] = &[
    Breach::new(
        "load-past-the-end",
        OUT,
        "{t} = tl.load({any} + pid * {N} + {d} + {z} + {k})",
    ),
    Breach::new(
        "load-before-the-start",
        OUT,
        "{t} = tl.load({any} + pid * {N} + {d} + {z} - {k} - pid * {N})",
    ),
    Breach::new(
        "load-past-the-mask",
        OUT,
        "{t} = tl.load({any} + {d} + {NP} - {m}, mask={d} <= {m}, other=0)",
    ),
    Breach::new("load-of-one-past-the-end", OUT, "{t} = tl.load({any} + {NP})"),
    Breach::new(
        "store-past-the-end",
        OUT,
        "tl.store({o} + {d} + {z} + {far}, {d})",
    ),
    Breach::new(
        "store-before-the-start",
        OUT,
        "tl.store({o} + {d} + {z} - {far}, {d})",
    ),
    Breach::new(
        "atomic-past-the-end",
        OUT,
        "tl.atomic_add({o} + {d} + {z} + {far}, 1)",
    ),
    Breach::new(
        "load-by-a-value",
        OUT,
        "{t} = tl.load({x} + {d} + tl.load({x} + {NP} - 1) + 1)",
    ),
    Breach::new(
        "load-of-null",
        OUT,
        "{t} = tl.load({zero}.to(tl.int64).to(tl.pointer_type(tl.int32)))",
    ),
    Breach::new(
        "load-of-a-wild-pointer",
        OUT,
        "{t} = tl.load(({three}.to(tl.int64) * 0x10000000000).to(tl.pointer_type(tl.int32)))",
    ),
    Breach::new(
        "load-misaligned",
        Foretold::Trapped("misaligned"),
        "{t} = tl.load(({bytes} + 1 + {d} * 4).to(tl.pointer_type(tl.int32)))",
    ),
    Breach::new(
        "store-misaligned",
        Foretold::Trapped("misaligned"),
        "tl.store(({bytes} + 2 + {z}).to(tl.pointer_type(tl.int64)) + {d} * 0, 0)",
    ),
    Breach::new(
        "uninitialised",
        Foretold::Trapped("uninitialised-read"),
        "{t} = tl.load({unset} + pid * {N} + {d})",
    ),
    Breach::new(
        "masked-lanes-stored",
        Foretold::Poison,
        "tl.store({bad} + pid * {N} + {d}, tl.load({x} + {d}, mask={d} < {m}))",
    ),
    Breach::new(
        "masked-lanes-address",
        POISON,
        "tl.store({o} + tl.load({x} + {d}, mask={d} < {m}), {d})",
    ),
    Breach::new(
        "masked-lanes-mask",
        POISON,
        "tl.store({o} + {d}, {d}, mask=tl.load({x} + {d}, mask={d} < {m}) > 3)",
    ),
    Breach::new(
        "masked-lanes-branch",
        POISON,
        "{t} = tl.sum(tl.load({x} + {d}, mask={d} < {m}), axis=0)\nif {t} > 3:\n    tl.store({one}, 1)",
    ),
    Breach::new("race-of-stores", RACE, "tl.store({o} + {d}, {d} + pid)"),
    Breach::new("race-of-scalars", RACE, "tl.store({one}, pid + 1)"),
    Breach::new(
        "race-of-load-and-store",
        RACE,
        "tl.store({o} + pid * {N} + {d}, tl.load({o} + (1 - pid) * {N} + {d}) + 1)",
    ),
    Breach::new(
        "race-of-atomic-and-store",
        RACE,
        "if pid == 0:\n    tl.atomic_add({o} + {d}, 1)\nelse:\n    tl.store({o} + {d}, 77)",
    ),
    Breach::new(
        "order-of-an-atomic",
        Foretold::AnyOrder,
        "tl.store({o} + pid, tl.atomic_add({one}, 1))",
    ),
    Breach::new(
        "order-of-exchanges",
        Foretold::AnyOrder,
        "tl.atomic_xchg({one}, pid + 5)",
    ),
    Breach::new(
        "order-of-compare-and-swap",
        Foretold::AnyOrder,
        "tl.atomic_cas({one}, 0, pid + 5)",
    ),
    Breach::new(
        "conflicting-lanes",
        Foretold::Trapped("conflicting-lanes"),
        "tl.store({o} + {d} // 2 + {z}, {d})",
    ),
    Breach::new(
        "conflicting-lanes-of-all",
        Foretold::Trapped("conflicting-lanes"),
        "tl.store({o} + {d} * 0 + {z}, {d})",
    ),
    Breach::new(
        "unordered-read",
        Foretold::Trapped("unordered-read"),
        "tl.store({o} + pid * {N} + {d}, {d} + 1)\n{t} = tl.load({o} + pid * {N} + {N} - 1 - {d} + {z})",
    ),
    Breach::new(
        "unordered-write",
        Foretold::Trapped("unordered-write"),
        "tl.store({o} + pid * {N} + {d}, {d} + 1)\ntl.store({o} + pid * {N} + {N} - 1 - {d} + {z}, {d} + 7)",
    ),
    Breach::new(
        "division-by-zero",
        DIVISION,
        "tl.store({i_bad}, {i}.to(tl.int32) // {zero})",
    ),
    Breach::new(
        "remainder-by-zero",
        DIVISION,
        "tl.store({i_bad}, {i}.to(tl.int64) % ({zero} * 2))",
    ),
    Breach::new(
        "division-by-zeros",
        DIVISION,
        "tl.store({i_bad}, {i} // ({i} ^ {i}))",
    ),
    Breach::new(
        "ceiling-by-zero",
        DIVISION,
        "tl.store({i_bad}, tl.cdiv({i}.to(tl.int32), {zero}))",
    ),
    Breach::new(
        "lowest-by-minus-one",
        DIVISION,
        "tl.store({i_bad}, (({i}.to(tl.int32) & 0) - 2147483647 - 1) // ({zero} - 1))",
    ),
    Breach::new(
        "shift-too-long",
        Foretold::Poison,
        "tl.store({i_bad}, {i}.to(tl.int32) << ({zero} + 32))",
    ),
    Breach::new(
        "shift-too-long-to-the-right",
        Foretold::Poison,
        "tl.store({i_bad}, {i}.to(tl.int64) >> ({zero} + 64 + {k}))",
    ),
    Breach::new(
        "shift-below-zero",
        Foretold::Poison,
        "tl.store({i_bad}, {i}.to(tl.uint32) >> ({zero} - 1))",
    ),
    Breach::new(
        "shift-too-long-address",
        POISON,
        "tl.store({o} + {d} + ({three} << ({zero} + 40)), {d})",
    ),
    Breach::new(
        "float-to-int",
        Foretold::Poison,
        "tl.store({f_bad}, ({f}.to(tl.float32) * 0 + 3e38).to(tl.int32))",
    ),
    Breach::new(
        "nan-to-int",
        Foretold::Poison,
        "tl.store({f_bad}, ({f}.to(tl.float32) * 0 + float(\"nan\")).to(tl.int64))",
    ),
    Breach::new(
        "negative-to-unsigned",
        Foretold::Poison,
        "tl.store({f_bad}, ({zero}.to(tl.float32) - 1.5 + tl.zeros({f_shape}, tl.float32)).to(tl.uint32))",
    ),
    Breach::new(
        "gather-past-the-end",
        Foretold::Trapped("index-out-of-range"),
        "{t} = tl.gather({b}, tl.full({b_shape}, {b_extent}, tl.int32) + {zero}, 0)",
    ),
    Breach::new(
        "gather-before-the-start",
        Foretold::Trapped("index-out-of-range"),
        "{t} = tl.gather({b}, tl.full({b_shape}, -1, tl.int32), 0)",
    ),
    Breach::new(
        "false-multiple-of",
        PROMISE,
        "{t} = tl.load({x} + tl.multiple_of({three}, 16))",
    ),
    Breach::new(
        "false-multiple-of-a-block",
        PROMISE,
        "tl.store({o} + pid * {N} + tl.multiple_of({d} ^ 1, 16), {d})",
    ),
    Breach::new(
        "false-max-contiguous",
        PROMISE,
        "tl.store({o} + pid * {N} + tl.max_contiguous(({d} * 3) & ({N} - 1), {N}), {d})",
    ),
    Breach::new(
        "false-max-constancy",
        PROMISE,
        "tl.store({o} + pid * {N} + tl.max_constancy({d}, 2), {d})",
    ),
    Breach::new(
        "false-assume",
        Foretold::Trapped("false-assume"),
        "tl.assume({three} > 5)",
    ),
    Breach::new(
        "false-assume-of-a-sum",
        Foretold::Trapped("false-assume"),
        "tl.assume(tl.sum({d}, axis=0) == 1)",
    ),
    Breach::new(
        "step-of-zero",
        Foretold::Trapped("loop-step"),
        "{t} = 0\nfor {j} in range(0, {three}, {zero}):\n    {t} += {j}",
    ),
    Breach::new(
        "step-below-zero",
        Foretold::Trapped("loop-step"),
        "{t} = 0\nfor {j} in range({three}, 0, {zero} - 2):\n    {t} += {j}",
    ),
    Breach::new(
        "descriptor-off-its-alignment",
        Foretold::Trapped("descriptor-demand"),
        "{t} = tl.make_tensor_descriptor({x} + 1, shape=[2, 4], strides=[4, 1], block_shape=[2, 4])\n{w} = {t}.load([0, 0])",
    ),
    // It costs each engine all the time that it has.
    Breach {
        weight: 1,
        ..Breach::new(
            "endless-loop",
            Foretold::Endless,
            "{t} = {three} + 0\nwhile {t} != 5:\n    {t} = ({t} * 2) & 14",
        )
    },
];
