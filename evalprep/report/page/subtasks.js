// Scores by subtask, sortable.
const SORTS = { name: "name", score: "score", difference: "difference from published", size: "number of rows" };
function subtaskTable(task, number, sort) {
  const places = new Map();
  task.runs.forEach((run, which) =>
    run &&
    run.subtasks.forEach((entry, row) => places.set(entry.name, [...(places.get(entry.name) || []), [which, row]]))
  );
  const entry = ([which, row]) => task.runs[which].subtasks[row];
  const gap = (one) => (one.published && typeof one.value === "number" ? one.value - one.published.value : Infinity);
  const keys = { name: () => 0, score: (one) => one.value ?? Infinity, difference: gap, size: (one) => -one.rows };
  const names = [...places.keys()].sort((a, b) =>
    keys[sort](entry(places.get(a)[0])) - keys[sort](entry(places.get(b)[0])) || a.localeCompare(b)
  );
  const domain = domainOf(task);
  const rows = names.map((name) => {
    const found = places.get(name);
    const path = ([which, row]) => ["tasks", number, "runs", which, "subtasks", row];
    const published = found.find((one) => entry(one).published);
    const marks = found.map((one) => ({
      ...entry(one),
      texts: textAt(path(one)),
      colour: runColour(one[0]),
      name: runName(one[0]),
    }));
    if (published) {
      marks.push(publishedMark(entry(published).published, textAt([...path(published), "published"])));
    }
    return [
      link({ task: task.name, subtask: name }, name),
      found.map((one) => el("div", { class: "line" }, num([...path(one), "rows"]))),
      found.map((one) =>
        el(
          "div",
          { class: "line" },
          severalRuns && dot(one[0]),
          el("b", {}, num([...path(one), "value"])),
          " ",
          range([...path(one), "low"], [...path(one), "high"]),
        )
      ),
      intervals(marks, domain),
      published ? num([...path(published), "published", "value"]) : el("span", { class: "none" }, "–"),
    ];
  });
  const picture = el("span", {}, el("span", { class: "visually-hidden" }, "picture"), axis(domain, task.percent));
  return table(
    `${task.title}: score by subtask with its 95 % interval`,
    [["Subtask"], ["n", "number"], ["Score", "score"], [picture, "picture"], ["Published", "number"]],
    rows,
    { class: "forest" },
  );
}
function subtasks() {
  const sections = DOC.tasks.map((task, number) => {
    const some = task.runs.some((run) => run && run.subtasks.length);
    if (!some) return null;
    const holder = el("div", {});
    const draw = (sort) => holder.replaceChildren(subtaskTable(task, number, sort));
    const choice = el(
      "select",
      { onchange: (event) => draw(event.target.value) },
      Object.entries(SORTS).map(([value, text]) => el("option", { value }, text)),
    );
    draw("name");
    const macro = task.runs.map((run, which) =>
      run && run.macro !== null &&
      el(
        "span",
        { class: "key" },
        severalRuns && dot(which),
        el(
          "span",
          {},
          "mean of subtasks ",
          el("b", {}, num(["tasks", number, "runs", which, "macro"])),
          ", mean of rows ",
          el("b", {}, num(["tasks", number, "runs", which, "score", "value"])),
        ),
      )
    );
    return el(
      "section",
      {},
      el("div", { class: "bar-of-controls" }, el("h3", {}, task.title), el("label", {}, "Sort by ", choice)),
      el("p", { class: "legend" }, macro),
      holder,
    );
  }).filter(Boolean);
  return [
    el("h2", { tabindex: -1 }, "Subtasks"),
    legend(),
    sections.length ? sections : note("quiet", "No task names subtasks (column subtask_name)."),
  ];
}
