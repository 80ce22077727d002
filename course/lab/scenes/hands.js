// Lessons 4 and 5: two positions as hands of clocks. Above are the dials, below is the text as an axis,
// and over each of its positions the score that a word there would get.

const WIDTH = 8;
const RATES = frequencies(WIDTH);
const POSITIONS = 64;

/**
 * A scene with two words that are moved along the text.
 *
 * words: the two of them, {key in the state: {name, look}}; the curve belongs to the first.
 * vectors(state): the vector of each at a position, {key: position => (D,)}.
 */
function handsOf({ words, vectors, divisor, start, demo, hint, sentence, switches, axis }) {
  const [first, second] = Object.keys(words);
  return {
    start,
    demo,
    hint,
    draw(state, set, width) {
      const at = vectors(state);
      const score = (m, n) => dot(at[first].at(m), at[second].at(n)) / divisor;
      const margin = 34;
      const pixels = (width - 2 * margin) / (POSITIONS - 1);
      const x = (position) => margin + position * pixels;
      const [top, bottom] = [width < 560 ? 150 : 205, width < 560 ? 300 : 365];
      const scores = range(2 * POSITIONS - 1).map((i) => [i / 2, score(state[first], i / 2)]);
      const most = at.most;
      const y = (value) => (top + bottom) / 2 - (value / most) * ((bottom - top) / 2);
      const now = score(state[first], state[second]);
      const shift = state[second] - state[first];
      const moveBoth = (value) => set({ [first]: value, [second]: value + shift });
      const said = sentence(state, score);
      const handle = (key, place) =>
        h(
          "g",
          grip({
            name: words[key].name,
            value: state[key],
            range: [0, POSITIONS - 1],
            said: `${Math.round(state[key])}. ${said}`,
            motion: along(pixels),
            move: (value) => set({ [key]: value }),
          }),
          line([x(state[key]), bottom + 26], place, `stem ${words[key].look}`),
          pill(place, `${words[key].short} ${Math.round(state[key])}`, words[key].look),
        );
      const middle = x((state[first] + state[second]) / 2);
      const long = Math.max(64, Math.abs(shift) * pixels);
      return {
        height: bottom + 92,
        seen: said,
        switches: switches?.(state, set),
        shapes: [
          ...dials(at, words, state, set, width),
          line([x(0), y(0)], [x(POSITIONS - 1), y(0)], "axis"),
          text([margin, top - 24], axis, "quiet left small"),
          line([x(0), y(now)], [x(POSITIONS - 1), y(now)], "level"),
          through(scores.map(([position, value]) => [x(position), y(value)]), `curve ${words[second].look}`),
          line([x(state[second]), y(now)], [x(state[second]), bottom + 26], `stem ${words[second].look}`),
          line([x(0), bottom + 26], [x(POSITIONS - 1), bottom + 26], "axis"),
          ...range(7).map((i) => text([x(10 * i), bottom + 43], String(10 * i), "quiet small")),
          h(
            "g",
            grip({
              name: `${words[first].name} and ${words[second].name} together`,
              value: state[first],
              range: [Math.max(0, -shift), POSITIONS - 1 - Math.max(0, shift)],
              said: `${Math.round(state[first])} and ${Math.round(state[second])}. ${said}`,
              motion: along(pixels),
              move: moveBoth,
              look: "both",
            }),
            rect([middle - long / 2, bottom + 15], [long, 22], "bar", 11),
            text([middle, bottom + 26], "↔ both", "on-pill bold small"),
          ),
          handle(first, [x(state[first]), bottom - 6]),
          handle(second, [x(state[second]), bottom + 68]),
          h(
            "g",
            grip({
              name: `${words[second].name}, on the curve`,
              value: state[second],
              range: [0, POSITIONS - 1],
              said,
              motion: along(pixels),
              move: (value) => set({ [second]: value }),
            }),
            circle([x(state[second]), y(now)], 22, "near"),
            circle([x(state[second]), y(now)], 8, `knob ${words[second].look}`),
          ),
        ],
      };
    },
  };
}

/** A dial for each pair, with the hands of both; the fast ones can be turned. */
function dials(at, words, state, set, width) {
  const side = width / (WIDTH / 2);
  const radius = Math.min(side / 2 - 9, 66);
  const [first, second] = Object.keys(words);
  return range(WIDTH / 2).flatMap((pair) => {
    const center = [(pair + 0.5) * side, radius + 34];
    const hand = (key, vector, look) => {
      const place = tipOf(center, radius, pairOf(vector, pair).map((value) => value / at.reach[pair]));
      return { place, shapes: [line(center, place, `hand ${look}`), circle(place, 5, `tip ${look}`)] };
    };
    const angle = (key) => Math.atan2(...pairOf(at[key].at(state[key]), pair).toReversed());
    const [from, to] = [angle(second), angle(first)];
    return [
      text([center[0], 14], `pair ${pair}`, "quiet small"),
      circle(center, radius, "dial"),
      sector(center, radius * 0.55, from, wrapped(to - from), "between"),
      ...[second, first].flatMap((key) => {
        const { place, shapes } = hand(key, at[key].at(state[key]), words[key].look);
        const mine = at[key].mine?.(Math.round(state[key]));
        const ghost = mine ? h("g", { class: "ghost" }, shapes) : null;
        const own = mine ? hand(key, mine, words[key].look) : { place, shapes };
        if (RATES[pair] < 0.05) return [ghost, h("g", {}, own.shapes)];
        const turn = grip({
          name: `Hand of ${words[key].name}, pair ${pair}`,
          value: state[key],
          range: [0, POSITIONS - 1],
          motion: around(center, RATES[pair]),
          move: (value) => set({ [key]: value }),
        });
        return [ghost, h("g", turn, circle(own.place, 20, "near"), own.shapes)];
      }),
    ];
  });
}

/** The two features of a pair, [to the right, up]. */
const pairOf = (vector, pair) => [vector[pair], vector[pair + WIDTH / 2]];

/** How long the hands of each pair may be. */
const reachOf = (all) =>
  range(WIDTH / 2).map((pair) => Math.max(...all.map((one) => Math.hypot(...pairOf(one, pair)))));

SCENES.clock = handsOf({
  words: {
    one: { name: "The word", short: "at", look: "where" },
    other: { name: "The other word", short: "at", look: "quiet" },
  },
  start: { one: 20, other: 12 },
  demo: { one: 23 },
  hint: "Turn a hand by its tip, or drag a word along the text.",
  divisor: 1,
  axis: "dot product with a word at each position",
  vectors() {
    const at = { at: (position) => clock(position, WIDTH) };
    return { one: at, other: at, most: WIDTH / 2, reach: RATES.map(() => 1) };
  },
  sentence(state, score) {
    const [m, n] = [Math.round(state.one), Math.round(state.other)];
    const apart = Math.abs(m - n);
    return (
      `Positions ${m} and ${n}: the dot product of their rows is ${fixed(score(m, n), 2)}, ` +
      `as for any two positions ${apart} apart.`
    );
  },
});

const { query: QUERY, key: KEY, projections: PROJECTIONS } = EXAMPLE;

SCENES.rope = handsOf({
  words: {
    query: { name: "The query", short: "q", look: "query" },
    key: { name: "The key", short: "k", look: "key" },
  },
  start: { query: 20, key: 12, scheme: "rotated" },
  demo: { query: 26, key: 18 },
  hint: "Drag q, k or both along the text, or turn a hand by its tip.",
  divisor: Math.sqrt(WIDTH),
  axis: "score of the query with a key at each position",
  vectors({ scheme }) {
    const vector = (word, matrix) =>
      scheme === "rotated"
        ? (position) => rotated(word, position)
        : (position) => applied(matrix, added(word, clock(position, WIDTH)));
    const query = { at: vector(QUERY, PROJECTIONS[0]) };
    const key = { at: vector(KEY, PROJECTIONS[1]) };
    const all = range(POSITIONS).flatMap((position) => [query.at(position), key.at(position)]);
    MOST[scheme] ??= Math.max(
      ...range(POSITIONS).flatMap((m) => range(POSITIONS).map((n) => Math.abs(dot(query.at(m), key.at(n))))),
    );
    return { query, key, most: MOST[scheme] / Math.sqrt(WIDTH), reach: reachOf(all) };
  },
  sentence(state, score) {
    const [m, n] = [Math.round(state.query), Math.round(state.key)];
    const [apart, now] = [Math.abs(m - n), fixed(score(m, n), 2)];
    const which = m < n ? "the key is" : "the query is";
    const where = `Query at ${m}, key at ${n}: `;
    const later = m === n ? "at the same position" : `${which} ${apart} later`;
    if (state.scheme === "rotated") return `${where}${later}, so the score is ${now}, wherever they are.`;
    const others = range(POSITIONS - apart).map((i) => score(i + Math.max(0, m - n), i + Math.max(0, n - m)));
    const [low, high] = [Math.min, Math.max].map((end) => fixed(end(...others), 2));
    return `${where}the score is ${now}; with the same distance elsewhere, it is between ${low} and ${high}.`;
  },
  switches: (state, set) => [
    choice("Positions are", { rotated: "rotated (RoPE)", added: "added, then projected" }, state.scheme, (scheme) =>
      set({ scheme }),
    ),
  ],
});

const MOST = {}; // the largest product in the text, by scheme
