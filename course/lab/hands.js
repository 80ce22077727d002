// Section 2: pairs of features as hands that turn, for a word that is dragged through the text.

const TRACE = 6; // earlier positions that a hand still shows

function showTokens() {
  const { words, start, probe } = settings;
  if ($("tokens").children.length !== words.length) addTokens();
  [...$("tokens").children].forEach((button, index) => {
    const position = index === probe ? settings.place : start + index;
    button.firstChild.textContent = words[index];
    button.lastChild.textContent = position;
    button.setAttribute("aria-pressed", index === probe);
  });
  $("place").max = NUMBERS.longest - 1;
  $("place").value = settings.place;
  $("probe-word").textContent = `“${words[probe]}”`;
  $("place-now").textContent = settings.place;
}

/** A button per word: pointing at it chooses it, dragging it sideways moves it through the text. */
function addTokens() {
  const pixels = 12; // of dragging for one position
  const buttons = settings.words.map((_, index) => {
    const button = element("button", { type: "button" }, element("span"), element("small"));
    const choose = () => set({ probe: index, place: settings.start + index });
    let from = null;
    button.addEventListener("pointerenter", (event) => {
      if (event.pointerType === "mouse" && event.buttons === 0) choose();
    });
    button.addEventListener("focus", () => settings.probe !== index && choose());
    button.addEventListener("click", () => settings.probe !== index && choose());
    button.addEventListener("pointerdown", (event) => {
      choose();
      from = { x: event.clientX, place: settings.place };
      button.setPointerCapture(event.pointerId);
    });
    button.addEventListener("pointermove", (event) => {
      if (!from) return;
      const place = from.place + Math.round((event.clientX - from.x) / pixels);
      set({ place: Math.min(Math.max(place, 0), NUMBERS.longest - 1) });
    });
    for (const end of ["pointerup", "pointercancel"]) {
      button.addEventListener(end, () => (from = null));
    }
    button.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      set({ place: Math.min(Math.max(settings.place + step, 0), NUMBERS.longest - 1) });
    });
    return button;
  });
  $("tokens").replaceChildren(...buttons);
}

function drawHandsOfWord() {
  const { words, scheme, probe, place } = settings;
  const canvas = $("hands");
  canvas.hidden = scheme === "ALiBi";
  $("hands-note").textContent = {
    learned:
      "The circle is the longest hand of a pair. Nobody told these hands to turn: from position " +
      `to position they go where training pushed them, and from ${NUMBERS.read} on, where it ` +
      "never was, they stay at the small numbers they started with.",
    sinusoidal:
      "Sine to the right, cosine up: at position 0 all hands stand at twelve, and they turn " +
      "clockwise. Under each hand: how many tokens a full turn takes.",
    RoPE:
      "Here the word's own features are the hands. RoPE turns its query counterclockwise, and " +
      "the length stays. Under each hand: how many tokens a full turn takes.",
    ALiBi: "ALiBi has no hands: it leaves queries and keys as they are, and lowers scores instead.",
  }[scheme];
  if (canvas.hidden) return;
  const all = Array.from({ length: NUMBERS.longest }, (_, at) =>
    handRow(settings, words[probe], at),
  );
  const pairs = pairsOf(settings);
  const earlier = Math.max(0, place - TRACE);
  drawHands(canvas, {
    hands: pairs.map(([a, b]) => all.slice(earlier, place + 1).map((row) => [row[a], row[b]])),
    reach: pairs.map(([a, b]) => Math.max(...all.map((row) => Math.hypot(row[a], row[b])))),
    notes: pairs.map((pair, index) => turnNote(pair, index, all)),
    cursor: cursors.get(canvas),
  });
  canvas.setAttribute(
    "aria-label",
    `${pairs.length} hands of “${words[probe]}” at position ${place} (${scheme}). ` +
      "Arrow keys read single hands.",
  );
}

/** How many tokens a full turn takes, as the exercise's frequencies or the turns themselves say. */
function turnNote(pair, index, all) {
  if (settings.scheme === "learned") return "";
  const turn =
    settings.scheme === "sinusoidal"
      ? frequencies(settings)[index]
      : Math.abs(turnBetween(pair, all[0], all[1]));
  const tokens = (2 * Math.PI) / turn;
  if (!Number.isFinite(tokens)) return "never turns";
  const notation = tokens < 1e5 ? "standard" : "compact";
  const digits = { notation, maximumSignificantDigits: 3 };
  return `${tokens.toLocaleString("en-US", digits)} tokens`;
}

function aboutHand([row, column]) {
  const pairs = pairsOf(settings);
  const pair = row * $("hands").cells.columns + column;
  if (pair >= pairs.length) return "";
  const [a, b] = pairs[pair];
  const values = handRow(settings, settings.words[settings.probe], settings.place);
  return `pair ${pair}: feature ${a} is ${shown(values[a])}, feature ${b} is ${shown(values[b])}`;
}
