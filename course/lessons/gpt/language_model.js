// Two small trained models, computed in the page: a table of tokens, a block, and the table once more.
// They are trained separately: "none" is not told any position, "rope" rotates queries and keys.

const sizes = () => {
  const { heads, models } = window.COURSE_NUMBERS.gpt;
  const width = models.none.tokens.shape[1];
  return { heads, width, perHead: width / heads };
};

const weight = (scheme, name) => unpacked(window.COURSE_NUMBERS.gpt.models[scheme][name]);

/** A row divided by the root of its mean square, each feature times its own weight. */
function normed(row, weights) {
  const size = Math.sqrt(dot(row, row) / row.length + 1.1920929e-7);
  return row.map((value, index) => (value / size) * weights[index]);
}

/** The rows that go into the block: (T, C). */
function tokenRows(scheme, sentence) {
  const { words, models } = window.COURSE_NUMBERS.gpt;
  const { loudness } = models[scheme];
  const table = weight(scheme, "tokens");
  return sentence.map((word) => table[words.indexOf(word)].map((value) => loudness * value));
}

const known = new Map(); // while a word is dragged, most redraws ask for the same again

function once(compute, ...given) {
  const key = `${compute.name} ${given}`;
  if (!known.has(key)) known.set(key, compute(...given));
  return known.get(key);
}

/** How much the last word attends to each word in a head, (T,), and what it reads there, (D,). */
function attention(scheme, head, sentence) {
  const { width, perHead } = sizes();
  const rows = tokenRows(scheme, sentence).map((row) => normed(row, weight(scheme, "norms")[0]));
  const [q, k, v] = range(3).map((part) => {
    const first = part * width + head * perHead;
    const matrix = weight(scheme, "qkv").slice(first, first + perHead);
    return rows.map((row) => applied(matrix, row));
  });
  const at = (vector, place) => (scheme === "rope" ? rotated(vector, place) : vector);
  const query = at(q.at(-1), rows.length - 1);
  const weights = softmax(k.map((key, place) => dot(query, at(key, place)) / Math.sqrt(perHead)));
  return { weights, read: applied(transposed(v), weights) };
}

/** The likeliest next words, [word, probability] each. */
function nextWords(scheme, sentence, count) {
  const [, second, last] = weight(scheme, "norms");
  const heads = range(sizes().heads).flatMap((head) => attention(scheme, head, sentence).read);
  const x = added(tokenRows(scheme, sentence).at(-1), applied(weight(scheme, "out"), heads));
  const wide = applied(weight(scheme, "widen"), normed(x, second)).map(gelu);
  const out = normed(added(x, applied(weight(scheme, "narrow"), wide)), last);
  return softmax(applied(weight(scheme, "tokens"), out))
    .map((probability, id) => [window.COURSE_NUMBERS.gpt.words[id], probability])
    .sort((one, other) => other[1] - one[1])
    .slice(0, count);
}

const gelu = (x) => (x / 2) * (1 + erf(x / Math.SQRT2));

/** The error function, to seven decimals (Abramowitz and Stegun, 7.1.26). */
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const sum = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592].reduce(
    (total, coefficient) => (total + coefficient) * t,
    0,
  );
  return Math.sign(x) * (1 - sum * Math.exp(-x * x));
}
