use cerith_tile::DType;
use cerith_tile::ir::{Elem, OpKind, Type};

use crate::kernels::{self, Kernel, World};

fn capture_prints(grid: [u32; 3], make: impl FnOnce(&mut Kernel)) -> String {
    let mut k = Kernel::new("tl.device_print('x', x)\n");
    make(&mut k);
    let function = k.finish();
    let (mut memory, args) = World::default().finish();
    let outcome = kernels::launch(&function, grid, &args, &mut memory);
    kernels::render_outcome(&function, &outcome)
}

#[test]
fn prints_as_a_device_does() {
    let shown = capture_prints([2, 1, 1], |k| {
        let x = k.arange(11);
        let x = k.reshape(x, &[1, 11]);
        let half = k.add_full(DType::F16, 0x3800, &[1]);
        k.b.add_effect(
            OpKind::Print {
                prefix: "x".into(),
                hex: false,
            },
            &[x],
        );
        k.b.add_effect(
            OpKind::Print {
                prefix: " half: ".into(),
                hex: false,
            },
            &[half],
        );
    });
    let first: Vec<&str> = shown.lines().collect();
    assert_eq!(first.len(), 24);
    insta::assert_snapshot!([first[0], first[10], first[11], first[12]].join("\n"), @r"
    pid (0, 0, 0) idx (0,  0) x: 0
    pid (0, 0, 0) idx (0, 10) x: 10
    pid (0, 0, 0) idx (0) half: 0.500000
    pid (1, 0, 0) idx (0,  0) x: 0
    ");
}

#[test]
fn prints_several_operands_scalars_hex_and_nothing() {
    let shown = capture_prints([1, 1, 1], |k| {
        let (a, b) = (k.add_int(-1), k.b.add_constant(0xff, Type::num(DType::U8)));
        let c = k.b.add_constant(0x3ff8_0000_0000_0000, Type::num(DType::F64));
        k.b.add_effect(
            OpKind::Print {
                prefix: "both".into(),
                hex: false,
            },
            &[a, b, c],
        );
        k.b.add_effect(
            OpKind::Print {
                prefix: "hex".into(),
                hex: true,
            },
            &[a, b, c],
        );
        for bits in [0, 0x8000_0000, 0xbfc0_0000, 0xff80_0000, 0x7fc0_0000] {
            let float = k.b.add_constant(bits, Type::num(DType::F32));
            let tiny = k.b.add_constant(1, Type::num(DType::F64));
            k.b.add_effect(
                OpKind::Print {
                    prefix: "floats".into(),
                    hex: true,
                },
                &[float, tiny],
            );
        }
        let nothing =
            k.b.add_op(OpKind::Poison, &[], Type::scalar(Elem::Num(DType::I32)));
        k.b.add_effect(
            OpKind::Print {
                prefix: "poison".into(),
                hex: false,
            },
            &[nothing],
        );
        k.b.add_effect(
            OpKind::Print {
                prefix: "hello".into(),
                hex: false,
            },
            &[],
        );
    });
    insta::assert_snapshot!(shown, @r"
    pid (0, 0, 0) idx () both: (operand 0) -1
    pid (0, 0, 0) idx () both: (operand 1) 255
    pid (0, 0, 0) idx () both: (operand 2) 1.500000
    pid (0, 0, 0) idx () hex: (operand 0) 0xffffffff
    pid (0, 0, 0) idx () hex: (operand 1) 0xff
    pid (0, 0, 0) idx () hex: (operand 2) 0x1.8p+0
    pid (0, 0, 0) idx () floats: (operand 0) 0x0p+0
    pid (0, 0, 0) idx () floats: (operand 1) 0x0.0000000000001p-1022
    pid (0, 0, 0) idx () floats: (operand 0) -0x0p+0
    pid (0, 0, 0) idx () floats: (operand 1) 0x0.0000000000001p-1022
    pid (0, 0, 0) idx () floats: (operand 0) -0x1.8p+0
    pid (0, 0, 0) idx () floats: (operand 1) 0x0.0000000000001p-1022
    pid (0, 0, 0) idx () floats: (operand 0) -inf
    pid (0, 0, 0) idx () floats: (operand 1) 0x0.0000000000001p-1022
    pid (0, 0, 0) idx () floats: (operand 0) nan
    pid (0, 0, 0) idx () floats: (operand 1) 0x0.0000000000001p-1022
    pid (0, 0, 0) idx () poison: undefined
    pid (0, 0, 0) hello
    ");
}
