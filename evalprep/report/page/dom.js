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

// Digits as Python's format gives them, with ties to even: a page and a terminal must not differ in a last digit.
// `rounded` went away from zero on a tie; `exact` has the digits behind it, of which `kept` characters remain.
function evenly(rounded, exact, kept) {
  const tail = exact.slice(kept).replace(".", "");
  if (!/^50*$/.test(tail)) return rounded;
  const down = exact.slice(0, kept).replace(/\.$/, "");
  return Number(down.at(-1)) % 2 === 0 ? down : rounded;
}
function fixed(value, places) {
  const exact = Math.abs(value).toFixed(40);
  const text = evenly(Math.abs(value).toFixed(places), exact, exact.indexOf(".") + 1 + places);
  return (value < 0 ? "-" : "") + text;
}
function significant(value, digits) {
  if (value === 0) return "0";
  const [exact, exponent] = Math.abs(value).toExponential(60).split("e");
  const [rounded, shifted] = Math.abs(value).toExponential(digits - 1).split("e");
  const text = shifted === exponent ? evenly(rounded, exact, digits + (digits > 1 ? 1 : 0)) : rounded;
  return String((value < 0 ? -1 : 1) * Number(`${text}e${shifted}`));
}
const minus = (text) => (/^-[0.]*$/.test(text) ? text.slice(1) : text.replace("-", "\u2212"));
const signed = (
  text,
) => (/^[+-]?[0.]*$/.test(text) ? text.replace(/^[+-]/, "") : text.startsWith("-") ? text : "+" + text);
const FORMATS = {
  percent: (value) => minus(fixed(100 * value, 1)),
  points: (value) => minus(signed(fixed(100 * value, 1))),
  // as `number` of evalprep/score/screen.py: shares line up in a column
  plain: (value) =>
    minus(value === 0 || (Math.abs(value) >= 1e-4 && Math.abs(value) <= 1) ? fixed(value, 4) : significant(value, 4)),
  difference: (value) => minus(signed(significant(value, 3))),
  count: (value) => value.toLocaleString("en-US"),
  p: (value) => (value >= 0.9995 ? "1" : value < 1e-4 ? "< 0.0001" : significant(value, 2)),
};
const valueAt = (path) =>
  path.reduce((value, key) => (value === null || value === undefined ? undefined : value[key]), DOC);

// A number of the document, shown rounded; its full value and its place stay with it.
function num(path, format = "percent") {
  const value = valueAt(path);
  if (typeof value !== "number") return el("span", { class: "none" }, "–");
  return el(
    "data",
    { value: String(value), "data-path": JSON.stringify(path), "data-format": format, title: value },
    FORMATS[format](value),
  );
}
function range(low, high, format = "percent") {
  if (typeof valueAt(low) !== "number" || typeof valueAt(high) !== "number") return null;
  return el("span", { class: "range" }, "[", num(low, format), ", ", num(high, format), "]");
}

const plural = (count, one, many = one + "s") => `${FORMATS.count(count)} ${count === 1 ? one : many}`;
const runColour = (run) => `run-${run % 6}`;
const runName = (run) => DOC.runs[run].label;
const dot = (run) => el("span", { class: "dot " + runColour(run), "aria-hidden": "true" });
const severalRuns = DOC.runs.length > 1;

// A semantic table that becomes a list of cards on narrow screens. columns: [label, class]; rows: arrays of cells.
function table(caption, columns, rows, attributes = {}) {
  const head = el(
    "tr",
    { role: "row" },
    columns.map(([label, kind]) => el("th", { scope: "col", role: "columnheader", class: kind }, label)),
  );
  const body = rows.map((cells) =>
    el(
      "tr",
      { role: "row", class: cells.kind },
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
