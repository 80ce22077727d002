// Matrices as arrays of rows, and tensors that Python exported. Nothing here touches the page.

/** A tensor of `packed` as nested arrays; each is unpacked once. */
function unpacked(tensor) {
  tensor.nested ??= nested(floatsOf(tensor.base64), tensor.shape);
  return tensor.nested;
}

function floatsOf(base64) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

function nested(floats, [length, ...inner]) {
  if (inner.length === 0) return Array.from(floats);
  const size = inner.reduce((product, side) => product * side, 1);
  const part = (index) => floats.subarray(index * size, (index + 1) * size);
  return Array.from({ length }, (_, index) => nested(part(index), inner));
}

const transposed = (a) => a[0].map((_, column) => a.map((row) => row[column]));
const added = (a, b) => a.map((value, index) => value + b[index]);
const minus = (a, b) => a.map((row, i) => row.map((value, j) => value - b[i][j]));

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
  return sum;
}

/** A matrix times a vector. */
const applied = (matrix, vector) => matrix.map((row) => dot(row, vector));

function times(a, b) {
  const columns = transposed(b);
  return a.map((row) => applied(columns, row));
}

/** The largest absolute value in nested arrays; NaN if any is not a number. */
function largest(a) {
  return a.flat(Infinity).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
}

/** Positive numbers that sum to 1. */
function softmax(row) {
  const most = Math.max(...row);
  const parts = row.map((score) => Math.exp(score - most));
  const total = parts.reduce((sum, part) => sum + part, 0);
  return parts.map((part) => part / total);
}

/** By how much a hand turns from one row to another: radians, from the first feature to the second. */
function turnBetween([first, second], before, after) {
  const cross = before[first] * after[second] - before[second] * after[first];
  const along = after[first] * before[first] + after[second] * before[second];
  return Math.atan2(cross, along);
}
