// Lesson 8 and the front page: a sentence, two words of which change places, and what a model makes of it.

const SENTENCE = "paris rang its bells . rome closed its".split(" ");
const HOME = range(SENTENCE.length);
const ROW = 42; // pixels from line to line, without bars

/** Where each place of a sentence is, line by line: {at: [[x, y], ...], height}. */
function flow(words, width, above) {
  let [x, y] = [0, above];
  const at = words.map((word) => {
    const wide = pillWidth(word);
    if (x + wide > width) [x, y] = [0, y + ROW + above];
    x += wide + 8;
    return [x - 8 - wide / 2, y + 16];
  });
  return { at, height: y + ROW };
}

/** A word that changes places with another one: by dragging it there, or by an arrow key. */
function wordGrip(state, set, { at, place, said }) {
  const { order } = state;
  const word = order[place];
  const last = order.length - 1; // it asks what comes next, and stays
  const exchange = (other) => {
    const now = [...order];
    [now[place], now[other]] = [now[other], now[place]];
    return now;
  };
  const nearest = ([x, y]) => {
    const far = at.slice(0, last).map(([left, top]) => Math.hypot(x - left, 2 * (y - top)));
    return far.indexOf(Math.min(...far));
  };
  return {
    ...grip({
      name: `${SENTENCE[word]}, word ${place + 1}`,
      value: place,
      range: [0, last - 1],
      said,
      motion: () => ([x, y]) => [x, y],
      move: () => {},
    }),
    onpointerdown(event) {
      if (event.button > 0) return;
      event.preventDefault();
      this.focus({ preventScroll: true });
      this.setPointerCapture(event.pointerId);
      held = { word, order, from: pointOf(this, event) };
    },
    onpointermove(event) {
      if (held?.word !== word || !this.hasPointerCapture(event.pointerId)) return;
      const [x, y] = pointOf(this, event);
      const home = held.order.indexOf(word);
      const by = [x - held.from[0], y - held.from[1]];
      const over = nearest([at[home][0] + by[0], at[home][1] + by[1]]);
      const now = [...held.order];
      [now[home], now[over]] = [now[over], now[home]];
      set({ order: now, carried: { word, to: [at[home][0] + by[0], at[home][1] + by[1]] } });
    },
    onlostpointercapture() {
      held = null;
      set({ carried: null });
    },
    onkeydown(event) {
      const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      if (place + step >= 0 && place + step < last) set({ order: exchange(place + step) });
    },
  };
}

/** The words of a sentence, which can be moved; `bars`: how much the last one attends to each. */
function sentenceShapes(state, set, width, said, bars) {
  const above = bars ? 62 : 6;
  const words = state.order.map((word) => SENTENCE[word]);
  const { at, height } = flow([...words, "?"], width, above);
  const moved = (word) => (state.carried?.word === word ? state.carried.to : at[state.order.indexOf(word)]);
  const shapes = SENTENCE.map((text_, word) => {
    const place = state.order.indexOf(word);
    const [x, y] = moved(word);
    const isLast = place === words.length - 1;
    const look = isLast ? "query" : "what";
    const attributes = isLast ? {} : wordGrip(state, set, { at, place, said });
    const carried = state.carried?.word === word ? "carried" : "";
    return h(
      "g",
      { ...attributes, class: `${attributes.class ?? ""} word ${carried}`, style: `transform: translate(${x}px, ${y}px)` },
      bars
        ? [
            rect([-14, -20 - 44 * bars[place]], [28, 44 * bars[place]], "filled query", 2),
            text([0, -30 - 44 * bars[place]], `${Math.round(100 * bars[place])}%`, "small"),
          ]
        : [],
      pill([0, 0], text_, look),
    );
  });
  return { height, shapes: [...shapes, text(at.at(-1), "?", "bold quiet")] };
}

/** The likeliest next words as bars. */
function nextShapes(next, width, top) {
  const long = width - 170;
  return next.flatMap(([word, probability], row) => {
    const y = top + 15 + 28 * row;
    return [
      text([76, y], word, "right"),
      h("rect", { x: 86, y: y - 10, height: 20, rx: 3, class: "filled quiet grows", style: `width: ${Math.max(1, long * probability)}px` }),
      text([94 + long * probability, y], percent(probability), "left"),
    ];
  });
}

const SWITCHED = { none: "without positions", rope: "with positions" };

SCENES.order = {
  room: [418, 319],
  needs: true,
  hint: "Drag a word onto another one: they change places. What comes next?",
  start: { order: HOME, carried: null, scheme: "none" },
  demo: { order: [0, 6, 2, 3, 4, 5, 1, 7] },
  draw(state, set, width) {
    const words = state.order.map((word) => SENTENCE[word]);
    const next = once(nextWords, state.scheme, words, 3);
    const [word, probability] = next[0];
    const told = `“${word}” (${percent(probability)})`;
    const isHome = String(state.order) === String(HOME);
    const seen = state.isDemo
      ? "Watch: two words trade places, and nothing changes."
      : state.scheme === "rope"
        ? withPositions(words, !isHome && words.at(-2) === SENTENCE.at(-2), word, told)
        : isHome
          ? `Without positions the model expects ${told} next. Swap “rang” and “closed”.`
          : `The order has changed, the prediction has not: ${told}. Now switch positions on.`;
    const sentence = sentenceShapes(state, set, width, seen);
    return {
      height: sentence.height + 100,
      seen,
      switches: [choice("The model", SWITCHED, state.scheme, (scheme) => set({ scheme }))],
      shapes: [...nextShapes(next, width, sentence.height + 8), ...sentence.shapes],
    };
  },
};

const READS = { rang: "bells", closed: "gates" }; // verb -> what was learned to follow it

/** What the model expects with positions, and why: a verb just before the last “its” decides. */
function withPositions(words, isSame, word, told) {
  const before = words.at(-2);
  if (READS[before] !== word)
    return `With positions the model expects ${told}; no known verb comes just before the last “its”.`;
  return isSame
    ? `This new order makes no difference: “${before}” still comes just before the last “its”, so the model expects ${told}.`
    : `With positions the model sees that “${before}” comes just before the last “its”: ${told}.`;
}

SCENES.heads = {
  room: [530, 375],
  needs: true,
  hint: "Each head reads other words. Switch heads, or drag a word onto another one.",
  start: { order: HOME, carried: null, head: "0" },
  demo: { head: "1" },
  draw(state, set, width) {
    const words = state.order.map((word) => SENTENCE[word]);
    const { weights } = once(attention, "rope", Number(state.head), words);
    const most = weights.indexOf(Math.max(...weights));
    const next = once(nextWords, "rope", words, 3);
    const seen =
      `Head ${state.head}: the last word, “${words.at(-1)}”, attends most to “${words[most]}” at ` +
      `position ${most} (${percent(weights[most])}); all heads together expect “${next[0][0]}” next.`;
    const sentence = sentenceShapes(state, set, width, seen, weights);
    const heads = Object.fromEntries(range(sizes().heads).map((head) => [head, `head ${head}`]));
    return {
      height: sentence.height + 100,
      seen,
      switches: [choice("Head", heads, state.head, (head) => set({ head }))],
      shapes: [...nextShapes(next, width, sentence.height + 8), ...sentence.shapes],
    };
  },
};
