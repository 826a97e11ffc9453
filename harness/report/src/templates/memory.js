// Memory, drawn: the elements of a storage that each tensor shows, and its final contents in each engine as images.

const DRAWN = 4096;

// How the bytes of a storage are seen: by the tensor that shows them.
function viewsOf(exhibit, storage) {
  const declared = exhibit.storages?.find((one) => one.name === storage);
  const views = (exhibit.views ?? []).filter((one) => one.storage === storage);
  const whole = declared?.dtype
    ? [{ name: declared.name, storage, dtype: declared.dtype, shape: declared.shape ?? [], strides: contiguous(declared.shape ?? []), offset: 0, whole: true }]
    : [];
  return [...whole, ...views.map((one) => ({ ...one, offset: one.offset ?? 0 }))];
}

function contiguous(shape) {
  let step = 1;
  return shape.map((_, at) => shape.slice(at + 1).reduce((all, one) => all * one, 1) * step);
}

const elements = (view) => view.shape.reduce((all, one) => all * one, 1);

// The index of the nth element, and where in its storage that is, in elements of its dtype.
function placeOf(view, nth) {
  const index = new Array(view.shape.length);
  let rest = nth;
  let place = view.offset;
  for (let dim = view.shape.length - 1; dim >= 0; dim -= 1) {
    const extent = Math.max(1, view.shape[dim]);
    index[dim] = rest % extent;
    rest = Math.floor(rest / extent);
    place += index[dim] * view.strides[dim];
  }
  return [index, place];
}

// How many elements are in a row of a picture.
function across(view) {
  const last = view.shape.at(-1) ?? 1;
  if (view.shape.length >= 2 && last > 1) return Math.min(last, 128);
  const all = elements(view);
  return all <= 32 ? Math.max(1, all) : all <= 256 ? 16 : all <= 1024 ? 32 : 64;
}

function canvasOf(columns, rows, size, label) {
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  const canvas = h("canvas", { tabindex: "0", role: "img", "aria-label": label });
  canvas.width = Math.ceil(columns * size * ratio);
  canvas.height = Math.ceil(rows * size * ratio);
  canvas.style.width = `${columns * size}px`;
  canvas.style.height = `${rows * size}px`;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  return [canvas, context];
}

const cellSize = (columns, rows) => Math.max(3, Math.min(22, Math.floor(Math.min(560 / columns, 420 / rows))));

// Calls back with the element under the pointer, or under the cursor that arrow keys move.
function pointed(canvas, columns, total, size, tell) {
  let at = 0;
  const inside = (nth) => nth >= 0 && nth < total;
  canvas.addEventListener("pointermove", (event) => {
    const column = Math.floor(event.offsetX / size);
    const nth = Math.floor(event.offsetY / size) * columns + column;
    if (column >= 0 && column < columns && inside(nth)) tell((at = nth));
  });
  canvas.addEventListener("focus", () => total && tell(at));
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
    if (!step) return;
    if (inside(at + step)) tell((at += step));
    event.preventDefault();
    event.stopPropagation();
  });
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// One map for each tensor over a storage: which elements it shows, from the first (pale) to the last (dark).
function layoutMaps(exhibit) {
  return (exhibit.storages ?? []).map((storage) => {
    const views = viewsOf(exhibit, storage.name);
    const unit = Math.min(...views.map((view) => sizeOf(view.dtype)), 8);
    const units = Math.ceil(storage.bytes / (views.length ? unit : 1));
    const drawn = Math.min(units, DRAWN);
    const frame = views[0] ?? { shape: [units], dtype: "u8" };
    const columns = Math.max(1, Math.min(across(frame) * Math.max(1, sizeOf(frame.dtype) / unit), 128));
    const rows = Math.ceil(drawn / columns);
    const size = Math.max(2, Math.min(13, Math.floor(Math.min(300 / columns, 240 / Math.max(1, rows)))));
    const maps = views.map((view) => {
      const [canvas, context] = canvasOf(columns, rows, size, `${view.name}: ${view.dtype} ${JSON.stringify(view.shape)}, strides ${JSON.stringify(view.strides)}, over ${storage.name}`);
      const note = h("figcaption.soft");
      const words = () => note.replaceChildren(
        h("b", view.name), seen(` ${view.dtype} [${view.shape.join(", ")}]`), h("br"), seen(view.whole ? "the storage itself" : `strides (${view.strides.join(", ")}), offset ${view.offset}`),
      );
      words();
      const total = elements(view);
      const wide = Math.max(1, sizeOf(view.dtype) / unit);
      const owner = new Map();
      context.fillStyle = colour("--cell-none");
      for (let nth = 0; nth < drawn; nth += 1) context.fillRect((nth % columns) * size, Math.floor(nth / columns) * size, size - 1, size - 1);
      const looked = Math.min(total, 1 << 16);
      for (let nth = 0; nth < looked; nth += 1) {
        const [, place] = placeOf(view, nth);
        for (let part = 0; part < wide; part += 1) {
          const at = place * wide + part;
          if (at < 0 || at >= drawn) continue;
          owner.set(at, (owner.get(at) ?? []).concat(nth));
          context.fillStyle = `hsl(${205 + 70 * (nth / Math.max(1, total - 1))} 65% ${72 - 34 * (nth / Math.max(1, total - 1))}%)`;
          context.fillRect((at % columns) * size, Math.floor(at / columns) * size, size - 1, size - 1);
        }
      }
      pointed(canvas, columns, drawn, size, (at) => {
        const shows = (owner.get(at) ?? []).slice(0, 4).map((nth) => `[${placeOf(view, nth)[0].join(", ")}]`);
        note.replaceChildren(h("b", view.name), seen(` byte ${at * unit} of ${storage.name}`), h("br"), seen(shows.length ? `is element ${shows.join(" and ")}` : "is not shown"));
      });
      canvas.addEventListener("pointerleave", words);
      return h("figure", canvas, note);
    });
    const cut = units > drawn ? h("p.warn", `The first ${count(drawn)} of ${plural(units, "element")} are drawn.`) : "";
    return h(
      "div.storage",
      h("h4", h("code", storage.name), h("span.soft", ` ${plural(storage.bytes, "byte")}${storage.dtype ? `, ${storage.dtype} [${(storage.shape ?? []).join(", ")}]` : ", a copy"}${storage.fill ? `, filled with ${storage.fill}` : ""}`)),
      h("div.maps", maps),
      cut,
    );
  });
}

const within = (spans, at, size) => spans.some(([from, to]) => at < to && at + size > from);

// The final contents of a storage in each engine, side by side, with marks on elements that differ.
function images(event, contents) {
  const exhibit = event.exhibit;
  const spoken = event.differences?.flatMap((one) => one.first ?? []).find((one) => one.storage === contents.storage && one.tensor);
  const views = viewsOf(exhibit, contents.storage);
  const fallback = { name: contents.storage, dtype: "u8", shape: [contents.of], strides: [1], offset: 0 };
  const groups = contents.left.map((left) => ({ ...left, bytes: decoded(left.bytes) }));
  const from = contents.from ?? 0;
  const box = h("div.images");
  const choice = h("select", { "aria-label": "Seen as" });
  const all = views.length ? views : [fallback];
  all.forEach((view, nth) => choice.append(h("option", { value: nth }, `${view.name}: ${view.dtype} [${view.shape.join(", ")}]`)));
  choice.value = String(Math.max(0, all.findIndex((view) => view.name === spoken?.tensor)));
  choice.addEventListener("change", draw);

  function draw() {
    const view = all[Number(choice.value)] ?? fallback;
    const size = sizeOf(view.dtype);
    const places = [];
    for (let nth = 0; nth < elements(view) && places.length < DRAWN; nth += 1) {
      const [index, place] = placeOf(view, nth);
      const byte = place * size - from;
      if (byte >= 0 && byte + size <= groups[0].bytes.length) places.push([index, place * size]);
    }
    const columns = Math.max(1, Math.min(across(view), places.length || 1));
    const rows = Math.ceil(places.length / columns);
    const pixels = cellSize(columns, rows);
    const bits = groups.map((group) => places.map(([, byte]) => bitsAt(group.bytes, byte - from, size)));
    const numbers = bits.map((column) => column.map((one) => numberOf(view.dtype, one)));
    const reaches = numbers.map((column) => column.filter(Number.isFinite).reduce((most, one) => Math.max(most, Math.abs(one)), 0) || 1);
    const [least, widest] = [Math.min(...reaches), Math.max(...reaches)];
    // If the numbers of two images are far apart, one would be all pale on the other's scale.
    const apart = widest > 16 * least;
    const intervals = new Map();
    for (const difference of event.differences ?? [])
      for (const one of difference.first ?? []) if (one.storage === contents.storage && !one.guard && one.accepted) intervals.set(one.byte, one.accepted);
    const readout = h("p.readout", { role: "status", "aria-live": "polite" }, "Point at an element, or move over an image with the arrow keys.");
    const spansOf = groups.map((group) => {
      const spans = (exhibit.differs ?? []).filter((one) => one.storage === contents.storage && group.engines.includes(one.engine));
      return { spans: spans[0]?.spans ?? [], more: spans.some((one) => one.more), baseline: spans[0]?.baseline };
    });
    const any = spansOf.flatMap((one) => one.spans);
    const expected = spansOf.find((one) => one.baseline)?.baseline;
    const allOf = (group) => event.differences?.find((one) => group.engines.includes(one.engine))?.elements ?? 0;
    const crowded = places.filter(([, byte]) => within(any, byte, size)).length > places.length / 3 && places.length > 16;
    const figures = groups.map((group, nth) => {
      const wrong = spansOf[nth].spans;
      const isExpected = group.engines.includes(expected);
      const [canvas, context] = canvasOf(columns, rows, pixels, `${view.name} as ${group.engines.join(", ")} left it`);
      const reach = apart ? reaches[nth] : widest;
      // If most elements differ, frames would hide their contents.
      const most = places.filter(([, byte]) => within(wrong, byte, size)).length > places.length / 3 && places.length > 16;
      let differing = 0;
      places.forEach(([, byte], at) => {
        const [x, y] = [(at % columns) * pixels, Math.floor(at / columns) * pixels];
        const value = numbers[nth][at];
        const gap = pixels > 5 ? 1 : 0;
        context.fillStyle = within(contents.undefined ?? [], byte, size)
          ? colour("--cell-undef")
          : Number.isNaN(value)
            ? "#b45ad6"
            : !Number.isFinite(value)
              ? "#6b2fa0"
              : tone(value / reach);
        context.fillRect(x, y, pixels - gap, pixels - gap);
        if (within(contents.unwritten ?? [], byte, size) && pixels > 5) {
          context.fillStyle = colour("--soft");
          context.fillRect(x + pixels / 2 - 1, y + pixels / 2 - 1, 1.5, 1.5);
        }
        const marked = within(wrong, byte, size);
        if (marked) differing += 1;
        if (marked && most) {
          context.fillStyle = colour("--mark");
          context.beginPath();
          context.moveTo(x, y);
          context.lineTo(x + pixels * 0.42, y);
          context.lineTo(x, y + pixels * 0.42);
          context.fill();
        } else if (marked || (isExpected && !crowded && within(any, byte, size))) {
          context.strokeStyle = marked ? colour("--mark") : colour("--good");
          context.lineWidth = pixels > 8 ? 2 : 1;
          context.strokeRect(x + 1, y + 1, pixels - gap - 2, pixels - gap - 2);
        }
      });
      pointed(canvas, columns, places.length, pixels, (at) => tell(at));
      const role = isExpected ? "expected" : wrong.length ? "differs" : "also";
      return h(
        "figure",
        canvas,
        h("figcaption", h(`span.badge.${isExpected ? "good" : wrong.length ? "bad" : "soft"}`, role), " ", engineNames(group.engines),
          wrong.length ? h("div.soft", `${plural(differing, "element")} marked${allOf(group) > differing ? `, of ${count(allOf(group))} that differ in all` : ""}${spansOf[nth].more ? ", and more that are not" : ""}`) : ""),
      );
    });

    function tell(at) {
      const [index, byte] = places[at];
      const accepted = intervals.get(byte);
      readout.replaceChildren();
      put(readout, [
        h("b", `${view.name}[${index.join(", ")}]`), h("span.soft", ` byte ${byte}`),
        within(contents.undefined ?? [], byte, size) ? h("span.badge", "no defined value") : "",
        groups.map((group, nth) => [h("br"), h("code", { class: within(spansOf[nth].spans, byte, size) ? "bad" : "" }, shown(view.dtype, bits[nth][at])), " ", h("span.soft", hex(bits[nth][at], size)), " ", engineNames(group.engines)]),
        accepted ? [h("br"), `accepted: ${accepted[0]} to ${accepted[1]}`] : "",
      ]);
    }

    const left = elements(view) - places.length;
    box.replaceChildren(h("div.figures", figures), readout, h("p.legend", `Blue is below zero, orange above; violet is NaN or infinite. Elements with a ${crowded ? "red corner" : "frame"} differ.${apart ? " Each image has a scale of its own: their numbers are far apart." : ""}`));
    if (left > 0) box.append(h("p.warn", `${plural(left, "element")} more of ${view.name} ${left === 1 ? "is" : "are"} not drawn.`));
  }

  draw();
  const shownBytes = groups[0]?.bytes.length ?? 0;
  return h(
    "div.storage",
    h("h3", h("code", contents.storage), " ", all.length > 1 ? choice : h("span.soft", `${all[0].dtype} [${all[0].shape.join(", ")}]`)),
    shownBytes < contents.of ? h("p.warn", `Bytes ${count(from)} to ${count(from + shownBytes)} of ${count(contents.of)} are here; the rest is not in the stream.`) : "",
    box,
  );
}

// From blue below zero to orange above it.
function tone(value) {
  const strength = Math.min(1, Math.abs(value)) ** 0.5;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches && !printing;
  const light = dark ? 22 + 36 * strength : 95 - 40 * strength;
  return value === 0 ? (dark ? "#30343a" : "#f1efea") : `hsl(${value < 0 ? 212 : 30} ${50 + 35 * strength}% ${light}%)`;
}

// A number line: the accepted range, and the engine's value.
function interval(element) {
  const [low, high] = element.accepted.map(Number);
  const [expected, came] = element.values.map(Number);
  const points = [low, high, expected, came].filter(Number.isFinite);
  if (points.length < 4) return null;
  const [least, most] = [Math.min(...points), Math.max(...points)];
  const room = (most - least || Math.abs(most) || 1) * 0.08;
  const x = (value) => 10 + (280 * (value - least + room)) / (most - least + 2 * room);
  return svg(
    "svg",
    { viewBox: "0 0 300 34", class: "interval", role: "img", "aria-label": `accepted ${low} to ${high}, expected ${expected}, came ${came}` },
    svg("line", { x1: 4, x2: 296, y1: 17, y2: 17, class: "axis" }),
    svg("rect", { x: x(low), y: 10, width: Math.max(2, x(high) - x(low)), height: 14, rx: 2, class: "accepted" }),
    svg("line", { x1: x(expected), x2: x(expected), y1: 6, y2: 28, class: "expected" }),
    svg("path", { d: `M${x(came)} 11 l6 6 l-6 6 l-6 -6 z`, class: "came" }),
    svg("title", {}, `accepted ${low} to ${high}; ◆ ${came}`),
  );
}
