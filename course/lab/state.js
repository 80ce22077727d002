// The one state of the page. Every view draws from it, and whatever is moved in one of them moves
// in all of them.

const SCHEMES = NUMBERS.schemes;
const CALLED = {
  none: "no positions",
  learned: "learned",
  sinusoidal: "sinusoidal",
  rope: "RoPE",
  alibi: "ALiBi",
};

const state = {
  step: 1,
  words: home(), // by their number, which a word keeps wherever it is moved
  order: [...home().keys()], // the numbers of the words, in their current order
  scheme: "none",
  chosenHead: null, // a head that was chosen; else the telling one of the scheme
  query: home().length - 1, // the numbers of the two words that meet in the score
  key: NUMBERS.swapped[1],
  start: 0, // the position of the first word
  gap: 0, // positions left free before the query
  bare: true, // without W_q and W_k
  reach: NUMBERS.read, // words read, in the last step
  pointed: null, // what the pointer is at: {query, key, pair}
};

const views = []; // what draws each part of the page
const addView = (id, draw) => views.push({ panel: $(id), draw });

const tried = new Set(); // the steps in which something was moved

/** Change some of the state, as the reader wishes, and draw all that is to be seen. Step 3 is tried
 * when query and key have moved together. */
function set(changes) {
  if (state.step !== 3 || Object.keys(changes).join() === "start") tried.add(state.step);
  settle(changes);
}

function settle(changes) {
  Object.assign(state, changes);
  const { order } = state;
  if (order.indexOf(state.key) > order.indexOf(state.query)) {
    [state.query, state.key] = [state.key, state.query]; // a key comes before its query
  }
  const room = NUMBERS.longest - order.length;
  state.gap = within(state.gap, 0, room);
  state.start = within(state.start, 0, room - state.gap);
  draw();
}

function draw() {
  for (const { panel, draw } of views) {
    if (!panel.closest("[hidden]")) draw();
  }
}

// --- what follows from it ------------------------------------------------------------------------

/** The words in their order. */
const sentence = () => state.order.map((number) => state.words[number]);

/** The position of each word: from the query on they are later, if there is a gap. */
function positions() {
  const query = state.order.indexOf(state.query);
  return state.order.map((_, index) => state.start + index + (index >= query ? state.gap : 0));
}

const asAtFirst = () => state.words;
const positionsAtFirst = () => [...state.words.keys()];

const headOf = (scheme) => state.chosenHead ?? tellingHead(scheme);

/** The pair to light: what the pointer is at, or else what was chosen. */
const lit = () => ({ query: state.query, key: state.key, pair: null, ...state.pointed });

/** The places of the two lit words in the sentence. */
const litPlaces = () => [lit().query, lit().key].map((number) => state.order.indexOf(number));

/** Point at a pair of words, or at a pair of features; at nothing without an argument. */
function point(at = null) {
  if (JSON.stringify(at) === JSON.stringify(state.pointed)) return;
  state.pointed = at;
  draw();
}

const known = new Map(); // what was computed lately

/** Call a function of the model, unless it was called so lately. */
function lately(compute, ...given) {
  const key = `${compute.name} ${JSON.stringify(given)}`;
  if (known.size > 400) known.clear();
  if (!known.has(key)) known.set(key, compute(...given));
  return known.get(key);
}

const attentionNow = (scheme = state.scheme) =>
  lately(attention, scheme, headOf(scheme), sentence(), positions());
const nextNow = (scheme = state.scheme) => lately(nextWord, scheme, sentence(), positions());
const nextAtFirst = (scheme = state.scheme) =>
  lately(nextWord, scheme, asAtFirst(), positionsAtFirst());

/** How much the last word attends to each word, by the word's number. */
function weightsOfLast(scheme, sentence, positions, order) {
  const weights = lately(attention, scheme, headOf(scheme), sentence, positions).weights.at(-1);
  return Object.fromEntries(order.map((number, index) => [number, weights[index]]));
}

/** The largest change of what the last word gives to a word, since the first order. */
function changeOfWeights(scheme) {
  const before = weightsOfLast(scheme, asAtFirst(), positionsAtFirst(), positionsAtFirst());
  const now = weightsOfLast(scheme, sentence(), positions(), state.order);
  return largest(state.order.map((number) => now[number] - before[number]));
}

const isMoved = () => state.order.some((number, index) => number !== index);

// --- parts of the page -----------------------------------------------------------------------------

function $(id) {
  return document.getElementById(id);
}

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** Set a text in which W_q, W_k are written as in a formula and **words** strong; one that is
 * there is left alone, so that it is not read out again. */
function say(where, text) {
  if (where.said === text) return;
  where.said = text;
  where.replaceChildren(...marked(text));
}

function marked(text) {
  return text.split(/(W_[qk]|\*\*.*?\*\*)/).map((part) => {
    if (part.startsWith("W_")) return element("span", {}, "W", element("sub", {}, part[2]));
    if (part.startsWith("**")) return element("strong", {}, part.slice(2, -2));
    return part;
  });
}

const widths = new Map(); // asked for once: each question after a change makes the browser lay out

function widthOf(panel) {
  if (!widths.has(panel)) widths.set(panel, panel.clientWidth);
  return widths.get(panel);
}

/** A drawing as wide as its panel: emptied, with its size in pixels. */
function canvas(panel, height, label) {
  const width = widthOf(panel);
  let svg = panel.querySelector("svg");
  if (!svg) panel.append((svg = document.createElementNS("http://www.w3.org/2000/svg", "svg")));
  put(svg, { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  svg.replaceChildren();
  return [svg, width];
}

/** A share as people say it; never 0 or 100 for what is neither. */
function percent(share) {
  if (!Number.isFinite(share)) return "not a number";
  if (share > 0.995 && share < 1) return "> 99 %";
  if (share > 0 && share < 0.005) return "< 1 %";
  return `${Math.round(100 * share)} %`;
}

/** A change that is not negative; what rounding to float32 leaves is none, and only that. */
function changed(change, digits = 2) {
  const least = 10 ** -digits;
  if (change < ROUNDING) return "0";
  return change < least / 2 ? `< ${fixed(least, digits)}` : fixed(change, digits);
}

const ROUNDING = 5e-5;

/** A change of a share, in points. */
function points(change) {
  const said = changed(100 * change, 0);
  if (said === "0" || !Number.isFinite(change)) return said;
  return said.endsWith(" 1") || said === "1" ? `${said} point` : `${said} points`;
}

/** Radio buttons side by side: [value, text] each; `chosen(value)` hears of a choice. */
function choice(where, name, options, chosen) {
  const labels = options.map(([value, text]) => {
    const radio = element("input", { type: "radio", name, value: String(value) });
    radio.addEventListener("change", () => chosen(value));
    return element("label", {}, radio, element("span", {}, ...marked(text)));
  });
  where.replaceChildren(...labels);
}

const check = (name, value) => {
  for (const radio of document.getElementsByName(name))
    radio.checked = radio.value === String(value);
};

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** `move(rows, columns, event)` hears of arrow keys. */
function onArrows(panel, move) {
  panel.tabIndex = 0;
  panel.addEventListener("keydown", (event) => {
    if (!ARROWS[event.key]) return;
    event.preventDefault();
    move(...ARROWS[event.key], event);
  });
}

/** The row and column of the cell that the pointer is at, if it is at one. */
const cellAt = (event) =>
  event.target.closest?.("[data-cell]")?.dataset.cell.split(" ").map(Number);

const isCalm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
