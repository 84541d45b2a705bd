// What judges said in sum: where raters differ first, then every judge's ratings, then preferences between runs.
const judged = () => DOC.ratings.some((one) => one.values.length || one.preferences.length);
const ratingName = (one) => [el("span", { class: "name" }, one.task), el("span", { class: "quiet small below" }, `${one.rubric}.${one.name}`)];
function sampleLink(task, which, id) {
  return link({ task, run: which, search: id }, el("code", {}, untrusted(String(id), "")));
}
function apartTable() {
  const rows = DOC.ratings.flatMap((ratings, which) => [
    ...ratings.values.flatMap((one, row) =>
      one.apart.map((sample, at) => [sample.spread, [
        [severalRuns && dot(which), ratingName(one)],
        sampleLink(one.task, which, sample.sample_id),
        num(["ratings", which, "values", row, "apart", at, "spread"]),
        Object.entries(textAt(["ratings", which, "values", row, "apart", at, "votes"])).map(([judge, votes]) =>
          el("div", { class: "line" }, untrusted(judge, ""), ": ", votes.join(", "))
        ),
      ]])
    ),
    ...ratings.preferences.flatMap((one) =>
      one.apart.map((id) => [1, [
        [severalRuns && dot(which), el("span", { class: "name" }, one.task), el("span", { class: "quiet small below" }, `${one.rubric} against ${one.other}`)],
        sampleLink(one.task, which, id),
        "1",
        [untrusted(one.judge, ""), ": the reply in one place, in both orders"],
      ]])
    ),
  ]);
  const several = DOC.ratings.some((ratings) => ratings.values.some((one) => one.raters.length > 1));
  if (!rows.length) {
    return note(
      "quiet",
      several
        ? "No two judges differ on a sample."
        : "No disagreement is seen: one judge, and equal votes. A second judge, or several votes, would show how sure it is.",
    );
  }
  rows.sort((a, b) => b[0] - a[0]);
  return table(
    "Samples whose judges differ, or whose judge's votes differ; the furthest apart first",
    [["Task"], ["Sample"], ["Apart by", "number"], ["Votes"]],
    rows.map(([, cells]) => cells),
  );
}
function raterTable() {
  const rows = DOC.ratings.flatMap((ratings, which) =>
    ratings.values.flatMap((one, row) =>
      one.raters.map((rater, at) => {
        const base = ["ratings", which, "values", row, "raters", at];
        const missing = Object.entries(one.reasons).map(([reason, count]) => `${count} ${reason.replace(/_/g, " ")}`);
        return [
          [severalRuns && dot(which), ratingName(one)],
          [untrusted(rater.judge, ""), at === 0 && one.raters.length > 1 && el("span", { class: "quiet small below" }, "its ratings count")],
          [
            num([...base, "n"]), " of ", num(["ratings", which, "values", row, "asked"]),
            at === 0 && missing.length > 0 && el("span", { class: "quiet small below" }, missing.join(", ")),
          ],
          [el("b", {}, num([...base, "mean"])), " ", range([...base, "low"], [...base, "high"])],
          bars(
            `Ratings by ${rater.judge}`,
            Object.keys(rater.distribution).map((name) => ({ name, path: [...base, "distribution", name] })),
            Math.max(...Object.values(rater.distribution)),
          ),
          typeof rater.both === "number"
            ? [num([...base, "equal"]), " of ", num([...base, "both"]), " equal",
              typeof rater.alpha === "number" && [", alpha ", num([...base, "alpha"])]]
            : el("span", { class: "none" }, "–"),
        ];
      })
    )
  );
  return rows.length > 0 && [
    el("h3", {}, "Ratings"),
    table(
      "Mean ratings with 95 % intervals, and how often each rating was given",
      [["Task"], ["Judge"], ["Rated", "number"], ["Mean", "score"], ["Distribution", "picture"], ["With the judge that counts"]],
      rows,
    ),
  ];
}
function preferenceTable() {
  const rows = DOC.ratings.flatMap((ratings, which) =>
    ratings.preferences.map((one, row) => {
      const base = ["ratings", which, "preferences", row, "found"];
      return [
        [severalRuns && dot(which), el("span", { class: "name" }, one.task), el("span", { class: "quiet small below" }, runName(which))],
        untrusted(one.other, ""),
        untrusted(one.judge, ""),
        [num([...base, "n"]), " of ", num(["ratings", which, "preferences", row, "asked"])],
        [num([...base, "wins"]), " / ", num([...base, "ties"]), " / ", num([...base, "losses"])],
        [el("b", {}, num([...base, "win_rate", "value"])), " ",
          range([...base, "win_rate", "low"], [...base, "win_rate", "high"])],
        num([...base, "flips", "count"]),
        num([...base, "first_place", "value"]),
        num([...base, "longer", "value"]),
      ];
    })
  );
  return rows.length > 0 && [
    el("h3", {}, "Preferences"),
    el("p", {}, "Every pair was asked in both orders. A verdict that follows the place and not the reply counts as a tie and is listed above."),
    table(
      "Preferences between two runs, ties as a half",
      [["Task"], ["Against"], ["Judge"], ["Pairs", "number"], ["Won / tied / lost", "number"], ["Share", "score"],
        ["Follow the place", "number"], ["For the first", "number"], ["For the longer", "number"]],
      rows,
    ),
  ];
}
function ratings() {
  return [
    el("h2", { tabindex: -1 }, "Judges"),
    el("h3", {}, "Disagreements"),
    apartTable(),
    raterTable(),
    preferenceTable(),
  ];
}
