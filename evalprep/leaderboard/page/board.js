"use strict";
// A click on a heading sorts by it: first as the arrow says is better, then the other way round. Rows without a value,
// or that may not be compared, stay last; the reference stays first.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const key = (row, at) => {
    const cell = row.cells[at];
    if (at === 0) return cell.textContent;
    return cell.dataset.v === "" ? null : Number(cell.dataset.v);
  };
  const rank = (row, at) => {
    if (row.classList.contains("reference")) return 0;
    if (key(row, at) === null) return 3;
    return row.cells[at].classList.contains("other") ? 2 : 1;
  };
  for (const [at, head] of heads.entries()) {
    head.querySelector("button").addEventListener("click", () => {
      const before = head.getAttribute("aria-sort");
      const first = head.textContent.includes("↑") ? "descending" : "ascending";
      const other = first === "descending" ? "ascending" : "descending";
      const now = before === first ? other : first;
      for (const one of heads) one.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", now);
      const sign = now === "ascending" ? 1 : -1;
      const near = head.textContent.includes("→0");
      const rows = [...body.rows];
      rows.sort((one, two) => {
        const ranks = rank(one, at) - rank(two, at);
        if (ranks) return ranks;
        const [a, b] = [key(one, at), key(two, at)];
        if (typeof a === "string") return sign * a.localeCompare(b, "en", { numeric: true });
        return sign * (near ? Math.abs(a) - Math.abs(b) : a - b);
      });
      body.append(...rows);
    });
  }
}
