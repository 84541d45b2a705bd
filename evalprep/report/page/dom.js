// Elements, numbers and untrusted text. Nothing here or elsewhere turns text into markup.
const DOC = JSON.parse(document.getElementById("document").textContent);
const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" && "value" in node && node.tagName !== "DATA") node.value = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : untrusted(String(child)));
  }
  return node;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// Characters that reorder, hide or control text are shown by their code point. Joiners stay: scripts and emoji need them.
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
const code = (character) => "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
const visible = (text) => String(text).replace(HIDDEN, (character) => `⟨${code(character)}⟩`);

function pieces(text, into) {
  let from = 0;
  for (const found of text.matchAll(HIDDEN)) {
    if (found.index > from) into.append(text.slice(from, found.index));
    const shown = document.createElement("span");
    shown.className = "hidden-character";
    shown.textContent = code(found[0]);
    into.append(shown);
    from = found.index + found[0].length;
  }
  if (from < text.length) into.append(text.slice(from));
}

// Text as a fragment: hidden characters visible, occurrences of `query` (lower case) marked.
function untrusted(text, query) {
  const fragment = document.createDocumentFragment();
  const lower = query ? text.toLowerCase() : "";
  // Lower case may differ in length (İ); places would then not fit.
  if (!query || lower.length !== text.length) {
    pieces(text, fragment);
    return fragment;
  }
  let from = 0;
  for (let at = lower.indexOf(query); at >= 0; at = lower.indexOf(query, from)) {
    pieces(text.slice(from, at), fragment);
    const mark = document.createElement("mark");
    pieces(text.slice(at, at + query.length), mark);
    fragment.append(mark);
    from = at + query.length;
  }
  pieces(text.slice(from), fragment);
  return fragment;
}

const at = (path, tree) =>
  path.reduce((value, key) => (value === null || value === undefined ? undefined : value[key]), tree);
const valueAt = (path) => at(path, DOC);
// How a number of the document is written: text that comes with it, so that a page and a terminal cannot differ.
const textAt = (path) => at(path, DOC.shown);

// A number of the document by its text; its full value and its place stay with it.
function num(path) {
  const [value, text] = [valueAt(path), textAt(path)];
  const place = JSON.stringify(path);
  if (typeof value !== "number" || typeof text !== "string") {
    return el("span", { class: "none", "data-path": place }, "–");
  }
  return el("data", { value: String(value), "data-path": place, title: value }, text);
}
function range(low, high) {
  if (typeof valueAt(low) !== "number" || typeof valueAt(high) !== "number") return null;
  return el("span", { class: "range" }, "[", num(low), ", ", num(high), "]");
}

// Counts of what the page itself filters; those of the document bring their text.
const counted = (count) => count.toLocaleString("en-US");
const plural = (count, one, many = one + "s", text = counted(count)) => `${text} ${count === 1 ? one : many}`;
const runColour = (run) => `run-${run % 6}`;
const runName = (run) => DOC.runs[run].label;
const dot = (run) => el("span", { class: "dot " + runColour(run), "aria-hidden": "true" });
const severalRuns = DOC.runs.length > 1;

// What a row is sorted by: the first number of a cell that is shown, else its text.
function sortKey(cell) {
  const shown = [...cell.querySelectorAll("data")].find((value) => !value.closest("[hidden]"));
  return shown ? Number(shown.value) : cell.textContent.trim();
}
// Sorts the rows of a table by a column: upward, then downward. Rows without its number, and sums, stay last.
function sortRows(head) {
  const body = head.closest("table").tBodies[0];
  const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  for (const other of head.parentNode.querySelectorAll("[aria-sort]")) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", sign === 1 ? "ascending" : "descending");
  const rows = [...body.rows].map((row) => ({ row, key: sortKey(row.cells[head.cellIndex]) }));
  const byNumber = rows.some(({ key }) => typeof key === "number");
  const rank = ({ row, key }) => (row.classList.contains("total") ? 2 : byNumber && typeof key !== "number" ? 1 : 0);
  rows.sort((one, two) => {
    const ranks = rank(one) - rank(two);
    if (ranks || rank(one)) return ranks;
    return sign * (byNumber ? one.key - two.key : one.key.localeCompare(two.key, "en", { numeric: true }));
  });
  body.append(...rows.map(({ row }) => row));
}
function sortButton(label) {
  return el("button", { type: "button", class: "sort", onclick: (event) => sortRows(event.target.closest("th")) }, label);
}

// A semantic table that becomes a list of cards on narrow screens. columns: [label, class]; rows: arrays of cells, with
// `kind` for the look of a row. `sortable`: a column with a plain label is sorted by its heading.
function table(caption, columns, rows, { sortable = false, ...attributes } = {}) {
  const canSort = (label) => sortable && rows.length > 1 && typeof label === "string";
  const head = el(
    "tr",
    { role: "row" },
    columns.map(([label, kind]) =>
      el(
        "th",
        { scope: "col", role: "columnheader", class: kind, "aria-sort": canSort(label) && "none" },
        canSort(label) ? sortButton(label) : label,
      )
    ),
  );
  const body = rows.map((cells) =>
    el(
      "tr",
      { role: "row", class: cells.kind, "data-name": cells.name },
      cells.map((cell, column) => {
        const [label, kind] = columns[column];
        const name = typeof label === "string" ? label : label.textContent;
        return column === 0
          ? el("th", { scope: "row", role: "rowheader", class: kind }, cell)
          : el("td", { role: "cell", class: kind, "data-label": visible(name) }, el("div", { class: "cell" }, cell));
      }),
    )
  );
  return el(
    "div",
    { class: "table" },
    el(
      "table",
      { role: "table", ...attributes },
      el("caption", {}, caption),
      el("thead", { role: "rowgroup" }, head),
      el("tbody", { role: "rowgroup" }, body),
    ),
  );
}
const note = (kind, ...children) => el("p", { class: "note " + kind }, ...children);
const link = (filters, ...children) => el("a", { href: "#samples?" + new URLSearchParams(filters) }, ...children);
// Text whose web addresses are links; nothing else ever becomes one.
function web(text) {
  return text.split(/(https?:\/\/[^\s<>"')\]]+)/).map((
    part,
    index,
  ) => (index % 2 ? el("a", { href: part, rel: "noopener noreferrer", target: "_blank" }, part) : part));
}
