// Which samples are shown. The state lives in the address, so that a view can be kept, sent and gone back to.
const FLIPS = { "": "All samples", any: "Flipped", gained: "Gained", lost: "Lost", none: "Same verdict" };
const VERDICTS = { "": "Any", right: "Right", wrong: "Wrong", graded: "Graded" };
const REPLIES = {
  "": "Any",
  unparsed: "No answer found",
  truncated: "Cut off",
  unsure: "Not known whether cut off",
  empty: "Empty",
  prompt: "Prompt differs between runs",
  whole: "Read and whole",
};
const FLAG = { unparsed: UNPARSED, truncated: TRUNCATED, unsure: UNSURE, empty: EMPTY, prompt: OTHER_PROMPT };

function comparisonName(which) {
  const comparison = DOC.comparisons[which];
  return `${severalRuns ? runName(comparison.now) + " against " : "Against "}${
    comparison.before === null ? "published verdicts" : runName(comparison.before)
  }`;
}
// Rows that pass every filter but the search.
function passing(state) {
  const columns = STORE.columns;
  const task = state.task ? DOC.tasks.findIndex((one) => one.name === state.task) : -1;
  const subtask = state.subtask ? columns.subtasks.indexOf(state.subtask) : -1;
  const which = Number(state.comparison || 0);
  const [flip, cause] = [columns.flip[which], columns.cause[which]];
  const wantedCause = state.cause ? columns.causes[which].indexOf(state.cause) : -1;
  const run = Number(state.run || 0);
  const flags = columns.flags[run];
  const rows = [];
  for (let row = 0; row < columns.task.length; row += 1) {
    if (state.task && columns.task[row] !== task) continue;
    if (state.subtask && columns.subtask[row] !== subtask) continue;
    if (state.flip && flip) {
      const direction = flip[row];
      if (state.flip === "any" ? !direction : direction !== { none: 0, gained: 1, lost: 2 }[state.flip]) continue;
    }
    if (state.cause && (!cause || cause[row] !== wantedCause || !flip[row])) continue;
    if (state.verdict && verdictOf(row, run) !== state.verdict) continue;
    if (state.reply) {
      if (flags[row] < 0) continue;
      if (state.reply === "whole" ? flags[row] & (UNPARSED | TRUNCATED | EMPTY | UNSURE) : !(flags[row] & FLAG[state.reply])) {
        continue;
      }
    }
    rows.push(row);
  }
  return rows;
}
function option(value, text, chosen) {
  return el("option", { value, selected: String(value) === String(chosen || "") }, visible(text));
}
// The form; `changed` gets the new state.
function filterForm(state, changed) {
  const columns = STORE.columns;
  const set = (name) => (event) => {
    const next = { ...state, [name]: event.target.value };
    if (name === "task") delete next.subtask;
    if (name === "comparison") delete next.cause;
    changed(next);
  };
  const field = (name, label, options) =>
    el("label", {}, el("span", {}, label), el("select", { name, onchange: set(name) }, options));
  const choices = (map) => (chosen) => Object.entries(map).map(([value, text]) => option(value, text, chosen));
  const task = state.task ? DOC.tasks.findIndex((one) => one.name === state.task) : -1;
  const codes = new Set();
  columns.subtask.forEach((value, row) => {
    if (task < 0 || columns.task[row] === task) codes.add(value);
  });
  const subtaskNames = [...codes].map((value) => columns.subtasks[value]).filter(Boolean).sort((a, b) =>
    a.localeCompare(b)
  );
  const causes = DOC.comparisons.length ? columns.causes[Number(state.comparison || 0)].filter(Boolean) : [];
  return el(
    "form",
    {
      class: "filters",
      role: "search",
      "aria-label": "Filter samples",
      onsubmit: (event) => event.preventDefault(),
    },
    DOC.tasks.length > 1 &&
      field("task", "Task", [option("", "All tasks"), DOC.tasks.map((one) => option(one.name, one.title, state.task))]),
    subtaskNames.length > 1 && field("subtask", "Subtask", [
      option("", "All subtasks"),
      subtaskNames.map((name) => option(name, name, state.subtask)),
    ]),
    DOC.comparisons.length > 1 && field(
      "comparison",
      "Comparison",
      DOC.comparisons.map((_, which) => option(which, comparisonName(which), state.comparison || "0")),
    ),
    DOC.comparisons.length > 0 &&
      field("flip", DOC.comparisons.length > 1 ? "Flip" : comparisonName(0), choices(FLIPS)(state.flip)),
    causes.length > 0 &&
      field("cause", "Cause", [option("", "Any cause"), causes.map((cause) => option(cause, cause, state.cause))]),
    severalRuns &&
      field("run", "Verdict and reply of", DOC.runs.map((run, which) => option(which, run.label, state.run || "0"))),
    field("verdict", "Verdict", choices(VERDICTS)(state.verdict)),
    field("reply", "Reply", choices(REPLIES)(state.reply)),
  );
}
