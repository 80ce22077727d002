// The five trained models, computed in the page: each has a table of tokens, one block with four
// heads, and the table once more. They differ in how they are told where a word is, and in all
// weights, for each was trained by itself.

const { heads: HEADS, width: WIDTH } = NUMBERS;
const D = WIDTH / HEADS; // features of a head
const HALF = D / 2; // RoPE turns feature i with feature i + HALF

/** Where the numbers of positions come from: the reference, or a student's own functions. */
const REFERENCE = NUMBERS.positions;
const OWN = { ...REFERENCE, ...NUMBERS.mine?.positions };

const weight = (scheme, name) => unpacked(NUMBERS.models[scheme][name]);

// --- what a word is, and what is added to it ---------------------------------------------------

const isKnown = (word) => NUMBERS.words.includes(word);

function tokenRow(scheme, word) {
  const { loudness } = NUMBERS.models[scheme];
  return weight(scheme, "tokens")[NUMBERS.words.indexOf(word)].map((value) => loudness * value);
}

const isAdded = (scheme) => scheme === "learned" || scheme === "sinusoidal";

/** The vector that a scheme adds to a word at a position: (C,); null if it adds nothing. */
function positionRow(scheme, position, from = OWN) {
  return isAdded(scheme) ? unpacked(from[scheme])[position] : null;
}

/** Rows that go into the block: (T, C). */
function inputs(scheme, sentence, positions, from) {
  return sentence.map((word, index) => {
    const row = positionRow(scheme, positions[index], from);
    return row ? added(tokenRow(scheme, word), row) : tokenRow(scheme, word);
  });
}

/** A row divided by the root of its mean square, each feature times its own weight. */
function normed(row, weights) {
  const size = Math.sqrt(dot(row, row) / row.length + 1.1920929e-7);
  return row.map((value, index) => (value / size) * weights[index]);
}

// --- attention ---------------------------------------------------------------------------------

/** A vector of a head, turned by RoPE as at this position. */
function turned(vector, position, from = OWN) {
  const { from: sources, to, values } = from.rope;
  const result = Array(vector.length).fill(0);
  unpacked(values)[position].forEach((value, entry) => {
    result[to[entry]] += value * vector[sources[entry]];
  });
  return result;
}

/** What W_q, W_k or W_v (0, 1, 2) makes of a normed row in a head: (D,). */
function projected(scheme, part, head, row) {
  const first = part * WIDTH + head * D;
  return applied(weight(scheme, "qkv").slice(first, first + D), row);
}

/** The queries and keys of a head as they meet in the score, turned if the scheme turns: (T, D). */
function meeting(scheme, part, head, rows, positions, from) {
  return rows.map((row, index) => {
    const vector = projected(scheme, part, head, row);
    return scheme === "rope" ? turned(vector, positions[index], from) : vector;
  });
}

/** What ALiBi adds to the score of a query and a key. */
const penalty = (head, query, key, from = OWN) => unpacked(from.alibi)[head][query][key];

/** The queries (T, D), keys (T, D), scores and causal weights (T, T) of a head. */
function attention(scheme, head, sentence, positions, from = OWN) {
  const rows = normedInputs(scheme, sentence, positions, from);
  const queries = meeting(scheme, 0, head, rows, positions, from);
  const keys = meeting(scheme, 1, head, rows, positions, from);
  const scores = queries.map((query, i) =>
    keys.map((key, j) => {
      const product = dot(query, key) / Math.sqrt(D);
      return scheme === "alibi"
        ? product + penalty(head, positions[i], positions[j], from)
        : product;
    }),
  );
  const weights = scores.map((row, query) => {
    const seen = softmax(row.slice(0, query + 1));
    return row.map((_, key) => seen[key] ?? 0);
  });
  return { queries, keys, scores, weights };
}

function normedInputs(scheme, sentence, positions, from) {
  const [weights] = weight(scheme, "norms");
  return inputs(scheme, sentence, positions, from).map((row) => normed(row, weights));
}

// --- the next word -----------------------------------------------------------------------------

/** The probability of each word to come next: (V,). */
function nextWord(scheme, sentence, positions, from = OWN) {
  const [, second, last] = weight(scheme, "norms");
  const rows = normedInputs(scheme, sentence, positions, from);
  const seen = Array.from({ length: HEADS }, (_, head) => {
    const weights = attention(scheme, head, sentence, positions, from).weights.at(-1);
    const values = rows.map((row) => projected(scheme, 2, head, row));
    return applied(transposed(values), weights);
  }).flat();
  const x = added(
    inputs(scheme, sentence, positions, from).at(-1),
    applied(weight(scheme, "out"), seen),
  );
  const wide = applied(weight(scheme, "widen"), normed(x, second)).map(gelu);
  const out = normed(added(x, applied(weight(scheme, "narrow"), wide)), last);
  return softmax(applied(weight(scheme, "tokens"), out));
}

const gelu = (x) => (x / 2) * (1 + erf(x / Math.SQRT2));

/** The error function, by the series with only positive terms; beyond 6 it is 1 to the last digit. */
function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x);
  let [sum, term] = [x, x];
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n += 1) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

/** The likeliest words, [word, probability] each. */
function likeliest(probabilities, count) {
  return probabilities
    .map((probability, id) => [NUMBERS.words[id], probability])
    .sort((one, other) => other[1] - one[1])
    .slice(0, count);
}

/**
 * The head to show: the one whose last word looks most at what the story is about, in both orders.
 * Without positions no head tells the two apart, so there it is the one that looks most at either.
 */
function tellingHead(scheme) {
  TELLING[scheme] ??= largestIndex(
    Array.from({ length: HEADS }, (_, head) => {
      const [first, second] = [home(), swappedHome()].map((sentence) =>
        attention(scheme, head, sentence, [...sentence.keys()], REFERENCE).weights.at(-1),
      );
      const [early, late] = NUMBERS.swapped;
      if (scheme === "none") return Math.min(first[early], first[late]);
      return Math.min(first[late], second[late]);
    }),
  );
  return TELLING[scheme];
}

const TELLING = {};
const largestIndex = (values) => values.indexOf(Math.max(...values));

/** The story's sentence, and the same with two words in each other's place. */
const home = () => NUMBERS.sentence.split(" ");
const swappedHome = () => swapped(home(), ...NUMBERS.swapped);

function swapped(list, one, other) {
  const result = [...list];
  [result[one], result[other]] = [list[other], list[one]];
  return result;
}

// --- positions without words, and RoPE's pairs --------------------------------------------------

/**
 * The score of a pair as it moves along the text: of the two positions alone where rows are added,
 * the penalty alone of ALiBi, and of the two given words where nothing else is there to meet.
 *
 * bare: without W_q and W_k, which leaves the head's own features of the normed rows.
 */
function pairScore(scheme, head, bare, [queryWord, keyWord], query, key, from = OWN) {
  if (scheme === "alibi") return penalty(head, query, key, from);
  const [weights] = weight(scheme, "norms");
  const side = (part, word, position) => {
    const row = isAdded(scheme) ? positionRow(scheme, position, from) : tokenRow(scheme, word);
    const own = normed(row, bare ? Array(WIDTH).fill(1) : weights);
    const vector = bare ? own.slice(head * D, (head + 1) * D) : projected(scheme, part, head, own);
    return scheme === "rope" ? turned(vector, position, from) : vector;
  };
  return dot(side(0, queryWord, query), side(1, keyWord, key)) / Math.sqrt(D);
}

/** The two features of each of RoPE's hands in a head. */
const PAIRS = Array.from({ length: HALF }, (_, pair) => [pair, pair + HALF]);

/** What each pair of features adds to the score of a query and a key, both turned: (D / 2,). */
const pairByPair = (query, key) =>
  PAIRS.map((pair) => pair.reduce((sum, i) => sum + query[i] * key[i], 0) / Math.sqrt(D));
