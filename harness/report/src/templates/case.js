// One case: its description, the engines' outcomes, its kernel with the relevant lines, its memory.

// `interpret@3.0.0, interpret@3.1.0` as `interpret@3.0.0 3.1.0`.
function engineNames(names) {
  const families = new Map();
  for (const name of names) {
    const [family, version] = name.split("@");
    families.set(family, [...(families.get(family) ?? []), version]);
  }
  return [...families].map(([family, versions], nth) => [nth ? ", " : "", h("code.engine", versions[0] === undefined ? family : `${family}@${versions.join(" ")}`)]);
}

const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

class CasePage {
  constructor(page) {
    this.page = page;
    this.data = page.data;
    this.element = h("section.one");
  }

  async update(id, filters) {
    const { data } = this;
    const row = data.places.get(id);
    if (row === undefined) {
      this.element.replaceChildren(h("p.warn", "No case of this run has the name ", h("code", id), "."), h("p", h("a", { href: address("matrix", filters) }, "All cases")));
      return;
    }
    this.asked = id;
    const event = await data.event(row);
    if (this.asked !== id) return;
    const kept = filtered(data, filters);
    const at = kept.indexOf(row);
    const step = (by, words, key) => {
      const other = data.cases[kept[at + by]];
      return other === undefined || at < 0
        ? h("span.soft", words)
        : h("a", { href: address("case", filters, other), title: other, "data-key": key }, words);
    };
    const parts = [
      h("nav.steps", h("a", { href: address("matrix", filters), "data-key": "Escape" }, "← all cases"), step(-1, "previous", "["), h("span.soft", at < 0 ? "outside of the filters" : `${count(at + 1)} of ${count(kept.length)}`), step(1, "next", "]")),
      this.header(event, row),
      this.camps(event),
      this.differences(event),
      this.kernels(event),
      this.layout(event),
      this.engines(event),
      this.rest(event, row),
    ];
    this.element.replaceChildren();
    put(this.element, parts);
  }

  header(event, row) {
    const { data } = this;
    const exhibit = event.exhibit ?? {};
    const command = this.command(event);
    const known = event.against?.same?.length > 0 && !event.against.new?.length;
    const unexpected = known ? h("span.badge.warn", "as in the baseline") : h("span.badge.bad", "not as expected");
    const badges = [
      h(`span.badge.${event.verdict === "agree" ? "good" : "soft"}`, event.verdict),
      event.expected ? h("span.badge.good", "as expected") : unexpected,
      event.vacuous ? h("span.badge.bad", "vacuous") : "",
      event.unconfirmed ? h("span.badge.warn", "unconfirmed") : "",
      event.expectations?.some((one) => one.state === "stale") ? h("span.badge.warn", "stale expectation") : "",
    ];
    const causes = [...new Set(data.causesOf(row).map(([, cause]) => cause))].map((place) => data.causes[place]);
    const file = data.files[data.file[row]];
    return h(
      "header",
      h("h2.id", h("code", event.case)),
      h("p", badges),
      this.strip(event, row),
      exhibit.about || event.about ? h("p.about", linked(exhibit.about || event.about)) : "",
      event.blame?.length ? h("p", "Wrong: ", engineNames(event.blame), event.unconfirmed ? " (only the reference says so)" : "") : "",
      event.suspected ? h("p.warn", event.suspected) : "",
      event.reason ? h("p", linked(event.reason)) : "",
      causes.map((cause) => {
        const bug = data.known[cause.name];
        return h("p.cause", h("span.badge", SORTS[cause.sort] ?? cause.sort), " ", h("a", { href: address("matrix", { ...DEFAULTS, cause: cause.name }) }, h("code", cause.name)),
          bug ? [" ", linked(bug.about), h("span.soft", ` ${bug.from} ${bug.to ? `to before ${bug.to}` : "and on"}`)] : "");
      }),
      (event.expectations ?? []).map((one) => h("p", { class: one.state === "stale" ? "warn" : "soft" },
        one.state === "stale" ? "No longer happens: " : "Expected: ", one.engines.join(", "), ` ${one.versions} `, one.verdict ?? one.outcome ?? "", ": ", linked(one.why), one.link ? [" (", linked(one.link), ")"] : "",
        one.position ? h("span", ` ${one.position.file}:${one.position.line}`) : "")),
      exhibit.origin ? h("p.soft", "From ", linked(exhibit.origin)) : "",
      file ? h("p.soft", "Case file ", data.texts.has(file) ? h("a", { href: "#case-file", onclick: (click) => { click.preventDefault(); this.show("case-file"); } }, `${file}:${data.lines[row]}`) : h("code", `${file}:${data.lines[row]}`),
        " · ", h("a", { href: address("matrix", { ...DEFAULTS, area: data.areas[data.area[row]], group: "file" }) }, `others of ${data.areas[data.area[row]]}`)) : "",
      h("div.command", h("pre", h("code", command)), copyButton(command, "the command")),
    );
  }

  // The outcome of every engine, at a glance.
  strip(event, row) {
    const { data } = this;
    return h("div.strip", event.engines.map((engine, nth, all) => {
      const [kind, sign, words] = CELLS[data.cell(row, data.engines.indexOf(engine))] ?? CELLS["."];
      const { family, version } = data.family(engine);
      const first = !nth || data.family(all[nth - 1]).family !== family;
      return h("a", { href: "#engines", title: `${engine}: ${words}`, onclick: (click) => { click.preventDefault(); this.show("engines"); } },
        h("small", version && first ? family : ""), h("span", version || family), h(`i.cell.${kind}`, sign));
    }));
  }

  show(id) {
    const found = document.getElementById(id);
    if (!found) return;
    found.open = true;
    found.scrollIntoView({ block: "start" });
  }

  command(event) {
    const { start } = this.data.run;
    const parts = ["cerith", event.sweep ? "sweep" : "explain", quoted(event.case)];
    if (start.corpus) parts.push("--cases", quoted(start.corpus));
    const apart = event.sweep ? [event.sweep.engine] : event.engines.filter((engine) => engine !== "reference");
    const wanted = event.blame?.filter((engine) => engine !== "reference") ?? [];
    for (const engine of wanted.length && !event.sweep ? wanted : apart) parts.push("--engine", quoted(engine));
    if (start.masked) parts.push("--masked", start.masked);
    return parts.join(" ");
  }

  engines(event) {
    const { data } = this;
    const row = data.places.get(event.case);
    const lines = event.engines.map((engine) => {
      const outcome = event.outcomes?.[engine];
      const [kind, sign, words] = CELLS[data.cell(row, data.engines.indexOf(engine))] ?? CELLS["."];
      const own = (event.differences ?? []).filter((one) => one.engine === engine);
      return h(
        "tr",
        h("td", h(`i.cell.${kind}`, sign)),
        h("td", h("code", engine)),
        h("td", outcome?.outcome ?? "finished", h("div.soft", words)),
        h("td",
          outcome?.error || outcome?.message ? h("div.said", outcome.error ? h("b", outcome.error) : "", outcome.error && outcome.message ? ": " : "", linked(outcome.message ?? "")) : "",
          own.map((one) => [one.elements ? h("div", `${plural(one.elements, "element")} ${one.elements === 1 ? "differs" : "differ"} from ${one.baseline}`) : "", (one.explained ?? []).map((name) => h("a.bug", { href: address("matrix", { ...DEFAULTS, cause: name }) }, name))]),
          outcome?.position ? h("div.soft", `${outcome.position.file}:${outcome.position.line}`, outcome.launch ? `, launch ${outcome.launch + 1}` : "") : "",
          outcome?.printed?.length ? h("details", h("summary", `printed ${plural(outcome.printed.length, "line")}`), h("pre", outcome.printed.join("\n"))) : "",
          outcome?.detail ? h("details", h("summary", "the whole message"), h("pre", outcome.detail)) : ""),
        h("td.n", event.seconds?.[engine] === undefined ? "" : seconds(event.seconds[engine])),
      );
    });
    return [h("h3", { id: "engines" }, event.sweep ? `Variants of ${event.sweep.engine}` : "Engines"), h("div.scroll", h("table", h("thead", h("tr", ["", event.sweep ? "variant" : "engine", "outcome", "", "time"].map((words) => h("th", words)))), h("tbody", lines)))];
  }

  camps(event) {
    const sweep = event.sweep;
    if (!sweep) return "";
    const chips = (names, kind) => names.map((name) => h(`span.chip${kind}`, name));
    const list = (title, all) => (Object.keys(all ?? {}).length ? h("details", h("summary", `${title} (${Object.keys(all).length})`), h("ul", Object.entries(all).map(([name, why]) => h("li", h("code", name), ` ${why}`)))) : "");
    return [
      sweep.camps?.length ? [h("h3", "Camps"), h("div.camps", sweep.camps.map((camp, nth) => h("div.card", h("b", `Camp ${nth + 1}`), camp.reference === undefined ? "" : h(`span.badge.${camp.reference ? "good" : "bad"}`, camp.reference ? "as the reference" : "different from the reference"), h("p", chips(camp.variants, sweep.odd?.some((one) => camp.variants.includes(one)) ? ".bad" : "")))))] : "",
      Object.keys(sweep.axes ?? {}).length ? h("p", "Along each axis: ", Object.entries(sweep.axes).map(([axis, verdict]) => h("span.chip", `${axis}: ${verdict}`))) : "",
      list("The same machine code as another variant", sweep.same),
      list("Do not apply", sweep.not_applicable),
    ];
  }

  differences(event) {
    const exhibit = event.exhibit;
    const parts = [];
    if (exhibit?.memory?.length) parts.push(h("h3", "Final contents of memory"), exhibit.memory.map((contents) => images(event, contents)));
    if (exhibit?.memory_left_out) parts.push(h("p.warn", `${plural(exhibit.memory_left_out, "more storage", "more storages")} ${exhibit.memory_left_out === 1 ? "differs" : "differ"}, for which the event has no room.`));
    // Engines that differ in the same way share a table.
    const tables = new Map();
    for (const one of event.differences ?? []) {
      if (!one.first?.length) continue;
      const key = JSON.stringify([one.baseline, one.elements, one.first]);
      if (!tables.has(key)) tables.set(key, { ...one, engines: [] });
      tables.get(key).engines.push(one.engine);
    }
    for (const one of tables.values()) {
      const bounds = one.first.some((element) => element.accepted || element.unwritten);
      const rows = one.first.map((element) => {
        const where = element.guard
          ? `${element.guard} ${element.storage}, guard byte ${element.byte}`
          : element.tensor ? `${element.tensor}[${(element.at ?? []).join(", ")}]` : `${element.storage}, byte ${element.byte}`;
        return h("tr", h("td", h("code", where), h("div.soft", element.dtype ? `${element.dtype}, ${element.storage} byte ${element.byte}` : "")),
          [0, 1].map((nth) => h("td", h("code", { class: nth ? "bad" : "" }, element.values[nth]), h("div.soft", element.bits[nth]))),
          bounds && h("td", element.accepted ? [interval(element), h("div.soft", `accepted ${element.accepted[0]} to ${element.accepted[1]}`)] : element.unwritten ? "must not be written" : ""));
      });
      parts.push(
        h("h4", engineNames(one.engines), h("span.soft", ` ${plural(one.elements ?? rows.length, "element")}${one.elements > rows.length ? `, the first ${rows.length}` : ""}`)),
        h("div.scroll", h("table", h("thead", h("tr", ["element", one.baseline, "came", bounds && "accepted"].filter(Boolean).map((words) => h("th", words)))), h("tbody", rows))),
      );
    }
    return parts;
  }

  kernels(event) {
    const { data } = this;
    const exhibit = event.exhibit ?? {};
    const marks = new Map();
    const mark = (file, line, kind, words) => {
      const key = `${file}\n${line}`;
      if (!marks.has(key)) marks.set(key, []);
      marks.get(key).push([kind, words]);
    };
    for (const one of exhibit.marks ?? []) {
      for (const bug of one.bugs ?? []) mark(one.file, one.line, "bug", bug);
      if (one.writes?.length) mark(one.file, one.line, "writes", `writes to ${one.writes.join(", ")}, which differs`);
    }
    const said = new Map();
    for (const [engine, outcome] of Object.entries(event.outcomes ?? {})) {
      if (!outcome.position) continue;
      const key = JSON.stringify([outcome.position.file, outcome.position.line, outcome.error, outcome.message]);
      if (!said.has(key)) said.set(key, { outcome, engines: [] });
      said.get(key).engines.push(engine);
    }
    for (const { outcome, engines } of said.values())
      mark(outcome.position.file, outcome.position.line, "said", `${engines.join(", ")}: ${[outcome.error, outcome.message].filter(Boolean).join(": ")}`);
    const files = [...new Set([...(exhibit.launches ?? []).map((one) => one.file), ...[...marks.keys()].map((key) => key.split("\n")[0])])];
    const parts = [];
    const launched = (exhibit.launches ?? []).map((one, nth) => h("li",
      h("code", `${one.kernel}[${one.grid.join(", ")}](${[...Object.entries(one.args ?? {}), ...Object.entries(one.options ?? {})].map(([name, value]) => `${name}=${value}`).join(", ")})`),
      one.host ? h("span.soft", ` made by ${one.host}`) : ""));
    if (launched.length) parts.push(h("h3", plural(launched.length, "Launch", "Launches").replace(/^1 /, "")), h("ol.launches", launched));
    for (const file of files) {
      const text = data.texts.get(file);
      if (text === undefined) {
        const lines = [...marks].filter(([key]) => key.startsWith(`${file}\n`));
        for (const [key, notes] of lines) {
          const outcome = Object.values(event.outcomes ?? {}).find((one) => one.position?.file === file);
          parts.push(h("h3", `${file}:${key.split("\n")[1]}`), h("pre", outcome?.position?.text ?? ""), notes.map(([kind, words]) => h(`p.note.${kind}`, words)));
        }
        continue;
      }
      const kernels = (exhibit.launches ?? []).filter((one) => one.file === file);
      if (data.ambiguous.includes(file)) parts.push(h("p.warn", "The streams have several texts of ", h("code", file), "; the first is shown, which need not be this case's."));
      parts.push(h("h3", h("code", file)), this.code(text, file, marks, kernels));
    }
    const file = data.files[data.file[data.places.get(event.case)]];
    if (data.texts.has(file) && !files.includes(file)) {
      const at = data.lines[data.places.get(event.case)];
      parts.push(h("details.source", { id: "case-file" }, h("summary", "Case file ", h("code", file)), this.code(data.texts.get(file), file, new Map([[`${file}\n${at}`, [["here", ""]]]]), [])));
    }
    return parts;
  }

  // A text with numbered lines and marks; lines far from any mark are folded.
  code(text, file, marks, kernels) {
    const lines = text.replace(/\n$/, "").split("\n");
    const wanted = new Set();
    const near = (line, before, after) => {
      for (let at = line - before; at <= line + after; at += 1) wanted.add(at);
    };
    for (const kernel of kernels) {
      if (!kernel.line) continue;
      let from = kernel.line;
      while (from > 1 && /^\s*@/.test(lines[from - 2] ?? "")) from -= 1;
      const indent = /^\s*/.exec(lines[kernel.line - 1] ?? "")[0].length;
      let to = kernel.line;
      // A function ends at the first line with its own indentation, except for the end of its signature.
      while (to < lines.length && (!lines[to].trim() || /^\s*/.exec(lines[to])[0].length > indent || /^\s*[)\]]/.test(lines[to]))) to += 1;
      near(from, 0, to - from);
    }
    for (const key of marks.keys()) {
      const [of, line] = key.split("\n");
      if (of === file) near(Number(line), 3, 3);
    }
    const all = lines.length <= 60 || wanted.size === 0;
    const body = h("div.code", { role: "region", "aria-label": file, tabindex: "0" });
    let folded = [];
    const unfold = () => {
      if (!folded.length) return;
      const hidden = folded;
      const button = h("button.fold", { type: "button" }, `${plural(hidden.length, "line")} more`);
      button.addEventListener("click", () => button.replaceWith(...hidden));
      body.append(button);
      folded = [];
    };
    lines.forEach((line, nth) => {
      const notes = marks.get(`${file}\n${nth + 1}`) ?? [];
      const kind = ["said", "bug", "writes", "here"].find((one) => notes.some(([sort]) => sort === one)) ?? "";
      const element = h(`div.line${kind ? `.${kind}` : ""}`, h("span.number", String(nth + 1)), h("span.text", painted(line)),
        notes.filter(([, words]) => words).map(([sort, words]) => h(`span.note.${sort}`, sort === "bug" ? ["known bug ", h("a", { href: address("matrix", { ...DEFAULTS, cause: words }) }, words)] : words)));
      if (all || wanted.has(nth + 1)) {
        unfold();
        body.append(element);
      } else folded.push(element);
    });
    unfold();
    return body;
  }

  layout(event) {
    const exhibit = event.exhibit;
    if (!exhibit) return h("p.soft", "The stream is from an older Cerith, which recorded neither a case's kernel nor its memory.");
    if (!exhibit.storages?.length) return "";
    return [h("h3", "Layout"), h("p.legend", "One map for each tensor: the elements of its storage that it shows, from its first (pale) to its last (dark)."), h("div.storages", layoutMaps(exhibit))];
  }

  rest(event) {
    const { data } = this;
    const bytes = event.bytes ?? {};
    const counted = [
      [bytes.compared, "compared"], [bytes.accepted, "with other bits accepted"], [bytes.undecided, "undecided"], [bytes.undefined, "left out as undefined"],
    ].filter(([number]) => number).map(([number, words]) => `${count(number)} ${words}`);
    const uses = data.use_sets[data.used[data.places.get(event.case)]].map((place) => data.uses[place]);
    return [
      (event.notes ?? []).map((note) => h("p", note)),
      (event.rules ?? []).map((rule) => h("p.soft", h("b", rule.rule), ` since ${rule.since}: `, linked(rule.about))),
      counted.length ? h("p.soft", `Bytes: ${counted.join(", ")}.`) : "",
      (event.left_out ?? []).map((one) => h("p.soft", `Left out of ${one.storage}: ${count(one.bytes)} of ${count(one.of)} bytes, which have no defined value${one.whole?.length ? `: none of ${one.whole.join(", ")} was compared` : ""}.`)),
      uses.length ? h("details", h("summary", `Uses ${plural(uses.length, "operation")}`), h("p", uses.map((use) => h("a.chip", { href: address("matrix", { ...DEFAULTS, use, group: "none" }) }, use)))) : "",
      h("details", h("summary", "The event, as in the stream"), h("pre", JSON.stringify(event, null, 2))),
    ];
  }
}

const TOKENS = /(#.*$)|("""[^]*?"""|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\b(def|return|if|else|elif|for|while|in|not|and|or|is|import|from|as|None|True|False|pass|assert|with|lambda)\b|(@[\w.]+)|\b(\d[\w.]*)\b/g;

// Python's words in colours.
function painted(line) {
  const parts = [];
  let at = 0;
  for (const match of line.matchAll(TOKENS)) {
    parts.push(line.slice(at, match.index));
    const kind = ["comment", "string", "keyword", "decorator", "digits"].find((_, nth) => match[nth + 1] !== undefined);
    parts.push(h(`span.t-${kind}`, match[0]));
    at = match.index + match[0].length;
  }
  parts.push(line.slice(at));
  return parts;
}
