// Lesson 6: a window is dragged along a text. Each pair in it adds 1 to a table of counts.

const READ_WORDS = "the king rules the queen rules".split(" ");
const KINDS = [...new Set(READ_WORDS)];
const WINDOWS = { 1: "window 1", 2: "window 2" };

/** The positions in the window around a center. */
const contextsOf = (center, size) =>
  range(READ_WORDS.length).filter((place) => place !== center && Math.abs(place - center) <= size);

SCENES.window = {
  room: [480, 453],
  hint: "Drag the center along the text.",
  start: { center: 1, size: "1" },
  demo: { center: 4 },
  draw(state, set, width) {
    const center = Math.round(state.center);
    const contexts = contextsOf(center, Number(state.size));
    const side = width / READ_WORDS.length;
    const x = (place) => (place + 0.5) * side;
    const y = 84;
    const counts = KINDS.map(() => KINDS.map(() => 0));
    const kind = (place) => KINDS.indexOf(READ_WORDS[place]);
    for (const from of range(center + 1))
      for (const to of contextsOf(from, Number(state.size))) counts[kind(from)][kind(to)] += 1;
    const arcs = contexts.map((place) => {
      const [from, to] = [x(center), x(place)];
      const up = y - 24 - 34 * Math.abs(place - center);
      return path(`M${from} ${y - 17}C${from} ${up} ${to} ${up} ${to} ${y - 17}`, "curve where");
    });
    const [left, top, wide, high] = [width / 2 - 100, 150, 64, 32];
    const column = (index) => left + (index + 0.5) * wide;
    const row = (index) => top + (index + 0.5) * high;
    const isNew = (from, to) => from === kind(center) && contexts.some((place) => kind(place) === to);
    const cells = counts.flatMap((entries, from) =>
      entries.flatMap((count, to) => [
        rect([left + to * wide, top + from * high], [wide - 3, high - 3], `cell ${isNew(from, to) ? "of-where" : ""}`),
        text([column(to) - 1, row(from) - 1], String(count), isNew(from, to) ? "bold" : ""),
      ]),
    );
    const seen = windowSeen(center, contexts, counts);
    return {
      height: top + KINDS.length * high + 4,
      seen,
      switches: [choice("The window", WINDOWS, state.size, (size) => set({ size }))],
      shapes: [
        ...arcs,
        ...READ_WORDS.map((word, place) =>
          text([x(place), y], word, contexts.includes(place) ? "where bold" : "quiet"),
        ),
        ...KINDS.flatMap((word, index) => [
          text([column(index), top - 16], word, "quiet"),
          text([left - 12, row(index)], word, index === kind(center) ? "right bold what" : "right quiet"),
        ]),
        ...cells,
        h(
          "g",
          grip({
            name: "The center",
            value: state.center,
            range: [0, READ_WORDS.length - 1],
            said: `${READ_WORDS[center]}. ${seen}`,
            motion: along(side),
            move: (value) => set({ center: value }),
          }),
          pill([x(state.center), y], READ_WORDS[center], "what"),
        ),
      ],
    };
  },
};

function windowSeen(center, contexts, counts) {
  const pairs = contexts.map((place) => `(${READ_WORDS[center]}, ${READ_WORDS[place]})`).join(", ");
  const count = counts.flat().reduce((sum, one) => sum + one);
  if (center < READ_WORDS.length - 1) return `Pairs of this center: ${pairs}. So far ${count} pairs are counted.`;
  const [king, queen] = ["king", "queen"].map((word) => String(counts[KINDS.indexOf(word)]));
  return `All ${count} pairs are counted, and the rows of king and queen ${king === queen ? "are equal" : "differ"}.`;
}
