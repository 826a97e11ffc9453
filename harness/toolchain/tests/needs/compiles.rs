//! Compilations of launches by real toolchains. Tests run with the installed ones.

use crate::common::{build_tensor, kernels_folder, launch, line_of, read_module, tensor, tritons_since};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use cerith_needs::{NEWEST, Tests, named};
use cerith_tile::DType;
use cerith_tile::rules::Version;
use cerith_toolchain::compiled::{Compiled, Kernel, Param, Stage, Target};
use cerith_toolchain::request::{Descriptor, Grid, Launch, Tensor, Value};
use cerith_toolchain::response::{Phase, Raised};
use cerith_toolchain::{
    Cache, Compilation, CompileRequest, Compilers, Exit, Limits, Toolchain, Tuning, WorkerFailure,
};

const SM_80: Target = Target(80);

fn open_compilers(toolchain: &Toolchain) -> Compilers {
    Compilers::new(toolchain.clone(), 1, None)
        .expect("compilers")
        .with_readable(&kernels_folder())
}

fn request(launches: Vec<Launch>) -> CompileRequest {
    CompileRequest {
        module: read_module("compiled.py"),
        siblings: vec![],
        storages: vec![4096, 1000],
        launches,
        target: Target::HOPPER,
        assembled: None,
        tuning: Tuning::default(),
        stage: None,
        lines: false,
        passes: false,
    }
}

fn with_block(mut launch: Launch, block: i128) -> Launch {
    launch.kwargs.push(("B".to_owned(), Value::Int(block)));
    launch
}

fn tensor_at(offset: i64) -> Value {
    tensor(0, &[64], &[1], offset)
}

#[track_caller]
fn expect_compiled(compilers: &Compilers, request: &CompileRequest) -> Compiled {
    let compilation = compile_request(compilers, request);
    let compiled = compilation.result.expect("it compiles");
    for invocation in &compiled.invocations {
        let kernel = &compiled.kernels[invocation.kernel];
        let metadata = &kernel.metadata;
        assert_eq!(&kernel.cubin[..4], b"\x7fELF");
        // The compiler's own word on how many parameters there are.
        let (_, entry) = kernel.ptx.split_once(".entry").expect("an entry");
        let declared = entry
            .split(')')
            .next()
            .expect("parameters")
            .matches(".param")
            .count();
        let scratch = [metadata.global_scratch, metadata.profile_scratch];
        let passed = invocation.params.len() + scratch.iter().flatten().count();
        assert_eq!(passed, declared, "{}: {}", compilers.toolchain().id, entry);
    }
    compiled
}

#[track_caller]
fn compile_request(compilers: &Compilers, request: &CompileRequest) -> Compilation {
    compilers.compile(request, Limits::COMPILER).expect("an answer")
}

#[track_caller]
fn expect_raised(compilers: &Compilers, request: &CompileRequest) -> Raised {
    *compile_request(compilers, request).result.expect_err("it raises")
}

fn address_param(storage: usize, offset: i64) -> Param {
    Param::Address { storage, offset }
}

fn bytes_param(bytes: &[u8]) -> Param {
    Param::Bytes(bytes.to_vec())
}

/// Constants, ones and `None` are not parameters; the others have the width of their type.
fn arguments_become_parameters_as_tritons_launcher_passes_them(toolchain: &Toolchain) {
    let args = vec![
        tensor_at(1),
        Value::Int(64),
        Value::Int(1),
        Value::Int(1 << 40),
        Value::Int(1 << 63),
        Value::Bool(true),
        Value::None,
        Value::Float(0.1),
    ];
    let kernel = with_block(launch("every_kind", args), 64);
    let nothing = Launch {
        grid: Grid::Fixed(vec![4, 0]),
        ..kernel.clone()
    };
    let compilers = open_compilers(toolchain);
    let compiled = expect_compiled(&compilers, &request(vec![nothing, kernel]));
    let id = &toolchain.id;
    let [only] = &compiled.invocations[..] else {
        panic!("{id}: {compiled:?}")
    };
    assert_eq!((only.launch, only.kernel, only.grid), (1, 0, [1, 1, 1]), "{id}");
    let expected = [
        address_param(0, 4),
        bytes_param(&64_i32.to_le_bytes()),
        bytes_param(&(1_i64 << 40).to_le_bytes()),
        bytes_param(&(1_u64 << 63).to_le_bytes()),
        bytes_param(&[1]),
        bytes_param(&0.1_f32.to_le_bytes()),
    ];
    assert_eq!(only.params, expected, "{id}");
    let metadata = &compiled.kernels[0].metadata;
    assert_eq!(
        (metadata.name.as_str(), metadata.num_warps),
        ("every_kind", 4),
        "{id}"
    );
    let version = toolchain.triton();
    assert_eq!(
        metadata.global_scratch.is_some(),
        version >= Version::new(3, 3, 0),
        "{id}"
    );
    assert_eq!(
        metadata.profile_scratch.is_some(),
        version >= Version::new(3, 5, 0),
        "{id}"
    );
}

/// An argument's properties decide the compiled code, and nothing remains from the launch before.
fn kernels_are_specialised_on_what_they_get(toolchain: &Toolchain) {
    let compilers = open_compilers(toolchain);
    let fill = |offset, n| with_block(launch("fill", vec![tensor_at(offset), Value::Int(n)]), 64);
    let launches = vec![
        fill(0, 64),
        fill(1, 64),
        fill(0, 63),
        fill(4, 32),
        fill(0, 1),
        fill(0, 1 << 33),
    ];
    let compiled = expect_compiled(&compilers, &request(launches));
    let kernels: Vec<usize> = compiled.invocations.iter().map(|one| one.kernel).collect();
    let id = &toolchain.id;
    assert_eq!(kernels, [0, 1, 2, 0, 3, 4], "{id}");
    let divisible = |kernel: usize| {
        compiled.kernels[kernel]
            .ttir
            .matches("tt.divisibility = 16")
            .count()
    };
    assert_eq!([0, 1, 2].map(divisible), [2, 1, 1], "{id}");
    let widths: Vec<usize> = compiled
        .invocations
        .iter()
        .map(|one| {
            one.params
                .iter()
                .map(|param| {
                    if let Param::Bytes(bytes) = param {
                        bytes.len()
                    } else {
                        0
                    }
                })
                .sum()
        })
        .collect();
    assert_eq!(widths, [4, 4, 4, 4, 0, 8], "{id}");
}

/// A configuration that does not compile is out, the first of the others is taken; grids are asked for with its values.
fn tuners_heuristics_and_grid_functions_are_tritons(toolchain: &Toolchain) {
    let tuned = Launch {
        grid: Grid::Global("grid".to_owned()),
        ..launch("tuned", vec![tensor_at(0), Value::Int(100)])
    };
    let compiled = expect_compiled(&open_compilers(toolchain), &request(vec![tuned]));
    let id = &toolchain.id;
    assert_eq!(compiled.kernels.len(), 1, "{id}");
    assert_eq!(compiled.kernels[0].metadata.num_warps, 2, "{id}");
    assert_eq!(compiled.invocations[0].grid, [2, 2, 1], "{id}");
}

/// Neither a 1 nor a multiple of 16 is known to the compiler, under decorators or not.
fn nothing_is_specialised_on_when_a_sweep_says_so(toolchain: &Toolchain) {
    let compilers = open_compilers(toolchain);
    let tuned = Launch {
        grid: Grid::Global("grid".to_owned()),
        ..launch("tuned", vec![tensor_at(0), Value::Int(64)])
    };
    let fill = |n| with_block(launch("fill", vec![tensor_at(0), Value::Int(n)]), 64);
    let usual = request(vec![fill(1), fill(64), tuned]);
    let without = CompileRequest {
        tuning: Tuning {
            specialize: false,
            config: None,
        },
        ..usual.clone()
    };
    let id = &toolchain.id;
    let known = |compiled: &Compiled| {
        let kernels = compiled.invocations.iter().map(|one| {
            let ttir = &compiled.kernels[one.kernel].ttir;
            (one.params.len(), ttir.matches("tt.divisibility").count())
        });
        kernels.collect::<Vec<_>>()
    };
    let usual = expect_compiled(&compilers, &usual);
    let without = expect_compiled(&compilers, &without);
    assert_eq!(known(&usual), [(1, 1), (2, 2), (2, 2)], "{id}");
    assert_eq!(known(&without), [(2, 0), (2, 0), (2, 0)], "{id}");
    // One kernel does for 1 and for 64.
    let used = without.invocations.iter().map(|one| one.kernel);
    assert_eq!(used.collect::<Vec<_>>(), [0, 0, 1], "{id}");
}

/// A compiler that ends after a stage returns the IR of that stage, with its source lines.
fn a_compiler_ends_after_a_stage(toolchain: &Toolchain) {
    let compilers = open_compilers(toolchain);
    let id = &toolchain.id;
    let usual = request(vec![with_block(
        launch("fill", vec![tensor_at(0), Value::Int(1)]),
        64,
    )]);
    let params = |compiled: &Compiled| compiled.invocations[0].params.clone();
    let whole = expect_compiled(&compilers, &usual);
    for (stage, has_layouts) in [(Stage::Source, false), (Stage::Ttir, false), (Stage::Ttgir, true)] {
        let staged = CompileRequest {
            stage: Some(stage),
            ..usual.clone()
        };
        let staged = compile_request(&compilers, &staged).result.expect("it compiles");
        assert_eq!(params(&staged), params(&whole), "{id} {stage:?}");
        let kernel = &staged.kernels[0];
        assert!(kernel.cubin.is_empty() && kernel.ptx.is_empty(), "{id} {stage:?}");
        assert!(kernel.ttir.contains("tt.func public @fill"), "{id} {stage:?}");
        assert!(kernel.ttir.contains("compiled.py\":"), "{id} {stage:?}");
        assert_eq!(kernel.ttir.contains("#blocked"), has_layouts, "{id} {stage:?}");
    }
}

/// The output of MLIR's pass manager comes with the IR of the stage at its end, and none of it remains for the next compilation.
fn a_compiler_says_what_is_before_each_pass(toolchain: &Toolchain) {
    let compilers = open_compilers(toolchain);
    let id = &toolchain.id;
    let staged = CompileRequest {
        stage: Some(Stage::Ttgir),
        ..request(vec![with_block(
            launch("fill", vec![tensor_at(0), Value::Int(1)]),
            64,
        )])
    };
    let printing = CompileRequest {
        passes: true,
        ..staged.clone()
    };
    let ir = |request| {
        let compiled = compile_request(&compilers, request).result.expect("it compiles");
        compiled.kernels[0].ttir.clone()
    };
    let printed = ir(&printing);
    let headings: Vec<&str> = printed
        .lines()
        .filter(|line| line.contains("IR Dump Before"))
        .collect();
    assert!(headings.len() > 20, "{id}: {headings:?}");
    for pass in ["Inliner", "ConvertTritonToTritonGPU", "TritonGPUCoalesce"] {
        assert!(headings.iter().any(|line| line.contains(pass)), "{id}: {pass}");
    }
    let (_, last) = printed.split_once("IR Dump Before end").expect("the end");
    assert!(
        last.contains("tt.func public @fill") && last.contains("#blocked"),
        "{id}"
    );
    assert!(!ir(&staged).contains("IR Dump"), "{id}");
}

/// Lines are in the assembly where they are asked for; without that, machine code is that of before.
fn assembly_says_its_lines_where_that_is_asked(toolchain: &Toolchain) {
    let compilers = open_compilers(toolchain);
    let id = &toolchain.id;
    let usual = request(vec![with_block(
        launch("fill", vec![tensor_at(0), Value::Int(1)]),
        64,
    )]);
    let lined = CompileRequest {
        lines: true,
        ..usual.clone()
    };
    let before = expect_compiled(&compilers, &usual);
    let lined = expect_compiled(&compilers, &lined);
    let after = expect_compiled(&compilers, &usual);
    assert_eq!(before.kernels[0].cubin, after.kernels[0].cubin, "{id}");
    assert!(!after.kernels[0].ptx.contains(".loc"), "{id}");
    let ptx = &lined.kernels[0].ptx;
    assert!(
        ptx.contains(".loc") && ptx.contains("compiled.py\""),
        "{id} {ptx}"
    );
    assert_eq!(lined.invocations, before.invocations, "{id}");
}

fn one_configuration_of_a_tuner_is_compiled_alone(toolchain: &Toolchain) {
    let compilers = open_compilers(toolchain);
    let pruned = Launch {
        grid: Grid::Global("grid".to_owned()),
        ..launch("pruned", vec![tensor_at(0), Value::Int(100)])
    };
    let usual = request(vec![pruned]);
    let only = |config| CompileRequest {
        tuning: Tuning {
            config: Some(config),
            ..Tuning::default()
        },
        ..usual.clone()
    };
    let id = &toolchain.id;
    assert_eq!(compile_request(&compilers, &usual).configs, 3, "{id}");
    let programs = |request: &CompileRequest| expect_compiled(&compilers, request).invocations[0].grid[0];
    assert_eq!([&usual, &only(0), &only(1)].map(programs), [2, 2, 4], "{id}");
    let raised = expect_raised(&compilers, &only(2));
    let root = raised.root();
    assert_eq!(root.kind, "cerith_worker.recorder.Unsupported", "{id}");
    assert!(
        root.message.contains("leaves this configuration out"),
        "{id}: {}",
        root.message
    );
    assert_eq!(compile_request(&compilers, &only(2)).configs, 3, "{id}");
    // A tuner that has fewer tries all it has.
    assert_eq!(programs(&only(7)), 2, "{id}");
}

fn tuples_and_closures(toolchain: &Toolchain) {
    let compilers = open_compilers(toolchain);
    let pair = launch("pair", vec![Value::Tuple(vec![tensor_at(2), Value::Int(7)])]);
    let closure = launch("closure", vec![tensor(1, &[4], &[1], 0)]);
    let launches = vec![with_block(pair, 4), with_block(closure, 4)];
    let compiled = expect_compiled(&compilers, &request(launches));
    let params: Vec<&[Param]> = compiled.invocations.iter().map(|one| &one.params[..]).collect();
    let expected: [&[Param]; 2] = [
        &[address_param(0, 8), bytes_param(&7_i32.to_le_bytes())],
        &[address_param(1, 0)],
    ];
    assert_eq!(params, expected, "{}", toolchain.id);
}

/// To a GPU with a TMA unit a descriptor is a tensor map, to others a pointer with shape and strides; both get shape and
/// strides after it.
fn descriptors_are_what_the_target_wants(toolchain: &Toolchain) {
    let compilers = open_compilers(toolchain);
    let base = Tensor {
        storage: 0,
        dtype: DType::F32,
        shape: vec![16, 32],
        strides: vec![32, 1],
        offset: 0,
    };
    let source = Value::Descriptor(Box::new(Descriptor {
        shape: base.shape.clone(),
        strides: base.strides.clone(),
        base,
        block_shape: vec![8, 16],
        padding: None,
        round_f32_to_tf32: false,
    }));
    let out = build_tensor(DType::F32, 0, &[128], &[1], 512);
    let described = launch("described", vec![source, out, Value::Int(8), Value::Int(16)]);
    let request = request(vec![described]);
    let id = &toolchain.id;
    let hopper = expect_compiled(&compilers, &request);
    let Param::TensorMap(map) = &hopper.invocations[0].params[0] else {
        panic!("{id}: {hopper:?}")
    };
    assert_eq!(
        (map.storage, map.offset, map.element_size, map.fill),
        (0, 0, 4, 0),
        "{id}"
    );
    assert_eq!(
        (&map.shape[..], &map.strides[..], &map.block[..]),
        (&[16, 32][..], &[128, 4][..], &[8, 16][..]),
        "{id}"
    );
    let ampere = expect_compiled(
        &compilers,
        &CompileRequest {
            target: SM_80,
            ..request
        },
    );
    assert_eq!(ampere.invocations[0].params[0], address_param(0, 0), "{id}");
}

fn rejections_name_the_line(toolchain: &Toolchain) {
    let compilers = open_compilers(toolchain);
    let request = request(vec![
        with_block(launch("fill", vec![tensor_at(0), Value::Int(5)]), 64),
        launch("rejected", vec![tensor_at(0)]),
    ]);
    let raised = expect_raised(&compilers, &request);
    let id = &toolchain.id;
    assert!(raised.compiling, "{id}");
    assert_eq!(raised.phase, Phase::Launch(1), "{id}");
    assert!(
        raised.root().message.ends_with("never"),
        "{id}: {}",
        raised.root().message
    );
    let location = raised.location.expect("a line");
    assert_eq!(
        location.line,
        line_of(&request.module, "tl.static_assert(False, \"never\")"),
        "{id}"
    );
    assert_eq!(
        (location.file, location.function.as_str()),
        (request.module.path, "inner"),
        "{id}"
    );
}

/// Code that is compiled for one GPU, and assembled for another, shows it: the assembly names its target, and the machine
/// code has the number of the GPU's in the flags of its ELF header.
fn assembly_for_one_gpu_becomes_machine_code_for_another(toolchain: &Toolchain) {
    let arch = |kernel: &Kernel| {
        let flags = &kernel.cubin[0x30..0x34];
        // The number was moved up by a byte in CUDA 13.
        [u32::from(flags[0]), u32::from(flags[1])]
    };
    let check = |compilers: &Compilers, target, assembled, [assembly, code]: [u32; 2]| {
        let request = CompileRequest {
            target,
            assembled,
            ..request(vec![with_block(
                launch("fill", vec![tensor_at(0), Value::Int(5)]),
                64,
            )])
        };
        let compiled = expect_compiled(compilers, &request);
        let kernel = &compiled.kernels[0];
        let id = &compilers.toolchain().id;
        assert!(
            kernel.ptx.contains(&format!(".target sm_{assembly}")),
            "{id}: {}",
            kernel.ptx
        );
        assert!(
            arch(kernel).contains(&code),
            "{id}: {:x?} and not {code}",
            arch(kernel)
        );
    };
    let compilers = open_compilers(toolchain);
    check(&compilers, SM_80, Some(Target::HOPPER), [80, 90]);
    // The one before leaves nothing behind.
    check(&compilers, SM_80, None, [80, 80]);
    check(&compilers, Target::HOPPER, None, [90, 90]);
}

/// 3.0.0 has no division of f16 for `sm_80` and aborts.
fn a_compiler_that_aborts_costs_its_own_request(toolchain: &Toolchain) {
    let compilers = open_compilers(toolchain);
    let half = build_tensor(DType::F16, 0, &[128], &[1], 0);
    let divide = with_block(launch("divide", vec![half]), 64);
    let aborting = CompileRequest {
        target: SM_80,
        ..request(vec![divide])
    };
    let failure = compilers
        .compile(&aborting, Limits::COMPILER)
        .expect_err("it dies");
    assert!(
        matches!(
            failure,
            WorkerFailure::Crashed {
                exit: Exit::Signal(6 | 11),
                ..
            }
        ),
        "{failure:?}"
    );
    expect_compiled(
        &compilers,
        &request(vec![with_block(
            launch("fill", vec![tensor_at(0), Value::Int(5)]),
            64,
        )]),
    );
}

fn several_compile_at_once(toolchain: &Toolchain) {
    let compilers = Compilers::new(toolchain.clone(), 2, None)
        .expect("compilers")
        .with_readable(&kernels_folder());
    std::thread::scope(|scope| {
        for n in 2..6 {
            let compilers = &compilers;
            scope.spawn(move || {
                let fill = with_block(launch("fill", vec![tensor_at(0), Value::Int(n)]), 64);
                let compiled = expect_compiled(compilers, &request(vec![fill]));
                assert_eq!(
                    compiled.invocations[0].params[1],
                    bytes_param(&(n as i32).to_le_bytes())
                );
            });
        }
    });
}

fn list_files(folder: &Path) -> Vec<std::path::PathBuf> {
    let inside = |folder: &Path| {
        fs::read_dir(folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path())
    };
    inside(folder)
        .flat_map(|one| inside(&one).collect::<Vec<_>>())
        .flat_map(|one| inside(&one).collect::<Vec<_>>())
        .collect()
}

/// Compilers that are stopped answer from the cache or not at all.
fn what_was_compiled_is_kept(toolchain: &Toolchain) {
    let folder = tempfile::tempdir().expect("a folder");
    let cached = || {
        let cache = Cache::open_folder(folder.path(), Cache::MAX_BYTES).expect("a cache");
        Compilers::new(toolchain.clone(), 1, Some(cache))
            .expect("compilers")
            .with_readable(&kernels_folder())
    };
    let fill = |n| {
        request(vec![with_block(
            launch("fill", vec![tensor_at(0), Value::Int(n)]),
            64,
        )])
    };
    let rejected = request(vec![launch("rejected", vec![tensor_at(0)])]);
    let first = cached();
    let fills = [fill(5), fill(7)].map(|request| (compile_request(&first, &request), request));
    let no = compile_request(&first, &rejected);
    assert!(no.result.is_err());
    // Both have the same kernel: two answers of it and one rejection, and its cubin, PTX and TTIR.
    assert_eq!(list_files(folder.path()).len(), 3 + 3);

    let kept = |request: &CompileRequest| {
        let stopped = cached();
        stopped.stop();
        stopped.compile(request, Limits::COMPILER)
    };
    for (compilation, request) in &fills {
        assert_eq!(kept(request).as_ref(), Ok(compilation));
    }
    assert_eq!(kept(&rejected), Ok(no));

    // Everything that decides the compiled code is requested again.
    let (compilation, request) = &fills[0];
    let mut others = vec![request.clone(); 6];
    others[0].target = SM_80;
    others[1].siblings.push(Arc::from("X = 1\n"));
    others[2].storages.push(16);
    others[3].launches[0]
        .options
        .push(("num_warps".to_owned(), Value::Int(8)));
    others[4].module.text = Arc::from(format!("{}\n", request.module.text));
    others[5].assembled = Some(Target(100));
    for other in &others {
        assert_eq!(kept(other), Err(WorkerFailure::Stopped), "{other:?}");
    }

    // Damaged files, and those of an interrupted run, are ignored and replaced.
    for damaged in list_files(folder.path()) {
        let whole = fs::read(&damaged).expect("a file");
        for damage in [&whole[..whole.len() / 2], &[&whole[1..], b"x"].concat(), b""] {
            fs::write(&damaged, damage).expect("written");
            let missing = fills.iter().any(|(_, request)| kept(request).is_err()) || kept(&rejected).is_err();
            assert!(missing, "{}", damaged.display());
        }
        fs::write(damaged.with_file_name(".partial-1"), b"half").expect("written");
        let again = cached();
        for (compilation, request) in &fills {
            assert_eq!(compile_request(&again, request).result, compilation.result);
        }
        assert!(compile_request(&again, &rejected).result.is_err());
        assert_eq!(
            kept(request).map(|kept| kept.result),
            Ok(compilation.result.clone())
        );
    }
}

fn the_least_recently_used_is_dropped() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join("3.9.0/ab").join(name);
    fs::create_dir_all(at("")).expect("made");
    // As versions before kept it, without the toolchain.
    fs::create_dir(folder.path().join("ab")).expect("made");
    fs::write(folder.path().join("ab/abother"), [0; 100]).expect("written");
    let now = std::time::SystemTime::now();
    for (name, age) in [
        ("abold", 3000),
        ("abnew", 10),
        ("abmiddle", 2000),
        (".partial-a", 9000),
        (".partial-b", 5),
    ] {
        fs::write(at(name), [0; 100]).expect("written");
        let used = now - std::time::Duration::from_secs(age);
        fs::File::options()
            .append(true)
            .open(at(name))
            .and_then(|file| file.set_modified(used))
            .expect("aged");
    }
    let cache = Cache::open_folder(folder.path(), 300).expect("a cache");
    assert_eq!(cache.size().bytes, 300);
    let left: Vec<bool> = ["abold", "abmiddle", "abnew", ".partial-a", ".partial-b"]
        .map(|name| at(name).exists())
        .to_vec();
    assert_eq!(left, [false, true, true, false, true]);
    assert!(!folder.path().join("ab").exists());
    cache.shrink(0);
    assert_eq!(cache.size().files, 1);
}

pub fn tests() -> Tests {
    Tests::new()
        .without_needs(&named![the_least_recently_used_is_dropped])
        .with_each(
            &tritons_since(3, 0),
            &named![
                arguments_become_parameters_as_tritons_launcher_passes_them,
                nothing_is_specialised_on_when_a_sweep_says_so,
                a_compiler_ends_after_a_stage,
                a_compiler_says_what_is_before_each_pass,
                assembly_says_its_lines_where_that_is_asked,
                one_configuration_of_a_tuner_is_compiled_alone,
                rejections_name_the_line,
                assembly_for_one_gpu_becomes_machine_code_for_another
            ],
        )
        .with_each(
            &["3.0.0", "3.6.0", NEWEST],
            &named![kernels_are_specialised_on_what_they_get],
        )
        .with_each(
            &["3.0.0", "3.1.0", "3.2.0", "3.6.0", NEWEST],
            &named![tuners_heuristics_and_grid_functions_are_tritons],
        )
        .with_each(&["3.6.0", NEWEST], &named![tuples_and_closures])
        .with_each(
            &["3.4.0", "3.6.0", NEWEST],
            &named![descriptors_are_what_the_target_wants],
        )
        .with_each(&["3.0.0"], &named![a_compiler_that_aborts_costs_its_own_request])
        .with_each(
            &[NEWEST],
            &named![several_compile_at_once, what_was_compiled_is_kept],
        )
}
