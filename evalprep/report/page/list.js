// A list of any length: only the rows in sight exist. A listbox for the keyboard and for screen readers.
const ROW = 64; // pixels, as in the style sheet
class List {
  constructor({ draw, choose }) {
    this.draw = draw;
    this.choose = choose;
    this.rows = [];
    this.current = -1;
    this.space = el("div", { class: "space", role: "presentation" });
    this.node = el("div", {
      class: "list",
      role: "listbox",
      tabindex: 0,
      "aria-label": "Samples",
      onscroll: () => this.schedule(),
      onkeydown: (event) => this.key(event),
    }, this.space);
    this.resized = new ResizeObserver(() => this.schedule());
    this.resized.observe(this.node);
  }
  show(rows, keep) {
    this.rows = rows;
    this.space.style.height = `${rows.length * ROW}px`;
    if (!keep) this.node.scrollTop = 0;
    this.current = Math.min(this.current, rows.length - 1);
    this.render();
  }
  schedule() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.render();
    });
  }
  render() {
    const from = Math.max(0, Math.floor(this.node.scrollTop / ROW) - 4);
    const to = Math.min(this.rows.length, Math.ceil((this.node.scrollTop + this.node.clientHeight) / ROW) + 4);
    const items = [];
    for (let index = from; index < to; index += 1) {
      const item = el("div", {
        class: "item",
        role: "option",
        id: "option-" + index,
        "aria-selected": index === this.current ? "true" : "false",
        "aria-posinset": index + 1,
        "aria-setsize": this.rows.length,
        onclick: () => this.go(index, true),
      }, this.draw(this.rows[index]));
      item.style.top = `${index * ROW}px`;
      items.push(item);
    }
    this.space.replaceChildren(...items);
    if (this.current >= from && this.current < to) {
      this.node.setAttribute("aria-activedescendant", "option-" + this.current);
    } else this.node.removeAttribute("aria-activedescendant");
  }
  go(index, clicked) {
    if (!this.rows.length) return;
    this.current = Math.max(0, Math.min(this.rows.length - 1, index));
    const top = this.current * ROW;
    if (top < this.node.scrollTop) this.node.scrollTop = top;
    else if (top + ROW > this.node.scrollTop + this.node.clientHeight) {
      this.node.scrollTop = top + ROW - this.node.clientHeight;
    }
    this.render();
    this.choose(this.rows[this.current], this.current, clicked);
  }
  key(event) {
    const page = Math.max(1, Math.floor(this.node.clientHeight / ROW) - 1);
    const moves = {
      ArrowDown: this.current + 1,
      ArrowUp: this.current - 1,
      PageDown: this.current + page,
      PageUp: this.current - page,
      Home: 0,
      End: this.rows.length - 1,
    };
    if (event.key in moves) this.go(moves[event.key], false);
    else if ((event.key === "Enter" || event.key === " ") && this.current >= 0) this.go(this.current, true);
    else return;
    event.preventDefault();
  }
}
