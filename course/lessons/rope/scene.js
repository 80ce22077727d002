// Lesson 5: a query and a key are moved along the text, as hands of clocks. `handsOf` is lesson 4's.

const { query: QUERY, key: KEY, projections: PROJECTIONS } = EXAMPLE;

SCENES.rope = handsOf({
  room: [669, 655],
  words: {
    query: { name: "The query", short: "q", look: "query" },
    key: { name: "The key", short: "k", look: "key" },
  },
  start: { query: 20, key: 12, scheme: "rotated" },
  demo: { query: 26, key: 18 },
  hint: "Drag q, k or both along the text, or turn a hand by the dot at its tip.",
  divisor: Math.sqrt(WIDTH),
  axis: "score of the query with a key at each position",
  vectors({ scheme }) {
    const vector = (word, matrix) =>
      scheme === "rotated"
        ? (position) => rotated(word, position)
        : (position) => applied(matrix, added(word, clock(position, WIDTH)));
    const own = scheme === "rotated" ? ownNumbers("rope") : {};
    const query = drawnVector(vector(QUERY, PROJECTIONS[0]), own.query);
    const key = drawnVector(vector(KEY, PROJECTIONS[1]), own.key);
    const shown = [[query.at, key.at], own.query ? [query.ghost, key.ghost] : []];
    const all = range(POSITIONS).flatMap((position) => shown.flat().map((of) => of(position)));
    MOST[scheme] ??= Math.max(
      ...shown.flatMap(([q, k]) =>
        range(q ? POSITIONS : 0).flatMap((m) => range(POSITIONS).map((n) => Math.abs(dot(q(m), k(n))))),
      ),
    );
    return { query, key, most: MOST[scheme] / Math.sqrt(WIDTH), reach: reachOf(all) };
  },
  sentence(state, score) {
    const [m, n] = [Math.round(state.query), Math.round(state.key)];
    const [apart, now] = [Math.abs(m - n), fixed(score(m, n), 2)];
    const which = m < n ? "the key is" : "the query is";
    const where = `Query at ${m}, key at ${n}: `;
    const later = m === n ? "they are at the same position" : `${which} ${apart} later`;
    const [low, high] = elsewhere(score, m, n);
    if (state.scheme === "rotated" && high - low < SAME)
      return (
        `${where}${later}, and the score is ${now}. It is the same for any two positions with this distance: ` +
        `when both move, both hands of a pair rotate by the same angle, so the angle between them stays the same.`
      );
    const changes =
      state.scheme === "added"
        ? "the hands’ lengths change, and the angle between them, too"
        : "the angle between the hands changes";
    return (
      `${where}${later}. When both move, ${changes}. So does the score: ${now} here, ` +
      `${fixed(low, 2)} to ${fixed(high, 2)} elsewhere.`
    );
  },
  switches: (state, set) => [
    choice("Positions are", { rotated: "rotated (RoPE)", added: "added, then projected" }, state.scheme, (scheme) =>
      set({ scheme }),
    ),
  ],
});

const MOST = {}; // the largest product in the text, by scheme
