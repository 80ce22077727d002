// Lesson 4, and lesson 5 with other vectors: two positions as hands of clocks. Above are the dials, below is the
// text as an axis, and over each of its positions the score that a word there would get.

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
      const ghostOf = (m, n) => dot(at[first].ghost(m), at[second].ghost(n)) / divisor;
      const margin = 34;
      const pixels = (width - 2 * margin) / (POSITIONS - 1);
      const x = (position) => margin + position * pixels;
      const [top, bottom] = [width < 560 ? 150 : 205, width < 560 ? 300 : 365];
      const curve = (of, look) =>
        through(
          range(2 * POSITIONS - 1).map((i) => [x(i / 2), y(of(state[first], i / 2))]),
          `curve ${look}`,
        );
      const most = at.most;
      const y = (value) => (top + bottom) / 2 - (value / most) * ((bottom - top) / 2);
      const now = score(state[first], state[second]);
      const shift = state[second] - state[first];
      const moveBoth = (value) => set({ [first]: value, [second]: value + shift });
      const places = [state[first], state[second]].map((place) => Math.round(place));
      const wanted = at[first].ghost ? fixed(ghostOf(...places), 2) : "";
      const isOff = wanted && wanted !== fixed(score(...places), 2);
      const said = sentence(state, score) + (isOff ? ` The reference gives ${wanted}.` : "");
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
          at[first].ghost ? ghost([curve(ghostOf, words[second].look)]) : null,
          curve(score, words[second].look),
          line([x(state[first]), bottom + 26], [x(state[first]), bottom - 6], `stem ${words[first].look}`),
          line([x(state[second]), y(now)], [x(state[second]), bottom + 68], `stem ${words[second].look}`),
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
    const tip = (of, position) =>
      tipOf(center, radius, pairOf(of(position), pair).map((value) => value / at.reach[pair]));
    const angle = (key, position = state[key]) =>
      Math.atan2(...pairOf(at[key].at(position), pair).toReversed());
    const [from, to] = [angle(second), angle(first)];
    return [
      text([center[0], 14], `pair ${pair}`, "quiet small"),
      circle(center, radius, "dial"),
      sector(center, radius * 0.55, from, wrapped(to - from), "between"),
      ...[second, first].flatMap((key) => {
        const { at: of, ghost: behind } = at[key];
        const place = tip(of, state[key]);
        const pale = behind ? ghost(hand(center, tip(behind, state[key]), words[key].look)) : null;
        const shapes = hand(center, place, words[key].look);
        const rate = behind ? wrapped(angle(key, 1) - angle(key, 0)) : RATES[pair];
        const isTurned = state.scheme !== "added" && Math.abs(rate) > 0.05; // some are too slow
        if (!isTurned) return [pale, h("g", {}, shapes[0])];
        const turn = grip({
          name: `Hand of ${words[key].name}, pair ${pair}`,
          value: state[key],
          range: [0, POSITIONS - 1],
          motion: around(center, rate),
          move: (value) => set({ [key]: value }),
        });
        return [pale, h("g", turn, circle(place, 20, "near"), shapes)];
      }),
    ];
  });
}

/** The least and the largest score of all pairs of positions with this distance. */
function elsewhere(score, m, n) {
  const [later, earlier] = [Math.max(0, m - n), Math.max(0, n - m)];
  const all = range(POSITIONS - later - earlier).map((i) => score(i + later, i + earlier));
  return [Math.min(...all), Math.max(...all)];
}

const SAME = 0.005; // between scores of which two decimals are shown

/** The two features of a pair, [to the right, up]. */
const pairOf = (vector, pair) => [vector[pair], vector[pair + WIDTH / 2]];

/** How long the hands of each pair may be. */
const reachOf = (all) =>
  range(WIDTH / 2).map((pair) => Math.max(...all.map((one) => Math.hypot(...pairOf(one, pair)))));

SCENES.clock = handsOf({
  room: [568, 581],
  words: {
    one: { name: "The word", short: "at", look: "where" },
    other: { name: "The other word", short: "at", look: "quiet" },
  },
  start: { one: 20, other: 12 },
  demo: { one: 23 },
  hint: "Turn a hand by the dot at its tip, or drag a word along the text.",
  divisor: 1,
  axis: "dot product with a word at each position",
  vectors() {
    const at = drawnVector((position) => clock(position, WIDTH), ownNumbers("clock").hands);
    const all = range(POSITIONS).flatMap((position) => [at.at(position), clock(position, WIDTH)]);
    const most = Math.max(...all.map((hands) => dot(hands, hands)));
    return { one: at, other: at, most, reach: reachOf(all) };
  },
  sentence(state, score) {
    const [m, n] = [Math.round(state.one), Math.round(state.other)];
    const found = `Positions ${m} and ${n}: the dot product of their rows is ${fixed(score(m, n), 2)}`;
    const [low, high] = elsewhere(score, m, n);
    return high - low < SAME
      ? `${found}, as for any two positions ${Math.abs(m - n)} apart.`
      : `${found}; of two others ${Math.abs(m - n)} apart, it is between ${fixed(low, 2)} and ${fixed(high, 2)}.`;
  },
});
