// The number under the pointer, under a finger, or where the arrow keys went.

const cursors = new Map(); // canvas -> the cell that is asked about
const clearings = []; // what takes back the number of a canvas

/** Pointing at a cell, tapping it, or walking there with the arrow keys shows its number. */
function addCursor(canvas, about, draw) {
  const tip = element("div", { className: "tip" });
  tip.setAttribute("role", "status");
  canvas.parentElement.append(tip);
  const show = (cell) => {
    if (String(cell) === String(cursors.get(canvas) ?? null)) return;
    cell ? cursors.set(canvas, cell) : cursors.delete(canvas);
    draw();
    tip.textContent = cell ? about(cell) : "";
    if (!cell) return;
    const [x, y] = middleOf(canvas, cell);
    const room = canvas.parentElement.clientWidth - tip.offsetWidth;
    tip.style.left = `${Math.max(0, Math.min(x - tip.offsetWidth / 2, room))}px`;
    const above = y - canvas.cells.cellHeight / 2 - tip.offsetHeight - 8;
    tip.style.top = `${above > -20 ? above : y + canvas.cells.cellHeight / 2 + 8}px`;
  };
  const point = (event) => show(cellAt(canvas, event.offsetX, event.offsetY));
  canvas.addEventListener("pointermove", point);
  canvas.addEventListener("pointerdown", point);
  canvas.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && show(null));
  canvas.addEventListener("blur", () => show(null));
  canvas.addEventListener("keydown", (event) => {
    const step = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
    }[event.key];
    if (event.key === "Escape") show(null);
    if (!step) return;
    event.preventDefault();
    const { rows, columns } = canvas.cells;
    const within = (value, count) => Math.min(Math.max(value, 0), count - 1);
    const [row, column] = cursors.get(canvas) ?? [-step[0], -step[1]];
    show([within(row + step[0], rows), within(column + step[1], columns)]);
  });
  clearings.push(() => show(null));
}

/** Take back all numbers: they may no longer hold. */
function forgetCursors() {
  clearings.forEach((clear) => clear());
}
