// Heatmaps and hands on a canvas. Each drawing leaves behind where its cells are (`canvas.cells`),
// so that a pointer or the arrow keys can ask for the number in one.

const SMALL = 12; // pixels: the smallest text of a figure
const MARKS = "●■▲◆▼★";

/** A number for people: three digits that count, and a real minus sign. */
function shown(value, digits = 3) {
  if (!Number.isFinite(value)) return "not a number";
  if (value !== 0 && Math.abs(value) < 1e-3) return value.toExponential(0).replace("-", "−");
  const rounded = Number(value.toPrecision(digits));
  return rounded.toLocaleString("en-US", { maximumSignificantDigits: digits }).replace("-", "−");
}

const ink = (canvas, name) => getComputedStyle(canvas).getPropertyValue(`--${name}`);

/** A clean canvas, as wide as the page lets it be, in pixels of the page. */
function cleared(canvas, height) {
  const sharpness = window.devicePixelRatio || 1;
  const width = canvas.parentElement.clientWidth;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * sharpness);
  canvas.height = Math.round(height * sharpness);
  const pen = canvas.getContext("2d");
  pen.scale(sharpness, sharpness);
  pen.font = `${SMALL}px ${getComputedStyle(canvas).fontFamily}`;
  pen.textBaseline = "middle";
  return [pen, width];
}

// --- heatmaps ----------------------------------------------------------------------------------

/** Where a color scale ends: at the largest of some values that are numbers; 1 if all are zero. */
function limitOf(...matrices) {
  return largest(matrices.flat().map((row) => row.filter(Number.isFinite))) || 1;
}

/** The color of a value: from -limit to limit if signed, else from 0. */
function colorOf(value, limit, signed) {
  const map = signed ? NUMBERS.colors.signed : NUMBERS.colors.amount;
  const share = signed ? (value / limit + 1) / 2 : value / limit;
  return map[Math.min(map.length - 1, Math.max(0, Math.floor(share * map.length)))];
}

function isDark(color) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16) / 255);
  return 0.3 * red + 0.6 * green + 0.1 * blue < 0.5;
}

/**
 * A matrix as colors; what is not a number stays blank.
 *
 * figure: values (rows of numbers), rows (names), columns (names, or none to count them), marks
 * (row name -> index of its mark), limit, signed, square (cells as high as wide), axes (names of
 * the two axes), cursor (the cell to frame, or none).
 */
function drawHeatmap(canvas, figure) {
  const { values, rows, columns, marks = new Map(), limit, signed = true, square } = figure;
  const probe = canvas.getContext("2d");
  probe.font = `${SMALL}px ${getComputedStyle(canvas).fontFamily}`;
  const widest = Math.max(...rows.map((name) => probe.measureText(name).width));
  const names = Math.min(widest, 0.28 * canvas.parentElement.clientWidth);
  const left = names + 8 + (marks.size ? 18 : 0) + (square ? 20 : 0);
  const right = 62; // for the color scale
  const below = columns ? names * 0.72 + 34 : 38;
  const across = canvas.parentElement.clientWidth - left - right;
  const cellWidth = square ? Math.min(across / values[0].length, 46) : across / values[0].length;
  const cellHeight = square ? cellWidth : 28;
  const [width, height] = [cellWidth * values[0].length, cellHeight * rows.length];
  const top = 8;
  const [pen] = cleared(canvas, top + height + below);
  canvas.cells = { left, top, cellWidth, cellHeight, names };
  Object.assign(canvas.cells, { rows: rows.length, columns: values[0].length });

  values.forEach((row, i) =>
    row.forEach((value, j) => {
      if (!Number.isFinite(value)) return;
      pen.fillStyle = colorOf(value, limit, signed);
      // half a pixel more, so that no seam shows between neighbors
      pen.fillRect(left + j * cellWidth, top + i * cellHeight, cellWidth + 0.5, cellHeight + 0.5);
    }),
  );
  if (square) writeValues(pen, figure, canvas.cells);
  nameRows(pen, canvas, figure, left);
  nameColumns(pen, canvas, figure, top + height);
  drawScale(pen, canvas, left + width + 12, top, Math.min(height, 200), limit, signed);
  if (figure.cursor) frame(pen, canvas, figure.cursor);
}

/** The numbers themselves, if the longest that `brief` makes fits into a cell. */
function writeValues(pen, { values, limit, signed = true }, { left, top, cellWidth, cellHeight }) {
  if (pen.measureText("−0.00").width + 4 > cellWidth) return;
  pen.textAlign = "center";
  values.forEach((row, i) =>
    row.forEach((value, j) => {
      if (!Number.isFinite(value)) return;
      pen.fillStyle = isDark(colorOf(value, limit, signed)) ? "#ffffff" : "#000000";
      const [x, y] = [left + (j + 0.5) * cellWidth, top + (i + 0.5) * cellHeight];
      pen.fillText(brief(value, limit), x, y);
    }),
  );
}

/** A number as short as a cell is wide, with as many decimals as the whole matrix needs. */
function brief(value, limit) {
  const rounded = value.toFixed(limit >= 10 ? 0 : limit > 1 ? 1 : 2);
  return (Number(rounded) === 0 ? "0" : rounded).replace("-", "−");
}

function nameRows(pen, canvas, { rows, marks = new Map(), axes, square }, left) {
  const { top, cellHeight, names } = canvas.cells;
  pen.textAlign = "right";
  rows.forEach((name, index) => {
    const y = top + (index + 0.5) * cellHeight;
    pen.fillStyle = ink(canvas, "ink");
    pen.fillText(name, left - 6, y, names);
    if (!marks.has(name)) return;
    const mark = marks.get(name) % MARKS.length;
    const edge = left - 6 - Math.min(pen.measureText(name).width, names) - 6;
    pen.fillStyle = NUMBERS.colors.marks[mark % NUMBERS.colors.marks.length];
    pen.fillText(MARKS[mark], edge, y);
  });
  if (!square) return;
  pen.save();
  pen.translate(8, top + (rows.length * cellHeight) / 2);
  pen.rotate(-Math.PI / 2);
  pen.textAlign = "center";
  pen.fillStyle = ink(canvas, "quiet");
  pen.fillText(axes[0], 0, 0);
  pen.restore();
}

function nameColumns(pen, canvas, { columns, axes }, bottom) {
  const { left, cellWidth, names, columns: count } = canvas.cells;
  const step = Math.ceil(26 / cellWidth);
  for (let index = 0; index < count; index += columns ? 1 : step) {
    pen.save();
    pen.translate(left + (index + 0.5) * cellWidth, bottom + (columns ? 8 : 12));
    if (columns) pen.rotate(-Math.PI / 4);
    pen.textAlign = columns ? "right" : "center";
    pen.fillStyle = ink(canvas, "ink");
    pen.fillText(columns ? columns[index] : index, 0, 0, names);
    pen.restore();
  }
  pen.textAlign = "center";
  pen.fillStyle = ink(canvas, "quiet");
  pen.fillText(axes[1], left + (count * cellWidth) / 2, parseFloat(canvas.style.height) - 8);
}

/** The color scale, with its ends and its middle. */
function drawScale(pen, canvas, x, y, height, limit, signed) {
  for (let step = 0; step < height; step += 1) {
    const share = 1 - step / height;
    pen.fillStyle = colorOf(signed ? (2 * share - 1) * limit : share * limit, limit, signed);
    pen.fillRect(x, y + step, 10, 1.5);
  }
  pen.textAlign = "left";
  pen.fillStyle = ink(canvas, "ink");
  const ends = signed ? [limit, 0, -limit] : [limit, limit / 2, 0];
  ends.forEach((value, index) =>
    pen.fillText(shown(value, 2), x + 14, y + 6 + (index * (height - 12)) / 2),
  );
}

function frame(pen, canvas, [row, column]) {
  const { left, top, cellWidth, cellHeight } = canvas.cells;
  const place = [left + column * cellWidth, top + row * cellHeight, cellWidth, cellHeight];
  for (const [color, width] of [
    ["#ffffff", 5],
    ["#000000", 2.5],
  ]) {
    pen.strokeStyle = color;
    pen.lineWidth = width;
    pen.strokeRect(...place);
  }
}

/** The [row, column] of the cell at a place on the canvas; none beside the cells. */
function cellAt(canvas, x, y) {
  const { left, top, cellWidth, cellHeight, rows, columns } = canvas.cells;
  const [row, column] = [Math.floor((y - top) / cellHeight), Math.floor((x - left) / cellWidth)];
  return row >= 0 && row < rows && column >= 0 && column < columns ? [row, column] : null;
}

/** The middle of a cell, in pixels of the canvas. */
function middleOf(canvas, [row, column]) {
  const { left, top, cellWidth, cellHeight } = canvas.cells;
  return [left + (column + 0.5) * cellWidth, top + (row + 0.5) * cellHeight];
}

// --- hands -------------------------------------------------------------------------------------

/**
 * A face per pair, its first feature to the right, its second one up.
 *
 * figure: hands (for each pair its points at the positions to show, the present one last), reach
 * (for each pair the length of its longest hand), notes (a line under each face), cursor.
 */
function drawHands(canvas, figure) {
  const { hands, reach, notes, cursor } = figure;
  const width = canvas.parentElement.clientWidth;
  const columns = Math.min(hands.length, width >= 620 ? 8 : 4);
  const cellWidth = Math.min(width / columns, 150);
  const cellHeight = cellWidth + 38;
  const rows = Math.ceil(hands.length / columns);
  const [pen] = cleared(canvas, rows * cellHeight);
  canvas.cells = { left: 0, top: 0, cellWidth, cellHeight, rows, columns };
  hands.forEach((points, pair) => {
    const [column, row] = [pair % columns, Math.floor(pair / columns)];
    const x = (column + 0.5) * cellWidth;
    const y = row * cellHeight + cellWidth / 2;
    const radius = cellWidth / 2 - 8;
    const isChosen = cursor && cursor[0] === row && cursor[1] === column;
    pen.strokeStyle = ink(canvas, isChosen ? "link" : "line");
    pen.lineWidth = isChosen ? 3 : 1.5;
    pen.beginPath();
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    pen.stroke();
    points.forEach(([right, up], index) => {
      const isNow = index === points.length - 1;
      const scale = radius / (reach[pair] || 1);
      drawHand(pen, [x, y], [x + right * scale, y - up * scale], {
        color: isNow ? ink(canvas, "hand") : ink(canvas, "quiet"),
        width: isNow ? 3 : 1,
        strength: isNow ? 1 : (0.5 * (index + 1)) / points.length,
      });
    });
    pen.textAlign = "center";
    pen.fillStyle = ink(canvas, "ink");
    pen.fillText(`pair ${pair}`, x, y + radius + 16);
    pen.fillStyle = ink(canvas, "quiet");
    pen.fillText(notes[pair], x, y + radius + 31, cellWidth - 4);
  });
}

function drawHand(pen, from, to, { color, width, strength }) {
  if (!to.every(Number.isFinite)) return;
  pen.globalAlpha = strength;
  pen.strokeStyle = pen.fillStyle = color;
  pen.lineWidth = width;
  pen.beginPath();
  pen.moveTo(...from);
  pen.lineTo(...to);
  pen.stroke();
  pen.beginPath();
  pen.arc(...to, 1.5 + width, 0, 2 * Math.PI);
  pen.fill();
  pen.globalAlpha = 1;
}
