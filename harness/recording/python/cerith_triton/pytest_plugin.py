"""The pytest plugin: gates around tests.

A gated test is recorded while it runs, without its fixtures' set-up and tear-down, and judged at its end. It
fails with Cerith's report if the reference disagrees with the executed launches or the program has no defined
meaning. A test is gated if it asks for the fixture `cerith`, has the marker `cerith`, or if all tests are
(`--cerith`, or `cerith = true` in the ini file). `@pytest.mark.cerith(off=True)` excepts one. The recording
of a test that fails is kept below `.cerith`.

A launcher with `conforms` has a test for each of its points (`pytest_points`).

Under pytest-xdist every worker gates its own tests, and the numbers come together in the end.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generator

import pytest

from cerith_triton import binary
from cerith_triton.binary import CerithError
from cerith_triton.judging import Disagreement, Report

if TYPE_CHECKING:
    from cerith_triton.gating import Gate

_GATE = pytest.StashKey["Gate"]()
_REPORT = pytest.StashKey[Report]()

_MARKER = (
    "cerith(engines=(), filter=(), max_bytes=None, sample='layout', undefined=False, strict=False,"
    " preflight=False, masked_zero=False, off=False): gate the Triton launches of the test through Cerith's"
    " reference"
)

_SHOWN = 10
"""Lines of reasons in the summary."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The command line's options, and the ini file's."""
    group = parser.getgroup("cerith", "Triton launches, gated through Cerith's reference")
    group.addoption("--cerith", action="store_true", default=None, help="gate every test")
    group.addoption(
        "--no-cerith",
        action="store_false",
        dest="cerith",
        help="gate no test, neither marked ones nor those with the fixture",
    )
    group.addoption(
        "--cerith-engine",
        action="append",
        default=[],
        metavar="ENGINE",
        help="an engine beside the reference and what was executed (interpret@3.9.0+host); again for more",
    )
    group.addoption(
        "--cerith-strict",
        action="store_true",
        help="fail tests with launches that could not be recorded or judged",
    )
    group.addoption(
        "--cerith-preflight",
        action="store_true",
        help="judge each launch before it runs: an undefined one raises, and does not crash the tests",
    )
    group.addoption(
        "--cerith-masked-zero",
        action="store_true",
        help="lanes that a load masks off, without `other`, are zero, as compiled for NVIDIA they are",
    )
    group.addoption("--cerith-dir", metavar="DIR", help="where recordings of failed tests go (.cerith)")
    parser.addini("cerith", "gate every test", type="bool", default=False)
    parser.addini(
        "cerith_engines", "engines beside the reference and what was executed", type="args", default=[]
    )
    parser.addini("cerith_filter", "patterns of the names of kernels to record", type="args", default=[])
    parser.addini("cerith_sample", "which launches of a test are judged", default="layout")
    parser.addini(
        "cerith_strict",
        "fail tests with launches that could not be recorded or judged",
        type="bool",
        default=False,
    )
    parser.addini(
        "cerith_masked_zero",
        "lanes that a load masks off, without `other`, are zero",
        type="bool",
        default=False,
    )
    parser.addini("cerith_preflight", "judge each launch before it runs", type="bool", default=False)
    parser.addini("cerith_dir", "where recordings of failed tests go", default=".cerith")


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker known, and looks for the program once if every test needs it."""
    config.addinivalue_line("markers", _MARKER)
    config.pluginmanager.register(Totals(), "cerith-totals")
    if _gates_all(config):
        try:
            binary.find()
        except CerithError as error:
            raise pytest.UsageError(f"--cerith: {error}") from error


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: Any
) -> list[pytest.Item] | None:
    """Makes tests of launchers with `conforms`, whatever their names are."""
    # Without it, there is no such launcher.
    conforming = sys.modules.get("cerith_triton.conforming")
    if conforming is None or type(obj) is not conforming.Conformance:
        return None
    from cerith_triton.pytest_points import make_items

    return [*make_items(collector, name, obj)]


@pytest.fixture
def cerith(request: pytest.FixtureRequest) -> Gate:
    """The gate of this test: it records while the test runs and is judged at its end, or by
    `cerith.check()`."""
    item: pytest.Item = request.node
    return _gate_of(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Runs a test with a gate around it."""
    if not _is_gated(item):
        return (yield)
    gate, fault = _started(item)
    if gate is None:
        pytest.fail(fault, pytrace=False)
    try:
        result = yield
    except Exception:
        # The test itself has failed. Cerith's report about its launches may explain it.
        words = _finish(gate, item)
        if words:
            item.add_report_section("call", "cerith", words)
        raise
    except BaseException:
        # Skipped, or interrupted.
        gate.abandon()
        raise
    words = _finish(gate, item)
    if words:
        pytest.fail(words, pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Gives the numbers of a test to its report, with which they come from a worker of pytest-xdist."""
    made = yield
    report = item.stash.get(_REPORT, None)
    if call.when == "call" and report is not None:
        plain = dataclasses.asdict(report)
        del plain["words"]
        made.cerith = plain  # type: ignore[attr-defined]
    return made


class Totals:
    """The numbers of all tests."""

    def __init__(self) -> None:
        self.tests = 0
        self.report = Report()
        self.kept: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Adds a test's numbers."""
        plain = getattr(report, "cerith", None)
        if plain is None:
            return
        one = Report(**plain)
        self.tests += 1
        self.report.add(one)
        if one.recording is not None:
            self.kept.append(one.recording)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Prints the results of all gated tests."""
        if not self.tests:
            return
        numbers = self.report.numbers().replace(" distinct", f" distinct in {_tests(self.tests)}", 1)
        terminalreporter.write_sep("-", "cerith")
        terminalreporter.write_line(numbers, red=self.report.failed, green=not self.report.failed)
        lines = self.report.reasons()
        lines += [f"recorded: cerith run {folder}" for folder in self.kept]
        for line in lines[:_SHOWN]:
            terminalreporter.write_line(line)
        if len(lines) > _SHOWN:
            terminalreporter.write_line(f"and {len(lines) - _SHOWN} more")


def _tests(count: int) -> str:
    return f"{count} {'test' if count == 1 else 'tests'}"


def _gates_all(config: pytest.Config) -> bool:
    asked: bool | None = config.getoption("cerith")
    return bool(config.getini("cerith")) if asked is None else asked


def _is_gated(item: pytest.Item) -> bool:
    if item.config.getoption("cerith") is False:
        return False
    marker = item.get_closest_marker("cerith")
    if marker is not None:
        return not marker.kwargs.get("off", False)
    return _gates_all(item.config) or "cerith" in getattr(item, "fixturenames", ())


def _kept(config: pytest.Config) -> Path:
    """The folder of the recordings of tests that fail."""
    folder: str = config.getoption("cerith_dir") or config.getini("cerith_dir")
    return config.rootpath / folder


def _started(item: pytest.Item) -> tuple[Gate | None, str]:
    """The gate of a test, begun; without one, why it could not be."""
    try:
        gate = _gate_of(item)
        gate.start()
    except (CerithError, TypeError, ValueError) as error:
        return None, f"cerith: {error}"
    return gate, ""


def _finish(gate: Gate, item: pytest.Item) -> str:
    """Ends a test's gate. Returns None if its launches pass, otherwise the report."""
    if not gate.recording:
        # The test has ended it by itself.
        return ""
    kept = _kept(item.config)
    known = kept.exists()
    try:
        report = item.stash[_REPORT] = gate.finish()
    except CerithError as error:
        return f"cerith: {error}"
    if not known and kept.is_dir():
        # Recordings hold data, and are not for a repository by accident.
        (kept / ".gitignore").write_text("*\n", "utf-8")
    return str(Disagreement(report)) if report.failed else ""


def _gate_of(item: pytest.Item) -> Gate:
    """The gate of a test, by the marker's settings, over the command line's, over the ini file's."""
    # Brings the recorder, which a run without gates has no need of.
    from cerith_triton.gating import Gate, Settings

    made = item.stash.get(_GATE, None)
    if made is not None:
        return made
    config = item.config
    settings: dict[str, Any] = {
        "engines": [*config.getini("cerith_engines"), *config.getoption("cerith_engine")],
        "filter": config.getini("cerith_filter"),
        "sample": config.getini("cerith_sample"),
        "strict": config.getini("cerith_strict") or config.getoption("cerith_strict"),
        "masked_zero": config.getini("cerith_masked_zero") or config.getoption("cerith_masked_zero"),
        "preflight": config.getini("cerith_preflight") or config.getoption("cerith_preflight"),
        "keep": str(_kept(config) / _folder_name(item.nodeid)),
    }
    for marker in reversed(list(item.iter_markers("cerith"))):
        settings.update(marker.kwargs)
    settings.pop("off", None)
    unknown = settings.keys() - {field.name for field in dataclasses.fields(Settings)}
    if unknown:
        raise TypeError(f"the marker has no `{min(unknown)}`: {_MARKER}")
    gate = item.stash[_GATE] = Gate(Settings(**settings))
    return gate


def _folder_name(test: str) -> str:
    """A test's name as that of a folder."""
    name = re.sub(r"[^\w.=-]+", "_", test).strip("_")
    if len(name) > 100 or name != test:
        name = f"{name[:100]}-{hashlib.blake2b(test.encode(), digest_size=4).hexdigest()}"
    return name
