// A list of any length; only visible rows have elements. All rows have one height.

class Rows {
  constructor(render, label) {
    this.render = render;
    this.length = 0;
    this.first = this.last = -1;
    this.at = 0;
    this.inside = h("div.rows-inside", { role: "presentation" });
    this.element = h("div.rows", { tabindex: "0", role: "grid", "aria-label": label }, this.inside);
    this.element.addEventListener("scroll", () => this.draw(), { passive: true });
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.watch = new ResizeObserver(() => this.draw(true));
    this.watch.observe(this.element);
  }

  get height() {
    return Number.parseFloat(getComputedStyle(this.element).getPropertyValue("--row")) || 28;
  }

  set(length) {
    this.length = length;
    this.at = Math.min(this.at, Math.max(0, length - 1));
    this.element.setAttribute("aria-rowcount", length);
    this.draw(true);
  }

  draw(again) {
    const height = this.height;
    this.inside.style.height = `${this.length * height}px`;
    const sight = printing ? Infinity : this.element.clientHeight;
    const first = printing ? 0 : Math.max(0, Math.floor(this.element.scrollTop / height) - 8);
    const last = Math.min(this.length, printing ? PRINTED : Math.ceil((this.element.scrollTop + sight) / height) + 8);
    if (!again && first === this.first && last === this.last) return;
    [this.first, this.last] = [first, last];
    const rows = document.createDocumentFragment();
    for (let nth = first; nth < last; nth += 1) {
      const row = this.render(nth);
      row.style.top = `${nth * height}px`;
      row.setAttribute("aria-rowindex", nth + 1);
      if (nth === this.at) row.classList.add("at");
      rows.append(row);
    }
    if (last < this.length && printing) rows.append(h("p.cut", `… and ${plural(this.length - last, "row")} more, not printed: narrow the filters`));
    this.inside.replaceChildren(rows);
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.height) - 1);
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -this.length, End: this.length };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in steps) {
      this.go(this.at + steps[event.key]);
    } else if (["Enter", " ", "ArrowRight", "ArrowLeft"].includes(event.key)) {
      const row = this.inside.querySelector(".at");
      const target = row?.querySelector("[data-main]");
      if (event.target !== this.element || !target) return;
      const open = target.getAttribute("aria-expanded");
      if ((event.key === "ArrowRight" && open === "true") || (event.key === "ArrowLeft" && open !== "true")) return;
      target.click();
    } else return;
    event.preventDefault();
  }

  go(nth) {
    this.at = Math.min(Math.max(0, nth), Math.max(0, this.length - 1));
    const top = this.at * this.height;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    const below = top + this.height - this.element.clientHeight;
    if (below > this.element.scrollTop) this.element.scrollTop = below;
    this.draw(true);
  }
}

// Paper has no scroll bar, so the number of printed rows is limited.
const PRINTED = 400;
let printing = false;
