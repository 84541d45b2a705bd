// Paired comparisons, one section each.
// Verdicts and graded scores between 0 and 1 are shown in percent and points.
function inPoints(item) {
  return item.binary || item.unit === "points";
}
function deltaDomain(comparison, scaled) {
  const values = comparison.tasks.filter((task) => inPoints(task) === scaled).flatMap((
    task,
  ) => [task.delta, task.low, task.high]);
  if (scaled && comparison.overall) values.push(comparison.overall.low, comparison.overall.high);
  const most = Math.max(0.01, ...values.filter((value) => typeof value === "number").map(Math.abs));
  const step = 10 ** Math.floor(Math.log10(most));
  const top = Math.ceil(most / step) * step;
  return [-top, top];
}
function differenceRow(comparison, which, item, path, name, domain) {
  const filters = { comparison: which, ...(item.task ? { task: item.task } : {}) };
  const cells = [
    name,
    [verdict(item.verdict, SHORT), el("span", { class: "quiet small below" }, item.words)],
    num([...path, "n"]),
    [
      el("b", {}, num([...path, "now"])),
      " / ",
      num([...path, "previous"]),
    ],
    [
      el("b", {}, num([...path, "delta"])),
      " ",
      range([...path, "low"], [...path, "high"]),
      item.clusters !== null &&
      el("span", { class: "quiet small below" }, "over ", num([...path, "clusters"]), " documents"),
    ],
    intervals(
      [{
        value: item.delta,
        low: item.low,
        high: item.high,
        texts: { ...textAt(path), value: textAt([...path, "delta"]) },
        colour: runColour(comparison.now),
        name: "difference",
      }],
      domain,
      0,
    ),
    [
      link({ ...filters, flip: "gained" }, "+", num([...path, "gained"])),
      " / ",
      link({ ...filters, flip: "lost" }, "\u2212", num([...path, "lost"])),
      // A mean over tasks has no rows of its own.
      (item.both > 0 || item.neither > 0) && el(
        "span",
        { class: "quiet small below" },
        num([...path, "both"]),
        item.binary ? " both" : " unmoved",
        item.binary && [", ", num([...path, "neither"]), " neither"],
      ),
    ],
    num([...path, "agreement"]),
    [num([...path, item.task ? "p_holm" : "p"]), el("span", { class: "quiet small below" }, item.test)],
    num([...path, "mde"]),
  ];
  if (!item.task) cells.kind = "total";
  return cells;
}
function causesTable(comparison, which) {
  const causes = [...new Set(comparison.tasks.flatMap((task) => Object.keys(task.causes)))];
  if (!causes.length) return null;
  const rows = comparison.tasks.map((
    task,
    number,
  ) => [
    task.task,
    ...causes.map((cause) =>
      task.causes[cause]
        ? link(
          { comparison: which, task: task.task, flip: "any", cause },
          num(["comparisons", which, "tasks", number, "causes", cause]),
        )
        : el("span", { class: "none" }, "–")
    ),
  ]);
  return table("Why verdicts changed: number of samples by cause; each number opens its samples", [
    ["Task"],
    ...causes.map((cause) => [cause, "number"]),
  ], rows);
}
const COUNTS = {
  missing: ["row that this run lacks", "rows that this run lacks"],
  extra: ["row without a counterpart", "rows without a counterpart"],
  changed_prompt: ["row with another prompt", "rows with another prompt"],
  duplicates: ["id that occurs twice and is left out", "ids that occur twice and are left out"],
  unscored: ["row without a finite score", "rows without a finite score"],
  unreadable: ["published verdict that cannot be read", "published verdicts that cannot be read"],
  damaged: ["damaged line", "damaged lines"],
};
function problems(comparison, which) {
  const items = comparison.tasks.flatMap((task, number) =>
    Object.entries(task.counts).filter(([, count]) => count).map(([kind, count]) => {
      const ids = task[kind === "damaged" ? "damage" : kind] || [];
      return el(
        "li",
        {},
        el("b", {}, task.task),
        ": ",
        num(["comparisons", which, "tasks", number, "counts", kind]),
        " ",
        COUNTS[kind] ? COUNTS[kind][count === 1 ? 0 : 1] : kind,
        ids.length > 0 &&
          el(
            "details",
            {},
            el("summary", {}, ids.length < count ? `the first ${ids.length}` : "which"),
            el("ul", { class: "ids" }, ids.map((id) => el("li", {}, id))),
          ),
      );
    })
  );
  const notes = comparison.tasks.flatMap((task) =>
    task.notes.map((text) => el("li", {}, el("b", {}, task.task), ": ", text))
  );
  const tasks = [[comparison.missing_tasks, "only in the baseline"], [comparison.extra_tasks, "only in the candidate"]]
    .filter(([names]) => names.length).map(([names, words]) => el("li", {}, `Tasks ${words}: ${names.join(", ")}`));
  const all = [...tasks, ...items, ...notes];
  return all.length > 0 && [el("h4", {}, "What to know about the pairs"), el("ul", { class: "plain" }, all)];
}
// Metrics over all rows, stored scores and suite scores: what has no verdict per row.
const OTHERS = [
  ["metrics", "Metrics over all rows"],
  ["further", "Further metrics and filters of the same rows"],
  ["stored", "Stored scores of tasks without samples, unpaired"],
  ["suite", "Suite scores"],
];
function otherTables(comparison, which) {
  return OTHERS.map(([part, title]) => {
    const rows = (comparison[part] || []).map((item, row) => {
      const path = ["comparisons", which, part, row];
      return [
        item.name,
        [verdict(item.verdict, SHORT), el("span", { class: "quiet small below" }, item.words)],
        num([...path, "n"]),
        [el("b", {}, num([...path, "now"])), " / ", num([...path, "previous"])],
        [
          item.unit === "ratio" && "ratio ",
          el("b", {}, num([...path, "delta"])),
          " ",
          range([...path, "low"], [...path, "high"]),
        ],
        num([...path, "p_holm"]),
      ];
    });
    return rows.length > 0 && table(title, [
      ["Score"],
      ["Verdict"],
      ["n", "number"],
      ["Candidate / baseline", "number"],
      ["Difference", "score"],
      ["p (Holm)", "number"],
    ], rows, { sortable: true });
  });
}
function comparisonSection(which) {
  const comparison = DOC.comparisons[which];
  const base = ["comparisons", which];
  const other = comparison.before === null ? "published verdicts" : runName(comparison.before);
  const domain = deltaDomain(comparison, true);
  const rows = comparison.tasks.map((task, number) =>
    differenceRow(
      comparison,
      which,
      task,
      [...base, "tasks", number],
      task.task,
      inPoints(task) ? domain : deltaDomain({ tasks: [task] }, false),
    )
  );
  for (const part of ["overall", "pooled"]) {
    const item = comparison[part];
    if (item && comparison.tasks.length > 1) {
      rows.push(differenceRow(comparison, which, item, [...base, part], item.name, domain));
    }
  }
  const picture = el("span", {}, el("span", { class: "visually-hidden" }, "picture"), axis(domain, true, [0, 0.5, 1]));
  return el(
    "section",
    {},
    el("h3", {}, severalRuns && dot(comparison.now), `${runName(comparison.now)} against ${other}`),
    comparison.warnings.map((warning) => note("warning", warning)),
    table(
      `Paired difference on the same samples with its ${textAt([...base, "confidence"])} interval, in points`,
      [
        ["Task"],
        ["Verdict"],
        ["n", "number"],
        ["Candidate / baseline", "number"],
        ["Difference", "score"],
        [picture, "picture"],
        ["Gained / lost", "number"],
        ["Agree %", "number"],
        [
          el("abbr", {
            title: "p-value, adjusted over the tasks by Holm's method; of all samples together, unadjusted",
          }, "p (Holm)"),
          "number",
        ],
        [
          el("abbr", {
            title: "Smallest true difference that a comparison of this size would find with 80 % probability",
          }, "Detectable"),
          "number",
        ],
      ],
      rows,
      { class: "paired", sortable: true },
    ),
    otherTables(comparison, which),
    causesTable(comparison, which),
    problems(comparison, which),
  );
}
function comparisons() {
  return [
    el("h2", { tabindex: -1 }, "Comparison"),
    el(
      "p",
      { class: "lead" },
      "Sample by sample: the same rows on both sides, so that noise common to both cancels. The candidate comes first, the baseline second; the interval is of candidate minus baseline, and the words are read from it.",
    ),
    DOC.comparisons.length ? DOC.comparisons.map((_, which) => comparisonSection(which)) : note(
      "quiet",
      "There is nothing to compare: the rows carry no published verdicts, and there is one run. Give a second run: evalprep report RUN --baseline OTHER.",
    ),
  ];
}
