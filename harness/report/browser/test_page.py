"""The report in Chromium: a stream made here, and one that a small run wrote.

    CERITH=target/release/cerith python -m pytest harness/report/browser

`CERITH` names the binary, `CHROMIUM` the browser, `SHOTS` a folder for screenshots to look at.
"""

import json
import os
import pathlib
import subprocess
from collections.abc import Callable, Iterator

import pytest
import stream
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[3]
CERITH = os.environ.get("CERITH", str(ROOT / "target/release/cerith"))
CASES = 3000

Open = Callable[..., Page]


def write_page(folder: pathlib.Path, events: pathlib.Path) -> str:
    """The page of a stream."""
    page = folder / "report.html"
    done = subprocess.run(
        [CERITH, "report", str(events), "--format", "html"], check=False, capture_output=True, cwd=ROOT
    )
    assert done.returncode in (0, 1, 2), done.stderr.decode()
    page.write_bytes(done.stdout)
    return page.as_uri()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("made")
    stream.write(str(folder / "events.jsonl"), CASES)
    return write_page(folder, folder / "events.jsonl")


@pytest.fixture
def open_page(browser: Browser, address: str) -> Iterator[Open]:
    """Opens a page; at the end, no page has an error or a network request."""
    contexts = []
    wrong: list[str] = []

    def open_page(
        place: str = "", url: str = "", scheme: str = "light", size: tuple[int, int] = (1300, 900)
    ) -> Page:
        context = browser.new_context(
            color_scheme="dark" if scheme == "dark" else "light",
            viewport=ViewportSize(width=size[0], height=size[1]),
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on(
            "request",
            lambda asked: None if asked.url.startswith(("file:", "data:")) else wrong.append(asked.url),
        )
        page.goto((url or address) + place)
        page.evaluate(stream.SHOWN)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not wrong, wrong


def take_shot(page: Page, name: str) -> None:
    """A screenshot for people, on request."""
    if folder := os.environ.get("SHOTS"):
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(pathlib.Path(folder) / f"{name}.png"))


def test_causes_come_first_and_open_to_their_cases(open_page: Open) -> None:
    page = open_page()
    headings = page.locator(".rows .row.group")
    # Unexpected cases come first.
    expect(headings.nth(0)).to_contain_text("explained by no known bug")
    expect(headings.nth(1)).to_contain_text("cannot multiply")
    known = headings.filter(has_text="doubles-are-lost")
    expect(known).to_contain_text("333")
    expect(known.locator(".cell.heat.known")).to_have_count(4)
    known.locator(".toggle").click()
    expect(page.locator(".rows .row.case").first).to_contain_text("area1/scale_1")
    expect(page.locator(".rows .row.case").first.locator(".cell.known")).to_have_count(4)
    take_shot(page, "matrix")


def test_of_many_rows_few_have_elements_and_each_can_be_reached(open_page: Open) -> None:
    page = open_page("#/matrix?group=none")
    assert page.locator(".rows .row").count() < 80
    page.locator(".rows").focus()
    page.keyboard.press("End")
    expect(page.locator(".rows .row.at")).to_contain_text("swept/camps")
    page.keyboard.press("Home")
    expect(page.locator(".rows .row.at")).to_contain_text("area0/scale_0")


def test_filters_are_kept_in_the_address(open_page: Open) -> None:
    page = open_page()
    page.get_by_label("Search").fill("area3/ dtype=f32")
    page.get_by_label("verdict").select_option("differ")
    page.get_by_label("dtype").select_option("f32")
    told = page.locator(".count").inner_text()
    assert " of 3,000 cases" in told
    assert not told.startswith(("3,000", "0 "))
    for part in ("q=area3", "verdict=differ", "dtype=f32"):
        assert part in page.url, page.url
    again = open_page("#" + page.url.split("#")[1])
    expect(again.locator(".count")).to_have_text(told)
    expect(again.get_by_label("verdict")).to_have_value("differ")
    page.go_back()
    expect(page.get_by_label("dtype")).to_have_value("")
    page.get_by_role("button", name="Clear").click()
    expect(page.locator(".count")).to_contain_text("3,000 of 3,000")


def differs(event: stream.Event, engine: str) -> bool:
    """Whether an engine differs from another in a case."""
    return any(one["engine"] == engine for one in event.get("differences", []))


def uses(event: stream.Event, use: str) -> bool:
    return use in event.get("exhibit", {}).get("uses", [])


def explained(event: stream.Event) -> bool:
    return any(one.get("explained") == ["doubles-are-lost"] for one in event.get("differences", []))


@pytest.mark.parametrize(
    ("query", "fits"),
    [
        ("area=swept", lambda event: event["case"].startswith("swept/")),
        ("engine=interpret@3.2.0", lambda event: differs(event, "interpret@3.2.0")),
        ("blame=interpret@3.9.0", lambda event: "interpret@3.9.0" in event["blame"]),
        ("cause=doubles-are-lost", explained),
        ("only=failed", lambda event: not event["expected"]),
        ("only=new", lambda event: event.get("differences") and not explained(event)),
        ("verdict=agree", lambda event: event["verdict"] == "agree"),
        (
            "dtype=i32",
            lambda event: any(one["dtype"] == "i32" for one in event.get("exhibit", {}).get("storages", [])),
        ),
        ("use=tl.load+f16", lambda event: uses(event, "tl.load f16")),
        (
            "change=interpret@3.3.1~interpret@3.4.0~fixed",
            lambda event: differs(event, "interpret@3.3.1") and not differs(event, "interpret@3.4.0"),
        ),
        (
            "change=interpret@3.7.1~interpret@3.8.0~broke",
            lambda event: differs(event, "interpret@3.8.0") and not differs(event, "interpret@3.7.1"),
        ),
        ("q=nothing+has+this", lambda _: False),
    ],
)
def test_each_filter_leaves_what_it_says(
    open_page: Open, query: str, fits: Callable[[stream.Event], bool]
) -> None:
    judged = [event for event in stream.events(CASES) if event["event"] != "start"]
    number = len([event for event in judged if fits(event)])
    page = open_page(f"#/matrix?{query}")
    expect(page.locator(".count b").first).to_have_text(f"{number:,}")


CASE = "#/case/area1/scale_1:dtype=f16,n=1"


def test_a_case_shows_its_kernel_memory_engines_and_command(open_page: Open) -> None:
    page = open_page(CASE)
    expect(page.locator(".id")).to_have_text("area1/scale_1:dtype=f16,n=1")
    expect(page.locator(".line.bug")).to_contain_text("tl.store(out + i, value * 2, mask=i < n)")
    expect(page.locator(".line.bug .note.bug")).to_contain_text("doubles-are-lost")
    command = page.locator(".command code")
    expect(command).to_contain_text(
        "cerith explain area1/scale_1:dtype=f16,n=1 --cases 'my cases' --engine interpret@3.0.0"
    )
    expect(page.locator(".figures figure")).to_have_count(2)
    expect(page.locator(".strip .cell.known")).to_have_count(4)
    expect(page.get_by_role("link", name="triton#10945")).to_have_attribute(
        "href", "https://github.com/triton-lang/triton/issues/10945"
    )
    expect(page.locator("svg.interval").first).to_be_visible()
    # The wrong element: its values of both sides, its bits, and what would have been accepted.
    image = page.locator(".figures canvas").nth(1)
    image.focus()
    page.keyboard.press("ArrowRight")
    readout = page.locator(".readout")
    for part in ("even[0, 1]", "2.0", "-1.5", "0xbfc00000", "accepted: 1.9999999 to 2.0000002"):
        expect(readout).to_contain_text(part)
    expect(page.locator(".maps canvas")).to_have_count(3)
    take_shot(page, "case")


def test_the_differing_element_is_marked_in_the_image(open_page: Open) -> None:
    page = open_page(CASE)
    # The frame is red, and only around the second element of the wrong image.
    reds = (
        page.locator(".figures canvas")
        .nth(1)
        .evaluate(
            """canvas => {
          const size = canvas.width / 4, context = canvas.getContext("2d"), reds = [];
          for (let nth = 0; nth < 16; nth += 1) {
            const [r, g, b] = context.getImageData((nth % 4) * size + 1, Math.floor(nth / 4) * size + size / 2, 1, 1).data;
            if (r > 180 && g < 80 && b < 90) reds.push(nth);
          }
          return reds;
        }"""
        )
    )
    assert reds == [1], reds


def test_a_rejection_marks_the_line_that_it_is_at(open_page: Open) -> None:
    page = open_page("#/matrix?q=cannot+multiply+area3/&group=none")
    page.locator(".rows .row.case a").first.click()
    expect(page.locator(".line.said")).to_contain_text("value * 2")
    expect(page.locator(".line.said .note")).to_contain_text("CompilationError")


def test_camps_of_a_sweep(open_page: Open) -> None:
    page = open_page("#/case/swept/camps")
    expect(page.locator(".camps .card")).to_have_count(2)
    expect(page.locator(".camps .card").nth(1)).to_contain_text("different from the reference")
    expect(page.locator(".command code")).to_have_text(
        "cerith sweep swept/camps --cases 'my cases' --engine cuda@3.9.0"
    )


def test_a_timeline_says_what_each_version_fixed_and_broke(open_page: Open) -> None:
    page = open_page("#/timeline")
    bars = page.locator("svg.bars")
    expect(bars).to_contain_text("333 fixed")
    expect(bars).to_contain_text("54 broke")
    bug = page.locator(".gantt tr", has_text="doubles-are-lost")
    expect(bug).to_contain_text("until 3.3.1")
    expect(bug.locator("td.has")).to_have_count(4)
    page.get_by_role("link", name="333").first.click()
    expect(page.locator(".count b").first).to_have_text("333")
    take_shot(page, "fixed")


def test_coverage_has_numbers_and_holes(open_page: Open) -> None:
    page = open_page("#/coverage")
    loads = page.locator(".grid tr", has_text="tl.load")
    expect(loads.locator("td").nth(1)).to_have_text("2,999")
    expect(loads.locator("td.hole")).to_have_count(4)
    page.get_by_label("Names").fill("tl.st")
    expect(page.locator(".grid tbody tr")).to_have_count(1)
    take_shot(page, "coverage")


def test_no_word_of_a_case_is_markup_or_is_hidden(open_page: Open) -> None:
    page = open_page("#/matrix?area=hostile&group=none")
    expect(page.locator(".rows .row.case")).to_have_count(1)
    expect(page.locator(".rows .row.case")).to_contain_text("<img src=x")
    page.locator(".rows .row.case a").click()
    expect(page.locator(".id")).to_contain_text("</script><script>window.struck=1</script>")
    for view in ("#/run", "#/timeline", "#/coverage", "#/matrix?group=file", "#/matrix?q=<img"):
        page.evaluate("place => { location.hash = place }", view)
        page.wait_for_timeout(50)
    page.go_back()
    assert page.evaluate("window.struck") is None
    assert page.locator("img").count() == 0
    page.goto(page.url.split("#")[0] + "#/matrix?area=hostile&group=none")
    page.locator(".rows .row.case a").click()
    expect(page.locator(".id")).to_be_visible()
    text = page.evaluate("document.body.innerText")
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "\\u{202e}" in text
    assert "\U0001f980" in text


def test_a_case_that_is_not_there_is_said(open_page: Open) -> None:
    page = open_page("#/case/no/such")
    expect(page.locator("main")).to_contain_text("No case of this run has the name")


def test_keys(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("/")
    page.keyboard.type("area5/")
    assert "q=area5" in page.url
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(page.locator(".rows .row.at")).to_have_attribute("aria-rowindex", "2")
    page.keyboard.press("2")
    expect(page.locator("svg.bars")).to_be_visible()
    page.keyboard.press("1")
    page.goto(page.url.split("#")[0] + CASE)
    expect(page.locator(".id")).to_have_text("area1/scale_1:dtype=f16,n=1")
    page.keyboard.press("]")
    expect(page.locator(".id")).to_have_text("area2/scale_2:dtype=i32,n=2")
    page.keyboard.press("[")
    expect(page.locator(".id")).to_have_text("area1/scale_1:dtype=f16,n=1")
    page.keyboard.press("Escape")
    expect(page.locator(".rows")).to_be_visible()


@pytest.mark.parametrize("place", ["", CASE, "#/timeline", "#/coverage", "#/run", "#/matrix?group=none"])
def test_nothing_is_wider_than_a_phone(open_page: Open, place: str) -> None:
    page = open_page(place, size=(390, 844))
    page.wait_for_timeout(100)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390, wide
    take_shot(page, f"phone-{place.strip('#/').replace('/', '-') or 'matrix'}")


def test_dark(open_page: Open) -> None:
    page = open_page(CASE, scheme="dark")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(22, 24, 27)", paper
    take_shot(page, "dark")


def test_print_has_the_rows_and_says_what_it_leaves_out(open_page: Open) -> None:
    page = open_page("#/matrix?group=none")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator(".rows .row")).to_have_count(400)
    expect(page.locator(".cut")).to_contain_text("2,600 rows more, not printed")
    expect(page.locator(".filters")).to_be_hidden()
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator(".rows .row").count() < 400


def test_a_stream_of_an_older_cerith_is_a_page_too(open_page: Open, tmp_path: pathlib.Path) -> None:
    for name in ("stream", "sweep"):
        events = ROOT / f"harness/report/tests/{name}.jsonl"
        page = open_page(url=write_page(tmp_path, events))
        for toggle in page.locator(".toggle").all():
            toggle.click()
        page.locator(".rows .row.case a").first.click()
        expect(page.locator("main")).to_contain_text("neither its kernel nor its memory")


def test_versions_of_a_family_stand_side_by_side(open_page: Open, tmp_path: pathlib.Path) -> None:
    engines = ["reference", "interpret@3.9.0", "cuda@3.10.0", "interpret@3.10.0", "cuda@3.9.0"]
    event = stream.agreeing("area/case", 0) | {
        "engines": engines,
        "verdict": "differ",
        "blame": ["cuda@3.9.0"],
    }
    event["differences"] = [
        {"baseline": "reference", "engine": "cuda@3.9.0", "kind": "memory", "elements": 1, "first": []}
    ]
    start = {"event": "start", "format": 3, "cerith": "0.1.0", "engines": engines, "cases": 1}
    events = tmp_path / "events.jsonl"
    events.write_text("".join(json.dumps(one) + "\n" for one in (start, event)))
    page = open_page("#/matrix?group=none", url=write_page(tmp_path, events))
    cells = [cell.get_attribute("title") or "" for cell in page.locator(".row.case .cell").all()]
    order = ["reference", "interpret@3.9.0", "interpret@3.10.0", "cuda@3.9.0", "cuda@3.10.0"]
    assert [cell.split(":")[0] for cell in cells] == order
    # A cell is its engine's, wherever its column stands.
    assert ["other bytes" in cell for cell in cells] == [engine == "cuda@3.9.0" for engine in order]


def test_a_run_of_the_corpus(open_page: Open, tmp_path: pathlib.Path) -> None:
    done = subprocess.run(
        [
            CERITH,
            "run",
            "layout/split_columns",
            "alias/in_place",
            "--engine",
            "reference",
            "--out",
            str(tmp_path),
        ],
        check=False,
        capture_output=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    page = open_page("#/matrix?group=file", url=(tmp_path / "report.html").as_uri())
    page.locator(".toggle").first.click()
    page.locator(".rows .row.case a").first.click()
    expect(page.locator(".code").first).to_contain_text("@triton.jit")
    expect(page.locator(".maps canvas").first).to_be_visible()
    page.get_by_text("cases/alias/in_place.yaml:").first.click()
    expect(page.locator("#case-file .line.here")).to_contain_text("about:")
