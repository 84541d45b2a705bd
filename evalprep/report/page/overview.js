// First view: the verdict in words, then every score with its interval next to the published one.
function summaryCard(which) {
  const comparison = DOC.comparisons[which];
  const whole = comparison.overall;
  const closing = comparison.closing || [];
  const path = ["comparisons", which, "overall"];
  const against = comparison.before === null
    ? "Against the published verdicts"
    : `Against ${runName(comparison.before)}`;
  return el(
    "section",
    {
      class: "card" + (comparison.headline ? " verdict-" + comparison.headline.replaceAll(" ", "-") : ""),
      "data-run": comparison.now,
    },
    el(
      "h3",
      {},
      severalRuns && dot(comparison.now),
      severalRuns ? `${runName(comparison.now)} ` : "",
      el("span", { class: "quiet" }, against.replace(/^A/, severalRuns ? "a" : "A")),
      comparison.headline && [" ", verdict(comparison.headline)],
    ),
    whole && [
      el(
        "p",
        { class: "big" },
        num([...path, "delta"]),
        " points ",
        range([...path, "low"], [...path, "high"]),
      ),
      el(
        "p",
        {},
        "On ",
        num([...path, "n"]),
        ` samples, ${whole.name}: `,
        link({ comparison: which, flip: "gained" }, num([...path, "gained"]), " gained"),
        ", ",
        link({ comparison: which, flip: "lost" }, num([...path, "lost"]), " lost"),
        ". ",
        // The closing sentences below say it of every task, metric and score.
        closing.length === 0 && whole.words.charAt(0).toUpperCase() + whole.words.slice(1),
      ),
    ],
    closing.map((line) => el("p", { class: "closing" }, line)),
    (comparison.tasks.length > 1 || !whole) && movedTasks(comparison, which),
    comparison.warnings.map((warning) => note("warning", warning)),
  );
}
const NAMED_TASKS = 8;
// Which tasks got worse and which better, adjusted for their number: what all samples together can hide.
function movedTasks(comparison, which) {
  const lines = ["worse", "better", "not comparable", "not enough evidence"].map((kind) => {
    const found = comparison.tasks.map((task, row) => [task, row]).filter(([task]) => task.verdict === kind);
    return found.length > 0 && el(
      "p",
      { class: "moved" },
      verdict(kind, SHORT),
      " ",
      found.slice(0, NAMED_TASKS).map(([task, row], at) => [
        at > 0 && ", ",
        el("a", { href: "#comparison" }, task.task),
        " ",
        num(["comparisons", which, "tasks", row, "delta"]),
      ]),
      found.length > NAMED_TASKS && ` and ${found.length - NAMED_TASKS} more`,
    );
  }).filter(Boolean);
  const paired = comparison.tasks.filter((task) => task.n > 0).length;
  if (lines.length) return lines;
  return el(
    "p",
    { class: "quiet" },
    paired
      ? `No difference is shown in any of ${plural(paired, "task")}.`
      : comparison.stored.length
      ? storedInWords(comparison.stored)
      : "Nothing could be paired.",
  );
}
// What is said of runs without samples: how their stored scores compare, one by one.
function storedInWords(stored) {
  const of = (verdict) => stored.filter((one) => one.verdict === verdict).length;
  const parts = Object.keys(WORDS).map((verdict) => [of(verdict), verdict]).filter(([count]) => count);
  return [
    el("a", { href: "#comparison" }, plural(stored.length, "stored score")),
    ` of tasks without samples, unpaired: ${parts.map(([count, verdict]) => `${count} ${verdict}`).join(", ")}.`,
  ];
}
const WORDS = {
  better: "▲ Better",
  worse: "▼ Worse",
  equivalent: "= Equivalent",
  different: "≠ Different",
  "no difference shown": "≈ No difference shown",
  "not comparable": "⊘ Not comparable",
  "not enough evidence": "? Not enough evidence",
};
const SHORT = WORDS;
const WORST_FIRST = [
  "worse",
  "not comparable",
  "not enough evidence",
  "different",
  "better",
  "no difference shown",
  "equivalent",
];
// The worst word of what decides, over all comparisons of the page.
function badge() {
  const words = DOC.comparisons.map((comparison) => comparison.headline);
  const worst = WORST_FIRST.find((word) => words.includes(word));
  return worst && el(
    "p",
    { class: "badge" },
    verdict(worst),
    words.length > 1 && el("span", { class: "quiet small" }, ` the worst of ${plural(words.length, "comparison")}`),
  );
}
const verdict = (name, words = WORDS) =>
  name && el("span", { class: "chip " + name.replaceAll(" ", "-") }, words[name] || name);

const publishedMark = ({ value }, texts) => ({ value, texts, colour: "published", hollow: true, name: "published" });
function taskMarks(task, number) {
  const marks = [];
  let published = null;
  task.runs.forEach((run, which) => {
    if (!run) return;
    const texts = textAt(["tasks", number, "runs", which]);
    marks.push({ ...run.score, texts: texts.score, colour: runColour(which), name: runName(which) });
    published = published || (run.published && publishedMark(run.published, texts.published));
  });
  return published ? [...marks, published] : marks;
}
function domainOf(task) {
  if (task.percent) return [0, 1];
  const values = task.runs.flatMap((run) => (run ? [run.score.value, run.score.low, run.score.high] : [])).filter((
    value,
  ) => typeof value === "number");
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  return low === high ? [low, low + 1] : [low, high];
}
const DIRECTIONS = { up: "", down: " · lower is better", unknown: " · direction not known" };
// The paired differences of a task between runs: [comparison, its place, the task in it, the task's place].
function pairsOf(task) {
  return DOC.comparisons.flatMap((comparison, which) => {
    const row = comparison.tasks.findIndex((item) => item.task === task.name);
    const known = comparison.before !== null && row >= 0 && typeof comparison.tasks[row].delta === "number";
    return known ? [[comparison, which, comparison.tasks[row], row]] : [];
  });
}
const pairedDomain = () =>
  deltaDomain({ tasks: DOC.tasks.flatMap((task) => pairsOf(task).map(([, , item]) => item)) }, true);
function differenceLine([comparison, which, item, row]) {
  const path = ["comparisons", which, "tasks", row];
  return el(
    "div",
    { class: "line", "data-run": comparison.now },
    DOC.comparisons.length > 1 && dot(comparison.now),
    el("b", {}, num([...path, "delta"])),
    " ",
    range([...path, "low"], [...path, "high"]),
    " ",
    verdict(item.verdict, SHORT),
  );
}
function pairedPicture(pairs, domain) {
  const marks = pairs.map(([comparison, which, item, row]) => ({
    value: item.delta,
    low: item.low,
    high: item.high,
    texts: textAt(["comparisons", which, "tasks", row]),
    word: item.verdict,
    run: comparison.now,
    colour: runColour(comparison.now),
    name: `${runName(comparison.now)} minus ${runName(comparison.before)}`,
  }));
  const own = pairs.every(([, , item]) => inPoints(item)) ? null : deltaDomain({ tasks: pairs.map((pair) => pair[2]) }, false);
  return [own && axis(own, false, [0, 0.5, 1]), pairedBars(marks, own || domain)];
}
function taskScores() {
  const paired = DOC.tasks.some((task) => pairsOf(task).length);
  const anyPublished = DOC.tasks.some((task) => task.runs.some((run) => run && run.published));
  const domain = pairedDomain();
  const rows = DOC.tasks.map((task, number) => {
    const base = ["tasks", number, "runs"];
    const values = task.runs.map((run, which) =>
      run &&
      el(
        "div",
        { class: "line", "data-run": which },
        severalRuns && dot(which),
        el("b", {}, num([...base, which, "score", "value"])),
        " ",
        range([...base, which, "score", "low"], [...base, which, "score", "high"]),
      )
    );
    const first = task.runs.findIndex((run) => run && run.published);
    const published = first < 0 ? el("span", { class: "none" }, "–") : el(
      "div",
      { class: "line" },
      num([...base, first, "published", "value"]),
      el("span", { class: "quiet" }, " same rows"),
    );
    const metric = task.runs.find((run) => run);
    const pairs = pairsOf(task);
    const cells = [
      [
        el("span", { class: "name" }, task.title),
        el(
          "span",
          { class: "quiet small" },
          `${metric.metric || "no score logged"} · ${metric.filter}${
            DIRECTIONS[task.direction]
          }`,
        ),
      ],
      task.runs.map((run, which) =>
        run &&
        el(
          "div",
          { class: "line", "data-run": which },
          num([...base, which, "score", "n"]),
          run.score.n < run.rows && el("span", { class: "quiet" }, " of ", num([...base, which, "rows"])),
        )
      ),
      values,
      ...(paired ? [pairs.map(differenceLine), pairs.length > 0 && pairedPicture(pairs, domain)] : [
        [task.percent ? null : axis(domainOf(task)), intervals(taskMarks(task, number), domainOf(task))],
      ]),
      ...(anyPublished || !paired ? [published] : []),
    ];
    cells.name = task.title;
    return cells;
  });
  const shares = DOC.tasks.some((task) => task.percent);
  const picture = el(
    "span",
    {},
    el("span", { class: "visually-hidden" }, paired ? "picture of the differences" : "picture"),
    paired ? axis(domain, true, [0, 0.5, 1]) : shares && axis([0, 1], true),
  );
  const difference = paired ? [["Difference", "score"]] : [];
  return table(
    `Score${severalRuns ? " of each run" : ""} with its 95 % interval${shares ? ", shares in percent" : ""}${
      paired ? "; paired difference from the baseline on the same samples, with its own" : ""
    }`,
    [
      ["Task"],
      ["n", "number"],
      ["Score", "score"],
      ...difference,
      [picture, "picture"],
      ...(anyPublished || !paired ? [["Published", "number"]] : []),
    ],
    rows,
    { class: "forest", sortable: true },
  );
}
// A box that leaves the runs whose label has some letters, or, where no label has them, the rows of tasks that do.
function filterBox() {
  const rows = [...DOC.tasks, ...DOC.stored, ...DOC.groups, ...DOC.scores].length;
  if (DOC.runs.length < 3 && rows < 9) return null;
  const status = el("span", { class: "quiet small", role: "status" });
  const filter = (event) => {
    const letters = event.target.value.trim().toLowerCase();
    const has = (text) => text.toLowerCase().includes(letters);
    const runs = severalRuns ? DOC.runs.map((run, which) => which).filter((which) => has(DOC.runs[which].label)) : [];
    const byRun = letters !== "" && runs.length > 0;
    for (const part of main.querySelectorAll("[data-run]")) {
      part.toggleAttribute("hidden", byRun && !runs.includes(Number(part.dataset.run)));
    }
    const lines = [...main.querySelectorAll("tr[data-name]")];
    for (const line of lines) line.toggleAttribute("hidden", letters !== "" && !byRun && !has(line.dataset.name));
    const left = lines.filter((line) => !line.hidden).length;
    const told = byRun ? `${runs.length} of ${plural(DOC.runs.length, "run")}` : `${left} of ${plural(lines.length, "row")}`;
    status.textContent = letters === "" ? "" : told;
  };
  return el(
    "p",
    { class: "filter" },
    el("label", {}, "Filter runs or tasks ", el("input", { type: "search", name: "filter", oninput: filter })),
    " ",
    status,
  );
}
// Tasks of which a results file is all there is: no rows, so no interval and nothing to open.
function storedTable() {
  if (!DOC.stored.length) return null;
  const rows = DOC.stored.map((one, number) => {
    const cell = (run, which) =>
      run &&
      el(
        "div",
        { class: "line", "data-run": which },
        severalRuns && dot(which),
        el("b", {}, num(["stored", number, "runs", which, "value"])),
        run.stderr !== null && [" ± ", num(["stored", number, "runs", which, "stderr"])],
      );
    const cells = [
      one.task,
      one.filter === "none" ? one.metric : `${one.metric} (${one.filter})`,
      one.runs.map((run, which) =>
        run && run.n !== null && el("div", { class: "line", "data-run": which }, num(["stored", number, "runs", which, "n"]))
      ),
      one.runs.map(cell),
    ];
    cells.name = one.task;
    return cells;
  });
  const columns = [["Task"], ["Metric"], ["n", "number"], ["Score", "score"]];
  const shares = DOC.stored.some((one) => one.percent) ? ", shares in percent" : "";
  return table(`Tasks without samples: scores and standard errors of the results file${shares}`, columns, rows, {
    sortable: true,
  });
}
function groupTable() {
  if (!DOC.groups.length) return null;
  const cell = (number, kind) => (run, which) =>
    run &&
    el(
      "div",
      { class: "line" },
      severalRuns && dot(which),
      el("b", {}, num(["groups", number, "runs", which, kind, "agg_value"])),
      " ",
      run[kind].interval &&
        range(["groups", number, "runs", which, kind, "interval", 0], [
          "groups",
          number,
          "runs",
          which,
          kind,
          "interval",
          1,
        ]),
    );
  const rows = DOC.groups.map((group, number) => [
    group.name,
    group.runs.map((run, which) =>
      run && el("div", { class: "line" }, num(["groups", number, "runs", which, "micro", "n"]))
    ),
    group.runs.map(cell(number, "micro")),
    group.runs.map(cell(number, "macro")),
  ]);
  return table("Groups, in percent: all rows pooled, and the mean of the tasks' scores", [["Group"], ["n", "number"], [
    "Rows pooled",
    "score",
  ], ["Mean of tasks", "score"]], rows);
}
function legend() {
  const anyPublished = DOC.tasks.some((task) => task.runs.some((run) => run && run.published));
  return el(
    "p",
    { class: "legend" },
    DOC.runs.map((run, which) => el("span", { class: "key", "data-run": which }, dot(which), run.label)),
    anyPublished &&
      el("span", { class: "key" }, el("span", { class: "dot published", "aria-hidden": "true" }), "published"),
  );
}
function overview() {
  const notes = DOC.runs.flatMap((run, which) =>
    run.notes.map((text) => note("quiet", severalRuns ? `${run.label}: ` : "", text))
  );
  const undeclared = DOC.tasks.filter((task) => task.runs.some((run) => run && !run.declared)).map((task) => task.name);
  if (undeclared.length) {
    notes.push(
      note("quiet", `These tasks name no primary metric, so the usual one is read: ${undeclared.join(", ")}.`),
    );
  }
  return [
    el("h2", { tabindex: -1 }, "Overview"),
    filterBox(),
    el("div", { class: "cards" }, DOC.comparisons.map((_, which) => summaryCard(which))),
    legend(),
    DOC.tasks.length > 0 && taskScores(),
    storedTable(),
    groupTable(),
    suiteTable(),
    notes,
  ];
}
