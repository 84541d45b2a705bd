// Pictures of numbers. All positions are percent, so that pictures follow the width of the page.
const px = (share) => `${(100 * Math.min(1, Math.max(0, share))).toFixed(3)}%`;
const place = (domain, value) => (value - domain[0]) / (domain[1] - domain[0] || 1);

// Labels of an axis, in percent where it is one of shares: where a picture begins and ends, no number of the document.
const tick = (value, percent = false) =>
  String(Number(((percent ? 100 : 1) * value).toPrecision(3))).replace("-", "\u2212");

// Intervals over one another: marks = [{value, low, high, texts, colour, hollow, name}].
function intervals(marks, domain, zero = null) {
  const known = marks.filter((mark) => typeof mark.value === "number");
  const height = 10 + 14 * Math.max(1, known.length);
  const words = known.map((mark) => {
    const bounds = typeof mark.low === "number" && typeof mark.high === "number"
      ? ` (${mark.texts.low} to ${mark.texts.high})`
      : "";
    return `${mark.name} ${mark.texts.value}${bounds}`;
  });
  const picture = svg("svg", {
    class: "intervals",
    height,
    width: "100%",
    role: "img",
    "aria-label": visible(words.join(", ")),
  });
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    picture.append(svg("line", { class: "grid", x1: px(share), x2: px(share), y1: 0, y2: height }));
  }
  if (zero !== null) {
    picture.append(
      svg("line", { class: "zero", x1: px(place(domain, zero)), x2: px(place(domain, zero)), y1: 0, y2: height }),
    );
  }
  known.forEach((mark, row) => {
    const y = 12 + 14 * row;
    const x = place(domain, mark.value);
    if (typeof mark.low === "number" && typeof mark.high === "number") {
      const [low, high] = [place(domain, mark.low), place(domain, mark.high)];
      picture.append(svg("line", { class: "whisker " + mark.colour, x1: px(low), x2: px(high), y1: y, y2: y }));
      for (const end of [low, high]) {
        if (end >= 0 && end <= 1) {
          picture.append(
            svg("line", { class: "whisker " + mark.colour, x1: px(end), x2: px(end), y1: y - 3, y2: y + 3 }),
          );
        }
      }
    }
    picture.append(
      svg("circle", { class: (mark.hollow ? "hollow " : "full ") + mark.colour, cx: px(x), cy: y, r: 4.5 }),
    );
  });
  return picture;
}
// Paired differences over one another, as bars from zero with their intervals: marks as of `intervals`, with a word.
function pairedBars(marks, domain) {
  const height = 8 + 16 * marks.length;
  const zero = place(domain, 0);
  const words = marks.map(({ name, texts, word }) =>
    `${name}: ${texts.delta}${texts.low ? ` (${texts.low} to ${texts.high})` : ""}, ${word}`
  );
  const picture = svg("svg", {
    class: "differences",
    height,
    width: "100%",
    role: "img",
    "aria-label": visible(words.join("; ")),
  }, svg("line", { class: "zero", x1: px(zero), x2: px(zero), y1: 0, y2: height }));
  marks.forEach((mark, row) => {
    const [y, end] = [4 + 16 * row, place(domain, mark.value)];
    const group = svg("g", { "data-run": mark.run });
    group.append(
      svg("rect", {
        class: "full paired-bar " + mark.colour,
        x: px(Math.min(zero, end)),
        width: px(Math.abs(end - zero)),
        y,
        height: 10,
      }),
    );
    if (typeof mark.low === "number" && typeof mark.high === "number") {
      const [low, high] = [px(place(domain, mark.low)), px(place(domain, mark.high))];
      group.append(svg("line", { class: "whisker " + mark.colour, x1: low, x2: high, y1: y + 5, y2: y + 5 }));
      for (const x of [low, high]) {
        group.append(svg("line", { class: "whisker " + mark.colour, x1: x, x2: x, y1: y + 1, y2: y + 9 }));
      }
    }
    picture.append(group);
  });
  return picture;
}
function axis(domain, percent = false, shares = [0, 0.25, 0.5, 0.75, 1]) {
  return el(
    "span",
    { class: "axis", "aria-hidden": "true" },
    shares.map((share) => el("span", {}, tick(domain[0] + share * (domain[1] - domain[0]), percent))),
  );
}
// Bars of shares or values: parts = [{name, path}].
function bars(caption, parts, top) {
  return el(
    "dl",
    { class: "bars", "aria-label": visible(caption) },
    parts.map(({ name, path }) => {
      const value = valueAt(path);
      const bar = svg(
        "svg",
        { class: "bar", height: 12, width: "100%", "aria-hidden": "true" },
        svg("rect", { class: "track", x: 0, y: 2, width: "100%", height: 8, rx: 2 }),
        typeof value === "number" &&
          svg("rect", { class: "full run-0", x: 0, y: 2, width: px(value / (top || 1)), height: 8, rx: 2 }),
      );
      return [el("dt", {}, name), el("dd", {}, bar, num(path))];
    }),
  );
}
// Histogram of given counts, or of several on the same edges.
function histogram(series, edges, label, ticks) {
  const most = Math.max(...series.flatMap((one) => one.counts)) || 1;
  const count = edges.length - 1;
  const picture = svg("svg", {
    class: "histogram",
    height: 96,
    width: "100%",
    role: "img",
    "aria-label": visible(label),
  }, svg("line", { class: "zero", x1: 0, x2: "100%", y1: 78, y2: 78 }));
  const share = 1 / series.length;
  series.forEach((one, which) =>
    one.counts.forEach((value, bin) => {
      if (!value) return;
      const height = (74 * value) / most;
      picture.append(
        svg("rect", {
          class: "full " + one.colour,
          x: px((bin + which * share) / count),
          width: px((0.92 * share) / count),
          y: 78 - height,
          height,
        }),
      );
    })
  );
  for (const [index, text] of ticks) {
    const anchor = index < 0.05 ? "start" : index > 0.95 ? "end" : "middle";
    picture.append(svg("text", { x: px(index), y: 92, "text-anchor": anchor }, text));
  }
  return picture;
}
// Distributions side by side: histogram and empirical distribution function. series = [{name, n, text, values, colour}].
function distributions(series, title) {
  const all = series.flatMap((one) => one.values);
  if (!all.length) return null;
  let [low, high] = [all[0], all[0]];
  for (const value of all) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low === high) {
    low -= 0.5;
    high += 0.5;
  }
  const bins = 20;
  const edges = Array.from({ length: bins + 1 }, (_, index) => low + ((high - low) * index) / bins);
  const counted = series.map((one) => {
    const counts = new Array(bins).fill(0);
    for (const value of one.values) {
      counts[Math.min(bins - 1, Math.floor(((value - low) / (high - low)) * bins))] += 1 / one.values.length;
    }
    return { counts, colour: one.colour };
  });
  const ticks = [0, 0.5, 1].map((share) => [share, tick(low + share * (high - low))]);
  const steps = svg("svg", {
    class: "steps",
    height: 120,
    width: "100%",
    viewBox: "0 0 400 100",
    preserveAspectRatio: "none",
    "aria-hidden": "true",
  });
  for (const share of [0, 0.5, 1]) {
    steps.append(svg("line", { class: "grid", x1: 0, x2: 400, y1: 100 * share, y2: 100 * share }));
  }
  for (const one of series) {
    const sorted = Float64Array.from(one.values).sort();
    let path = "M0 100";
    sorted.forEach((value, index) => {
      path += `H${(400 * (value - low)) / (high - low)}V${100 - (100 * (index + 1)) / sorted.length}`;
    });
    steps.append(svg("path", { class: "curve " + one.colour, d: path + "H400" }));
  }
  const words = `${title}: ${series.map((one) => `${one.name}, ${plural(one.n, "value", "values", one.text)}`).join("; ")}; from ${
    tick(low)
  } to ${tick(high)}`;
  return el(
    "figure",
    { class: "distributions" },
    el("div", {}, el("h4", {}, "Histogram"), histogram(counted, edges, words, ticks)),
    el(
      "div",
      {},
      el("h4", {}, "Share at or below"),
      steps,
      el("span", { class: "axis three", "aria-hidden": "true" }, ticks.map(([, text]) => el("span", {}, text))),
    ),
    el(
      "figcaption",
      {},
      series.map((one) =>
        el(
          "span",
          { class: "key" },
          el("span", { class: "dot " + one.colour, "aria-hidden": "true" }),
          `${one.name} (${plural(one.n, "value", "values", one.text)})`,
        )
      ),
    ),
  );
}
