// Lesson 9: a head of a published model. Its text is moved on; every hand turns, and no score changes.

const FARTHEST = 2000;
const LOOKED_AT = 7; // Rome

SCENES.llama = {
  room: [620, 403],
  needs: true,
  hint: "Drag the whole text to later positions.",
  start: { shift: 0 },
  demo: { shift: 130 },
  draw(state, set, width) {
    const { llama } = window.COURSE_NUMBERS;
    const [query, keys] = [unpacked(llama.query), unpacked(llama.keys)];
    const rates = frequencies(query.length, llama.base);
    const last = keys.length - 1;
    const turned = (vector, place) => rotated(vector, place, rates);
    const scoresAt = (shift) =>
      keys.map((key, n) => dot(turned(query, last + shift), turned(key, n + shift)) / Math.sqrt(query.length));
    const [scores, atFirst] = [scoresAt(state.shift), scoresAt(0)];
    const change = Math.max(...scores.map((score, n) => Math.abs(score - atFirst[n])));
    const weights = softmax(scores);
    const columns = width < 560 ? 8 : 16;
    const side = width / columns;
    const radius = side / 2 - 3;
    const [q, k] = [turned(query, last + state.shift), turned(keys[LOOKED_AT], LOOKED_AT + state.shift)];
    const dials = rates.flatMap((_, pair) => {
      const center = [((pair % columns) + 0.5) * side, (Math.floor(pair / columns) + 0.5) * side + 22];
      const hand = (vector, look) => {
        const [x, y] = [vector[pair], vector[pair + rates.length]];
        const length = Math.hypot(x, y) || 1;
        return line(center, tipOf(center, radius, [x / length, y / length]), `hand slim ${look}`);
      };
      return [circle(center, radius, "dial"), hand(k, "key"), hand(q, "query")];
    });
    const y = (rates.length / columns) * side + 60;
    const inRow = columns === 16 ? 12 : 6;
    const height = (llama.tokens.length / inRow) * 94;
    const words = llama.tokens.flatMap((token, n) => {
      const [left, top] = [((n % inRow) + 0.5) * (width / inRow), y + 66 + 94 * Math.floor(n / inRow)];
      const look = n === last ? "query" : n === LOOKED_AT ? "key" : "quiet";
      return [
        rect([left - 12, top - 16 - 44 * weights[n]], [24, 44 * weights[n]], `filled ${look}`, 2),
        text([left, top - 25 - 44 * weights[n]], percent(weights[n]), "small"),
        text([left, top], token, look === "quiet" ? look : `${look} bold`),
      ];
    });
    const below = y + height + 16;
    const pixels = (width - 150) / FARTHEST;
    const from = Math.round(state.shift);
    const seen =
      `At positions ${from.toLocaleString("en-US")} to ${(from + last).toLocaleString("en-US")} “of” gives ` +
      `${percent(weights[LOOKED_AT])} of its attention to “Rome”; since position 0 the largest ` +
      `change of a score is ${fixed(change, 3)}.`;
    return {
      height: below + 26,
      seen,
      shapes: [
        text([0, 10], `layer ${llama.layer}, head ${llama.head}: query of “of”, key of “Rome”`, "left small quiet"),
        ...dials,
        ...words,
        line([75, below], [width - 75, below], "axis"),
        h(
          "g",
          grip({
            name: "Position of the first word",
            value: state.shift,
            range: [0, FARTHEST],
            said: seen,
            motion: along(pixels),
            move: (value) => set({ shift: value }),
          }),
          pill([75 + pixels * state.shift, below], `↔ ${from} … ${from + last}`, "where"),
        ),
      ],
    };
  },
};
