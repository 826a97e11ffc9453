// The state of the view, kept in the address after `#`, so that it can be shared and the browser's back button works.

const DEFAULTS = { q: "", area: "", engine: "", verdict: "", dtype: "", blame: "", cause: "", only: "", use: "", change: "", group: "cause" };

function readState() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/");
  const filters = { ...DEFAULTS };
  for (const [name, value] of new URLSearchParams(query ?? "")) if (name in filters) filters[name] = value;
  let id = "";
  try {
    id = decodeURIComponent(rest.join("/"));
  } catch {
    // A truncated address: no case has it.
  }
  return { view: view || "matrix", id, filters };
}

function address(view, filters, id) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters ?? {})) if (value && value !== DEFAULTS[name]) query.set(name, value);
  const text = query.toString();
  const place = id ? `/${encodeURIComponent(id).replace(/%2F/g, "/").replace(/%3A/g, ":").replace(/%2C/g, ",").replace(/%3D/g, "=")}` : "";
  return `#/${view}${place}${text ? `?${text}` : ""}`;
}

// The rows that pass the filters, in the order of the stream.
function filtered(data, filters) {
  const tests = [];
  const words = filters.q.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length) {
    const all = data.searched();
    tests.push((row) => words.every((word) => all[row].includes(word)));
  }
  const place = (table, value) => table.indexOf(value);
  if (filters.area) {
    const area = place(data.areas, filters.area);
    tests.push((row) => data.area[row] === area);
  }
  if (filters.verdict) {
    const letter = Object.keys(VERDICTS).find((key) => VERDICTS[key] === filters.verdict);
    tests.push((row) => data.verdicts[row] === letter);
  }
  const inSets = (sets, column, fits) => {
    const holds = sets.map((set) => set.some(fits));
    return (row) => holds[column[row]];
  };
  if (filters.engine) {
    const engine = place(data.engines, filters.engine);
    const apart = data.cell_sets.map((cells) => ![".", "=", undefined].includes(cells[engine]));
    tests.push((row) => apart[data.cells[row]]);
  }
  if (filters.dtype) {
    const dtype = place(data.dtypes, filters.dtype);
    tests.push(inSets(data.dtype_sets, data.dtype, (one) => one === dtype));
  }
  if (filters.blame) {
    const blame = place(data.engines, filters.blame);
    tests.push(inSets(data.blames, data.blame, (one) => one === blame));
  }
  if (filters.cause) {
    const cause = data.causes.findIndex((one) => one.name === filters.cause);
    tests.push(inSets(data.cause_sets, data.cause, ([, one]) => one === cause));
  }
  if (filters.use) {
    // A name alone means it on any dtype.
    const fits = data.uses.map((use) => use === filters.use || use.split(" ")[0] === filters.use);
    tests.push(inSets(data.use_sets, data.used, (one) => fits[one]));
  }
  if (filters.only in FLAGS) tests.push((row) => (data.flags[row] & FLAGS[filters.only]) !== 0);
  if (filters.only === "new") {
    const news = data.cell_sets.map((cells) => /[XGRTCN!]/.test(cells));
    tests.push((row) => news[data.cells[row]]);
  }
  if (filters.change) {
    const [before, after, kind] = filters.change.split("~");
    const [one, other] = [place(data.engines, before), place(data.engines, after)];
    const kinds = data.cell_sets.map((cells) => changeOf(cells[one], cells[other]) === kind);
    tests.push((row) => kinds[data.cells[row]]);
  }
  const rows = [];
  for (let row = 0; row < data.size; row += 1) if (tests.every((test) => test(row))) rows.push(row);
  return rows;
}

// The change of a case from one version to the next.
function changeOf(before = ".", after = ".") {
  const [was, is] = [BAD.has(before), BAD.has(after)];
  if (was && is) return before.toLowerCase() === after.toLowerCase() ? "still" : "changed";
  if (was && after === "=") return "fixed";
  if (is && before === "=") return "broke";
  return "";
}
