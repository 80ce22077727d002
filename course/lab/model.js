// What the lab computes: sums, products and softmaxes of the numbers that Python exported.
// Matrices are arrays of rows. Nothing here touches the page.

const SCHEMES = ["learned", "sinusoidal", "RoPE", "ALiBi"];

// --- the exported numbers ----------------------------------------------------------------------

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

/** The trained tables for the chosen width: tokens, strangers, positions, wq or wk. */
const trained = (settings, name) => unpacked(NUMBERS.trained[settings.width][name]);
const sinusoids = ({ width, base }) => unpacked(NUMBERS.sinusoidal[width][base]);
const frequencies = ({ width, base }) => unpacked(NUMBERS.frequencies[width][base]);

// --- matrices ----------------------------------------------------------------------------------

const transposed = (a) => a[0].map((_, column) => a.map((row) => row[column]));
const zeros = (rows, columns) => Array.from({ length: rows }, () => Array(columns).fill(0));
const each = (a, b, change) => a.map((row, i) => row.map((value, j) => change(value, b[i][j])));
const plus = (a, b) => each(a, b, (x, y) => x + y);
const minus = (a, b) => each(a, b, (x, y) => x - y);

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
  return sum;
}

function times(a, b) {
  const columns = transposed(b);
  return a.map((row) => columns.map((column) => dot(row, column)));
}

/** The largest absolute value; NaN if any is not a number. */
function largest(a) {
  return a.flat().reduce((most, value) => Math.max(most, Math.abs(value)), 0);
}

function cosine(a, b) {
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

/** Positive numbers that sum to 1. */
function softmax(row) {
  const most = Math.max(...row);
  const parts = row.map((score) => Math.exp(score - most));
  const total = parts.reduce((sum, part) => sum + part, 0);
  return parts.map((part) => part / total);
}

/** The weights of attention: a softmax over the keys up to the query, 0 for later ones. */
function causalWeights(scores) {
  return scores.map((row, query) => {
    const seen = softmax(row.slice(0, query + 1));
    return row.map((_, key) => seen[key] ?? 0);
  });
}

// --- what a token is ---------------------------------------------------------------------------

/** The words of a sentence, lower-case, and its punctuation marks, each for itself. */
function wordsIn(sentence) {
  return sentence.toLowerCase().match(/[\p{L}\p{N}'’]+|[.,;:!?]/gu) ?? [];
}

/** The words that the toy kingdom does not know, each once. */
function strangersIn(words) {
  return [...new Set(words)].filter((word) => !NUMBERS.words.includes(word));
}

/** A row per word, (T, C): trained, or drawn at random for the n-th stranger. */
function tokenRows(settings) {
  const strangers = strangersIn(settings.words);
  return settings.words.map((word) => {
    const known = NUMBERS.words.indexOf(word);
    return known >= 0
      ? trained(settings, "tokens")[known]
      : trained(settings, "strangers")[strangers.indexOf(word)];
  });
}

/** The indices of each word that occurs more than once, by word. */
function repeatedWords(words) {
  const places = new Map(words.map((word) => [word, []]));
  words.forEach((word, index) => places.get(word).push(index));
  return new Map([...places].filter(([, indices]) => indices.length > 1));
}

/** The first word that occurs twice, with the indices of all its places; none if all differ. */
const repeatedWord = (settings) => [...repeatedWords(settings.words)][0];

// --- where a token stands ----------------------------------------------------------------------

/** What a scheme adds to the tokens at positions start, start + 1, ...: (T, C). */
function positionRows(settings, scheme, start) {
  const end = start + settings.words.length;
  if (scheme === "learned") return trained(settings, "positions").slice(start, end);
  if (scheme === "sinusoidal") return sinusoids(settings).slice(start, end);
  return zeros(settings.words.length, settings.width);
}

/** A row, turned by RoPE as at this position. */
function turned(settings, row, position) {
  const rotation = NUMBERS.rotations[settings.width][settings.base];
  const values = unpacked(rotation.values)[position];
  const result = Array(row.length).fill(0);
  values.forEach((value, entry) => {
    result[rotation.to[entry]] += value * row[rotation.from[entry]];
  });
  return result;
}

/** What ALiBi adds to the scores of queries (rows) and keys (columns): (T, T). */
function penalties(settings, start) {
  const end = start + settings.words.length;
  const head = unpacked(NUMBERS.alibi)[settings.head - 1];
  return head.slice(start, end).map((row) => row.slice(start, end));
}

/** The rows of one of the three tabs: token, position or sum. */
function matrixOf(settings, scheme, matrix) {
  const [tokens, positions] = [tokenRows(settings), positionRows(settings, scheme, settings.start)];
  return { token: tokens, position: positions, sum: plus(tokens, positions) }[matrix];
}

function likenessOfRepeated(settings, scheme, matrix) {
  const [, [first, second]] = repeatedWord(settings);
  const rows = matrixOf(settings, scheme, matrix);
  return cosine(rows[first], rows[second]);
}

// --- what attention sees -----------------------------------------------------------------------

/**
 * What meets in the score, before any position is added: (T, C).
 * Positions alone: nothing, but RoPE needs something to turn, so there it is one word everywhere.
 */
function contents(settings, scheme) {
  const rows = tokenRows(settings);
  if (settings.withWords) return rows;
  return scheme === "RoPE" ? rows.map(() => rows[0]) : zeros(rows.length, settings.width);
}

/** The scores of the sentence with its first word at `start`, under a scheme or "none": (T, T). */
function scores(settings, scheme, start) {
  const rows = plus(contents(settings, scheme), positionRows(settings, scheme, start));
  const side = (weights) => {
    const projected = settings.projected ? times(rows, trained(settings, weights)) : rows;
    if (scheme !== "RoPE") return projected;
    return projected.map((row, index) => turned(settings, row, start + index));
  };
  const keys = side("wk");
  const products = side("wq").map((query) =>
    keys.map((key) => dot(query, key) / Math.sqrt(settings.width)),
  );
  return scheme === "ALiBi" ? plus(products, penalties(settings, start)) : products;
}

/** The last position at which the sentence may start. */
const lastStart = (words) => NUMBERS.longest - words.length;

const knownChanges = new Map();

/** The largest change of any score against the sentence at position 0, wherever it is moved. */
function largestChange(settings, scheme) {
  const { words, width, base, head, withWords, projected } = settings;
  const key = JSON.stringify([scheme, words, width, base, head, withWords, projected]);
  if (!knownChanges.has(key)) knownChanges.set(key, measuredChange(settings, scheme));
  return knownChanges.get(key);
}

function measuredChange(settings, scheme) {
  const home = scores(settings, scheme, 0);
  const starts = Array.from({ length: lastStart(settings.words) }, (_, index) => index + 1);
  return Math.max(
    0,
    ...starts.map((start) => largest(minus(scores(settings, scheme, start), home))),
  );
}

/** Whether a change is no more than what rounding to float32 leaves. */
function isRounding(settings, scheme, change) {
  return change <= 1e-5 * largest(scores(settings, scheme, 0));
}

/** The schemes whose scores stay the same wherever the sentence is moved. */
function steadySchemes(settings) {
  return SCHEMES.filter((scheme) => isRounding(settings, scheme, largestChange(settings, scheme)));
}

// --- hands that turn ---------------------------------------------------------------------------

/** The two features of each hand: neighbors, or for RoPE split halves. */
function pairsOf(settings) {
  const half = settings.width / 2;
  const isSplit = settings.scheme === "RoPE";
  return Array.from({ length: half }, (_, i) => (isSplit ? [i, i + half] : [2 * i, 2 * i + 1]));
}

/** The row whose pairs are drawn as hands: the position's own, or for RoPE the turned query. */
function handRow(settings, word, position) {
  if (settings.scheme !== "RoPE") {
    return positionRows({ ...settings, words: [word] }, settings.scheme, position)[0];
  }
  const row = tokenRows(settings)[settings.words.indexOf(word)];
  const query = settings.projected ? times([row], trained(settings, "wq"))[0] : row;
  return turned(settings, query, position);
}

/** By how much a hand turns from one row to another, in radians, clockwise with sine and cosine. */
function turnBetween([first, second], before, after) {
  const cross = after[first] * before[second] - after[second] * before[first];
  const along = after[first] * before[first] + after[second] * before[second];
  return Math.atan2(cross, along);
}

/** How far the slowest hand of the sinusoids turns from the first to the last position: radians. */
function slowestTurn(settings) {
  const table = sinusoids(settings);
  const pair = [settings.width - 2, settings.width - 1];
  const steps = table.slice(1).map((row, index) => turnBetween(pair, table[index], row));
  return Math.abs(steps.reduce((sum, step) => sum + step, 0));
}
