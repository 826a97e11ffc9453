//! Kernels in workers of real toolchains. Tests run with those that are installed.

use crate::common::{
    GUARD, assert_goes_on, build_storage, build_tensor, expect_finished, expect_raised, launch, line_of,
    open_pool, read_module, read_words, request, tensor, time_limit, tritons_since,
};
use std::path::Path;

use cerith_needs::{Tests, named};
use cerith_tile::DType;
use cerith_tile::rules::Version;
use cerith_toolchain::request::{
    Descriptor, Device, Driver, Grid, Host, Launch, Module, Relocation, Storage, Tensor, Value,
};
use cerith_toolchain::response::Phase;
use cerith_toolchain::{Exit, Request, Toolchain, WorkerFailure};

/// The project's first finding: split columns, and the same tensor twice. As CUDA tensors they go wrong up to 3.2, as
/// CPU tensors never.
fn strided_and_aliased_cuda_tensors_go_wrong_up_to_3_2(toolchain: &Toolchain) {
    let pool = open_pool(toolchain);
    let original: Vec<i32> = (0..24).collect();
    let columns = |offset: i64, width: i64| {
        let part = tensor(0, &[4, width], &[6, 1], offset);
        let args = vec![
            part,
            Value::Int(6),
            Value::Int(1),
            Value::Int(4),
            Value::Int(width.into()),
        ];
        launch("add_one", args)
    };
    let mut split = request(
        "behaviour.py",
        vec![build_storage(&original)],
        vec![columns(0, 2), columns(2, 4)],
    );
    let same = tensor(0, &[4], &[1], 0);
    let twice = launch("copy_then_double", vec![same.clone(), same, Value::Int(4)]);
    let mut twice = request("behaviour.py", vec![build_storage(&[1, 2, 3, 4])], vec![twice]);

    let right: Vec<i32> = (1..25).collect();
    let works = toolchain.triton() >= Version::new(3, 3, 0);
    let id = &toolchain.id;
    assert_eq!(
        read_words(&expect_finished(&pool, &split).storages[0].bytes) == right,
        works,
        "split, {id}"
    );
    let doubled = read_words(&expect_finished(&pool, &twice).storages[0].bytes);
    assert_eq!(
        doubled,
        if works { [2, 4, 6, 8] } else { [1, 2, 3, 4] },
        "twice, {id}"
    );

    split.device = Device::Host;
    twice.device = Device::Host;
    assert_eq!(
        read_words(&expect_finished(&pool, &split).storages[0].bytes),
        right,
        "split, {id}+host"
    );
    assert_eq!(
        read_words(&expect_finished(&pool, &twice).storages[0].bytes),
        [2, 4, 6, 8],
        "twice, {id}+host"
    );
}

/// A host function gets the kernel, the grid and the arguments by name. The next request starts with a fresh module,
/// and an exception of its own has a location in its file.
fn a_host_function_makes_the_launch(toolchain: &Toolchain) {
    let pool = open_pool(toolchain);
    let hosted = |function: &str| {
        let launch = Launch {
            args: vec![],
            kwargs: vec![("x".to_owned(), tensor(0, &[4], &[1], 0))],
            options: vec![("num_warps".to_owned(), Value::Int(4))],
            host: Some(Host {
                module: read_module("hosts.py"),
                function: function.to_owned(),
            }),
            ..launch("increase", vec![])
        };
        request("behaviour.py", vec![build_storage(&[5; 4])], vec![launch])
    };
    for _ in 0..2 {
        let response = expect_finished(&pool, &hosted("twice"));
        assert_eq!(
            read_words(&response.storages[0].bytes),
            [7; 4],
            "{}",
            toolchain.id
        );
    }
    let raised = expect_raised(&pool, &hosted("refuse"));
    assert_eq!(
        (
            raised.root().kind.as_str(),
            raised.root().message.as_str(),
            raised.phase
        ),
        ("AssertionError", "as asked", Phase::Launch(0))
    );
    let hosts = read_module("hosts.py");
    let location = raised.location.expect("a line");
    assert_eq!(
        (&location.file, location.line),
        (
            &hosts.path,
            line_of(&hosts, r#"assert kernel is not None and False, "as asked""#)
        )
    );
    assert_goes_on(&pool);
}

fn writing_back_to_expanded_cuda_tensors_raises_what_torch_raises(toolchain: &Toolchain) {
    let request = request(
        "behaviour.py",
        vec![build_storage(&[1, 2])],
        vec![launch("empty_kernel", vec![tensor(0, &[3, 2], &[0, 1], 0)])],
    );
    let raised = expect_raised(&open_pool(toolchain), &request);
    assert_eq!(
        (raised.root().kind.as_str(), raised.phase),
        ("RuntimeError", Phase::Launch(0))
    );
    assert!(
        raised
            .root()
            .message
            .starts_with("unsupported operation: more than one element")
    );
}

/// A device address is not to be followed on the host, a host address is.
fn pointers_in_memory_point_where_the_device_says(toolchain: &Toolchain) {
    let pool = open_pool(toolchain);
    let mut table = build_storage(&[0; 4]);
    table.relocations = vec![Relocation {
        offset: 0,
        storage: 1,
        addend: 4,
    }];
    let storages = vec![table, build_storage(&[1, 2, 3, 4, 5]), build_storage(&[0; 4])];
    let follow = launch(
        "follow",
        vec![
            build_tensor(DType::I64, 0, &[2], &[1], 0),
            tensor(2, &[4], &[1], 0),
            Value::Int(4),
        ],
    );
    let mut request = request("behaviour.py", storages, vec![follow]);
    match pool.request(&request, time_limit(30_000)) {
        Err(WorkerFailure::Crashed {
            exit: Exit::Signal(11),
            stderr,
            location,
        }) => {
            assert!(stderr.contains("Segmentation fault"), "{stderr}");
            let location = location.expect("a line");
            assert_eq!(location.file, request.module.path);
            assert_eq!(
                location.line,
                line_of(&request.module, "tl.store(out + at, tl.load(x + at))")
            );
        }
        other => panic!("{}: {other:?}", toolchain.id),
    }
    request.device = Device::Host;
    let response = expect_finished(&pool, &request);
    assert_eq!(read_words(&response.storages[2].bytes), [2, 3, 4, 5]);
    assert_eq!(
        response.storages[0].relocations,
        [Relocation {
            offset: 0,
            storage: 1,
            addend: 4
        }]
    );
}

fn addresses_that_a_kernel_writes_come_back_as_relocations(toolchain: &Toolchain) {
    for device in [Device::Cuda, Device::Host] {
        let table = Storage {
            holds_addresses: true,
            ..build_storage(&[9; 4])
        };
        let args = vec![
            build_tensor(DType::I64, 0, &[2], &[1], 0),
            tensor(1, &[4], &[1], 0),
        ];
        let storages = vec![table, build_storage(&[0; 4])];
        let request = Request {
            device,
            ..request("behaviour.py", storages, vec![launch("put_address", args)])
        };
        let response = expect_finished(&open_pool(toolchain), &request);
        assert_eq!(
            read_words(&response.storages[0].bytes),
            [9, 9, 0, 0],
            "{}",
            toolchain.id
        );
        let expected = [Relocation {
            offset: 8,
            storage: 1,
            addend: 12,
        }];
        assert_eq!(
            response.storages[0].relocations, expected,
            "{} {device:?}",
            toolchain.id
        );
    }
}

/// Numbers that lie where the stand-ins of storages do, in either of two runs, and one power of two.
fn a_number_that_looks_like_an_address_stays_what_it_is(toolchain: &Toolchain) {
    let numbers: [i64; 4] = [0x2B5D_93C0_0000, 0x2E71_46A0_0004, 1 << 45, 0x2B5E_93C0_0000];
    let halves: Vec<u8> = numbers
        .iter()
        .flat_map(|number| (number - 7).to_le_bytes())
        .collect();
    let numbered = |bytes: Vec<u8>| Storage {
        bytes: bytes.into(),
        holds_addresses: true,
        ..Storage::default()
    };
    let view = |storage| build_tensor(DType::I64, storage, &[4], &[1], 0);
    let args = vec![view(0), view(1), Value::Int(7), Value::Int(4)];
    let storages = vec![numbered(vec![0; 32]), numbered(halves)];
    let request = request("behaviour.py", storages, vec![launch("add", args)]);
    let response = expect_finished(&open_pool(toolchain), &request);
    let left: Vec<i64> = response.storages[0]
        .bytes
        .as_chunks::<8>()
        .0
        .iter()
        .map(|word| i64::from_le_bytes(*word))
        .collect();
    assert_eq!(left, numbers, "{}", toolchain.id);
    assert_eq!(response.storages[0].relocations, [], "{}", toolchain.id);
}

fn stray_writes_show_in_the_guard_zones(toolchain: &Toolchain) {
    for device in [Device::Cuda, Device::Host] {
        let args = vec![tensor(0, &[2], &[1], 0), Value::Int(4)];
        let request = Request {
            device,
            ..request(
                "behaviour.py",
                vec![build_storage(&[0; 2])],
                vec![launch("beyond", args)],
            )
        };
        let bytes = expect_finished(&open_pool(toolchain), &request)
            .storages
            .remove(0)
            .bytes;
        assert_eq!(read_words(&bytes), [7, 7]);
        assert_eq!(bytes[..GUARD], [0xA5; GUARD]);
        let back = &bytes[bytes.len() - GUARD..];
        assert_eq!(back[..8], [7, 0, 0, 0, 7, 0, 0, 0], "{} {device:?}", toolchain.id);
        assert_eq!(back[8..], [0xA5; 8]);
    }
}

fn requests_do_not_see_each_other(toolchain: &Toolchain) {
    let folder = tempfile::tempdir().expect("a folder");
    let pool = open_pool(toolchain).with_readable(folder.path());
    let count = launch("count", vec![tensor(0, &[1], &[1], 0)]);
    let once = request("remembers.py", vec![build_storage(&[0])], vec![count.clone()]);
    let twice = request(
        "remembers.py",
        vec![build_storage(&[0])],
        vec![count.clone(), count],
    );
    assert_eq!(
        read_words(&expect_finished(&pool, &once).storages[0].bytes),
        [101],
        "{}",
        toolchain.id
    );
    assert_eq!(
        read_words(&expect_finished(&pool, &once).storages[0].bytes),
        [101]
    );
    assert_eq!(
        read_words(&expect_finished(&pool, &twice).storages[0].bytes),
        [202]
    );
    // The same names in another folder are other modules.
    std::fs::write(folder.path().join("sibling.py"), "counted = 40\n").expect("written");
    let mut elsewhere = once.clone();
    elsewhere.module.path = folder.path().join("remembers.py");
    assert_eq!(
        read_words(&expect_finished(&pool, &elsewhere).storages[0].bytes),
        [141]
    );
    // And another text at the same path is another module.
    let mut edited = once;
    edited.module.text = edited.module.text.replace("* 100", "* 1000").into();
    assert_eq!(
        read_words(&expect_finished(&pool, &edited).storages[0].bytes),
        [1001]
    );
}

/// The interpreters before 3.6 replace the language's functions at the first launch and do not restore them. A module's imports
/// by name do not depend on earlier launches of its worker.
fn a_module_imports_what_the_language_had_before_any_launch(toolchain: &Toolchain) {
    let pool = open_pool(toolchain);
    let increase = launch("increase", vec![tensor(0, &[4], &[1], 0)]);
    expect_finished(
        &pool,
        &request("behaviour.py", vec![build_storage(&[1; 4])], vec![increase]),
    );
    let fill = launch("fill", vec![tensor(0, &[4], &[1], 0)]);
    for _ in 0..2 {
        let raised = expect_raised(
            &pool,
            &request("imported.py", vec![build_storage(&[0; 4])], vec![fill.clone()]),
        );
        let message = &raised.root().message;
        assert!(
            message.contains("argument must be provided outside of JIT functions"),
            "{}: {message}",
            toolchain.id
        );
    }
}

/// `@triton.autotune` on a machine without a GPU, as a user of each version finds it.
fn autotuned_modules_do_what_each_version_does_without_a_gpu(toolchain: &Toolchain) {
    let pool = open_pool(toolchain);
    let import = Request::import(read_module("tuned.py"));
    let mut launched = request(
        "tuned.py",
        vec![build_storage(&[1; 8])],
        vec![launch("add_one", vec![tensor(0, &[8], &[1], 0), Value::Int(8)])],
    );
    launched.launches[0].grid = Grid::Global("grid".to_owned());
    let version = toolchain.triton();
    let outcome = |request: &Request| match pool
        .request(request, time_limit(30_000))
        .expect("an answer")
        .result
    {
        Ok(()) => "ok".to_owned(),
        Err(raised) => format!("{}: {}", raised.root().kind, raised.root().message),
    };
    let none_active = "RuntimeError: 0 active drivers ([]). There should only be one.";
    let expected = match (version.major, version.minor) {
        (3, 2 | 3) => none_active,
        _ => "ok",
    };
    assert_eq!(outcome(&import), expected, "{}", toolchain.id);
    let launching = match (version.major, version.minor) {
        (3, 0 | 1) => "RuntimeError: Found no NVIDIA driver on your system.",
        _ => none_active,
    };
    assert!(
        outcome(&launched).starts_with(launching),
        "{}: {}",
        toolchain.id,
        outcome(&launched)
    );
    launched.driver = Driver::Fake;
    match (version.major, version.minor) {
        (3, 0 | 1) => assert!(outcome(&launched).starts_with(launching), "{}", toolchain.id),
        (3, 2) => {
            let text = outcome(&launched);
            assert!(
                text.starts_with("TypeError: ") && text.contains("num_buffers_warp_spec"),
                "{text}"
            );
        }
        _ => {
            // Benchmarking runs the kernel too, and this one is not idempotent: up to the autotuner's own choice,
            // every element has been added to at least once, and all of them as often.
            let after = read_words(&expect_finished(&pool, &launched).storages[0].bytes);
            assert!(
                after[0] > 1 && after.iter().all(|&word| word == after[0]),
                "{after:?}"
            );
        }
    }
    launched.driver = Driver::Absent;
    assert_eq!(
        outcome(&import),
        expected,
        "the fake driver is gone again, {}",
        toolchain.id
    );
}

fn arguments_of_every_kind_arrive(toolchain: &Toolchain) {
    let text = r#"
import triton
import triton.language as tl


def same(found, wanted):
    assert type(found) is type(wanted) and repr(found) == repr(wanted), f"{found!r} is not {wanted!r}"


CONSTANT = (1, "two")


@triton.jit
def kernel(a: tl.constexpr, b: tl.constexpr, c: tl.constexpr, d: tl.constexpr, e: tl.constexpr, f: tl.constexpr,
           g: tl.constexpr, h: tl.constexpr, fp8, b15):
    same(a, 170141183460469231731687303715884105727)
    same(b, float("-inf"))
    same(c, True)
    same(d, None)
    same(e, "text with \" and \u00e9")
    same(f, tl.bfloat16)
    same(g, (1, (2.5, None)))
    same(h, CONSTANT)
    same(str(fp8.dtype.element_ty), "fp8e4nv")
    same(str(b15.dtype.element_ty), "fp8e4b15")
"#;
    let values = [
        Value::Int(i128::MAX),
        Value::Float(f64::NEG_INFINITY),
        Value::Bool(true),
        Value::None,
        Value::Str("text with \" and é".to_owned()),
        Value::DType(DType::BF16),
        Value::Tuple(vec![
            Value::Int(1),
            Value::Tuple(vec![Value::Float(2.5), Value::None]),
        ]),
        Value::Global("CONSTANT".to_owned()),
    ];
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let mut arguments = launch("kernel", values[..3].to_vec());
    arguments.kwargs = names[3..]
        .iter()
        .map(|&name| name.to_owned())
        .zip(values[3..].to_vec())
        .collect();
    arguments
        .kwargs
        .push(("fp8".to_owned(), build_tensor(DType::F8E4NV, 0, &[4], &[1], 0)));
    arguments
        .kwargs
        .push(("b15".to_owned(), build_tensor(DType::F8E4B15, 0, &[4], &[1], 0)));
    arguments.options = vec![("num_warps".to_owned(), Value::Int(4))];
    let module = Module {
        path: Path::new("/nowhere/at/all/kernels.py").to_owned(),
        text: text.into(),
    };
    let request = Request {
        storages: vec![build_storage(&[0])],
        launches: vec![arguments],
        ..Request::import(module)
    };
    expect_finished(&open_pool(toolchain), &request);
}

/// Its interpreter has no broadcasting index and no `tl.static_assert`; what it has works as in 3.0.
fn triton_2_3_goes_as_far_as_its_interpreter(toolchain: &Toolchain) {
    let pool = open_pool(toolchain);
    let x = tensor(0, &[4], &[1], 0);
    let other = tensor(1, &[4], &[2], 1);
    let arguments = vec![x.clone(), other, Value::Int(4)];
    let storages = vec![build_storage(&[0; 4]), build_storage(&[1, 2, 3, 4, 5, 6, 7, 8])];
    let request = request(
        "behaviour.py",
        storages,
        vec![launch("copy_then_double", arguments)],
    );
    let response = expect_finished(&pool, &request);
    // The strided argument was copied to the host alone: it is dense there.
    assert_eq!(read_words(&response.storages[0].bytes), [4, 8, 12, 16]);

    let arguments = vec![x, Value::Int(2), Value::Int(1), Value::Int(2), Value::Int(2)];
    let columns = crate::common::request(
        "behaviour.py",
        vec![build_storage(&[0; 4])],
        vec![launch("add_one", arguments)],
    );
    assert_eq!(expect_raised(&pool, &columns).phase, Phase::Launch(0));
}

/// The strides suit 3.4 too, which requires their numbers of elements to be multiples of 16.
fn host_tensor_descriptors_are_passed_as_such(toolchain: &Toolchain) {
    for device in [Device::Cuda, Device::Host] {
        let base = Tensor {
            storage: 0,
            dtype: DType::I32,
            shape: vec![4, 16],
            strides: vec![16, 1],
            offset: 0,
        };
        let tile = Value::Descriptor(Box::new(Descriptor {
            shape: base.shape.clone(),
            strides: base.strides.clone(),
            base,
            block_shape: vec![2, 16],
            padding: None,
            round_f32_to_tf32: false,
        }));
        let arguments = vec![tile, Value::Int(2), Value::Int(0)];
        let launches = vec![launch("add_one_tile", arguments)];
        let request = Request {
            device,
            ..request("behaviour.py", vec![build_storage(&[0; 64])], launches)
        };
        let after = read_words(&expect_finished(&open_pool(toolchain), &request).storages[0].bytes);
        assert_eq!(after, [[0; 32], [1; 32]].concat(), "{} {device:?}", toolchain.id);
    }
}

/// From 3.2, the interpreter rewrites a kernel's syntax tree so that a scalar is a tensor. It cannot find the text of a
/// kernel made with `exec`, and does not rewrite it.
fn a_text_that_nobody_can_see_is_not_rewritten(toolchain: &Toolchain) {
    let pool = open_pool(toolchain);
    let asked = |kernel: &str, inspectable| Request {
        inspectable,
        device: Device::Host,
        ..request(
            "inspected.py",
            vec![build_storage(&[0])],
            vec![launch(kernel, vec![tensor(0, &[1], &[1], 0)])],
        )
    };
    let module = read_module("inspected.py");
    let place = |raised: &cerith_toolchain::response::Raised| {
        let location = raised.location.clone().expect("a place");
        (location.file, location.line)
    };
    // In turns: neither answer is the other's because the module was at hand.
    for _ in 0..2 {
        let seen = expect_finished(&pool, &asked("rewritten", true));
        assert_eq!(read_words(&seen.storages[0].bytes), [1], "{}", toolchain.id);
        let raised = expect_raised(&pool, &asked("rewritten", false));
        assert_eq!(
            raised.root().message,
            "'int' object has no attribute 'to'",
            "{}",
            toolchain.id
        );
        let line = line_of(&module, "tl.store(x, v.to(tl.int32))");
        assert_eq!(place(&raised), (module.path.clone(), line), "{}", toolchain.id);
    }
    for inspectable in [true, false] {
        let raised = expect_raised(&pool, &asked("fails_later", inspectable));
        let line = line_of(&module, "tl.store(x, x.nothing)");
        assert_eq!(place(&raised), (module.path.clone(), line), "{}", toolchain.id);
    }
}

pub fn tests() -> Tests {
    Tests::new()
        .with_each(
            &tritons_since(3, 0),
            &named![
                strided_and_aliased_cuda_tensors_go_wrong_up_to_3_2,
                a_host_function_makes_the_launch,
                pointers_in_memory_point_where_the_device_says,
                addresses_that_a_kernel_writes_come_back_as_relocations,
                a_number_that_looks_like_an_address_stays_what_it_is,
                stray_writes_show_in_the_guard_zones,
                requests_do_not_see_each_other,
                a_module_imports_what_the_language_had_before_any_launch,
                autotuned_modules_do_what_each_version_does_without_a_gpu,
                arguments_of_every_kind_arrive
            ],
        )
        .with_each(
            &["3.2.0"],
            &named![writing_back_to_expanded_cuda_tensors_raises_what_torch_raises],
        )
        .with_each(&["2.3.1"], &named![triton_2_3_goes_as_far_as_its_interpreter])
        .with_each(
            &tritons_since(3, 4),
            &named![host_tensor_descriptors_are_passed_as_such],
        )
        .with_each(
            &["3.2.0", "3.6.0", "3.9.0"],
            &named![a_text_that_nobody_can_see_is_not_rewritten],
        )
}
