"""How fast the page is: a stream of 20,000 cases and ten versions, in Chromium. Figures, and no test: they are this machine's.

    CERITH=target/release/cerith python harness/report/browser/measure.py [EVENTS]

EVENTS is the stream of a run. Its cases are repeated under other names until there are enough; without it the stream is the one
that the tests make. Each figure is the median of so many tries, each in a new browser context.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import stream
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[3]
CERITH = os.environ.get("CERITH", str(ROOT / "target/release/cerith"))
CASES = 20_000
TRIES = 7

# The use of filters by hand, and the control for each.
FILTERS = [
    ("search", "area3/ dtype=f32"),
    ("search", "a"),
    ("verdict", "differ"),
    ("dtype", "f32"),
    ("engine", "interpret@3.2.0"),
    ("blame", "interpret@3.9.0"),
    ("only", "new"),
    ("group", "none"),
    ("group", "area"),
    ("group", "file"),
]

# Sets a filter as the page's controls do, and answers with the milliseconds until the next frame is painted.
PAINTED = """
async ([name, value]) => {
  const began = performance.now();
  window.cerith.filter({ [name]: value }, true);
  document.body.getBoundingClientRect();
  const worked = performance.now() - began;
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return [worked, performance.now() - began];
}
"""


def repeated(path: pathlib.Path) -> Iterator[stream.Event]:
    """The events of a run, its cases under more names until there are enough."""
    lines = path.read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    verdicts = [event for event in events if event["event"] in ("verdict", "sweep")]
    start = next(event for event in events if event["event"] == "start")
    yield start | {"cases": CASES}
    for nth in range(CASES):
        again, place = divmod(nth, len(verdicts))
        event = verdicts[place]
        if again:
            area, slash, rest = event["case"].partition("/")
            event = event | {"case": f"{area}-{again}{slash}{rest}"}
        yield event


def opened(browser: Browser, address: str) -> tuple[Page, float, float]:
    """The page, with the milliseconds until it is shown: by its own clock, and by ours from the call on."""
    page = browser.new_context(viewport={"width": 1300, "height": 900}).new_page()
    began = time.perf_counter()
    page.goto(address, wait_until="commit")
    page.evaluate(stream.SHOWN)
    outside = (time.perf_counter() - began) * 1e3
    return page, page.evaluate("window.cerith.shown"), outside


def main() -> None:
    """Prints the figures."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = pathlib.Path(name)
        events = folder / "events.jsonl"
        if len(sys.argv) > 1:
            with events.open("w", encoding="utf-8") as file:
                file.writelines(json.dumps(event) + "\n" for event in repeated(pathlib.Path(sys.argv[1])))
        else:
            stream.write(str(events), CASES)
        made = time.perf_counter()
        done = subprocess.run(
            [CERITH, "report", str(events), "--format", "html"], check=False, capture_output=True, cwd=ROOT
        )
        if not done.stdout:
            sys.exit(done.stderr.decode())
        made = time.perf_counter() - made
        report = folder / "report.html"
        report.write_bytes(done.stdout)
        print(f"stream    {events.stat().st_size / 1e6:8.1f} MB, made into a page in {made:.1f} s")
        print(f"page      {len(done.stdout) / 1e6:8.2f} MB")
        path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        opens = [opened(browser, report.as_uri()) for _ in range(TRIES)]
        shown = [shown for _, shown, _ in opens]
        outside = [outside for *_, outside in opens]
        print(
            f"opens     {statistics.median(shown):8.0f} ms by the page, {statistics.median(outside):.0f} ms from outside"
            f", at worst {max(outside):.0f} ms"
        )
        rows = opens[0][0].evaluate("window.cerith.data.size")
        print(f"rows      {rows:8}, {len(opens[0][0].evaluate('window.cerith.data.engines'))} engines")
        for control, value in FILTERS:
            times = []
            for page, *_ in opens:
                filters = {"search": "q"}.get(control, control)
                times.append(page.evaluate(PAINTED, [filters, value]))
                page.evaluate(PAINTED, [filters, "cause" if control == "group" else ""])
            worked, painted = (statistics.median(one[place] for one in times) for place in (0, 1))
            worst = max(one[1] for one in times)
            print(
                f"{control:9} {painted:8.0f} ms to paint {value!r}, {worked:.0f} ms of it work, at worst {worst:.0f} ms"
            )
        browser.close()


if __name__ == "__main__":
    main()
