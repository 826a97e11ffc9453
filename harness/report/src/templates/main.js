// The frame: the head of the page, the current view, and keys.

class Page {
  constructor(data) {
    this.data = data;
    this.views = {};
    this.main = h("main", { id: "main", tabindex: "-1" });
    this.root = document.getElementById("page");
    this.tabs = h("nav.tabs", { "aria-label": "Views" });
    const { run } = data;
    put(this.root, [h("header.top", this.head(run), this.tabs), this.main, this.help()]);
    this.root.removeAttribute("aria-busy");
    addEventListener("hashchange", () => this.show());
    addEventListener("keydown", (event) => this.key(event));
    for (const [name, value] of [["beforeprint", true], ["afterprint", false]])
      addEventListener(name, () => {
        printing = value;
        this.views.matrix?.rows.draw(true);
      });
    this.show();
  }

  head({ start, summary, gate, cut }) {
    const good = summary.exit === 0 && !cut;
    const tile = (number, words, filters, kind) =>
      number || words === "agree" || words === "differ"
        ? h("a.tile", { href: address("matrix", { ...DEFAULTS, ...filters }) }, h(`b${kind ? `.${kind}` : ""}`, count(number)), words)
        : "";
    const facts = [
      `${plural(summary.cases, "case")} in ${seconds(summary.seconds)}`,
      start.filters?.length ? `filters ${start.filters.join(" ")}` : "",
      start.shard ? `shard ${start.shard}` : "",
      start.axes?.length ? `axes ${start.axes.join(" ")}` : "",
      start.checks ? `checks ${start.checks}` : "",
      start.masked ? `masked lanes ${start.masked}` : "",
      `cerith ${start.cerith}`,
    ];
    return [
      h("h1", "Cerith: ", h(`span.${good ? "good" : "bad"}`, gate)),
      h("p.soft", facts.filter(Boolean).join(" · ")),
      cut ? h("p.warn", "The stream ends early: the run was killed. The cases in it were judged.") : "",
      summary.interrupted ? h("p.warn", "The run was interrupted: the cases that are missing were not judged.") : "",
      h("div.tiles",
        tile(summary.agree, "agree", { verdict: "agree", group: "area" }, "good"),
        tile(summary.differ, "differ", { verdict: "differ" }),
        tile(summary.nondeterministic, "nondeterministic", { verdict: "nondeterministic" }, "warn"),
        tile(summary.undefined, "undefined", { verdict: "undefined" }),
        tile(summary.inconclusive, "inconclusive", { verdict: "inconclusive" }),
        tile(summary.unexpected, "unexpected", { only: "failed" }, "bad"),
        tile(summary.silent, "with a silent engine", { only: "silent" }, "bad"),
        tile(summary.stale, "stale expectations", { only: "stale" }, "warn"),
        tile(summary.vacuous, "vacuous", { only: "vacuous" }, "bad"),
        tile(summary.unexplained, "differences unexplained", { only: "new" }, "warn"),
        summary.problems ? h("a.tile", { href: "#/run" }, h("b.bad", count(summary.problems)), "input errors") : "",
        summary.internal ? h("a.tile", { href: "#/run" }, h("b.bad", count(summary.internal)), "internal errors") : ""),
    ];
  }

  help() {
    const keys = [["/", "search"], ["j k ↑ ↓", "move"], ["Enter", "open"], ["Esc", "back to the matrix"], ["[ ]", "previous, next case"], ["1 2 3 4", "matrix, timeline, coverage, run"]];
    return h("footer.help", keys.map(([key, words]) => h("span", h("kbd", key), ` ${words}`)));
  }

  filter(change, typing) {
    const target = address("matrix", { ...this.filters, ...change });
    if (typing) {
      history.replaceState(null, "", target);
      this.show();
    } else location.hash = target;
  }

  clear() {
    location.hash = address("matrix", { ...DEFAULTS, group: this.filters.group });
  }

  show() {
    const { view, id, filters } = readState();
    this.filters = filters;
    const kinds = { matrix: Matrix, case: CasePage, timeline: Timeline, coverage: Coverage, run: Run };
    const name = view in kinds ? view : "matrix";
    const one = (this.views[name] ??= new kinds[name](this));
    this.tabs.replaceChildren();
    const tabs = { matrix: "Matrix", timeline: "Timeline", coverage: "Coverage", run: "Run" };
    const current = name === "case" ? "matrix" : name;
    put(this.tabs, Object.entries(tabs).map(([tab, words]) => h("a", { href: address(tab, tab === "matrix" ? filters : {}), "aria-current": tab === current ? "page" : null }, words)));
    document.body.dataset.view = name;
    document.title = name === "case" ? `${seen(id)}: Cerith` : `Cerith: ${seen(this.data.run.gate)}`;
    if (this.main.firstChild !== one.element) {
      this.main.replaceChildren(one.element);
      if (name === "case") scrollTo(0, 0);
    }
    if (name === "case") one.update(id, filters);
    else one.update(filters);
    this.shown = performance.now();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "Escape" && typing) {
      event.target.blur();
      this.views.matrix?.rows.element.focus();
      return;
    }
    if (typing) return;
    if (event.key === "/") {
      if (this.main.firstChild !== this.views.matrix?.element) {
        location.hash = address("matrix", this.filters);
        this.show();
      }
      // At once, and not when the browser reports the address, so that the next key is searched for.
      this.views.matrix?.fields.q.focus();
    } else if ("1234".includes(event.key)) {
      location.hash = address(["matrix", "timeline", "coverage", "run"][Number(event.key) - 1], event.key === "1" ? this.filters : {});
    } else if (["j", "k"].includes(event.key) && document.body.dataset.view === "matrix") {
      this.views.matrix.rows.element.focus();
      if (event.target !== this.views.matrix.rows.element) this.views.matrix.rows.key(event);
      else return;
    } else {
      const link = this.main.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
      if (!link) return;
      location.hash = link.getAttribute("href");
    }
    event.preventDefault();
  }
}

// The run's engines, and problems of the input.
class Run {
  constructor(page) {
    this.data = page.data;
    this.element = h("section.run");
  }

  update() {
    if (this.element.childElementCount) return;
    const { start, summary, problems, internal } = this.data.run;
    const { data } = this;
    const areas = data.areas.map((name) => ({ name, all: 0, failed: 0, ...Object.fromEntries(Object.values(VERDICTS).map((verdict) => [verdict, 0])) }));
    for (let row = 0; row < data.size; row += 1) {
      const area = areas[data.area[row]];
      area.all += 1;
      area[VERDICTS[data.verdicts[row]]] += 1;
      if (data.flags[row] & FLAGS.failed) area.failed += 1;
    }
    const more = (all, shown) => (all > shown ? h("p.warn", `${count(all - shown)} more are in the stream.`) : "");
    put(this.element, [
      problems.length ? [h("h2", "Problems in the input"), problems.map((one) => h("pre", { class: one.severity === "error" ? "bad" : "warn" }, one.rendered)), more(summary.problems, problems.length)] : "",
      internal.length ? [h("h2", "Cerith itself failed"), internal.map((one) => [h("p", h("code", one.case ?? "the run"), " ", one.engine ?? ""), h("pre.bad", one.message)]), more(summary.internal, internal.length)] : "",
      h("h2", "Engines"),
      h("div.scroll", h("table", h("thead", h("tr", h("th", "engine"), h("th", "outcomes"), h("th.n", "wrong in"), h("th.n", "time"))),
        h("tbody", Object.entries(summary.engines ?? {}).map(([name, tally]) => h("tr", h("td", h("code", name), start.recorded?.includes(name) ? h("span.badge.soft", "on record") : ""),
          h("td", Object.entries(tally.outcomes).map(([word, number]) => `${count(number)} ${word}`).join(", ")),
          h("td.n", h("a", { href: address("matrix", { ...DEFAULTS, blame: name }) }, count(tally.blamed))), h("td.n", seconds(tally.seconds))))))),
      (start.left_out ?? []).map((one) => h("p.warn", "Left out: ", h("code", one.engine), `: ${one.why}`)),
      summary.stale_recordings ? h("p.warn", `${plural(summary.stale_recordings, "recorded outcome")} not used: the kernel or the layout has changed since.`) : "",
      h("h2", "Areas"),
      h("div.scroll", h("table", h("thead", h("tr", h("th", "area"), ["cases", ...Object.values(VERDICTS), "not as expected"].map((words) => h("th.n", words)))),
        h("tbody", areas.map((area) => h("tr", h("td", h("a", { href: address("matrix", { ...DEFAULTS, area: area.name, group: "file" }) }, area.name)), h("td.n", count(area.all)),
          Object.values(VERDICTS).map((verdict) => h("td.n", area[verdict] ? h("a", { href: address("matrix", { ...DEFAULTS, area: area.name, verdict, group: "file" }) }, count(area[verdict])) : "0")),
          h("td.n", area.failed ? h("a.bad", { href: address("matrix", { ...DEFAULTS, area: area.name, only: "failed", group: "file" }) }, count(area.failed)) : "0")))))),
      h("h2", "Bytes"),
      h("p", `${count(summary.bytes?.compared ?? 0)} compared, ${count(summary.bytes?.accepted ?? 0)} with other bits accepted, ${count(summary.bytes?.undecided ?? 0)} undecided, ${count(summary.bytes?.undefined ?? 0)} left out as undefined.`),
    ]);
  }
}

(async () => {
  try {
    const [about, index] = await Promise.all([unpacked("about"), unpacked("index")]);
    window.cerith = new Page(new Data(about, index));
  } catch (error) {
    const old = typeof DecompressionStream === "undefined";
    document.getElementById("page").replaceChildren(h("main", h("h1", "This report cannot be shown"), h("p", old ? "This browser cannot unpack its data. One of 2023 or later can." : String(error))));
    throw error;
  }
})();
