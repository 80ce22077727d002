// Sorts and filters the table of students. Without it the table is read as it is.
"use strict";
const byId = id => document.getElementById(id);
const table = byId("matrix");
if (table) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const rows = [...body.rows].map(row => ({ row, cells: [...row.cells] }));
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
    const text = byId("text").value.toLocaleLowerCase();
    const lesson = byId("lesson").value, status = byId("status").value;
    const shown = heads.map((head, column) => column < 2 || !lesson
      || (lesson === "-" ? head.className === "lesson" : head.dataset.lesson === lesson));
    const has = (cell, column) =>
      cell.className === status && (shown[column] || lesson === "-");
    for (const { row, cells } of rows) {
      row.hidden = !cells[0].textContent.toLocaleLowerCase().includes(text)
        || (status !== "" && !cells.some(has));
      cells.forEach((cell, column) => { cell.hidden = !shown[column]; });
    }
    heads.forEach((head, column) => { head.hidden = !shown[column]; });
    byId("count").textContent = `${rows.filter(one => !one.row.hidden).length} of ${rows.length}`;
  };
  byId("filter").addEventListener("input", filter);
  byId("filter").addEventListener("submit", event => event.preventDefault());
  byId("filter").hidden = false;
  filter();
}
