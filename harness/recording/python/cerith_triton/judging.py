"""From part files to a verdict: the binary makes a recording of them, runs it, and its events are read here.

See `recorder` for recording; `gating` and `pytest_plugin` act on a verdict.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping, Sequence

from cerith_triton import binary
from cerith_triton.binary import CerithError

__all__ = ["CerithError", "Disagreement", "Report", "collect", "judge"]

ENGINES = ("reference", "recorded")
"""The engines that judge by default: Cerith's reference, and what was executed when it was recorded."""

_FINISHED = (0, 1, 2, 3)
"""Exit codes of a `cerith run` that finished: all as expected, not as expected, a bad case file, no
cases."""


_PLACES = 3
"""Places in the first line of a disagreement."""

_ORIGIN = re.compile(r"^origin: .*, (\S.*:\d+)\"?$", re.MULTILINE)


@dataclass
class Report:
    """The result of a gate's launches."""

    launches: int = 0
    """Launches that were made."""
    distinct: int = 0
    """Distinct launches, which are judged. The gate's `sample` decides whether two are the same."""
    agree: int = 0
    """Distinct launches with the same result in all engines."""
    differ: int = 0
    """Distinct launches in which some engine has a different result."""
    undefined: int = 0
    """Distinct launches without a defined meaning: out of bounds, races, uninitialised reads, …"""
    unjudged: dict[str, int] = field(default_factory=dict)
    """Launches that could not be recorded or judged: why, and how many."""
    failed: bool = False
    """Whether the gate fails."""
    words: str = ""
    """What Cerith says: of each failure the kernel, the elements, the values, the source line."""
    recording: str | None = None
    """The folder of the recording, where it was kept."""
    known: dict[str, int] = field(default_factory=dict)
    """Differences that known bugs of Triton's explain: kernel and bugs, and how many launches."""
    places: list[str] = field(default_factory=list)
    """Each problem with its location in the user's own files: `softmax.py:18: out-of-bounds`."""

    def add(self, other: Report) -> None:
        """Takes the numbers of another report into this one."""
        self.launches += other.launches
        self.distinct += other.distinct
        self.agree += other.agree
        self.differ += other.differ
        self.undefined += other.undefined
        for why, count in other.unjudged.items():
            self.unjudged[why] = self.unjudged.get(why, 0) + count
        for what, count in other.known.items():
            self.known[what] = self.known.get(what, 0) + count
        self.failed |= other.failed
        self.places += [place for place in other.places if place not in self.places]

    def numbers(self) -> str:
        """The numbers in a line: `12 launches, 8 distinct: 7 agree, 1 differs`."""
        parts = [f"{self.agree} agree"]
        if self.differ:
            parts.append(f"{self.differ} {'differs' if self.differ == 1 else 'differ'}")
        if self.undefined:
            parts.append(f"{self.undefined} undefined")
        unjudged = sum(self.unjudged.values())
        if unjudged:
            parts.append(f"{unjudged} not judged")
        launches = "launch" if self.launches == 1 else "launches"
        return f"{self.launches} {launches}, {self.distinct} distinct: {', '.join(parts)}"

    def reasons(self) -> list[str]:
        """A line for each known bug in a kernel, and for each reason why something was not judged, the most
        frequent ones first."""
        lines = []
        for what, counts in (
            ("differ by a known bug of Triton's", self.known),
            ("not judged", self.unjudged),
        ):
            ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            lines += [f"{count} {what}: {why}" for why, count in ordered]
        return lines


class Disagreement(AssertionError):  # noqa: N818 (a verdict, and no failure of ours)
    """The gate rejects the launches. The exception's text is Cerith's report."""

    def __init__(self, report: Report) -> None:
        # A test framework's summary has the first line, as far as there is room.
        places = "".join(f"{place}; " for place in report.places[:_PLACES])
        lines = [f"{places}cerith: {report.numbers()}", report.words.strip()]
        if report.recording is not None:
            lines.append(f"recorded in {report.recording}: cerith run {report.recording}")
        super().__init__("\n".join(line for line in lines if line))
        self.report = report


def collect(parts: Path, out: Path, sample: str, data: bool = True) -> None:
    """Makes a recording in `out` of the part files in `parts`. Raises `CerithError` if that cannot be."""
    arguments = ["record", "--collect", str(parts), "--out", str(out), "--sample", sample]
    if not data:
        arguments.append("--no-data")
    binary.run(arguments, [0], quiet=True)


def judge(
    recording: Path,
    engines: Sequence[str],
    undefined: bool,
    strict: bool,
    masked_zero: bool = False,
    base: Sequence[str] = ENGINES,
) -> Report:
    """Has engines run a recording, besides those in `base`.

    With `undefined`, a program without a defined meaning is let through; with
    `strict`, what could not be recorded or judged is not. With `masked_zero`, the reference reads lanes that
    a load masks off, without `other`, as zero.

    Raises `CerithError` if it could not be run at all.
    """
    try:
        about = json.loads((recording / "recording.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise CerithError(f"{recording} is not a recording: {error}") from error
    report = Report(
        launches=about.get("launches", 0), distinct=about.get("cases", 0), recording=_short(recording)
    )
    for row in about.get("skipped", []):
        _count(report, f"{row.get('kernel')}: {row.get('why')}", row.get("count", 1))
    if report.distinct:
        _run(report, engines, undefined, masked_zero, base)
    if strict and report.unjudged:
        report.failed = True
        report.words = "\n".join([*report.words.splitlines(), *report.reasons()])
    return report


def _run(
    report: Report, engines: Sequence[str], undefined: bool, masked_zero: bool, base: Sequence[str]
) -> None:
    wanted = [engines] if isinstance(engines, str) else list(engines)
    with tempfile.TemporaryDirectory(prefix="cerith-") as out:
        arguments = ["run", "--cases", str(report.recording), "--offline", "--format", "jsonl", "--out", out]
        for engine in dict.fromkeys([*base, *wanted]):
            arguments += ["--engine", engine]
        if masked_zero:
            arguments += ["--masked", "zero"]
        if "PYTEST_XDIST_WORKER" in os.environ:
            arguments += ["--jobs", "1"]
        events = _events(binary.run(arguments, _FINISHED))
        if not any(event["event"] == "summary" for event in events):
            raise CerithError(f"`cerith run` on {report.recording} ended before it was done")
        told = []
        for event in events:
            if event["event"] == "verdict":
                if _verdict(report, event, undefined):
                    told.append(event)
                    place = _place(event)
                    if place not in report.places:
                        report.places.append(place)
            elif event["event"] == "internal":
                report.failed = True
                told.append(event)
            elif event["event"] == "problem" and event.get("severity") == "error":
                # For an engine: it was requested and is missing. For a case: a launch that Cerith cannot
                # read.
                if event.get("code") == "engine":
                    raise CerithError(str(event.get("message")))
                _count(report, f"{event.get('code')}: {event.get('message')}", 1)
        if report.failed:
            # A report is made of a whole stream.
            whole = [event for event in events if event["event"] in ("start", "summary")]
            stream = [*whole[:1], *told, *whole[1:]]
            words = [_words(stream, Path(out, "told.jsonl")), *_origins(str(report.recording), told)]
            report.words = "\n".join(words)


def _verdict(report: Report, event: Mapping[str, Any], undefined: bool) -> bool:
    """Counts a verdict; returns whether the gate fails because of it."""
    kind = event["verdict"]
    if kind == "agree" and not event.get("vacuous"):
        report.agree += 1
        return False
    if kind in ("differ", "nondeterministic"):
        report.differ += 1
        _known(report, event)
    elif kind == "undefined":
        report.undefined += 1
        if undefined:
            return False
    else:
        _count(report, _why(event), 1)
        return False
    if event.get("expected"):
        return False
    report.failed = True
    return True


def _known(report: Report, event: Mapping[str, Any]) -> None:
    """Counts a difference that known bugs explain, by its kernel and these."""
    differences = event.get("differences", [])
    bugs = sorted({name for one in differences for name in one.get("explained", [])})
    if bugs and all(one.get("explained") for one in differences):
        what = f"{str(event['case']).split('/', maxsplit=1)[0]}: {', '.join(bugs)}"
        report.known[what] = report.known.get(what, 0) + 1


def _place(event: Mapping[str, Any]) -> str:
    """The problem, and its location: the line that traps, or otherwise the kernel that begins there."""
    trapped = event.get("outcomes", {}).get("reference", {})
    what, at = trapped.get("error"), trapped.get("position")
    if not (event["verdict"] == "undefined" and what and at):
        kernel = str(event["case"]).split("/", maxsplit=1)[0]
        what, at = f"{kernel} {event['verdict']}s".replace("undefineds", "undefined"), event.get("position")
    return f"{at['file']}:{at['line']}: {what}" if at else str(what)


def _why(event: Mapping[str, Any]) -> str:
    """The reason why a launch has no result."""
    kernel = str(event["case"]).split("/", maxsplit=1)[0]
    if event.get("vacuous"):
        return f"{kernel}: nothing that it computed has a defined value"
    for engine, outcome in event.get("outcomes", {}).items():
        if outcome.get("outcome") not in ("finished", "trapped", "rejected"):
            return f"{kernel}: {engine}: {outcome.get('outcome')}: {outcome.get('message', '')}"
    return f"{kernel}: {event.get('reason') or 'inconclusive'}"


def _words(told: Sequence[Mapping[str, Any]], path: Path) -> str:
    """Events as `cerith run` prints them."""
    path.write_text("".join(json.dumps(event) + "\n" for event in told), "utf-8")
    text = binary.run(["report", str(path)], _FINISHED, quiet=True)
    # After the first empty line comes a summary, which a report has already. Advice about case files does not
    # help a test.
    lines = text.split("\n\n", maxsplit=1)[0].splitlines()
    return "\n".join(line for line in lines if "add to the case file: expect:" not in line)


def _origins(recording: str, told: Sequence[Mapping[str, Any]]) -> list[str]:
    """Where the kernels of verdicts are in the user's own files; a recording has copies of these."""
    found: dict[str, None] = {}
    for event in told:
        if event["event"] == "verdict":
            kernel = str(event["case"]).split("/", maxsplit=1)[0]
            try:
                text = Path(recording, f"{event['case']}.yaml").read_text("utf-8")
            except OSError:
                continue
            origin = _ORIGIN.search(text)
            if origin is not None:
                found[f"{kernel} is defined at {origin.group(1)}"] = None
    return list(found)


def _events(stream: str) -> list[dict[str, Any]]:
    events = []
    for line in stream.splitlines():
        try:
            event = json.loads(line)
        except ValueError as error:
            raise CerithError(f"`cerith run` printed a line that is not an event: {line[:200]}") from error
        if isinstance(event, dict) and "event" in event:
            events.append(event)
    return events


def _count(report: Report, why: str, count: int) -> None:
    report.unjudged[why] = report.unjudged.get(why, 0) + count


def _short(folder: Path) -> str:
    """A folder as a user would write it: from here, if it is below here."""
    try:
        return str(folder.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(folder)
