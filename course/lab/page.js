// The page: its controls, what they set, and what is drawn when something was set.
"use strict";

const settings = {
  words: wordsOf(NUMBERS.sentence),
  scheme: "sinusoidal",
  width: NUMBERS.widths.at(-1),
  base: 10000,
  start: 0,
  head: 1,
  matrix: "token",
  withWords: false,
  projected: false,
  view: "scores",
  probe: 4, // the word whose hands are shown, as its place in the sentence
  place: 4, // the position to which it was dragged
};
const guesses = {}; // question -> the key of the option that was committed to
const cursors = new Map(); // canvas -> the cell under the pointer

const $ = (id) => document.getElementById(id);

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** Set a text in which W_q and W_k are written as in a formula. */
function say(where, text) {
  const parts = text.split(/W_([qk])/);
  const markup = parts.flatMap((part, i) => (i % 2 ? ["W", element("sub", {}, part)] : [part]));
  where.replaceChildren(...markup);
}

/** Change some settings and draw everything that depends on them. */
function set(changes) {
  Object.assign(settings, changes);
  settings.start = Math.min(settings.start, lastStart(settings.words));
  settings.probe = Math.min(settings.probe, settings.words.length - 1);
  if ("start" in changes || "words" in changes) settings.place = settings.start + settings.probe;
  redraw();
}

// --- controls ----------------------------------------------------------------------------------

/** Radio buttons side by side: [[value, text], ...] for one setting. */
function addChoice(name, options) {
  const buttons = options.map(([value, text]) => {
    const radio = element("input", { type: "radio", name, value: String(value) });
    radio.addEventListener("change", () => set({ [name]: value }));
    const words = element("span");
    say(words, text);
    return element("label", {}, radio, words);
  });
  $(name).replaceChildren(...buttons);
}

/** A slider over some values of a setting, or over whole numbers where there is no list. */
function addSlider(name, values) {
  if (values) $(name).max = values.length - 1;
  $(name).addEventListener("input", () => {
    const number = Number($(name).value);
    set({ [name]: values ? values[number] : number });
  });
}

function addTabs() {
  const tabs = [["token", "Token"], ["position", "Position"], ["sum", "Sum"]].map(([name, text]) => {
    const tab = element("button", { type: "button", id: `tab-${name}`, textContent: text });
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", "rows-panel");
    tab.addEventListener("click", () => set({ matrix: name }));
    return tab;
  });
  $("matrix").replaceChildren(...tabs);
  $("matrix").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    next.focus();
    next.click();
  });
}

function showSettings() {
  const { words, scheme, width, base, start, head } = settings;
  const slope = -unpacked(NUMBERS.alibi)[head - 1][1][0];
  const texts = {
    width: `${width} features`,
    base: base.toLocaleString("en-US"),
    start: String(start),
    head: `${head} (slope ${slope > 0 ? `1/${shown(1 / slope)}` : shown(slope)})`,
  };
  const places = { width: NUMBERS.widths.indexOf(width), base: NUMBERS.bases.indexOf(base), start, head };
  $("start").max = lastStart(words);
  for (const [name, text] of Object.entries(texts)) {
    $(name).value = places[name];
    $(name).setAttribute("aria-valuetext", text);
    $(`${name}-now`).textContent = text;
  }
  for (const name of ["scheme", "withWords", "projected", "view"]) {
    for (const radio of document.getElementsByName(name)) {
      radio.checked = radio.value === String(settings[name]);
    }
  }
  for (const tab of $("matrix").children) {
    const isChosen = tab.id === `tab-${settings.matrix}`;
    tab.setAttribute("aria-selected", isChosen);
    tab.tabIndex = isChosen ? 0 : -1;
  }
  $("rows-panel").setAttribute("aria-labelledby", `tab-${settings.matrix}`);
  $("settings-now").textContent = `${scheme} · width ${width} · from ${start}`;
}

function showSentenceNote() {
  const strangers = strangersIn(settings.words);
  const typed = $("sentence").value;
  const notes = [];
  if (wordsOf(typed).length === 0) notes.push("Type at least one word; the last sentence is shown.");
  if ((typed.match(/[\p{L}\p{N}'’]+|[.,;:!?]/gu) ?? []).length > NUMBERS.mostWords) {
    notes.push(`The first ${NUMBERS.mostWords} words are shown.`);
  }
  if (strangers.length) {
    notes.push(
      `The small text that the tables were trained on has no ${strangers.join(", ")}: ` +
        `${strangers.length > 1 ? "random rows stand" : "a random row stands"} for what is unknown.`,
    );
  }
  $("sentence-note").textContent = notes.join(" ");
}

function showOrigin() {
  if (!NUMBERS.mine) return;
  const said = ["Made with your own functions."];
  if (NUMBERS.borrowed.length) {
    said.push(`Borrowed from the reference, because yours are to do: ${NUMBERS.borrowed.join(", ")}.`);
  }
  if (NUMBERS.foundWrong.length) {
    said.push(`Found wrong by its last check: ${NUMBERS.foundWrong.join(", ")}.`);
    $("origin").classList.add("wrong");
  }
  $("origin").textContent = said.join(" ");
}

// --- 1. rows -----------------------------------------------------------------------------------

function drawRows() {
  const { words, scheme, matrix } = settings;
  const matrices = ["token", "position", "sum"].map((name) => matrixOf(settings, scheme, name));
  const values = matrixOf(settings, scheme, matrix);
  const repeated = [...repeatedWords(words).keys()];
  const canvas = $("rows");
  drawHeatmap(canvas, {
    values,
    rows: words,
    marks: new Map(repeated.map((word, index) => [word, index])),
    limit: Math.max(...matrices.map(largest)) || 1, // one scale, so that the tabs compare
    axes: ["word", "feature"],
    cursor: cursors.get(canvas),
  });
  canvas.setAttribute(
    "aria-label",
    `Heatmap of the ${matrix} rows (${scheme}): ${words.length} words by ${settings.width} ` +
      "features. Arrow keys read single numbers.",
  );
  const told = [];
  if (repeated.length) {
    const likeness = likenessOfRepeated(settings, scheme, matrix);
    const isSaid = Number.isFinite(likeness); // rows of zeros have no direction
    if (isSaid) told.push(`Cosine of the first two rows of “${repeated[0]}”: ${shown(likeness, 2)}.`);
  } else {
    told.push("No word occurs twice: try a sentence in which one does.");
  }
  if (scheme === "RoPE") told.push("RoPE adds nothing to a token. It turns queries and keys: see 2.");
  if (scheme === "ALiBi") told.push("ALiBi adds nothing to a token. It lowers scores: see 3.");
  $("rows-note").textContent = told.join(" ");
}

function aboutRow([row, column]) {
  const value = matrixOf(settings, settings.scheme, settings.matrix)[row][column];
  const where = `“${settings.words[row]}” at ${settings.start + row}, feature ${column}`;
  return `${where}: ${shown(value, 4)}`;
}

// --- 2. hands ----------------------------------------------------------------------------------

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
      `to position they go where training pushed them, and from ${NUMBERS.read} on, where it never ` +
      "was, they stay at the small numbers they started with.",
    sinusoidal:
      "Sine to the right, cosine up: at position 0 all hands stand at twelve, and they turn " +
      "clockwise. Under each hand: how many tokens a full turn takes.",
    RoPE:
      "Here the word's own features are the hands. RoPE turns its query counterclockwise, and the " +
      "length stays. Under each hand: how many tokens a full turn takes.",
    ALiBi: "ALiBi has no hands: it leaves queries and keys as they are, and lowers scores instead.",
  }[scheme];
  if (canvas.hidden) return;
  const all = Array.from({ length: NUMBERS.longest }, (_, at) => handRow(settings, words[probe], at));
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

// --- 3. scores ---------------------------------------------------------------------------------

function addScores() {
  const panels = SCHEMES.map((scheme) => {
    const canvas = element("canvas", { id: `scores-${scheme}`, tabIndex: 0 });
    canvas.setAttribute("role", "img");
    canvas.dataset.scheme = scheme;
    return element("div", {}, element("h3", { textContent: scheme }), element("figure", {}, canvas));
  });
  $("scores").replaceChildren(...panels);
  const changes = SCHEMES.map((scheme) =>
    element("div", {}, element("dt", { textContent: scheme }), element("dd")),
  );
  $("changes").replaceChildren(...changes);
}

/** What one of the four panels shows: scores, their change since position 0, or weights. */
function viewOf(scheme) {
  const here = scores(settings, scheme, settings.start);
  if (settings.view === "weights") return causalWeights(here);
  return settings.view === "change" ? minus(here, scores(settings, scheme, 0)) : here;
}

function drawScores() {
  const { words, view, start } = settings;
  for (const canvas of document.querySelectorAll("#scores canvas")) {
    const { scheme } = canvas.dataset;
    const values = viewOf(scheme);
    const home = largest(scores(settings, scheme, 0)) || 1;
    // a change is drawn on the scale of the scores: what is next to nothing looks like nothing
    const limit = { scores: largest(values) || 1, change: home, weights: 1 }[view];
    drawHeatmap(canvas, {
      values,
      rows: words,
      columns: words,
      limit,
      signed: view !== "weights",
      square: true,
      axes: ["query", "key"],
      cursor: cursors.get(canvas),
    });
    canvas.setAttribute(
      "aria-label",
      `Heatmap of ${view} (${scheme}) of ${words.length} queries by ${words.length} keys from ` +
        `position ${start}. Arrow keys read single numbers.`,
    );
  }
  SCHEMES.forEach((scheme, index) => {
    const number = $("changes").children[index].lastChild;
    number.textContent = changeInWords(settings, scheme);
    number.classList.toggle("steady", number.textContent === "0");
  });
  say($("scores-note"), scoresNote());
}

function scoresNote() {
  const { withWords, projected, view, start } = settings;
  const what = withWords
    ? "The words of your sentence and their positions."
    : "Positions alone: no words. RoPE needs something to turn, so there the first word stands at " +
      "every position; ALiBi's penalties stand alone.";
  const through = projected ? " Queries went through the trained W_q, keys through W_k." : "";
  const seen = {
    scores: ` First word at position ${start}; every scheme has a color scale of its own.`,
    change: start
      ? ` What changed since the first word stood at position 0 (now ${start}).`
      : " Nothing has changed yet: move the slider “First position”.",
    weights: " A softmax over the keys up to the query; each row sums to 1.",
  }[view];
  return what + through + seen;
}

function aboutScore(canvas, [query, key]) {
  const value = viewOf(canvas.dataset.scheme)[query][key];
  const [asks, offers] = [query, key].map((i) => `“${settings.words[i]}” (${settings.start + i})`);
  return `query ${asks}, key ${offers}: ${shown(value, 4)}`;
}

// --- guesses -----------------------------------------------------------------------------------

function addGuess(form) {
  const name = form.dataset.question;
  const { options } = QUESTIONS[name];
  const legend = element("legend", {}, element("strong", { textContent: "Guess first" }));
  legend.append(element("span", { className: "ask" }));
  const labels = options.map(([key, text]) => {
    const radio = element("input", { type: "radio", name: `guess-${name}`, value: key });
    radio.addEventListener("change", () => showGuess(form));
    return element("label", {}, radio, text);
  });
  const button = element("button", { type: "submit" });
  const answer = element("div", { className: "answer" });
  answer.setAttribute("role", "status");
  form.replaceChildren(element("fieldset", {}, legend, ...labels), button, answer);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (name in guesses) {
      delete guesses[name];
      form.reset();
      redraw();
    } else {
      guesses[name] = form.querySelector(":checked").value;
      set(QUESTIONS[name].then);
    }
  });
}

function showGuess(form) {
  const { ask, options, answer } = QUESTIONS[form.dataset.question];
  const guess = guesses[form.dataset.question];
  const isCommitted = guess !== undefined;
  form.hidden = form.dataset.question === "repeated" && !repeatedWord(settings);
  if (form.hidden) return;
  say(form.querySelector(".ask"), ask(settings));
  const button = form.querySelector("button");
  button.textContent = isCommitted ? "Guess again" : "That is my guess: show me";
  button.disabled = !isCommitted && !form.querySelector(":checked");
  const found = isCommitted ? answer(settings) : {};
  for (const radio of form.querySelectorAll("input")) {
    radio.disabled = isCommitted;
    radio.parentElement.classList.toggle("right", radio.value === found.right);
  }
  const fitting = options.find(([key]) => key === found.right);
  const where = form.querySelector(".answer");
  if (!isCommitted) return where.replaceChildren();
  const verdict = element("p", { className: "verdict" });
  const isRight = guess === found.right;
  const truth = fitting ? `It is: ${fitting[1]}.` : "None of these is.";
  say(verdict, isRight ? `✓ Your guess is right. ${truth}` : `✗ Not quite. ${truth}`);
  const told = element("p");
  say(told, found.told);
  where.replaceChildren(verdict, told);
}

// --- the number under the pointer --------------------------------------------------------------

/** Pointing at a cell, tapping it, or walking there with the arrow keys shows its number. */
function addCursor(canvas, about, draw) {
  const tip = element("div", { className: "tip" });
  tip.setAttribute("role", "status");
  canvas.parentElement.append(tip);
  const show = (cell) => {
    if (String(cell) === String(cursors.get(canvas) ?? null)) return;
    cell ? cursors.set(canvas, cell) : cursors.delete(canvas);
    draw();
    tip.textContent = cell ? about(cell) : "";
    if (!cell) return;
    const [x, y] = middleOf(canvas, cell);
    const room = canvas.parentElement.clientWidth - tip.offsetWidth;
    tip.style.left = `${Math.max(0, Math.min(x - tip.offsetWidth / 2, room))}px`;
    const above = y - canvas.cells.cellHeight / 2 - tip.offsetHeight - 8;
    tip.style.top = `${above > -20 ? above : y + canvas.cells.cellHeight / 2 + 8}px`;
  };
  const point = (event) => show(cellAt(canvas, event.offsetX, event.offsetY));
  canvas.addEventListener("pointermove", point);
  canvas.addEventListener("pointerdown", point);
  canvas.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && show(null));
  canvas.addEventListener("blur", () => show(null));
  canvas.addEventListener("keydown", (event) => {
    const step = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
    }[event.key];
    if (event.key === "Escape") show(null);
    if (!step) return;
    event.preventDefault();
    const { rows, columns } = canvas.cells;
    const within = (value, count) => Math.min(Math.max(value, 0), count - 1);
    const [row, column] = cursors.get(canvas) ?? [-step[0], -step[1]];
    show([within(row + step[0], rows), within(column + step[1], columns)]);
  });
  return () => show(null);
}

// --- all together ------------------------------------------------------------------------------

const forget = []; // takes back what the pointer showed: it may no longer be so

function redraw() {
  forget.forEach((clear) => clear());
  showSettings();
  showSentenceNote();
  showTokens();
  drawRows();
  drawHandsOfWord();
  drawScores();
  document.querySelectorAll(".guess").forEach(showGuess);
}

function start() {
  addChoice("scheme", SCHEMES.map((scheme) => [scheme, scheme]));
  addChoice("withWords", [[false, "positions alone"], [true, "words and positions"]]);
  addChoice("projected", [[false, "without W_q, W_k"], [true, "with W_q, W_k"]]);
  addChoice("view", [["scores", "scores"], ["change", "change since 0"], ["weights", "weights"]]);
  addSlider("width", NUMBERS.widths);
  addSlider("base", NUMBERS.bases);
  addSlider("start");
  addSlider("head");
  addSlider("place");
  $("head").max = unpacked(NUMBERS.alibi).length;
  addTabs();
  addScores();
  document.querySelectorAll(".guess").forEach(addGuess);
  $("sentence").value = NUMBERS.sentence;
  $("sentence").addEventListener("input", () => {
    const words = wordsOf($("sentence").value);
    set(words.length ? { words } : {});
  });
  forget.push(addCursor($("rows"), aboutRow, drawRows));
  forget.push(addCursor($("hands"), aboutHand, drawHandsOfWord));
  for (const canvas of document.querySelectorAll("#scores canvas")) {
    forget.push(addCursor(canvas, (cell) => aboutScore(canvas, cell), drawScores));
  }
  showOrigin();
  const isWide = matchMedia("(min-width: 56rem)");
  const fit = () => ($("controls").open = isWide.matches);
  isWide.addEventListener("change", fit);
  fit();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let width = document.body.clientWidth;
  new ResizeObserver(() => {
    if (document.body.clientWidth !== width) redraw();
    width = document.body.clientWidth;
  }).observe(document.body);
  redraw();
}

start();
