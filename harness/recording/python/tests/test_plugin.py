"""The plugin: the example's tests, gated."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parent / "example"


@pytest.fixture
def example(pytester: pytest.Pytester, interpreted: None) -> pytest.Pytester:
    for path in EXAMPLE.glob("*.py"):
        (pytester.path / path.name).write_text(path.read_text())
    return pytester


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    plugin = [] if installed() else ["-p", "cerith_triton.pytest_plugin"]
    return pytester.runpytest_subprocess(*plugin, "-p", "no:cacheprovider", *arguments)


def installed() -> bool:
    """Whether pytest finds the plugin by itself."""
    try:
        importlib.metadata.distribution("cerith-triton")
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


WORDS = [
    "*DIFFER add_kernel/0001 * recorded is wrong*",
    "*out_ptr*bf16*3.0 *",
    "*UNDEFINED unmasked_kernel/0001*",
    "*out-of-bounds: load of 4 bytes just past the end of storage `x_ptr`*",
    "*x = tl.load(x_ptr + offsets)  # the mask is forgotten*",
    "unmasked_kernel is defined at *kernels.py:16",
    "*race: *",
    "*tl.store(out_ptr, tl.program_id(0))  # the last program wins*",
]


def test_without_the_option_every_test_passes_and_nothing_is_said(example: pytest.Pytester) -> None:
    result = run(example)
    result.assert_outcomes(passed=6)
    result.stdout.no_fnmatch_line("*distinct*")


def test_the_summary_names_the_users_lines(example: pytest.Pytester) -> None:
    result = run(example, "--cerith", "-rf", "--junitxml=junit.xml")
    lines = (example.path / "kernels.py").read_text("utf-8").splitlines()
    line = 1 + next(at for at, text in enumerate(lines) if "mask is forgotten" in text)
    result.stdout.fnmatch_lines([f"FAILED *test_out_of_bounds* - *kernels.py:{line}: out-of-bounds*"])
    assert f"kernels.py:{line}:" in (example.path / "junit.xml").read_text("utf-8")


def test_an_undefined_launch_raises_before_it_runs(example: pytest.Pytester) -> None:
    result = run(example, "--cerith", "--cerith-preflight", "-k", "out_of_bounds")
    result.assert_outcomes(failed=1, deselected=5)
    result.stdout.fnmatch_lines(["*UndefinedLaunch: unmasked_kernel is undefined: out-of-bounds: *"])


def test_wrong_kernels_fail_with_ceriths_words(example: pytest.Pytester) -> None:
    result = run(example, "--cerith")
    result.assert_outcomes(passed=3, failed=3)
    for line in WORDS:
        result.stdout.fnmatch_lines([line])
    result.stdout.fnmatch_lines(["9 launches, 5 distinct in 6 tests: 2 agree, 1 differs, 2 undefined"])
    kept = sorted(path.name.rsplit("-", 1)[0] for path in (example.path / ".cerith").iterdir())
    assert kept == [
        ".gitignore",
        "test_example.py_test_bfloat",
        "test_example.py_test_out_of_bounds",
        "test_example.py_test_race",
    ]
    # Tests that pass the next time are gone.
    result = run(example, "--cerith", "-k", "race or nothing", "-o", "cerith_filter=add*")
    result.assert_outcomes(passed=2)


@pytest.mark.skipif(importlib.util.find_spec("xdist") is None, reason="no pytest-xdist in this environment")
def test_workers_of_xdist_gate_their_own_tests(example: pytest.Pytester) -> None:
    result = run(example, "--cerith", "-n", "2")
    result.assert_outcomes(passed=3, failed=3)
    for line in WORDS:
        result.stdout.fnmatch_lines([line])
    result.stdout.fnmatch_lines(["9 launches, 5 distinct in 6 tests: 2 agree, 1 differs, 2 undefined"])


def test_markers_and_the_fixture_choose(example: pytest.Pytester) -> None:
    example.makepyfile(
        test_chosen="""
        import pytest
        import torch
        from kernels import racing_kernel, unmasked_kernel

        def wrong():
            unmasked_kernel[(2,)](torch.ones(100), torch.empty(100), 100, BLOCK=64)

        @pytest.mark.cerith
        def test_marked():
            wrong()

        @pytest.mark.cerith(undefined=True)
        def test_undefined():
            wrong()

        @pytest.mark.cerith(off=True)
        def test_off(cerith):
            wrong()

        def test_ungated():
            wrong()

        def test_fixture(cerith):
            wrong()

        def test_checked(cerith):
            assert cerith.check().launches == 0
            wrong()
            with pytest.raises(AssertionError, match="out-of-bounds"):
                cerith.check()

        @pytest.mark.cerith
        def test_skipped():
            pytest.skip("whatever it launched")

        @pytest.mark.cerith
        def test_fails_by_itself():
            wrong()
            assert False, "its own"
        """
    )
    result = run(example, "test_chosen.py")
    result.assert_outcomes(passed=4, failed=3, skipped=1)
    result.stdout.fnmatch_lines(["*its own*", "*cerith*", "*out-of-bounds*"])
    run(example, "test_chosen.py", "--no-cerith").assert_outcomes(passed=5, failed=2, skipped=1)


def test_a_mistake_in_a_marker_is_said(example: pytest.Pytester) -> None:
    example.makepyfile(
        """
        import pytest

        @pytest.mark.cerith(strickt=True)
        def test_marked():
            pass
        """
    )
    result = run(example, "-k", "marked")
    result.assert_outcomes(failed=1, deselected=6)
    result.stdout.fnmatch_lines(["cerith: the marker has no `strickt`: cerith(*"])


def test_without_the_program_the_run_does_not_begin(
    example: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CERITH", "/no/such/cerith")
    result = run(example, "--cerith")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--cerith: CERITH is '/no/such/cerith'*"])
