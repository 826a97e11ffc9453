// The language features that the cases use, by kinds of dtypes, and those that no case uses.

const KINDS = {
  bool: ["i1"],
  int: ["i8", "i16", "i32", "i64"],
  uint: ["u8", "u16", "u32", "u64"],
  half: ["f16", "bf16"],
  f32: ["f32"],
  f64: ["f64"],
  fp8: ["f8e4nv", "f8e5", "f8e4b15", "f8e4b8", "f8e5b16"],
};

class Coverage {
  constructor(page) {
    this.data = page.data;
    this.element = h("section.coverage");
  }

  // For each name on each dtype, the cases that use it, and those in which an engine stands apart.
  counted() {
    const { data } = this;
    const sets = data.use_sets.map(() => [0, 0]);
    const bad = data.cell_sets.map((cells) => [...cells].some((cell) => BAD.has(cell)));
    data.used.forEach((set, row) => {
      sets[set][0] += 1;
      if (bad[data.cells[row]]) sets[set][1] += 1;
    });
    const names = new Map();
    data.use_sets.forEach((set, nth) => {
      const once = new Set();
      const kinds = new Set();
      for (const place of set) {
        const [name, dtype] = data.uses[place].split(" ");
        if (!names.has(name)) names.set(name, { name, all: [0, 0], kinds: new Map(), dtypes: new Map() });
        const entry = names.get(name);
        const add = (to, key) => {
          const sum = to.get(key) ?? [0, 0];
          to.set(key, [sum[0] + sets[nth][0], sum[1] + sets[nth][1]]);
        };
        if (!once.has(name)) entry.all = [entry.all[0] + sets[nth][0], entry.all[1] + sets[nth][1]];
        once.add(name);
        if (!dtype) continue;
        add(entry.dtypes, dtype);
        const kind = Object.keys(KINDS).find((one) => KINDS[one].includes(dtype)) ?? dtype;
        if (!kinds.has(`${name} ${kind}`)) add(entry.kinds, kind);
        kinds.add(`${name} ${kind}`);
      }
    });
    return [...names.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  update() {
    if (this.element.childElementCount) return;
    const all = this.counted();
    if (!all.length) {
      this.element.append(h("p", "The stream does not list the language features that its cases use."));
      return;
    }
    const search = h("input", { type: "search", placeholder: "Names", "aria-label": "Names" });
    const holes = h("input", { type: "checkbox" });
    const body = h("tbody");
    const note = h("p.count", { role: "status" });
    const kinds = Object.keys(KINDS);
    const most = Math.max(...all.map((one) => one.all[0]));
    const draw = () => {
      const words = search.value.toLowerCase();
      const rows = all.filter((one) => one.name.toLowerCase().includes(words) && (!holes.checked || (one.kinds.size && kinds.some((kind) => !one.kinds.has(kind)))));
      const missing = rows.reduce((sum, one) => sum + (one.kinds.size ? kinds.filter((kind) => !one.kinds.has(kind)).length : 0), 0);
      note.textContent = `${plural(rows.length, "name")}; ${plural(missing, "kind")} of dtypes that a name is used on in no case (a name may not take it).`;
      body.replaceChildren(...rows.map((one) => h("tr",
        h("td", h("a", { href: address("matrix", { ...DEFAULTS, use: one.name, group: "area" }) }, h("code", one.name))),
        h("td.n", count(one.all[0])),
        kinds.map((kind) => {
          const number = one.kinds.get(kind);
          if (!one.kinds.size) return h("td.bar", "");
          if (!number) return h("td.bar.hole", { title: `${one.name}: no case on ${KINDS[kind].join(", ")}` }, "·");
          const each = KINDS[kind].map((dtype) => `${dtype}: ${one.dtypes.get(dtype)?.[0] ?? 0}`).join(", ");
          const missed = KINDS[kind].filter((dtype) => kind !== "fp8" && !one.dtypes.has(dtype)).length;
          return h(`td.bar.has${number[1] ? ".apart" : ""}`, { style: `--share:${Math.max(0.15, Math.sqrt(number[0] / most)).toFixed(3)}`, title: `${one.name}: ${each}; an engine stands apart in ${count(number[1])}` }, count(number[0]), missed ? h("sup", `−${missed}`) : "");
        }))));
    };
    search.addEventListener("input", draw);
    holes.addEventListener("change", draw);
    put(this.element, [
      h("p", "How many cases use each operation, by kinds of dtypes. A dot is a hole: no case has the operation on such a dtype; −2 says that two dtypes of the kind are missing. ",
        h("span.soft", "Names that no case uses are not in the stream: "), h("code", "cerith coverage --holes"), h("span.soft", " lists them.")),
      h("form.filters", { onsubmit: (event) => event.preventDefault() }, search, h("label.check", holes, h("span", "only with holes"))),
      note,
      h("div.scroll", h("table.grid", h("thead", h("tr", h("th", "name"), h("th.n", "cases"), kinds.map((kind) => h("th.n", kind)))), body)),
    ]);
    draw();
  }
}
