// Suite scores: one number over several tasks, its parts, and the distributions behind it.
const isShare = (score) => score.range[0] === 0 && score.range[1] === 1;
function publishedCell(score, number) {
  if (!score.published || !score.published.length) return el("span", { class: "none" }, "–");
  return score.published.map((one, row) =>
    el(
      "div",
      {},
      num(["scores", number, "published", row, "value"], "plain"),
      " ",
      el(
        "span",
        { class: "quiet small" },
        web(one.source),
        one.note ? `; ${one.note}` : "",
        one.sanity ? " (a user's result)" : "",
      ),
    )
  );
}
function scoreMarks(score) {
  const marks = score.runs.map((run, which) =>
    run &&
    {
      value: run.agg_value,
      low: (run.interval || [])[0],
      high: (run.interval || [])[1],
      colour: runColour(which),
      name: runName(which),
    }
  ).filter(Boolean);
  for (const one of score.published.slice(0, 1)) {
    marks.push({ value: one.value, colour: "published", hollow: true, name: "published" });
  }
  return marks;
}
function scoreDomain(score) {
  const values = scoreMarks(score).flatMap((mark) => [mark.value, mark.low, mark.high]).filter((value) =>
    typeof value === "number"
  );
  if (score.range && score.range.every((end) => typeof end === "number")) return score.range;
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  return low === high ? [low, low + 1] : [low, high];
}
function scoreValue(score, number, which) {
  const base = ["scores", number, "runs", which];
  const run = score.runs[which];
  if (!run) return null;
  const value = typeof run.agg_value === "number"
    ? [
      el("b", {}, num([...base, "agg_value"], "plain")),
      " ",
      run.interval && range([...base, "interval", 0], [...base, "interval", 1], "plain"),
    ]
    : el("span", { class: "quiet reason" }, run.reason || "no value");
  const reference = typeof run.reference === "number" &&
    el("span", { class: "quiet small" }, " reference ", num([...base, "reference"], "plain"));
  return el("div", { class: "line" }, severalRuns && dot(which), value, reference);
}
const BETTER = {
  down: "lower is better",
  zero: "zero is best",
  reference: "best like the reference",
  helper: "part of other scores",
};
function suiteTable() {
  if (!DOC.scores.length) return null;
  const shown = DOC.scores.map((score, number) => [score, number]).filter(([score]) => score.better !== "helper");
  const anyPublished = shown.some(([score]) => score.published.length > 0);
  const rows = shown.map(([score, number]) => [
    [
      el("a", { class: "name", href: "#scores?score=" + encodeURIComponent(score.name) }, score.title || score.name),
      el("span", { class: "quiet small" }, BETTER[score.better]),
    ],
    score.runs.map((_, which) => scoreValue(score, number, which)),
    [
      isShare(score) ? null : axis(scoreDomain(score), "plain"),
      intervals(scoreMarks(score), scoreDomain(score), "plain"),
    ],
    ...(anyPublished ? [publishedCell(score, number)] : []),
  ]);
  return table(
    `Suite scores with their 95 % intervals${anyPublished ? ", next to published ones" : ""}`,
    [["Score"], ["Value", "score"], [
      el("span", {}, el("span", { class: "visually-hidden" }, "picture"), axis([0, 1], "plain")),
      "picture",
    ], ...(anyPublished ? [["Published", "source"]] : [])],
    rows,
    { class: "forest suite" },
  );
}
function distributionChart(score, which) {
  const found = Object.entries(score.runs[which].distributions || {});
  const series = found.map(([name, values], index) => ({
    name,
    ...values,
    colour: index ? runColour(index + which) : runColour(which),
  })).filter((one) => one.values.length);
  return series.length ? distributions(series, score.title || score.name) : null;
}
function partsList(score, number, which) {
  const parts = Object.entries(score.runs[which].parts || {}).filter(([, value]) => typeof value === "number");
  if (!parts.length) return null;
  const top = Math.max(1e-9, ...parts.map(([, value]) => value));
  return bars(
    `Parts of ${score.title || score.name}`,
    parts.map(([name]) => ({ name, path: ["scores", number, "runs", which, "parts", name], format: "plain" })),
    parts.every(([, value]) => value <= 1) ? 1 : top,
  );
}
function scoreSection(score, number) {
  const runs = score.runs.map((run, which) => {
    if (!run) return null;
    const base = ["scores", number, "runs", which];
    const skipped = Object.entries(run.skipped || {}).map(([reason]) =>
      el("li", {}, num([...base, "skipped", reason], "count"), ` left out: ${reason}`)
    );
    const notes = [].concat(run.notes || []).map((text) =>
      el("li", {}, typeof text === "string" ? text : JSON.stringify(text))
    );
    return el(
      "div",
      { class: "score-run" },
      scoreValue(score, number, which),
      typeof run.n === "number" &&
        el(
          "p",
          { class: "quiet small" },
          "n = ",
          num([...base, "n"], "count"),
          run.rule && `, ${run.rule}`,
          typeof run.stderr === "number" && [", standard error ", num([...base, "stderr"], "plain")],
        ),
      partsList(score, number, which),
      distributionChart(score, which),
      (skipped.length > 0 || notes.length > 0) && el("ul", { class: "plain" }, skipped, notes),
    );
  });
  return el(
    "section",
    { id: "score-" + score.name },
    el("h3", { tabindex: -1 }, score.title || score.name),
    score.explain && el("p", {}, score.explain),
    el(
      "p",
      { class: "quiet small" },
      score.pack ? `${score.pack}: ` : "",
      score.name,
      BETTER[score.better] ? `, ${BETTER[score.better]}` : "",
    ),
    runs,
    score.published && score.published.length > 0 && el("p", {}, "Published: ", publishedCell(score, number)),
  );
}
function scores(parameters) {
  const wanted = parameters.get("score");
  queueMicrotask(() => {
    const section = wanted && document.getElementById("score-" + wanted);
    if (section) {
      section.scrollIntoView();
      section.querySelector("h3").focus({ preventScroll: true });
    }
  });
  return [el("h2", { tabindex: -1 }, "Suite scores"), legend(), DOC.scores.map(scoreSection)];
}
