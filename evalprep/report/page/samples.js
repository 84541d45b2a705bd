// The samples view: search and filters above, the list at the left, one sample at the right.
const VIEW = { state: {}, list: null, round: 0 };
function samplesView(parameters) {
  const holder = el(
    "div",
    { class: "samples", "aria-busy": "true" },
    el("h2", { tabindex: -1 }, "Samples"),
    el("p", { class: "quiet" }, "Opening the samples …"),
  );
  STORE.open().then(() => buildSamples(holder, Object.fromEntries(parameters)));
  return [holder];
}
function buildSamples(holder, state) {
  VIEW.state = state;
  const status = el("p", { class: "status", role: "status", "aria-live": "polite" });
  const detail = el(
    "article",
    { class: "detail", "aria-labelledby": "sample-title" },
    el(
      "p",
      { class: "quiet" },
      "Choose a sample: its prompt, output, published output and extracted answers appear here.",
    ),
  );
  const move = (step) => {
    if (step === "back") {
      holder.classList.remove("reading");
      VIEW.list.node.focus();
      return;
    }
    VIEW.list.go(VIEW.list.current + step, true);
  };
  VIEW.move = move;
  VIEW.list = new List({
    draw: drawItem,
    choose: async (row, index, clicked) => {
      const round = (VIEW.chosen = row);
      const sample = await STORE.sample(row);
      if (VIEW.chosen !== round) return;
      detail.replaceChildren();
      fill(detail, {}, drawSample(row, sample, VIEW.state, move));
      detail.scrollTop = 0;
      if (clicked) {
        holder.classList.add("reading");
        detail.querySelector("h3").focus({ preventScroll: window.innerWidth > 860 });
      }
    },
  });
  const form = el("div", { class: "filter-holder" });
  const box = el("input", {
    type: "search",
    name: "search",
    value: state.search || "",
    placeholder: "Search prompts, outputs, answers",
    "aria-label": "Search in all texts of the samples",
    autocomplete: "off",
    spellcheck: "false",
  });
  let timer = 0;
  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => changed({ ...VIEW.state, search: box.value }), 250);
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      clearTimeout(timer);
      changed({ ...VIEW.state, search: box.value });
    }
  });
  const changed = (next) => {
    VIEW.state = Object.fromEntries(
      Object.entries(next).filter(([name, value]) =>
        value !== "" && !((name === "run" || name === "comparison") && value === "0")
      ),
    );
    const query = new URLSearchParams(VIEW.state).toString();
    history.replaceState(null, "", "#samples" + (query ? "?" + query : ""));
    const focused = document.activeElement && document.activeElement.name;
    form.replaceChildren(filterForm(VIEW.state, changed));
    if (focused && focused !== "search" && form.querySelector(`[name="${focused}"]`)) {
      form.querySelector(`[name="${focused}"]`).focus();
    }
    update();
  };
  const update = async () => {
    VIEW.round += 1;
    const round = VIEW.round;
    const candidates = passing(VIEW.state);
    const total = STORE.columns.task.length;
    const say = (rows, more) => {
      status.textContent = `${counted(rows.length)} of ${plural(total, "sample")}${more || ""}`;
    };
    const query = (VIEW.state.search || "").toLowerCase();
    if (!query) {
      VIEW.list.show(candidates);
      say(candidates);
      settle();
      return;
    }
    holder.setAttribute("aria-busy", "true");
    VIEW.list.show([]);
    let shown = 0;
    const found = await search(candidates, query, (rows, share) => {
      const now = performance.now();
      if (now - shown < 120) return;
      shown = now;
      VIEW.list.show(rows, true);
      say(rows, ` so far, ${Math.round(100 * share)} % searched`);
    }, () => round !== VIEW.round);
    if (found === null || round !== VIEW.round) return;
    VIEW.list.show(found, true);
    say(found);
    settle();
  };
  // Where list and sample stand side by side, the first one is open at once.
  const settle = () => {
    holder.removeAttribute("aria-busy");
    if (window.innerWidth > 860) VIEW.list.go(0, false);
  };
  const reset = el("button", {
    type: "button",
    onclick: () => {
      box.value = "";
      changed({});
    },
  }, "Clear filters");
  const limited = DOC.samples.shown < DOC.samples.rows;
  holder.replaceChildren();
  fill(holder, {}, [
    el("h2", { tabindex: -1 }, "Samples"),
    limited &&
    note(
      "quiet",
      num(["samples", "shown"]),
      " of ",
      num(["samples", "rows"]),
      " samples are in this page: those that flipped first, the others in even steps. All counts on the other views are of all samples.",
    ),
    el("div", { class: "bar-of-controls search" }, box, reset),
    form,
    el("div", { class: "two" }, el("div", { class: "left" }, status, VIEW.list.node), detail),
  ]);
  form.replaceChildren(filterForm(state, changed));
  update();
}
