// Elements of the page. Every string is inserted as text, never as markup, and invisible characters and those that reverse text
// (control characters, bidi overrides) are shown by their numbers.

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]/g;
// Very few texts have any of these, and a row has many texts.
const SUSPECT = new RegExp(HIDDEN.source);
const PAIRS = /[\ud800-\udbff][\udc00-\udfff]/g;

function seen(given) {
  const text = String(given);
  if (!SUSPECT.test(text)) return text;
  const kept = [];
  // Whole pairs are characters; halves are not.
  return text
    .replace(PAIRS, (pair) => `\ue000${kept.push(pair) - 1}\ue001`)
    .replace(HIDDEN, (c) => `\\u{${c.charCodeAt(0).toString(16)}}`)
    .replace(/\ue000(\d+)\ue001/g, (_, at) => kept[at] ?? "");
}

function put(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : seen(child));
  }
  return element;
}

// An element: `h("a.name", { href }, "words")`. Attributes that begin with `on` are listeners.
function h(spec, attributes, ...children) {
  const [tag, ...classes] = spec.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  if (attributes instanceof Node || typeof attributes === "string" || Array.isArray(attributes)) {
    children.unshift(attributes);
  } else {
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (name === "style") element.style.cssText = value;
      else element.setAttribute(name, value === true ? "" : seen(value));
    }
  }
  return put(element, children);
}

function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http:" + "//www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, seen(value));
  }
  return put(element, children);
}

const NUMBERS = new Intl.NumberFormat("en-US");
const count = (number) => NUMBERS.format(Number(number));
const plural = (number, one, many) => `${count(number)} ${number === 1 ? one : many ?? `${one}s`}`;

function seconds(value) {
  if (value >= 1) return `${value.toFixed(2)} s`;
  if (value >= 1e-3) return `${(value * 1e3).toFixed(1)} ms`;
  return `${(value * 1e6).toFixed(0)} µs`;
}

const GITHUB = "https:" + "//github.com/";
const HOMES = { triton: "triton-lang/triton", pytorch: "pytorch/pytorch", torch: "pytorch/pytorch", numpy: "numpy/numpy" };
const REFERENCES = /\b(triton|pytorch|torch|numpy)(?:#(\d+)| (?:commit )?([0-9a-f]{7,40})\b)|https:\/\/[^\s"'<>)\]]+/g;

// Text in which issues, commits and addresses are links.
function linked(text) {
  const parts = [];
  let at = 0;
  for (const match of String(text).matchAll(REFERENCES)) {
    const [words, home, issue, commit] = match;
    parts.push(text.slice(at, match.index));
    const href = !home ? words : `${GITHUB}${HOMES[home]}/${issue ? `issues/${issue}` : `commit/${commit}`}`;
    parts.push(h("a", { href, rel: "noreferrer noopener", target: "_blank" }, words));
    at = match.index + words.length;
  }
  parts.push(String(text).slice(at));
  return parts;
}

function copyButton(text, label) {
  const button = h("button.copy", { type: "button", title: "Copy", "aria-label": `Copy ${label}` }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed here";
    }
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  return button;
}
