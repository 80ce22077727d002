// Lesson 2: three words are moved, and what attention makes of them moves with them.

const WORDS = Object.keys(EXAMPLE.words);
const WORD_LOOKS = { dog: "what", bites: "quiet", man: "third" };

const ORDERS = { plain: "plain", mask: "causal mask", positions: "positions added" };

/** What attention makes of a sentence, and with which weights: both (T, ...). */
function attended(sentence, order) {
  const vectors = inputsOf(sentence, order);
  const weights = vectors.map((query, place) => {
    const seen = order === "mask" ? vectors.slice(0, place + 1) : vectors;
    const shares = softmax(seen.map((key) => dot(query, key) / Math.sqrt(query.length)));
    return vectors.map((_, key) => shares[key] ?? 0);
  });
  return { weights, results: weights.map((row) => applied(transposed(vectors), row)) };
}

/** The vector that goes in for each word of a sentence. */
function inputsOf(sentence, order) {
  return sentence.map((word, place) => {
    const token = EXAMPLE.words[word];
    return order === "positions" ? added(token, clock(place, token.length)) : token;
  });
}

/** The words of the state from left to right: each has its place as a number. */
const ordered = (state, words) => [...words].sort((one, other) => state[one] - state[other]);

/** Move a word to a place, and let the others make room. */
function moveWord(state, words, word, value, lab) {
  lab.set({ [word]: value });
  const others = ordered(state, words).filter((other) => other !== word);
  const order = others.toSpliced(Math.round(value), 0, word);
  const places = Object.fromEntries(others.map((other) => [other, order.indexOf(other)]));
  if (lab.gliding && String(Object.values(places)) === String(lab.places)) return;
  lab.places = Object.values(places);
  lab.glide(places, 0.2);
}

SCENES.permutation = {
  room: [586, 559],
  start: { dog: 0, bites: 1, man: 2, order: "plain" },
  demo: { dog: 2, man: 0 },
  hint: "Drag a word past another.",
  draw(state, set, width, lab) {
    const sentence = ordered(state, WORDS);
    const vectors = inputsOf(sentence, state.order);
    const { weights, results } = attended(sentence, state.order);
    const home = attended(WORDS, state.order).results;
    const apart = Math.min(width / 3, 210);
    const x = (place) => width / 2 + (place - 1) * apart;
    const cells = (values, word, top, digits, changed) =>
      values.map((value, feature) => [
        rect([x(state[word]) - 38, top + 27 * feature], [76, 25], `cell of-${WORD_LOOKS[word]}`),
        text(
          [x(state[word]), top + 27 * feature + 13],
          fixed(value, digits),
          changed?.[feature] ? "where bold" : "",
        ),
      ]);
    const changes = WORDS.map((word) => {
      const [before, now] = [home[WORDS.indexOf(word)], results[sentence.indexOf(word)]];
      return now.map((value, feature) => Math.abs(value - before[feature]));
    });
    const most = Math.max(...changes.flat());
    return {
      height: 388,
      seen: permutationSeen(sentence, most, state.order),
      switches: [
        choice("Attention", ORDERS, state.order, (order) => set({ order })),
      ],
      shapes: [
        ...WORDS.flatMap((word, index) => {
          const place = sentence.indexOf(word);
          return sentence.map((other, from) =>
            h("line", {
              ...{ x1: x(state[other]), y1: 170, x2: x(state[word]), y2: 244 },
              class: `ray ${WORD_LOOKS[other]}`,
              style: `stroke-width: ${16 * weights[place][from]}px`,
            }),
          );
        }),
        text([12, 207], "attention", "quiet left small"),
        width < 560 ? null : text([12, 112], "vectors", "quiet left small"),
        ...WORDS.flatMap((word, index) => {
          const place = sentence.indexOf(word);
          const changed = changes[index].map((change) => change > 0.005);
          return h("g", {}, [
            ...cells(vectors[place], word, 58, state.order === "positions" ? 2 : 0).flat(),
            ...cells(results[place], word, 250, 2, changed).flat(),
            text([x(state[word]), 374], `new ${word}`, `${WORD_LOOKS[word]} bold`),
            h(
              "g",
              grip({
                name: `Position of ${word}`,
                value: state[word],
                range: [0, 2],
                said: `${place}: ${sentence.join(" ")}`,
                motion: along(apart),
                move: (value) => moveWord(state, WORDS, word, value, lab),
              }),
              pill([x(state[word]), 26], word, WORD_LOOKS[word]),
            ),
          ]);
        }),
      ],
    };
  },
};

function permutationSeen(sentence, most, order) {
  const said = `“${sentence.join(" ")}”`;
  if (sentence.join() === WORDS.join()) {
    const which = order === "mask" ? "those of the word itself and the words before it" : "all three vectors";
    return `${said}: attention mixes ${which} into a new one for each word: the thicker a line, the larger the weight.`;
  }
  if (order === "plain") {
    return `${said}: each new vector has moved with its word, and all its numbers have stayed the same.`;
  }
  const why =
    order === "mask"
      ? "under a causal mask a word sees only itself and what comes before it"
      : "now a position is added to each word";
  const change = `the new vectors have changed by up to ${fixed(most, 2)}`;
  return `${said}: ${why}, and ${change} compared with “${WORDS.join(" ")}”.`;
}
