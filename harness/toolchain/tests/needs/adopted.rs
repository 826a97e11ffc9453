//! Pythons that Cerith did not make, and torch in them. Adopting is tested with the Python of an installed toolchain;
//! torch, with installed or adopted toolchains that hold it and with the Pythons that `CERITH_TEST_TORCH` names (paths,
//! separated by blanks).

use crate::common::{
    GUARD, build_storage, build_tensor, expect_finished, expect_raised, kernels_folder, launch, open_pool,
    read_words, request, simple_request, tensor,
};
use std::ffi::OsStr;
use std::fs;

use cerith_needs::{NEWEST, Need, Tests, named, pythons_with_torch};
use cerith_tile::DType;
use cerith_toolchain::request::{Device, Relocation, Storage, Value};
use cerith_toolchain::{Home, Pool, Request, Toolchain};
use tempfile::TempDir;

/// Toolchains with torch, and the folder that adopted ones live in.
fn with_torch() -> (TempDir, Vec<Toolchain>) {
    let folder = TempDir::new().expect("a folder");
    let home = Home::new(folder.path());
    let theirs = Home::discover().expect("a home").list().expect("a list");
    let mut found: Vec<Toolchain> = theirs
        .into_iter()
        .filter(|toolchain| toolchain.contents.torch.is_some())
        .collect();
    for python in pythons_with_torch() {
        let toolchain = home.adopt(OsStr::new(&python), None, &()).expect(&python);
        assert!(toolchain.contents.torch.is_some(), "{python} has no torch");
        found.push(toolchain);
    }
    (folder, found)
}

fn pool_with_torch(toolchain: &Toolchain) -> Pool {
    Pool::with_torch(toolchain.clone(), 1, Device::Host)
        .expect("a pool")
        .with_readable(&kernels_folder())
}

fn on_host(request: Request) -> Request {
    Request {
        device: Device::Host,
        ..request
    }
}

fn a_python_is_adopted_and_left_alone(theirs: &Toolchain) {
    let folder = TempDir::new().expect("a folder");
    let home = Home::new(folder.path());
    let python = theirs.python();
    let adopted = home.adopt(python.as_os_str(), None, &()).expect("adopted");
    let name = format!("{}+numpy{}", theirs.contents.triton, theirs.contents.numpy);
    assert_eq!(adopted.id.to_string(), name);
    assert_eq!(
        (
            adopted.is_adopted(),
            adopted.python(),
            adopted.contents.torch.clone()
        ),
        (true, python.clone(), None)
    );
    // A repetition does no harm.
    assert_eq!(
        home.adopt(python.as_os_str(), None, &()).expect("adopted"),
        adopted
    );
    assert_eq!(home.list().expect("a list"), std::slice::from_ref(&adopted));

    // Under the name that a user means it by.
    let found = home.resolve(&theirs.id).expect("it serves");
    assert_eq!((&found.id, found.python()), (&theirs.id, python.clone()));
    assert_eq!(home.find(&theirs.id), None);
    let other = "3.4.0".parse().expect("a toolchain");
    assert_eq!(home.resolve(&other), None);
    let other_numpy = format!("{}+numpy1.0", theirs.contents.triton);
    assert_eq!(home.resolve(&other_numpy.parse().expect("a toolchain")), None);
    assert!(home.resolve_compiler(&theirs.id.compiler()).is_some());
    assert_eq!(home.resolve_torch(&theirs.id, true), None);
    assert_eq!(
        read_words(&expect_finished(&open_pool(&found), &simple_request("increase")).storages[0].bytes),
        [6; 4]
    );

    home.remove(&adopted.id).expect("removed");
    assert_eq!(home.list().expect("a list"), []);
    assert!(python.is_file());
}

fn an_installed_one_goes_before_an_adopted_one(theirs: &Toolchain) {
    let folder = TempDir::new().expect("a folder");
    let home = Home::new(folder.path());
    let adopted = home
        .adopt(theirs.python().as_os_str(), None, &())
        .expect("adopted");
    let toolchains = adopted.root().parent().expect("a folder");
    std::os::unix::fs::symlink(theirs.root(), toolchains.join(NEWEST)).expect("linked");
    let found = home.resolve(&theirs.id).expect("there");
    assert!(!found.is_adopted());
}

/// An old marker, without what markers say today.
fn markers_of_before_are_read() {
    let folder = TempDir::new().expect("a folder");
    let home = Home::new(folder.path());
    let root = folder.path().join("toolchains").join("3.1.0");
    fs::create_dir_all(&root).expect("made");
    let text = r#"{"schema":1,"id":"3.1.0","triton":"3.1.0","numpy":"1.26.4","python":"3.11.7"}"#;
    fs::write(root.join("cerith-toolchain.json"), text).expect("written");
    let found = home.find(&"3.1.0".parse().expect("a toolchain")).expect("there");
    assert_eq!((found.is_adopted(), &found.contents.torch), (false, &None));
    assert_eq!(found.python(), root.join("bin").join("python"));
}

/// An adopted one serves under the names of its Triton and of its torch.
fn one_with_torch_serves_where_torch_is_wanted() {
    let (folder, toolchains) = with_torch();
    let home = Home::new(folder.path());
    for toolchain in toolchains.iter().filter(|toolchain| toolchain.is_adopted()) {
        let torch = toolchain.contents.torch.clone().unwrap_or_default();
        let torch = torch.split('+').next().unwrap_or_default();
        let asked = format!("torch{torch}").parse().expect("a known torch");
        let Some(found) = home.resolve(&asked) else {
            assert!(!toolchain.root().starts_with(folder.path()), "{asked}");
            continue;
        };
        assert_eq!(
            (found.id, found.contents.torch),
            (asked, toolchain.contents.torch.clone())
        );
        let triton = cerith_toolchain::ToolchainId::from_triton(toolchain.triton());
        assert_eq!(
            home.resolve_torch(&triton, false).map(|found| found.id),
            Some(triton.clone())
        );
        assert!(home.newest_with_torch() >= Some(toolchain.triton()));
    }
}

/// Stand-ins replace torch, and an installed torch cannot be found.
fn torch_is_hidden_unless_it_is_asked_for() {
    let (_folder, toolchains) = with_torch();
    for toolchain in toolchains {
        let text = "import importlib.util\n\
             assert importlib.util.find_spec('torch') is None\n\
             try:\n    import torch.nn\nexcept ModuleNotFoundError as error:\n    assert str(error) == \"No module named 'torch'\"\n\
             else:\n    assert False, torch\n";
        let mut import = simple_request("empty_kernel");
        import.module.text = format!("{text}{}", import.module.text).into();
        expect_finished(&open_pool(&toolchain), &import);

        let real = "import torch\nassert not torch.cuda.is_available()\n";
        let mut import = on_host(simple_request("empty_kernel"));
        import.module.text = format!("{real}{}", import.module.text).into();
        expect_finished(&pool_with_torch(&toolchain), &import);
    }
}

/// The tests of stand-ins, applied to torch's own tensors.
fn torchs_own_tensors_do_what_stand_ins_do() {
    let (_folder, toolchains) = with_torch();
    for toolchain in toolchains {
        let real = pool_with_torch(&toolchain);
        let stand_in = open_pool(&toolchain);
        let check = |what: &str, request: Request| {
            let request = on_host(request);
            let (theirs, ours) = (
                expect_finished(&real, &request),
                expect_finished(&stand_in, &request),
            );
            assert_eq!(theirs.storages, ours.storages, "{what}, {}", toolchain.id);
            theirs
        };
        let original: Vec<i32> = (0..24).collect();
        let left = tensor(0, &[4, 2], &[6, 1], 0);
        let args = vec![left, Value::Int(6), Value::Int(1), Value::Int(4), Value::Int(2)];
        let split = request(
            "behaviour.py",
            vec![build_storage(&original)],
            vec![launch("add_one", args)],
        );
        let after = check("a strided view", split);
        assert_eq!(read_words(&after.storages[0].bytes)[..4], [1, 2, 2, 3]);

        let args = vec![tensor(0, &[2], &[1], 0), Value::Int(4)];
        let beyond = request(
            "behaviour.py",
            vec![build_storage(&[0; 2])],
            vec![launch("beyond", args)],
        );
        let after = check("a stray write", beyond);
        let bytes = &after.storages[0].bytes;
        assert_eq!(bytes[bytes.len() - GUARD..][..4], [7, 0, 0, 0]);

        let table = Storage {
            holds_addresses: true,
            relocations: vec![Relocation {
                offset: 0,
                storage: 1,
                addend: 4,
            }],
            ..build_storage(&[9; 4])
        };
        let storages = vec![table, build_storage(&[1, 2, 3, 4, 5]), build_storage(&[0; 4])];
        let follow = vec![
            build_tensor(DType::I64, 0, &[2], &[1], 0),
            tensor(2, &[4], &[1], 0),
            Value::Int(4),
        ];
        let put = vec![
            build_tensor(DType::I64, 0, &[2], &[1], 0),
            tensor(1, &[5], &[1], 0),
        ];
        let launches = vec![launch("follow", follow), launch("put_address", put)];
        let after = check("addresses in memory", request("behaviour.py", storages, launches));
        assert_eq!(read_words(&after.storages[2].bytes), [2, 3, 4, 5]);
        assert_eq!(after.storages[0].relocations.len(), 2);

        let empty = vec![tensor(0, &[0], &[1], 0)];
        check(
            "an empty storage",
            request(
                "behaviour.py",
                vec![build_storage(&[])],
                vec![launch("empty_kernel", empty)],
            ),
        );
        let raised = expect_raised(&real, &on_host(simple_request("fail")));
        assert_eq!(raised.root().message, "as asked");
        assert_goes_on_with(&real);
    }
}

fn assert_goes_on_with(pool: &Pool) {
    let after = expect_finished(pool, &on_host(simple_request("increase")));
    assert_eq!(read_words(&after.storages[0].bytes), [6; 4]);
}

/// Without a GPU, what wants one says so at once.
fn what_wants_a_gpu_says_that_there_is_none() {
    let (_folder, toolchains) = with_torch();
    for toolchain in toolchains {
        for pool in [
            Pool::new_jit(toolchain.clone(), 16),
            Pool::with_torch(toolchain.clone(), 16, Device::Cuda),
        ] {
            let pool = pool.expect("a pool");
            assert_eq!(pool.size(), Pool::MOST_ON_A_GPU);
            match pool.start() {
                Err(failure) => {
                    let text = failure.to_string();
                    assert!(text.contains("torch sees no GPU here"), "{text}");
                }
                // It was installed, so it has not looked for a GPU before.
                Ok(()) => assert!(!toolchain.is_adopted()),
            }
        }
    }
}

pub fn tests() -> Tests {
    Tests::new()
        .without_needs(&named![markers_of_before_are_read])
        .with_needs(
            &[Need::Torch],
            &named![
                one_with_torch_serves_where_torch_is_wanted,
                torch_is_hidden_unless_it_is_asked_for,
                torchs_own_tensors_do_what_stand_ins_do
            ],
        )
        .with_needs(
            &[Need::Torch, Need::NoGpu],
            &named![what_wants_a_gpu_says_that_there_is_none],
        )
        .with_each(&["3.1.0", NEWEST], &named![a_python_is_adopted_and_left_alone])
        .with_each(&[NEWEST], &named![an_installed_one_goes_before_an_adopted_one])
}
