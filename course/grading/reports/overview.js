// Sorts and filters the table of students. Without it the table is read as it is.
"use strict";
const byId = id => document.getElementById(id);
const table = byId("matrix");
if (table) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const rows = [...body.rows].map(row => ({ row, cells: [...row.cells] }));
  const controls = ["text", "lesson", "status"].map(byId).filter(one => one);
  const value = id => byId(id)?.value ?? "";
  const ORDER = "mwtnqp"; // what needs help comes first

  const rank = cell => {
    const points = parseFloat(cell.textContent);
    return Number.isNaN(points) ? ORDER.indexOf(cell.className) - ORDER.length : points;
  };
  const compare = (column, a, b) => column === 0
    ? a.cells[0].textContent.localeCompare(b.cells[0].textContent)
    : rank(a.cells[column]) - rank(b.cells[column]);

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const sign = head.ariaSort === "ascending" ? -1 : 1;
      heads.forEach(one => one.removeAttribute("aria-sort"));
      head.ariaSort = sign > 0 ? "ascending" : "descending";
      rows.sort((a, b) => sign * compare(column, a, b));
      body.append(...rows.map(one => one.row));
    });
  });

  const filter = () => {
    const text = value("text").toLocaleLowerCase();
    const lesson = value("lesson"), status = value("status");
    let stem = "-";
    const shown = heads.map((head, column) => {
      const points = head.dataset.lesson === "-";
      if (points && column > 1) stem = heads[column + 1].dataset.lesson;
      if (column < 2 || !lesson) return true;
      return lesson === "-" ? points : stem === lesson;
    });
    let count = 0;
    for (const { row, cells } of rows) {
      const has = !status ||
        cells.some((cell, column) => (shown[column] || lesson === "-") && cell.className === status);
      row.hidden = !(has &&
        cells[0].textContent.toLocaleLowerCase().includes(text));
      count += !row.hidden;
      cells.forEach((cell, column) => { cell.hidden = !shown[column]; });
    }
    heads.forEach((head, column) => { head.hidden = !shown[column]; });
    byId("count").textContent = `${count} of ${rows.length}`;
  };
  controls.forEach(one => one.addEventListener("input", filter));
  byId("filter").addEventListener("submit", event => event.preventDefault());
  byId("filter").hidden = false;
  byId("count").textContent = `${rows.length} of ${rows.length}`;
}
