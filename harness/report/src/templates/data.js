// The page's data: the index of all cases, and their events, which are unpacked on demand.

async function unpacked(id) {
  const text = document.getElementById(id).textContent;
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

const BAD = new Set([..."xgrtcnXGRTCN!"]);
const FLAGS = { failed: 1, stale: 2, vacuous: 4, unconfirmed: 8, silent: 16, sweep: 32, unexpected: 64 };
const VERDICTS = { a: "agree", d: "differ", n: "nondeterministic", u: "undefined", i: "inconclusive" };
const CELLS = {
  "=": ["ok", "", "as it should"],
  x: ["known", "≠", "other bytes; a known bug explains it"],
  g: ["known", "G", "wrote outside of every storage; a known bug explains it"],
  r: ["known", "R", "rejects what others run, or runs what they reject; a known bug explains it"],
  t: ["known", "T", "raised, or did not where others did; a known bug explains it"],
  c: ["known", "C", "crashed, or did not finish; a known bug explains it"],
  n: ["known", "N", "nondeterministic; a known bug explains it"],
  X: ["new", "≠", "other bytes; no known bug explains it"],
  G: ["new", "G", "wrote outside of every storage; no known bug explains it"],
  R: ["new", "R", "rejects what others run, or runs what they reject; no known bug explains it"],
  T: ["new", "T", "raised, or did not where others did; no known bug explains it"],
  C: ["new", "C", "crashed, or did not finish; no known bug explains it"],
  N: ["new", "N", "nondeterministic; no known bug explains it"],
  "!": ["new", "!", "not as the case file expects"],
  u: ["undef", "u", "the program has no defined answer"],
  "-": ["silent", "–", "no outcome"],
  ".": ["none", "", "did not run"],
};
const SORTS = {
  bug: "known bug",
  message: "message",
  bytes: "other bytes",
  undefined: "undefined",
  inconclusive: "inconclusive",
  silent: "no outcome",
};

class Data {
  constructor(about, index) {
    Object.assign(this, index);
    this.run = about;
    this.size = index.cases.length;
    this.blocks = new Map();
    this.areas = [];
    this.area = index.cases.map((id) => {
      const area = id.split(/[/:]/, 1)[0];
      let place = this.areas.indexOf(area);
      if (place < 0) place = this.areas.push(area) - 1;
      return place;
    });
    this.places = new Map();
    index.cases.forEach((id, row) => this.places.has(id) || this.places.set(id, row));
    this.texts = new Map(index.texts.map((text) => [text.file, text.text]));
    this.words = null;
    this.columns = this.inFamilies(index.engines.map((name, place) => ({ name, place, ...this.family(name) })));
  }

  // Versions of one family side by side, oldest first, wherever they stand in the stream.
  inFamilies(columns) {
    const families = [...new Set(columns.map((column) => column.family))];
    return columns.sort((a, b) => families.indexOf(a.family) - families.indexOf(b.family) || byVersion(a, b));
  }

  // `interpret@3.9.0+torch` is 3.9.0 of the family `interpret+torch`.
  family(engine) {
    const match = /^([a-z]+)@([^+]*)(\+.*)?$/.exec(engine);
    if (!match) return { family: engine, version: "" };
    const [, family, version, way] = match;
    return /^\d+(\.\d+)+$/.test(version)
      ? { family: family + (way ?? ""), version }
      : { family, version: version + (way ?? "") };
  }

  cell(row, engine) {
    return this.cell_sets[this.cells[row]][engine] ?? ".";
  }

  causesOf(row) {
    return this.cause_sets[this.cause[row]];
  }

  // The text that a search looks at, in lower case.
  searched() {
    this.words ??= this.cases.map((id, row) => {
      const causes = this.causesOf(row).map(([, cause]) => this.causes[cause].name);
      return `${id}\n${this.abouts[this.about[row]]}\n${causes.join("\n")}`.toLowerCase();
    });
    return this.words;
  }

  async event(row) {
    const block = Math.floor(row / this.run.block);
    if (!this.blocks.has(block)) this.blocks.set(block, unpacked(`block-${block}`));
    return (await this.blocks.get(block))[row % this.run.block];
  }
}
