// Vectors and positions. The tests compare each of these with PyTorch.

const added = (a, b) => a.map((value, index) => value + b[index]);
const dot = (a, b) => a.reduce((sum, value, index) => sum + value * b[index], 0);
const applied = (matrix, vector) => matrix.map((row) => dot(row, vector));
const transposed = (a) => a[0].map((_, column) => a.map((row) => row[column]));
const range = (length) => Array.from({ length }, (_, index) => index);

/** Positive numbers that sum to 1. */
function softmax(row) {
  const most = Math.max(...row);
  const parts = row.map((score) => Math.exp(score - most));
  const total = parts.reduce((sum, part) => sum + part, 0);
  return parts.map((part) => part / total);
}

/** An angle as the shortest turn: from -π to π. */
const wrapped = (angle) => angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI));

/** The frequency of every pair, in radians per position: (width / 2,). */
const frequencies = (width, base = 10000) => range(width / 2).map((i) => base ** ((-2 * i) / width));

/** A vector turned as RoPE does at a position: feature i with feature i + D / 2. */
function rotated(vector, position, rates = frequencies(vector.length)) {
  const half = vector.length / 2;
  const [cos, sin] = [Math.cos, Math.sin].map((of) => rates.map((rate) => of(rate * position)));
  return vector.map((value, i) =>
    i < half
      ? value * cos[i] - vector[i + half] * sin[i]
      : value * cos[i - half] + vector[i - half] * sin[i - half],
  );
}

/** A position's hands on dials: cosines, then sines. The table of lesson 4 interleaves them. */
const clock = (position, width) => rotated(range(width).map((i) => (i < width / 2 ? 1 : 0)), position);

/** A tensor that Python packed, as nested arrays; each is unpacked once. */
function unpacked(tensor) {
  const bytes = Uint8Array.from(atob(tensor.base64 ?? ""), (character) => character.charCodeAt(0));
  tensor.nested ??= nested([...new Int8Array(bytes.buffer)].map((v) => v * tensor.scale), tensor.shape);
  return tensor.nested;
}

function nested(values, [length, ...inner]) {
  if (inner.length === 0) return values;
  const size = inner.reduce((product, side) => product * side, 1);
  return range(length).map((i) => nested(values.slice(i * size, (i + 1) * size), inner));
}

/** What a scene draws of the student's own functions, by name; nothing on the public pages. */
const ownNumbers = (scene) => window.COURSE_OWN?.[scene]?.numbers ?? {};

/** A vector at each position: of the student's own rows, with the reference as its ghost, if there are any. */
const drawnVector = (reference, rows) => (rows ? { at: turning(rows), ghost: reference } : { at: reference });

/** Rows as hands at any position; between two of them, the hands are on their way. */
const turning = (rows) => (position) => {
  const [before, half] = [Math.min(Math.floor(position), rows.length - 2), rows[0].length / 2];
  const part = position - before;
  const pairs = range(half).map((i) => {
    const [from, to] = [rows[before], rows[before + 1]].map((row) => [row[i], row[i + half]]);
    const [start, end] = [from, to].map(([right, up]) => Math.atan2(up, right));
    const angle = start + part * wrapped(end - start);
    const length = (1 - part) * Math.hypot(...from) + part * Math.hypot(...to);
    return [length * Math.cos(angle), length * Math.sin(angle)];
  });
  return transposed(pairs).flat();
};
