// Lesson 3: a word is dragged along a table of positions, and the two rows are added.

const TABLE_ROWS = 24;
const READ = 16; // words of a text in the training

SCENES.learned = {
  room: [714, 663],
  needs: true,
  hint: "Drag the word down the table of positions.",
  start: { position: 3, word: "king" },
  demo: { position: 9 },
  draw(state, set, width) {
    const { words, positions, tokens } = window.COURSE_NUMBERS.learned;
    const position = Math.round(state.position);
    const reference = unpacked(positions).slice(0, TABLE_ROWS);
    const table = ownNumbers("learned").rows?.slice(0, TABLE_ROWS) ?? reference;
    const token = unpacked(tokens)[words.indexOf(state.word)];
    const row = table[position];
    const left = 112;
    const wide = (width - left) / token.length;
    const high = 11;
    const top = 24;
    const most = Math.max(...table.flat().map(Math.abs));
    const y = (at) => top + (at + 0.5) * high;
    const cells = table.flatMap((entries, at) =>
      entries.map((value, feature) =>
        h("rect", {
          ...{ x: left + feature * wide, y: y(at) - high / 2, width: wide - 1, height: high - 1 },
          class: at < READ ? "filled where" : "filled wrong",
          style: `opacity: ${Math.min(1, 0.06 + Math.abs(value) / most).toFixed(3)}`,
        }),
      ),
    );
    const bottom = top + TABLE_ROWS * high + 18;
    const input = added(token, row);
    const [ghostRow, ghostInput] = [reference[position], added(token, reference[position])];
    const scale = 27 / Math.max(...[token, row, input, ghostRow, ghostInput].flat().map(Math.abs));
    const strip = (values, place, name, look, behind = values) => {
      const middle = bottom + 62 * place + 28;
      const bars = (heights) =>
        heights.map((value, feature) =>
          rect(
            [left + feature * wide, middle - Math.max(0, scale * value)],
            [wide - 1, Math.abs(scale * value)],
            `filled ${look}`,
            0,
          ),
        );
      return [
        text([left - 12, middle], name, `right bold ${look}`),
        line([left, middle], [width, middle], "axis"),
        table === reference ? null : ghost(bars(behind)),
        ...bars(values),
      ];
    };
    const look = position < READ ? "where" : "wrong";
    const isOff = row.some((value, feature) => Math.abs(value - ghostRow[feature]) > 0.001);
    const seen = learnedSeen(state.word, position, isOff);
    return {
      height: bottom + 186,
      seen,
      switches: [
        choice("The word", Object.fromEntries(["king", "dog", "rome"].map((word) => [word, word])), state.word, (word) =>
          set({ word }),
        ),
      ],
      shapes: [
        text([left, 10], `rows 0 to ${READ - 1}, trained`, "left small where bold"),
        ...cells,
        text([left - 12, y(TABLE_ROWS - 1)], "never trained", "right small wrong bold"),
        rect([left - 2, y(state.position) - high / 2 - 1], [width - left + 3, high + 1], "frame", 2),
        line([left - 2, y(READ) - high / 2 - 0.5], [width, y(READ) - high / 2 - 0.5], "wrong"),
        ...strip(token, 0, state.word, "what"),
        ...strip(row, 1, `+ row ${position}`, look, ghostRow),
        ...strip(input, 2, "= input", "ink", ghostInput),
        h(
          "g",
          grip({
            name: `Position of ${state.word}`,
            value: state.position,
            range: [0, TABLE_ROWS - 1],
            said: seen,
            motion: along(high, 1),
            down: true,
            move: (value) => set({ position: value }),
          }),
          pill([54, y(state.position)], `${state.word} ${position}`, "what"),
        ),
      ],
    };
  },
};

function learnedSeen(word, position, isOff) {
  if (isOff) return `“${word}” at position ${position}: what your table returns there is not its row ${position}.`;
  if (position < READ) return `“${word}” at position ${position}: its token row and row ${position} are added, number by number.`;
  return (
    `“${word}” at position ${position}: no training text was longer than ${READ} words, so row ${position} ` +
    "still holds the small random numbers it started with."
  );
}
