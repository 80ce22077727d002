// Five steps, and free play. Each step first shows, then asks what comes next. A guess is made once:
// its answer is computed for the story's own sentence, and stays as it was told.

const STEPS = {
  1: { scheme: "none", bare: true, start: 0, gap: 0 },
  2: { scheme: "none", start: 0, gap: 0 },
  3: { scheme: "rope", start: 0, gap: 2 },
  4: { scheme: "rope", bare: true, start: 0, gap: 0 },
  5: { scheme: "rope", reach: NUMBERS.read, start: 0, gap: 0 },
  6: { reach: NUMBERS.farthest },
  7: {},
};
const LAST = NUMBERS.mine ? 7 : 6;

const ABOUT = {
  none: "Nothing says where a word is.",
  learned: "Each position has its own row, learned in training; it is added to the word's.",
  sinusoidal: "Waves of many lengths, sampled at the position, are added to the word's row.",
  rope: "Rotary position embedding: nothing is added. Queries and keys are turned, and later ones are turned further.",
  alibi: "Nothing is added or turned; the score falls with the distance.",
};

/** Who says what comes next after the story's sentence, two words in each other's place. */
function afterSwap(scheme) {
  const order = swappedHome();
  return likeliest(nextWord(scheme, order, [...order.keys()], REFERENCE), 1)[0];
}
const atHome = (scheme) => likeliest(nextWord(scheme, home(), [...home().keys()], REFERENCE), 1)[0];

/** The largest change of the score of the story's pair along the text. */
function alongStory(scheme, bare, from = REFERENCE) {
  const pair = [home().at(-1), home()[NUMBERS.swapped[1]]];
  return largest(changesAlong(scheme, bare, pair, 1, tellingHead(scheme), from));
}

const endsAt = (scheme) => NUMBERS.models[scheme].losses.at(-1);
const endsWell = (scheme) =>
  endsAt(scheme) < NUMBERS.models[scheme].losses[NUMBERS.read / NUMBERS.binned - 1] + 0.1;

/** For each step: what it asks, the options (a key and a text each), and what answers it. */
const GUESSES = {
  1: {
    ask: () => {
      const [early, late] = NUMBERS.swapped.map((place) => home()[place]);
      return (
        `The next step tells each word where it is. “${late}” and “${early}” trade places, so ` +
        `“${early}” is the verb right before “${home().at(-1)}”. What will a model with RoPE predict?`
      );
    },
    options: () => [
      ["same", `${atHome("rope")[0]}, as before`],
      ["other", `${afterSwap("rope")[0]}`],
      ["both", "either, equally likely"],
    ],
    answer: () => ({
      right: afterSwap("rope")[0] === atHome("rope")[0] ? "same" : "other",
      told:
        `With RoPE the model says **${atHome("rope")[0]}** (${percent(atHome("rope")[1])}) at first and ` +
        `**${afterSwap("rope")[0]}** (${percent(afterSwap("rope")[1])}) after the swap. ` +
        `Without positions it says ${atHome("none")[0]} both times.`,
    }),
  },
  2: {
    ask: () =>
      "The next step takes RoPE apart. Query and key both move ten positions later, so both turn " +
      "further. What happens to the angle between them?",
    options: () => [
      ["grows", "it grows"],
      ["stays", "it stays"],
      ["words", "it depends on the words"],
    ],
    answer: () => {
      const vectors = [0, 10].map((moved) =>
        [0, 1].map((part) => turned(PROBES[part], moved + 1 - part, REFERENCE)),
      );
      const angles = vectors.map(([q, k]) => (180 / Math.PI) * turnBetween(PAIRS[0], k, q));
      return {
        right: Math.abs(angles[0] - angles[1]) < 0.1 ? "stays" : "words",
        told:
          `A pair of hands one position apart: ${fixed(angles[0], 1)}° between them at positions 1 ` +
          `and 0, ${fixed(angles[1], 1)}° at 11 and 10. Both turn by the same, so what lies between ` +
          "them stays, and with it the score.",
      };
    },
  },
  3: {
    ask: () =>
      "The sinusoids, the waves of step 2, are hands that turn, too: the product of two positions " +
      "depends only on their distance. But a real layer makes query and key with W_q and W_k, " +
      "learned in training. Sinusoids are added to a word before that, and RoPE turns after it. " +
      "Whose scores still depend only on the distance?",
    options: () => [
      ["both", "both: the sinusoids' and RoPE's"],
      ["rope", "RoPE's, not the sinusoids'"],
      ["none", "neither"],
    ],
    answer: () => {
      const [bare, through] = [true, false].map((one) =>
        ["sinusoidal", "rope"].map((scheme) => changed(alongStory(scheme, one))),
      );
      return {
        right: through[1] !== "0" ? "none" : through[0] === "0" ? "both" : "rope",
        told:
          `Moved along the text, the score of a pair changes by up to ${bare[0]} (sinusoidal) and ` +
          `${bare[1]} (RoPE) without W_q and W_k, and by ${through[0]} and ${through[1]} with them. The ` +
          "projection comes between a sinusoid and the score; RoPE turns after it.",
      };
    },
  },
  4: {
    ask: () =>
      `All five models were trained on ${NUMBERS.read} words at a time. They now read ` +
      `${NUMBERS.farthest} words. Which of the five is as good at the end as it was in training? Think ` +
      "of what is new to each of them there: rows, waves, angles, or a larger penalty.",
    options: () => [
      ["rope alibi", "RoPE and ALiBi"],
      ["alibi", "ALiBi alone"],
      ["sinusoidal rope alibi", "all whose positions come from a formula"],
    ],
    answer: () => {
      const losses = SCHEMES.map((scheme) => {
        const trained = NUMBERS.models[scheme].losses[NUMBERS.read / NUMBERS.binned - 1];
        return `${CALLED[scheme]} ${fixed(trained, 2)} → ${fixed(endsAt(scheme), 2)}`;
      });
      return {
        right: SCHEMES.filter(endsWell).join(" "),
        told:
          `Loss at the end of ${NUMBERS.read} words → of ${NUMBERS.farthest}, nats a word: ${losses.join("; ")}. ` +
          "RoPE's distances are relative, but it never met such long ones; ALiBi hardly looks that far back.",
      };
    },
  },
};

/** A query and a key with one hand each, to turn: any would do. */
const PROBES = [1, 0.6].map((high) =>
  Array.from({ length: D }, (_, i) => (i === 0 ? 1 : i === HALF ? high : 0)),
);

// --- the steps ---------------------------------------------------------------------------------------

function addStory() {
  for (const link of document.querySelectorAll("#steps a")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      goTo(Number(link.dataset.step));
    });
  }
  $("onward").addEventListener("click", () => goTo(state.step + 1));
  $("play").addEventListener("click", play);
  document.querySelector(".show").addEventListener("pointerdown", stop);
  choice(
    $("scheme"),
    "scheme",
    SCHEMES.map((scheme) => [scheme, CALLED[scheme]]),
    (scheme) => {
      set({ scheme });
    },
  );
  addView("steps", drawStory);
  addEventListener("hashchange", () => goTo(Number(location.hash.slice(1))));
  goTo(Number(location.hash.slice(1)) || (NUMBERS.mine ? 7 : 1));
}

function goTo(wanted) {
  const step = within(wanted || 1, 1, LAST);
  stop();
  state.step = step;
  widths.clear();
  document.body.dataset.step = step;
  for (const part of document.querySelectorAll("[data-steps]")) {
    part.hidden = !part.dataset.steps.split(" ").includes(String(step));
  }
  for (const link of document.querySelectorAll("#steps a")) {
    const isHere = Number(link.dataset.step) === step;
    isHere ? link.setAttribute("aria-current", "step") : link.removeAttribute("aria-current");
  }
  history.replaceState(null, "", `#${step}`);
  const asItWas =
    step < 6
      ? { words: home(), query: home().length - 1, key: NUMBERS.swapped[1], chosenHead: null }
      : {};
  if (step < 6)
    asItWas.order =
      step === 2 ? swapped([...home().keys()], ...NUMBERS.swapped) : [...home().keys()];
  if (step === 2) asItWas.key = NUMBERS.swapped[0];
  settle({ ...asItWas, ...STEPS[step], pointed: null });
  scrollTo(0, 0);
}

function drawStory() {
  const { step, scheme } = state;
  check("scheme", scheme);
  $("onward").hidden = step >= 6;
  $("play").hidden = isCalm() || step >= 6;
  const asked = [...document.querySelectorAll("[data-guess]")];
  for (const form of asked) form.hidden = Number(form.dataset.guess) !== step;
  const isAsked = asked.some((form) => !form.hidden);
  if (GUESSES[step] && tried.has(step) && !isAsked) addGuess(step); // first show, then ask
  say($("about"), ABOUT[scheme] + troubleWith(scheme));
  if (step === 1) say($("outcome"), outcome());
  if (step === 2 || step === 6) say($("matrix-note"), scoreInWords());
  drawBroken();
}

/** What one sees once the words have moved, without positions. */
function outcome() {
  if (!isMoved()) return "";
  const [word, share] = likeliest(nextNow("none"), 1)[0];
  const [before] = likeliest(nextAtFirst("none"), 1)[0];
  const change = points(changeOfWeights("none"));
  return (
    `The bars went along with their words. Largest change of a bar: **${change}**. The model says ` +
    `**${word}** (${percent(share)}), ${word === before ? "as before" : `before it said ${before}`}. ` +
    "It knows which words are there, and not in which order."
  );
}

// --- guesses -------------------------------------------------------------------------------------------

function addGuess(step) {
  const { ask, options, answer } = GUESSES[step];
  const form = element("form", { className: "guess" });
  form.dataset.guess = step;
  $("play").parentElement.before(form);
  const legend = element("legend", {}, element("strong", { textContent: "Your guess" }));
  legend.append(element("span", {}, ...marked(ask())));
  const button = element("button", {
    type: "submit",
    disabled: true,
    textContent: "That is my guess",
  });
  const labels = options().map(([key, text]) => {
    const radio = element("input", {
      type: "radio",
      name: `guess-${step}`,
      value: key,
    });
    radio.addEventListener("change", () => (button.disabled = false));
    return element("label", {}, radio, text);
  });
  const told = element("div");
  told.setAttribute("role", "status");
  form.replaceChildren(element("fieldset", {}, legend, ...labels), button, told);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const guess = form.querySelector(":checked").value;
    const { right, told: sentence } = answer();
    const truth = options().find(([key]) => key === right)?.[1] ?? "none of these";
    const verdict = guess === right ? "✓ Right: " : "✗ Not quite: ";
    for (const radio of form.querySelectorAll("input")) {
      radio.disabled = true;
      radio.parentElement.classList.toggle("right", radio.value === right);
    }
    button.remove();
    told.tabIndex = -1;
    told.focus(); // the button had it
    told.append(
      element("p", {}, element("strong", { textContent: `${verdict}${truth}.` })),
      element(
        "p",
        {},
        ...marked(NUMBERS.mine ? `With the reference's functions: ${sentence}` : sentence),
      ),
    );
  });
}

// --- play ----------------------------------------------------------------------------------------------

let playing = null;

function stop() {
  clearInterval(playing);
  playing = null;
  $("play").textContent = "▷ Show me";
  $("play").setAttribute("aria-pressed", "false");
}

/** Move by itself what the step is about, there and back, until somebody stops it. */
function play() {
  if (playing) return stop();
  let tick = 0;
  const { swapped: places, read, farthest, binned } = NUMBERS;
  const room = NUMBERS.longest - state.order.length - state.gap;
  const there = (length) => {
    const turn = tick % (2 * length);
    return turn < length ? turn : 2 * length - turn;
  };
  const exchange = () =>
    glide(() => set({ order: swapped(state.order, ...places), gap: 0, pointed: null }));
  const moves = {
    1: [1400, exchange],
    2: [1400, () => set({ scheme: SCHEMES[tick % SCHEMES.length] })],
    3: [90, () => set({ start: there(room) })],
    4: [90, () => set({ start: there(room), bare: tick % (4 * room) < 2 * room })],
    5: [90, () => set({ reach: read + binned * there((farthest - read) / binned) })],
  };
  const [pause, move] = moves[state.step];
  const step = () => {
    tick += 1;
    move();
  };
  playing = setInterval(step, pause);
  step();
  $("play").textContent = "□ Stop";
  $("play").setAttribute("aria-pressed", "true");
}
