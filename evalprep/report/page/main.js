// Views by address (#overview, #samples?task=...), theme, keys.
const VIEWS = [
  ["overview", "Overview", overview],
  ["comparison", "Comparison", comparisons],
  ["subtasks", "Subtasks", subtasks],
  ...(DOC.scores.length ? [["scores", "Suite scores", scores]] : []),
  ...(judged() ? [["judges", "Judges", ratings]] : []),
  ["extraction", "Extraction", extraction],
  ["samples", "Samples", samplesView],
  ["facts", "Run facts", facts],
];
const main = document.getElementById("main");
let shownView = "";
function show() {
  const [name, query] = location.hash.replace(/^#/, "").split(/\?(.*)/s);
  if (name === "main") return;
  const [key, title, build] = VIEWS.find((view) => view[0] === name) || VIEWS[0];
  main.replaceChildren();
  fill(main, {}, build(new URLSearchParams(query || "")));
  main.dataset.view = key;
  for (const anchor of document.querySelectorAll("#views a")) {
    if (anchor.dataset.view === key) anchor.setAttribute("aria-current", "page");
    else anchor.removeAttribute("aria-current");
  }
  document.title = visible(`${title} · ${DOC.title}`);
  if (shownView && shownView !== key) {
    window.scrollTo(0, 0);
    main.focus({ preventScroll: true });
  }
  shownView = key;
}
const THEMES = { auto: "Theme: automatic", dark: "Theme: dark", light: "Theme: light" };
function remembered(value) {
  try { // a page opened from disk may be denied storage
    if (value === undefined) return localStorage.getItem("evalprep-theme");
    localStorage.setItem("evalprep-theme", value);
  } catch { /* then the theme lasts as long as the page */ }
  return null;
}
function setTheme(button, name) {
  document.documentElement.dataset.theme = name;
  button.textContent = THEMES[name];
}
const theme = el("button", {
  type: "button",
  id: "theme",
  onclick: () => {
    const names = Object.keys(THEMES);
    const next = names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length];
    setTheme(theme, next);
    remembered(next);
  },
});
setTheme(theme, THEMES[remembered()] ? remembered() : "auto");
fill(document.getElementById("top"), {}, [
  el("div", {}, el("p", { class: "kind" }, "Evaluation report"), el("h1", {}, DOC.title), badge()),
  theme,
]);
fill(document.getElementById("views"), {}, [
  VIEWS.map(([key, title]) => el("a", { href: "#" + key, "data-view": key }, title)),
]);
document.addEventListener("keydown", (event) => {
  if (main.dataset.view !== "samples" || event.ctrlKey || event.metaKey || event.altKey || !VIEW.list) return;
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === "/" && !typing) {
    document.querySelector("input[name=search]").focus();
    event.preventDefault();
  }
  if ((event.key === "j" || event.key === "k") && !typing) VIEW.move(event.key === "j" ? 1 : -1);
});
window.addEventListener("hashchange", show);
show();
