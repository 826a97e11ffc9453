//! Extracting kernels from their package with their dependencies.

use cerith_module::excerpt::{extract_functions, join_modules};

const PACKAGE: [(&str, &str); 4] = [
    (
        "lib/ops/rows.py",
        "import torch\nfrom ..decorators import counted\nfrom . import addresses\nfrom .addresses import (\n    WIDTH as W,\n    other,\n)\n\
         if torch.cuda.is_available():\n    import triton\n    import triton.language as tl\n\n    @counted\n    @triton.jit\n    \
         def copy(x, out): tl.store(out, tl.load(addresses.at(x, W)))\n",
    ),
    (
        "lib/__init__.py",
        "import torch\nassert torch.cuda.is_available()\n",
    ),
    ("lib/decorators.py", "def counted(f): return f\n"),
    (
        "lib/ops/addresses.py",
        "import torch\nimport triton\nWIDTH = 4\nother = torch.ones(1)\n@triton.jit\ndef at(p, n): return p + n\n",
    ),
];

#[test]
fn of_a_package_that_is_left_which_the_kernel_needs() {
    let read = |path: &str| {
        let found = PACKAGE.iter().find(|(one, _)| *one == path);
        found.map(|(_, text)| (*text).to_owned())
    };
    let parts = extract_functions("lib/ops/rows.py", "rows", &["copy"], &read).expect("Python");
    let names: Vec<&str> = parts.iter().map(|part| part.path.as_str()).collect();
    assert_eq!(names, ["rows.py", "lib_ops_addresses.py"]);
    let shown = |text: &str| -> Vec<String> {
        let lines = text.lines().enumerate();
        lines
            .filter(|(_, line)| !line.trim().is_empty())
            .map(|(at, line)| format!("{}: {line}", at + 1))
            .collect()
    };
    assert_eq!(
        shown(&parts[0].text),
        [
            "3: import lib_ops_addresses as addresses",
            "4: from lib_ops_addresses import WIDTH as W",
            "8: if True:",
            "9:     import triton",
            "10:     import triton.language as tl",
            "13:     @triton.jit",
            "14:     def copy(x, out): tl.store(out, tl.load(addresses.at(x, W)))",
        ]
    );
    assert_eq!(
        shown(&parts[1].text),
        [
            "2: import triton",
            "3: WIDTH = 4",
            "5: @triton.jit",
            "6: def at(p, n): return p + n"
        ]
    );
}

/// The lines of a module's excerpt that are not blank.
fn extract_lines(path: &str, kernel: &str, files: &[(&str, &str)]) -> Vec<String> {
    let read = |path: &str| {
        let found = files.iter().find(|(one, _)| *one == path);
        found.map(|(_, text)| (*text).to_owned())
    };
    let parts = extract_functions(path, "main", &[kernel], &read).expect("Python");
    let lines = parts.iter().flat_map(|part| part.text.lines());
    lines
        .filter(|line| !line.trim().is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn what_depends_on_the_machine_is_decided() {
    let check = |text: &str, kernel: &str, expected: &[&str]| {
        assert_eq!(
            extract_lines("a.py", kernel, &[("a.py", text)]),
            expected,
            "{text}"
        );
    };
    check(
        "from lib import is_npu, compare\nif compare(3) and not is_npu():\n    from triton.language.extra.libdevice import tanh\nelse:\n    \
         from triton.language.math import tanh\n@triton.jit\ndef f(x): tl.store(x, tanh(tl.load(x)))\n",
        "f",
        &[
            "if True:",
            "    from triton.language.extra.libdevice import tanh",
            "else:",
            "    from triton.language.math import tanh",
            "@triton.jit",
            "def f(x): tl.store(x, tanh(tl.load(x)))",
        ],
    );
    check(
        "import torch\n@triton.jit\ndef f(x): tl.store(x, A)\nif torch.x < 2 and \\\n    (1 < 2):\n    A = 1\nelse:\n    A = 2\n",
        "f",
        &[
            "@triton.jit",
            "def f(x): tl.store(x, A)",
            "if (True",
            "):",
            "    A = 1",
            "else:",
            "    A = 2",
        ],
    );
    check(
        "import os\nif os.environ.get('FAST', '0') == '1' and os.getenv('OTHER') is None:\n    A = 1\nelse:\n    A = 2\n\
         @triton.jit\ndef f(x): tl.store(x, A)\n",
        "f",
        &[
            "if ('0') == '1' and (None) is None:",
            "    A = 1",
            "else:",
            "    A = 2",
            "@triton.jit",
            "def f(x): tl.store(x, A)",
        ],
    );
    check(
        "import torch\n@triton.jit\ndef f(x):\n    if torch.version.hip is not None:\n        tl.store(x, 1)\n",
        "f",
        &[
            "@triton.jit",
            "def f(x):",
            "    if None is not None:",
            "        tl.store(x, 1)",
        ],
    );
    check(
        "def make():\n    if not has_triton():\n        return None\n    @triton.jit\n    def f(x): tl.store(x, 1)\n    return f\n",
        "make.f",
        &[
            "def make():",
            "    if False:",
            "        return None",
            "    @triton.jit",
            "    def f(x): tl.store(x, 1)",
            "    return f",
        ],
    );
}

/// A kernel in one branch is a fallback if the other one has a function of the language under its name.
#[test]
fn a_function_of_the_language_is_preferred_by_its_condition() {
    let text = "from lib import Version\nif Version(triton.__version__) >= Version('3.0.0'):\n    cast = tl.cast\nelse:\n    @triton.jit\n    \
                def cast(x, to): return x.to(to)\n@triton.jit\ndef f(x): tl.store(x, cast(1, tl.float32))\n";
    assert_eq!(
        extract_lines("a.py", "f", &[("a.py", text)]),
        [
            "if True:",
            "    cast = tl.cast",
            "else:",
            "    @triton.jit",
            "    def cast(x, to): return x.to(to)",
            "@triton.jit",
            "def f(x): tl.store(x, cast(1, tl.float32))",
        ]
    );
}

/// `lib` puts its folder where imports find it.
#[test]
fn a_package_inside_of_another_imports_itself_by_its_name() {
    let files = [
        (
            "lib/vendored/inner/ops/a.py",
            "from inner.ops.b import twice\n@triton.jit\ndef f(x): tl.store(x, twice(1))\n",
        ),
        (
            "lib/vendored/inner/ops/b.py",
            "@triton.jit\ndef twice(x): return x + x\n",
        ),
    ];
    assert_eq!(
        extract_lines("lib/vendored/inner/ops/a.py", "f", &files),
        [
            "from lib_vendored_inner_ops_b import twice",
            "@triton.jit",
            "def f(x): tl.store(x, twice(1))",
            "@triton.jit",
            "def twice(x): return x + x",
        ]
    );
}

#[test]
fn a_module_is_joined_with_what_its_launchers_call() {
    let files = [
        (
            "lib/rows.py",
            "import torch\nfrom .sizes import block as b, other\nfrom .names import NAME\ndef run(x): return b(other(x), NAME)\n",
        ),
        (
            "lib/sizes.py",
            "import torch\nfrom .names import WIDTH\ndef block(x): return WIDTH\ndef other(x): return x\ndef unused(x): return x\n",
        ),
        ("lib/names.py", "WIDTH = 4\nNAME = 'rows'\n"),
        ("lib/alone.py", "import torch\ndef run(x): return x\n"),
        (
            "lib/caller.py",
            "from . import sizes\nfrom .rows import run\ndef call(x): return run(x)\n",
        ),
    ];
    let read = |path: &str| {
        let found = files.iter().find(|(one, _)| *one == path);
        found.map(|(_, text)| (*text).to_owned())
    };
    let check = |path: &str, kernels: Option<(&str, &str)>, expected: Option<&str>| {
        let joined = join_modules(path, kernels, &read);
        if let Some(joined) = &joined {
            let lines = joined.text.lines().skip(joined.lines_before as usize);
            let own = read(path).expect("a file");
            assert_eq!(lines.count(), own.lines().count());
        }
        let shown = joined.map(|joined| {
            let lines = joined.text.lines().filter(|line| !line.is_empty());
            lines.collect::<Vec<_>>().join("\n")
        });
        assert_eq!(shown.as_deref(), expected, "{path}");
    };
    check(
        "lib/rows.py",
        None,
        Some(
            "WIDTH = 4\nNAME = 'rows'\npass\ndef block(x): return WIDTH\ndef other(x): return x\n\
             import torch\nb = block\npass\ndef run(x): return b(other(x), NAME)",
        ),
    );
    check("lib/alone.py", None, None);
    check("lib/absent.py", None, None);
    // The kernels' own text replaces its excerpt.
    check(
        "lib/caller.py",
        Some(("lib/rows.py", "RAW = 1\ndef run(x): return x\n")),
        Some(
            "WIDTH = 4\nNAME = 'rows'\npass\ndef block(x): return WIDTH\ndef other(x): return x\n\
             RAW = 1\ndef run(x): return x\nfrom . import sizes\npass\ndef call(x): return run(x)",
        ),
    );
    check("lib/alone.py", Some(("lib/rows.py", "RAW = 1\n")), None);
}
