// Guesses before answers. What is right is computed when the guess is made, for the sentence, width
// and base that are chosen.

const BETWEEN = { withWords: false, projected: true };
const UNTRAINED = 40; // a place that training never read

/**
 * For each question: what it asks, the options (a key and a text each), what the page shows
 * afterwards, and an answer: the key of the right option and what was computed.
 */
const QUESTIONS = {
  repeated: {
    ask: (settings) => {
      const [word, [first, second]] = repeatedWord(settings);
      return (
        `“${word}” stands at positions ${settings.start + first} and ${settings.start + second}. ` +
        "Its token row is the same both times: cosine 1. With which positions does the model get " +
        "two vectors that are exactly alike?"
      );
    },
    options: [
      ["learned", "learned rows, added"],
      ["sinusoidal", "sinusoidal rows, added"],
      ["neither", "RoPE or ALiBi"],
      ["none", "none of them"],
    ],
    then: { matrix: "sum" },
    answer(settings) {
      const [learned, sinusoidal] = ["learned", "sinusoidal"].map((scheme) =>
        likenessOfRepeated(settings, scheme, "sum"),
      );
      return {
        right: "neither", // nothing is added
        told:
          `Cosine ${shown(learned, 2)} with learned rows, ${shown(sinusoidal, 2)} with ` +
          "sinusoidal ones, and 1 with RoPE and ALiBi: they add nothing, and act where tokens " +
          "meet. Of what is added, it matters how " +
          "loud the position rows are next to the token rows, and how much they differ between " +
          "the two places: slow pairs say nearly the same at both.",
      };
    },
  },

  slowest: {
    ask: (settings) =>
      `Width ${settings.width}, base ${settings.base.toLocaleString("en-US")}: the first hand of ` +
      "the sinusoids turns by one radian per position. How far does the last hand turn from " +
      `position 0 to ${NUMBERS.longest - 1}, all in all?`,
    options: [
      ["little", "less than a quarter turn"],
      ["some", "between a quarter turn and a full one"],
      ["much", "more than a full turn"],
    ],
    then: { scheme: "sinusoidal" },
    answer(settings) {
      const turns = slowestTurn(settings) / (2 * Math.PI);
      return {
        right: turns < 0.25 ? "little" : turns <= 1 ? "some" : "much",
        told:
          `By ${shown(360 * turns)}°. Fast hands tell neighbors apart, and slow ones tell far ` +
          "places apart. The base sets how slow: move its slider, and look at the last hand.",
      };
    },
  },

  projected: {
    ask: () =>
      "With positions alone and without W_q, W_k the sinusoids look exactly as relative as RoPE: " +
      "shift the sentence, and neither changes. But a real layer multiplies by W_q and W_k " +
      "before it scores. Which schemes will still not change?",
    options: [
      ["sinusoidal RoPE ALiBi", "sinusoidal, RoPE and ALiBi, as before"],
      ["RoPE ALiBi", "RoPE and ALiBi"],
      ["ALiBi", "ALiBi alone"],
      ["", "none of them"],
    ],
    then: { ...BETWEEN, view: "scores" },
    answer(settings) {
      const before = { ...settings, ...BETWEEN, projected: false };
      const after = { ...settings, ...BETWEEN };
      const change = (scheme) => {
        const [bare, through] = [before, after].map((one) => changeInWords(one, scheme));
        return `${scheme} ${bare} → ${through}`;
      };
      const [right, should] = [steadySchemes(after).join(" "), "RoPE ALiBi"];
      return {
        right,
        told:
          `Largest change, without → with W_q and W_k: ${SCHEMES.map(change).join("; ")}. ` +
          "The fine property of the sinusoids is spoiled by the projection that stands between " +
          "them and the score. RoPE turns after the projection, so nothing stands between." +
          (right === should ? "" : " (With right functions it is RoPE and ALiBi, always.)"),
      };
    },
  },

  untrained: {
    ask: () =>
      `The learned table was trained on ${NUMBERS.read} words at a time, so nothing ever reached ` +
      `its rows ${NUMBERS.read} to ${NUMBERS.longest - 1}. The whole sentence now moves to ` +
      `position ${UNTRAINED}. What will its learned scores look like?`,
    options: [
      ["wild", "wild: larger than ever before"],
      ["blind", "nearly as if there were no positions"],
      ["same", "the same as at position 0"],
    ],
    then: { withWords: true, projected: true, view: "scores", start: UNTRAINED },
    answer(settings) {
      const real = { ...settings, withWords: true, projected: true };
      const blind = scores(real, "none", 0);
      const [home, away] = [0, UNTRAINED].map((start) => scores(real, "learned", start));
      const [near, far] = [home, away].map((matrix) => largest(minus(matrix, blind)));
      const isSteady = isRounding(real, "learned", largest(minus(away, home)));
      return {
        right: isSteady ? "same" : far < near / 2 ? "blind" : "wild",
        told:
          `The scores above are now those at position ${UNTRAINED}. ` +
          "At position 0 the learned rows change the bare scores of the words by up to " +
          `${shown(near)}, at position ${UNTRAINED} by ${shown(far)}. Untrained rows are small ` +
          "noise: no error is raised, the model has just become blind to order.",
      };
    },
  },
};
