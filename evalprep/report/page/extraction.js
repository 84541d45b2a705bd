// Could the answers be read, and were the replies whole?
const AUDIT = [
  ["unparsed", "No answer found", "The filter could extract nothing; such a reply is never correct."],
  [
    "truncated",
    "Cut off",
    "The reply ended at its token limit. The harness logs no finish reason: without a metric `truncated` this is judged by length.",
  ],
  ["empty", "Empty", "The reply is blank."],
];
function auditTable() {
  const rows = DOC.tasks.flatMap((task, number) =>
    task.runs.map((run, which) => {
      if (!run) return null;
      const base = ["tasks", number, "runs", which];
      const share = (kind) =>
        run[kind] === null
          ? [
            el("span", { class: "none" }, "not known"),
            kind === "truncated" && run.truncated_suspected > 0 &&
            el("span", { class: "quiet small below" }, num([...base, "truncated_suspected"]), " end at one length"),
          ]
          : run[kind] === 0 && !(kind === "truncated" && run.truncated_unknown) ? num([...base, kind]) : [
          link({ task: task.name, run: which, reply: kind }, num([...base, kind])),
          svg(
            "svg",
            { class: "bar", width: 64, height: 10, "aria-hidden": "true" },
            svg("rect", { class: "track", width: "100%", height: 6, y: 2, rx: 2 }),
            svg("rect", { class: "warn", width: px(run[kind] / (run.rows || 1)), height: 6, y: 2, rx: 2 }),
          ),
          kind === "truncated" && run.truncated_unknown > 0 &&
          el("span", { class: "quiet small below" }, num([...base, "truncated_unknown"]), " not known"),
        ];
      return [
        [
          severalRuns && dot(which),
          task.title,
          severalRuns && el("span", { class: "quiet small below" }, runName(which)),
        ],
        num([...base, "rows"]),
        ...AUDIT.map(([kind]) => share(kind)),
        num([...base, "not_as_prepared"]),
        num([...base, "damaged"]),
        num([...base, "lengths", "median"]),
        num([...base, "lengths", "max"]),
      ];
    })
  ).filter(Boolean);
  const columns = [
    ["Task"],
    ["Rows", "number"],
    ...AUDIT.map(([, label, why]) => [el("abbr", { title: why }, label), "number share"]),
    [
      el("abbr", {
        title: "The prompt that was sent is not the prepared one, for instance because a chat template was added.",
      }, "Other prompt"),
      "number",
    ],
    [el("abbr", { title: "Lines of the samples file that cannot be read." }, "Damaged"), "number"],
    ["Median length", "number"],
    ["Longest", "number"],
  ];
  return table("Replies that could not be read or are not whole; lengths in characters", columns, rows);
}
function filterTables() {
  const rows = DOC.tasks.flatMap((task, number) =>
    task.runs.flatMap((run, which) => (run && run.filters.length > 1
      ? run.filters.map((one, row) => {
        const base = ["tasks", number, "runs", which, "filters", row];
        return [
          [
            severalRuns && dot(which),
            task.title,
            severalRuns && el("span", { class: "quiet small below" }, runName(which)),
          ],
          [one.name, row === 0 && el("span", { class: "quiet" }, " (used)")],
          num([...base, "value"]),
          num([...base, "unparsed"]),
          num([...base, "n"]),
        ];
      })
      : [])
    )
  );
  if (!rows.length) return null;
  return [
    el("h3", {}, "The same replies under each filter"),
    el(
      "p",
      {},
      "A strict filter reads answers only in the published form. Where it finds far fewer than the tolerant one, the model answers but not in that form.",
    ),
    table("Score and unread replies by filter", [["Task"], ["Filter"], ["Score", "number"], [
      "No answer found",
      "number",
    ], ["Rows", "number"]], rows),
  ];
}
function opinionTable() {
  const rows = DOC.tasks.flatMap((task, number) =>
    task.runs.flatMap((run, which) => (run ? run.opinions : []).map((one, row) => {
      const base = ["tasks", number, "runs", which, "opinions", row];
      return [
        [
          severalRuns && dot(which),
          task.title,
          severalRuns && el("span", { class: "quiet small below" }, runName(which)),
        ],
        one.scorer,
        num([...base, "value"]),
        num([...base, "only_it"]),
        num([...base, "only_ours"]),
        one.samples.length > 0 &&
          el("details", {}, el("summary", {}, "Which"), el("ul", {}, one.samples.map((id) => el("li", {}, id)))),
      ];
    }))
  );
  if (!rows.length) return null;
  return [
    el("h3", {}, "What other scorers say"),
    el("p", {}, "Verdicts of other tools on the same replies, for comparison with numbers that were made with them."),
    table("Other scorers beside ours", [["Task"], ["Scorer"], ["Its score", "number"], [
      "Right only to it",
      "number",
    ], ["Right only to ours", "number"], ["Samples"]], rows),
  ];
}
function lengthCharts() {
  const charts = DOC.tasks.map((task, number) => {
    const known = task.runs.map((run, which) => [run, which]).filter(([run]) => run && run.lengths.n);
    if (!known.length) return null;
    return el(
      "div",
      { class: "small-chart" },
      el("h4", {}, task.title),
      known.map(([run, which]) => {
        const { edges, counts } = run.lengths;
        const { n, median, max } = textAt(["tasks", number, "runs", which, "lengths"]);
        const middle = Math.round(edges[Math.round((edges.length - 1) / 2)]);
        const ticks = [[0, "0"], [0.5, counted(middle)], [1, max]];
        return histogram(
          [{ counts, colour: runColour(which) }],
          edges,
          `${runName(which)}: lengths of ${n} replies, median ${median}, longest ${max} characters`,
          ticks,
        );
      }),
    );
  }).filter(Boolean);
  return charts.length > 0 &&
    [
      el("h3", {}, "Length of the replies"),
      el("p", {}, "Characters, on a logarithmic axis. A spike at the right end speaks of a token limit."),
      el("div", { class: "small-charts" }, charts),
    ];
}
function damageList() {
  const items = DOC.tasks.flatMap((task) =>
    task.runs.flatMap((
      run,
      which,
    ) => (run
      ? run.damage.map((one) =>
        el("li", {}, `${severalRuns ? runName(which) + ", " : ""}${task.name}, line ${one.line}: ${one.why}`)
      )
      : [])
    )
  );
  return items.length > 0 && el("details", {}, el("summary", {}, "Damaged lines"), el("ul", {}, items));
}
function extraction() {
  return [
    el("h2", { tabindex: -1 }, "Extraction"),
    el("p", { class: "lead" }, "A score is only as good as the reading of the answers. Each count opens its samples."),
    auditTable(),
    filterTables(),
    opinionTable(),
    lengthCharts(),
    damageList(),
  ];
}
