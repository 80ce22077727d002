// Lesson 5: tokens arrive one at a time, each the same word. Their keys are kept as they came.

const MOST_TOKENS = 8;
const OFFSETS = { given: "offset = tokens in the cache", forgotten: "offset forgotten" };

SCENES.cache = {
  room: [533, 437],
  hint: "Drag the newest token: the same word arrives again and again.",
  start: { newest: 3, offset: "given" },
  demo: { newest: 5 },
  draw(state, set, width) {
    const newest = Math.round(state.newest);
    const isWrong = state.offset === "forgotten";
    const offset = isWrong ? 0 : newest;
    const side = width / MOST_TOKENS;
    const x = (place) => (place + 0.5) * side;
    const radius = Math.min(side / 2 - 3, 32);
    const [top, middle] = [66 + radius, 148 + 2 * radius];
    const score = (from, place) => dot(rotated(QUERY, from), rotated(KEY, place)) / Math.sqrt(WIDTH);
    const places = range(newest + 1);
    const high = 42 / Math.max(...range(2 * MOST_TOKENS).map((n) => Math.abs(score(n, MOST_TOKENS))));
    const bar = (from, place, look) => {
      const long = high * score(from, place);
      return rect([x(place) - 9, middle - Math.max(0, long)], [18, Math.abs(long)], `filled ${look}`, 2);
    };
    const handOf = (vector, place, look) => {
      const [right, up] = pairOf(vector, 0);
      const length = Math.hypot(right, up);
      return line([x(place), top], tipOf([x(place), top], radius, [right / length, up / length]), `hand ${look}`);
    };
    const look = isWrong ? "wrong" : "key";
    const seen = cacheSeen(newest, isWrong, places.map((place) => score(0, place) - score(newest, place)));
    return {
      height: middle + 54,
      seen,
      switches: [choice("The query’s", OFFSETS, state.offset, (wanted) => set({ offset: wanted }))],
      shapes: [
        ...range(MOST_TOKENS).map((place) => text([x(place), 18], String(place), "quiet")),
        text([0, 48], "pair 0 of each key, as it came, and of the new query", "quiet small left"),
        ...places.flatMap((place) => [
          circle([x(place), top], radius, "dial"),
          handOf(rotated(KEY, place), place, "key"),
        ]),
        handOf(rotated(QUERY, offset), newest, isWrong ? "wrong" : "query"),
        text([0, middle - 58], "score of the new query with each key", "quiet small left"),
        line([0, middle], [width, middle], "axis"),
        ...places.flatMap((place) => [isWrong ? ghost([bar(newest, place, "key")]) : null, bar(offset, place, look)]),
        ...places.map((place) => text([x(place), middle + 18], String(offset - place).replace("-", "−"), look)),
        text([0, middle + 42], "steps back from the query’s position", "quiet small left"),
        h(
          "g",
          grip({
            name: "The newest token",
            value: state.newest,
            range: [0, MOST_TOKENS - 1],
            said: seen,
            motion: along(side),
            move: (value) => set({ newest: value }),
          }),
          pill([x(state.newest), 18], `↔ ${newest}`, "query"),
        ),
      ],
    };
  },
};

function cacheSeen(newest, isWrong, changes) {
  if (!newest) return "Token 0 arrives: the cache is empty, and the offset is 0.";
  if (!isWrong)
    return (
      `Token ${newest} arrives. Only its own key is computed, rotated by ${newest}, and kept; without a cache, ` +
      `this step would compute all ${newest + 1} keys again.`
    );
  const most = Math.max(...changes.map(Math.abs));
  return (
    `The query of token ${newest} is rotated by 0, so token 0 seems to be here and all others ahead. ` +
    `Scores are off by up to ${fixed(most, 2)}, without any error.`
  );
}
