// Versions of one engine in a row: what each fixed and broke, and which causes it has.

class Timeline {
  constructor(page) {
    this.data = page.data;
    const families = new Map();
    for (const column of this.data.columns) {
      if (!column.version) continue;
      families.set(column.family, [...(families.get(column.family) ?? []), column]);
    }
    this.families = [...families].filter(([, columns]) => columns.length > 1).map(([name, columns]) => [name, [...columns].sort(byVersion)]);
    this.element = h("section.timeline");
  }

  update() {
    if (this.element.childElementCount) return;
    if (!this.families.length) {
      this.element.append(h("p", "A timeline needs two versions of one engine. Run the corpus with more: ", h("code", "cerith run --engine reference --engine interpret@3.8.0 --engine interpret@3.9.0")));
      return;
    }
    put(this.element, this.families.map(([name, columns]) => this.family(name, columns)));
  }

  family(name, columns) {
    const { data } = this;
    const sets = data.cell_sets.map(() => 0);
    for (const cells of data.cells) sets[cells] += 1;
    const steps = columns.map((column, nth) => {
      const counts = { fixed: 0, broke: 0, changed: 0, still: 0, wrong: 0 };
      data.cell_sets.forEach((cells, set) => {
        if (BAD.has(cells[column.place])) counts.wrong += sets[set];
        const change = nth ? changeOf(cells[columns[nth - 1].place], cells[column.place]) : "";
        if (change) counts[change] += sets[set];
      });
      return { column, before: columns[nth - 1], counts };
    });
    return [h("h2", name), this.bars(steps), this.table(steps), this.causes(columns)];
  }

  bars(steps) {
    const most = Math.max(1, ...steps.flatMap(({ counts }) => [counts.fixed, counts.broke + counts.changed]));
    const y = (number) => (number ? Math.max(3, (number / most) * 90) : 0);
    const deepest = Math.max(...steps.map(({ counts }) => y(counts.broke) + y(counts.changed)));
    const mid = 22 + Math.max(...steps.map(({ counts }) => y(counts.fixed)));
    const [wide, high] = [112, mid + deepest + 42];
    const parts = [svg("line", { x1: 0, x2: wide * steps.length, y1: mid, y2: mid, class: "axis" })];
    steps.forEach(({ column, before, counts }, nth) => {
      const x = nth * wide + 32;
      const bar = (kind, number, from, height) => {
        if (!number) return;
        const link = svg("a", { href: address("matrix", { ...DEFAULTS, change: `${before.name}~${column.name}~${kind}` }) },
          svg("rect", { x, y: from, width: 48, height, rx: 3, class: kind }), svg("title", {}, `${column.name}: ${plural(number, "case")} ${kind}`));
        parts.push(link);
      };
      bar("fixed", counts.fixed, mid - y(counts.fixed), y(counts.fixed));
      bar("broke", counts.broke, mid, y(counts.broke));
      bar("changed", counts.changed, mid + y(counts.broke), y(counts.changed));
      if (counts.fixed) parts.push(svg("text", { x: x + 24, y: mid - y(counts.fixed) - 6, class: "fixed" }, `${count(counts.fixed)} fixed`));
      const below = [counts.broke ? `${count(counts.broke)} broke` : "", counts.changed ? `${count(counts.changed)} other` : ""].filter(Boolean).join(", ");
      if (below) parts.push(svg("text", { x: x + 24, y: mid + y(counts.broke) + y(counts.changed) + 13, class: "broke" }, below));
      parts.push(svg("text", { x: x + 24, y: high - 4, class: "version" }, column.version));
      if (nth && !counts.fixed && !below) parts.push(svg("text", { x: x + 24, y: mid - 6, class: "soft" }, "no change"));
    });
    return h("div.scroll", svg("svg", { viewBox: `0 0 ${wide * steps.length} ${high}`, width: wide * steps.length, height: high, class: "bars", role: "img", "aria-label": "Cases fixed and broken by each version" }, parts));
  }

  table(steps) {
    const link = (step, kind) => (step.counts[kind]
      ? h("a", { href: address("matrix", { ...DEFAULTS, change: `${step.before.name}~${step.column.name}~${kind}` }) }, count(step.counts[kind]))
      : step.before ? "0" : "");
    return h("div.scroll", h("table",
      h("thead", h("tr", ["version", "fixed", "broke", "wrong otherwise", "still wrong", "stands apart in"].map((words, nth) => h(nth ? "th.n" : "th", words)))),
      h("tbody", steps.map((step) => h("tr", h("td", h("code", step.column.name)),
        ["fixed", "broke", "changed", "still"].map((kind) => h("td.n", link(step, kind))),
        h("td.n", h("a", { href: address("matrix", { ...DEFAULTS, engine: step.column.name }) }, count(step.counts.wrong))))))));
  }

  // Each cause from the first to the last version that has it.
  causes(columns) {
    const { data } = this;
    const numbers = data.causes.map(() => new Map());
    const sets = data.cause_sets.map(() => 0);
    for (const set of data.cause) sets[set] += 1;
    data.cause_sets.forEach((set, nth) => {
      for (const [engine, cause] of set) numbers[cause].set(engine, (numbers[cause].get(engine) ?? 0) + sets[nth]);
    });
    const rows = data.causes
      .map((cause, place) => ({ cause, counts: columns.map((column) => numbers[place].get(column.place) ?? 0) }))
      .filter(({ cause, counts }) => counts.some(Boolean) && cause.sort !== "silent" && cause.sort !== "undefined")
      .map((one) => ({ ...one, most: Math.max(...one.counts), first: one.counts.findIndex(Boolean), last: one.counts.findLastIndex(Boolean) }))
      .sort((a, b) => a.first - b.first || a.last - b.last || b.most - a.most);
    const told = ({ first, last }) => first && first === last && last < columns.length - 1 ? `in ${columns[first].version} only` : [first ? `since ${columns[first].version}` : "", last < columns.length - 1 ? `until ${columns[last].version}` : ""].filter(Boolean).join(", ") || "in all of them";
    return [
      h("h3", "Causes, and the versions that have them"),
      h("div.scroll", h("table.gantt",
        h("thead", h("tr", h("th", "cause"), columns.map((column) => h("th.n", column.version)), h("th", ""))),
        h("tbody", rows.map((one) => h("tr",
          h("td", h("a", { href: address("matrix", { ...DEFAULTS, cause: one.cause.name }), title: data.known[one.cause.name]?.about ?? one.cause.name }, one.cause.name)),
          one.counts.map((number) => h(`td.bar${number ? `.has${one.cause.sort === "bug" ? "" : ".new"}` : ""}`, { style: number ? `--share:${Math.max(0.2, Math.sqrt(number / one.most)).toFixed(3)}` : null }, number ? count(number) : "")),
          h("td.soft", told(one))))))),
    ];
  }
}

function byVersion(a, b) {
  const [one, other] = [a, b].map(({ version }) => version.split(/[.+]/).map(Number));
  for (let at = 0; at < Math.max(one.length, other.length); at += 1) {
    const step = (one[at] || 0) - (other[at] || 0);
    if (step) return step;
  }
  return a.version === b.version ? 0 : a.version < b.version ? -1 : 1;
}
