// The matrix: cases by engines, grouped by cause, by area or by file. A heading has for each engine the number of the
// group's cases in which it stands apart; opened, it lists the cases.

const GROUPS = { cause: "cause", area: "area", file: "case file", none: "nothing" };
const HEAT = { bug: "known", message: "new", bytes: "new", undefined: "undef", inconclusive: "undef", silent: "undef" };
const QUIET = "Every engine does as it should";

class Matrix {
  constructor(page) {
    this.page = page;
    this.data = page.data;
    this.open = new Set();
    this.items = [];
    this.rows = new Rows((nth) => this.row(this.items[nth]), "Cases by engines");
    this.count = h("p.count", { role: "status", "aria-live": "polite" });
    this.card = h("div");
    this.bar = this.filterBar();
    this.element = h("section.matrix", this.bar, this.card, this.count, (this.heading = this.head()), this.rows.element, this.legend());
    this.element.style.setProperty("--columns", this.data.columns.length);
    this.element.classList.toggle("crowded", this.data.columns.length > 14);
  }

  head() {
    const cells = this.data.columns.map((column, nth) => {
      const before = this.data.columns[nth - 1];
      const label = column.version || column.family;
      return h(
        "button.column",
        {
          type: "button",
          title: `${column.name}: only cases where it stands apart`,
          class: `column${before && before.family !== column.family ? " edge" : ""}`,
          onclick: () => this.page.filter({ engine: this.filters.engine === column.name ? "" : column.name }),
        },
        h("small", before && before.family === column.family ? "" : column.version ? column.family : ""),
        h("span", label),
      );
    });
    return h("div.row.head", h("span.name", "case"), h("span.cells", cells));
  }

  legend() {
    const parts = [
      ["ok", "", "as it should"],
      ["known", "≠", "a known bug explains it"],
      ["new", "≠", "nothing explains it"],
      ["undef", "u", "no defined answer"],
      ["silent", "–", "no outcome"],
      ["none", "", "not asked"],
    ];
    return h(
      "p.legend",
      parts.map(([kind, sign, words]) => h("span", h(`i.cell.${kind}`, sign), words)),
      h("span", "≠ other bytes · R rejects or runs · T raised · C crashed · G outside of memory · N nondeterministic"),
    );
  }

  filterBar() {
    const { data, page } = this;
    this.fields = {};
    const choice = (name, label, options, words = (one) => one) => {
      const select = h("select", { onchange: () => page.filter({ [name]: select.value }) }, h("option", { value: "" }, "any"));
      for (const one of options) select.append(h("option", { value: one }, words(one)));
      this.fields[name] = select;
      return h("label", h("span", label), select);
    };
    const search = h("input", {
      type: "search",
      placeholder: "Search names, causes, descriptions  ( / )",
      "aria-label": "Search",
      oninput: () => page.filter({ q: search.value }, true),
    });
    this.fields.q = search;
    const sorted = (words) => [...words].sort();
    const group = h("select", { onchange: () => page.filter({ group: group.value }) });
    for (const [name, words] of Object.entries(GROUPS)) group.append(h("option", { value: name }, words));
    this.fields.group = group;
    const only = {
      failed: "not as expected",
      new: "not explained",
      stale: "stale expectations",
      unconfirmed: "unconfirmed",
      vacuous: "vacuous",
      silent: "a silent engine",
    };
    return h(
      "form.filters",
      { role: "search", onsubmit: (event) => event.preventDefault() },
      search,
      choice("area", "area", sorted(data.areas)),
      choice("verdict", "verdict", Object.values(VERDICTS)),
      choice("engine", "stands apart", data.engines),
      choice("blame", "blamed", data.engines.filter((_, place) => data.blames.some((set) => set.includes(place)))),
      choice("dtype", "dtype", sorted(data.dtypes)),
      choice("cause", "cause", sorted(data.causes.map((one) => one.name)), (name) => (name.length > 60 ? `${name.slice(0, 60)}…` : name)),
      choice("only", "only", Object.keys(only), (name) => only[name]),
      h("label", h("span", "grouped by"), group),
      h("button.clear", { type: "button", onclick: () => page.clear() }, "Clear"),
    );
  }

  // Shows the cases that pass the filters.
  update(filters) {
    const before = this.filters;
    this.filters = filters;
    for (const [name, field] of Object.entries(this.fields)) if (field.value !== filters[name]) field.value = filters[name];
    this.kept = filtered(this.data, filters);
    this.groups = this.grouped(filters);
    if (before?.group !== filters.group) this.open.clear();
    if (this.groups.length === 1) this.open.add(this.groups[0].key);
    this.list();
    const failing = this.kept.filter((row) => this.data.flags[row] & FLAGS.failed).length;
    const extra = ["use", "change"].filter((name) => filters[name]).map((name) =>
      h("button.chip", { type: "button", title: "Remove this filter", onclick: () => this.page.filter({ [name]: "" }) },
        name === "use" ? `uses ${filters.use}` : filters.change.split("~").join(" → ").replace(/ → (\w+)$/, ": $1"), " ×"));
    this.count.replaceChildren();
    put(this.count, [
      h("b", count(this.kept.length)),
      ` of ${plural(this.data.size, "case")}`,
      failing ? [", ", h("b.bad", `${count(failing)} not as expected`)] : ", all as expected",
      this.filters.group === "none" ? "" : `, in ${plural(this.groups.length, "group")}`,
      extra.length ? [" ", extra] : "",
    ]);
    this.card.replaceChildren();
    if (filters.cause) put(this.card, [this.causeCard(filters.cause)]);
    if (this.data.columns.length) this.bar.querySelector(".clear").hidden = Object.entries(filters).every(([name, value]) => value === DEFAULTS[name]);
  }

  grouped({ group, cause: only }) {
    const { data } = this;
    if (group === "none") return [{ key: "", rows: this.kept }];
    const groups = new Map();
    const at = (key) => {
      let one = groups.get(key);
      if (!one) groups.set(key, (one = { key, rows: [], apart: new Uint32Array(data.columns.length), news: new Uint32Array(data.columns.length), failed: 0 }));
      return one;
    };
    const failed = (row) => (data.flags[row] & FLAGS.failed ? 1 : 0);
    if (group === "cause") {
      for (const row of this.kept) {
        const causes = data.causesOf(row);
        let last = null;
        for (const [engine, cause] of causes) {
          const name = data.causes[cause].name;
          if (only && name !== only) continue;
          const one = at(cause);
          if (one.last !== row) {
            one.rows.push(row);
            one.failed += failed(row);
            one.last = row;
          }
          one.apart[engine] += 1;
          if (data.flags[row] & FLAGS.failed) one.news[engine] += 1;
          last = one;
        }
        if (!last) {
          const one = at(-1);
          one.rows.push(row);
          one.failed += failed(row);
        }
      }
      const order = (one) => [one.key === -1 && !one.failed ? 1 : 0, -one.failed, -one.rows.length];
      return [...groups.values()].sort((a, b) => {
        const [x, y] = [order(a), order(b)];
        return x[0] - y[0] || x[1] - y[1] || x[2] - y[2] || a.key - b.key;
      });
    }
    for (const row of this.kept) {
      const one = at(group === "area" ? data.area[row] : data.file[row]);
      one.rows.push(row);
      one.failed += failed(row);
      const cells = data.cell_sets[data.cells[row]];
      for (let engine = 0; engine < cells.length; engine += 1) {
        const cell = cells[engine];
        if (cell === "=" || cell === "." || cell === "u" || cell === "-") continue;
        one.apart[engine] += 1;
        if (cell !== cell.toLowerCase() || cell === "!") one.news[engine] += 1;
      }
    }
    return [...groups.values()];
  }

  // The rows: headings, and the cases of open ones.
  list() {
    const items = [];
    for (const group of this.groups) {
      if (this.filters.group !== "none") items.push(group);
      if (this.filters.group === "none" || this.open.has(group.key)) for (const row of group.rows) items.push(row);
    }
    this.items = items;
    this.rows.set(items.length);
    // The heads stand over their columns, with a scroll bar beside them or without.
    this.heading.style.paddingRight = `${this.rows.element.offsetWidth - this.rows.element.clientWidth - 2}px`;
    this.element.classList.toggle("empty", items.length === 0);
  }

  row(item) {
    return typeof item === "number" ? this.caseRow(item) : this.groupRow(item);
  }

  // A cell of a case. There are few kinds of them in each column, and many cells.
  cell(column, letter) {
    const kinds = (column.cells ??= new Map());
    let one = kinds.get(letter);
    if (!one) {
      const [kind, sign, words] = CELLS[letter] ?? CELLS["."];
      kinds.set(letter, (one = h(`i.cell.${kind}`, { title: `${column.name}: ${words}` }, sign)));
    }
    return one.cloneNode(true);
  }

  caseRow(row) {
    const { data } = this;
    const id = data.cases[row];
    const [path, point] = [id.split(":")[0], id.slice(id.split(":")[0].length)];
    const failed = data.flags[row] & FLAGS.failed;
    const cells = data.columns.map((column) => this.cell(column, data.cell(row, column.place)));
    return h(
      `div.row.case${failed ? ".failed" : ""}`,
      { role: "row" },
      h("a.name", { href: address("case", this.filters, id), "data-main": true, tabindex: "-1", title: `${id}\n${data.abouts[data.about[row]]}` },
        failed ? h("b.bad", "● ") : "", path, h("span.soft", point)),
      h("span.cells", cells),
    );
  }

  title(group) {
    const { data, filters } = this;
    if (filters.group === "area") return [data.areas[group.key], ""];
    if (filters.group === "file") return [data.files[group.key] || "(no file is told)", data.abouts[data.about[group.rows[0]]]];
    if (group.key === -1) return [group.failed ? "No engine stands apart" : QUIET, ""];
    const cause = data.causes[group.key];
    return [cause.name || SORTS[cause.sort], SORTS[cause.sort] ?? cause.sort, data.known[cause.name]?.about ?? ""];
  }

  groupRow(group) {
    const [name, sort, about] = this.title(group);
    const open = this.open.has(group.key);
    const most = group.rows.length;
    // A cause has one colour; an area or a file may have several.
    const kind = this.filters.group === "cause" && group.key !== -1 ? HEAT[this.data.causes[group.key].sort] : "";
    const cells = this.data.columns.map((column) => {
      const [apart, news] = [group.apart[column.place], group.news[column.place]];
      if (!apart) return h("i.cell.heat.zero", { title: `${column.name}: stands apart in none of ${count(most)}` }, "");
      const share = Math.max(0.12, Math.sqrt(apart / most));
      return h(`i.cell.heat.${kind || (news ? "new" : "known")}`, {
        style: `--share:${share.toFixed(3)}`,
        title: `${column.name}: stands apart in ${count(apart)} of ${plural(most, "case")}${news ? `, ${count(news)} of them not as expected or explained` : ""}`,
      }, apart > 9999 ? `${Math.round(apart / 1000)}k` : String(apart));
    });
    const toggle = h("button.toggle", {
      type: "button",
      "aria-expanded": String(open),
      "data-main": true,
      tabindex: "-1",
      onclick: () => {
        if (open) this.open.delete(group.key);
        else this.open.add(group.key);
        this.list();
      },
    }, open ? "▾" : "▸", " ", h("span", { class: group.failed ? "number bad" : "number" }, count(most)), " ", h("b", name));
    const links = this.filters.group === "cause" && group.key !== -1 && this.filters.cause !== name
      ? h("a.more", { href: address("matrix", { ...this.filters, cause: name }), tabindex: "-1", title: "Only this cause" }, "only")
      : "";
    return h(
      "div.row.group",
      { role: "row" },
      h("span.name", { title: [name, sort, about].filter(Boolean).join("\n") },
        toggle,
        sort ? h("span.soft", this.filters.group === "cause" ? [" ", sort, about ? `: ${about}` : ""] : ` ${sort}`) : "", " ", links),
      h("span.cells", cells),
    );
  }

  causeCard(name) {
    const cause = this.data.causes.find((one) => one.name === name);
    if (!cause) return h("p.warn", `Nothing here has the cause ${name}.`);
    const bug = this.data.known[name];
    return h(
      "aside.card.cause",
      h("h2", h("span.badge", SORTS[cause.sort] ?? cause.sort), " ", h("code", name)),
      bug ? h("p", linked(bug.about)) : "",
      bug ? h("p.soft", `In ${bug.family}, `, h("b", `since ${bug.from}`), bug.to ? [", ", h("b", `fixed in ${bug.to}`)] : ", not mended so far", bug.origin ? [". Seen in: ", linked(bug.origin)] : "") : "",
    );
  }
}
