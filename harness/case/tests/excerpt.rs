//! Kernels are taken out of their package with what they need.

use cerith_case::excerpt::excerpt;

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
    let parts = excerpt("lib/ops/rows.py", "rows", &["copy"], &read).expect("Python");
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
            // Not wanted: only the condition that is decided names it, and what a piece takes is read before that.
            "1: import torch",
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
