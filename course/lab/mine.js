// A student's own functions next to the reference's: their numbers, the difference, what the course
// knows of the mistake, and which of the story's claims still hold.

const SHOWN_POSITIONS = 12;
const SHOWN_SCHEMES = SCHEMES.filter((scheme) => scheme !== "none");

const isOwn = (scheme) => NUMBERS.mine !== null && scheme in NUMBERS.mine.positions;

function troubleWith(scheme) {
  const trouble = NUMBERS.mine?.troubles[scheme];
  return trouble ? ` Yours cannot be shown, so this is the reference's: ${trouble}` : "";
}

/** Whose functions the page draws with, where some of them are a student's. */
function source() {
  if (!NUMBERS.mine) return "";
  const own = SHOWN_SCHEMES.filter(isOwn).map((scheme) => CALLED[scheme]);
  if (own.length === 0) return "Nothing of yours is here yet: all is the reference's.";
  return own.length === SHOWN_SCHEMES.length
    ? "Drawn with your functions."
    : `Drawn with your functions for ${own.join(", ")}; the rest is the reference's.`;
}

// --- what the story claims -----------------------------------------------------------------------------

const PLACES = Array.from({ length: NUMBERS.longest }, (_, position) => position);

/** What rounding to float32 may leave of numbers next to 1. */
const NEAR = 1e-3;

/** A query (0) or a key (1) of RoPE's model, as it is before it turns. */
const probe = (part) =>
  projected(
    "rope",
    part,
    tellingHead("rope"),
    normed(tokenRow("rope", home().at(-1)), weight("rope", "norms")[0]),
  );

/** The largest difference of the two most similar rows, among the trained ones. */
const leastApart = (scheme) => (from) => {
  const rows = unpacked(from[scheme]).slice(0, NUMBERS.read);
  const gaps = rows.flatMap((row, i) =>
    rows.slice(0, i).map((other) => largest(minus([row], [other]))),
  );
  return Math.min(...gaps);
};

/** How far a score moves along the text, query and key three apart, next to its size. */
const drift = (scheme, bare) => (from) => {
  const pair = [home().at(-1), home()[NUMBERS.swapped[1]]];
  const score = (key) => pairScore(scheme, tellingHead(scheme), bare, pair, key + 3, key, from);
  const size = largest(PLACES.slice(3).map((_, key) => score(key)));
  return largest(changesAlong(scheme, bare, pair, 3, tellingHead(scheme), from)) / (size || 1);
};

/** The largest change of a hand's length, as a share. */
function stretch(from) {
  const length = (vector, pair) => Math.hypot(...pair.map((feature) => vector[feature]));
  const shares = PLACES.map((position) =>
    PAIRS.map(
      (pair) => length(turned(probe(0), position, from), pair) / length(probe(0), pair) - 1,
    ),
  );
  return largest(shares);
}

/** The largest change of a query's features. */
const turning = (from) =>
  largest(PLACES.map((position) => minus([turned(probe(0), position, from)], [probe(0)])));

/** The least by which a penalty grows from a key to the one before it. */
const steepness = (from) =>
  Math.min(
    ...unpacked(from.alibi).flatMap((head) =>
      PLACES.flatMap((query) =>
        PLACES.slice(1, query + 1).map((key) => head[query][key] - head[query][key - 1]),
      ),
    ),
  );

const isNone = (share) => share < NEAR;
const isSome = (value) => value > 1e-6;
const ALIKE = () => "Two of your positions have the same row: the model cannot tell them apart.";
const STRETCHES = (share) => `Your hands change their length here, by up to ${inPercent(share)}.`;
const STANDS = () => "Your hands never move: the model cannot tell one order from another.";
const RISES = () => "In yours a key further away is not lowered more.";
const DRIFTS = (share) =>
  `Along the text yours changes, by up to ${inPercent(share)} of its largest, though the distance stays.`;
const inPercent = (share) => `${fixed(100 * share, share < 0.1 ? 1 : 0)}\u00a0%`;

const OWN_ROW = "Each position has its own row.";
const OF_DISTANCE = "depends on their distance alone.";

/** What the story claims of a scheme: in which steps, in which words, what is measured, whether the
 * number found will do, and what to say if it will not. */
const CLAIMS = [
  ["learned", [2], OWN_ROW, leastApart("learned"), isSome, ALIKE],
  ["sinusoidal", [2], OWN_ROW, leastApart("sinusoidal"), isSome, ALIKE],
  [
    "sinusoidal",
    [4],
    `Without W_q and W_k, the product of two rows ${OF_DISTANCE}`,
    drift("sinusoidal", true),
    isNone,
    DRIFTS,
  ],
  ["rope", [3], "A hand that turns keeps its length.", stretch, isNone, STRETCHES],
  ["rope", [3, 4], `The score of two words ${OF_DISTANCE}`, drift("rope", false), isNone, DRIFTS],
  ["rope", [2, 3], "A position changes the hands.", turning, isSome, STANDS],
  ["alibi", [4], `The penalty of two words ${OF_DISTANCE}`, drift("alibi", true), isNone, DRIFTS],
  ["alibi", [2], "The further away the key, the lower the score.", steepness, isSome, RISES],
];

let judged = null;

/** The claims on the student's own functions, each with what to say if it does not hold. */
function judgedClaims() {
  judged ??= CLAIMS.filter(([scheme]) => isOwn(scheme)).map((one) => {
    const [scheme, steps, claim, measure, holds, breaks] = one;
    const found = measure(OWN);
    const broken = holds(found) ? "" : breaks(found);
    const sentence = Number.isFinite(found) ? broken : "Some of your numbers are not numbers.";
    return { scheme, steps, claim, sentence };
  });
  return judged;
}

const isBroken = (scheme) => judgedClaims().some((one) => one.scheme === scheme && one.sentence);

function drawBroken() {
  say($("source"), state.step < 7 ? source() : "");
  const broken = judgedClaims().filter(
    ({ steps, sentence }) => steps.includes(state.step) && sentence,
  );
  $("broken").hidden = broken.length === 0;
  const sentences = broken.map(({ scheme, sentence }) => `**${CALLED[scheme]}:** ${sentence}`);
  if (broken.length)
    say($("broken"), `✗ With your functions: ${[...new Set(sentences)].join(" ")}`);
}

// --- side by side --------------------------------------------------------------------------------------

/** Numbers that show what a scheme does, with names of rows and columns. */
function tableOf(scheme, from) {
  const first = PLACES.slice(0, SHOWN_POSITIONS);
  if (isAdded(scheme)) return unpacked(from[scheme]).slice(0, SHOWN_POSITIONS);
  if (scheme === "rope") return first.map((position) => turned(probe(0), position, from));
  return first.map((query) =>
    first.map((key) => (key <= query ? penalty(0, query, key, from) : 0)),
  );
}

const SHOWS = {
  learned: ["position", "feature", "the rows that are added"],
  sinusoidal: ["position", "feature", "the rows that are added"],
  rope: ["position", "feature", "one query, turned"],
  alibi: ["query", "key", "penalties of the first head"],
};

function addMine() {
  if (!NUMBERS.mine) return;
  for (const scheme of SHOWN_SCHEMES) $("mine").append(panelOf(scheme));
  for (const link of document.querySelectorAll('#steps [data-step="7"]'))
    link.parentElement.hidden = false;
  addView("mine", drawMine);
}

function panelOf(scheme) {
  const own = NUMBERS.mine.exercises.filter((exercise) => exercise.scheme === scheme);
  const items = own.map(({ name, source, status, says, look }) => {
    const said =
      source === "borrowed" ? "still to do: borrowed from the reference" : (WORDS[status] ?? status);
    const item = element(
      "li",
      { className: status.replace(" ", "-") },
      element("code", { textContent: name }),
      ` ${said}`,
    );
    if (source !== "borrowed" && says)
      item.append(element("p", { textContent: `${says} ${look}`.trim() }));
    return item;
  });
  const panel = element(
    "section",
    {},
    element("h3", {}, mark(scheme), ` ${CALLED[scheme]}`),
    element("ul", {}, ...items),
  );
  panel.dataset.scheme = scheme;
  if (!isOwn(scheme)) {
    panel.append(
      element("p", {
        className: "note",
        textContent: NUMBERS.mine.troubles[scheme] ?? "Nothing of yours is here yet.",
      }),
    );
    return panel;
  }
  const [rows, columns, what] = SHOWS[scheme];
  const maps = ["yours", "the reference", "the difference"].map((name) =>
    element(
      "figure",
      {},
      element("figcaption", { textContent: name }),
      element("div", { className: "map" }),
    ),
  );
  const side = element("div", { className: "maps" }, ...maps);
  put(side, { role: "group", "aria-label": `${CALLED[scheme]}, side by side; arrow keys choose` });
  panel.append(
    element("p", {
      className: "quiet",
      textContent: `Shown: ${what}; down: ${rows}, across: ${columns}. One scale for all three.`,
    }),
    side,
    put(element("p", { className: "note found" }), { role: "status" }),
    element("ul", { className: "claims" }, ...claimsOf(scheme)),
  );
  let at = null; // the row and column that is pointed at
  const choose = (chosen) => drawPanel(panel, (at = chosen));
  side.addEventListener("pointermove", (event) => {
    const cell = cellAt(event);
    if (cell && cell.join() !== at?.join()) choose(cell);
  });
  side.addEventListener("pointerleave", () => choose(null));
  side.addEventListener("blur", () => choose(null));
  onArrows(side, (...step) => {
    const table = tableOf(scheme, REFERENCE);
    const ends = [table.length - 1, table[0].length - 1];
    choose(at ? at.map((place, i) => within(place + step[i], 0, ends[i])) : [0, 0]);
  });
  return panel;
}

const WORDS = {
  passed: "passes its tests",
  "idea right": "has the idea right, not yet every corner",
  wrong: "is not right yet",
  unchecked: "was not tested to the end",
  "not run": "could not be tested",
};

function claimsOf(scheme) {
  const own = judgedClaims().filter((one) => one.scheme === scheme);
  return own.map(({ claim, sentence }) => {
    const item = element("li", {}, sentence ? "✗ " : "✓ ", ...marked(claim));
    if (sentence) item.append(" ", element("strong", {}, ...marked(sentence)));
    return item;
  });
}

function firstDifference(scheme) {
  const [mine, right] = [OWN, REFERENCE].map((from) => tableOf(scheme, from));
  const most = largest(right) || 1;
  const off = mine
    .flatMap((row, i) => row.map((value, j) => [i, j, value, right[i][j]]))
    .filter(([, , value, want]) => !(Math.abs(value - want) <= 1e-4 * most));
  const count = mine.length * mine[0].length;
  if (off.length === 0) {
    const isWrong = NUMBERS.mine.exercises.some(
      (one) => one.scheme === scheme && ["wrong", "idea right"].includes(one.status),
    );
    const more = isWrong ? " What the tests refuse does not show in them." : "";
    return `All ${count} numbers are the reference's.${more}`;
  }
  const [row, column] = SHOWS[scheme];
  return (
    `${off.length} of ${count} numbers differ. The first: ${placeIn(off[0], row, column)}: ` +
    `${sideBySide(mine, right, off[0])}.`
  );
}

function drawMine() {
  for (const panel of $("mine").querySelectorAll("section")) {
    if (isOwn(panel.dataset.scheme)) drawPanel(panel, null);
  }
}

/** Draw the three maps of a scheme, and what is to be said of them or of one place in them. */
function drawPanel(panel, at) {
  const { scheme } = panel.dataset;
  const [mine, right] = [OWN, REFERENCE].map((from) => tableOf(scheme, from));
  const tables = [mine, right, minus(mine, right)];
  const most = largest(tables.flat(2).filter(Number.isFinite)) || 1;
  const maps = panel.querySelectorAll(".map");
  tables.forEach((values, i) => drawMap(maps[i], values, most, at));
  const [row, column] = SHOWS[scheme];
  say(
    panel.querySelector(".found"),
    at ? `${placeIn(at, row, column)}: ${sideBySide(mine, right, at)}.` : firstDifference(scheme),
  );
}

const placeIn = ([i, j], row, column) => `${row} ${i}, ${column} ${j}`;

function sideBySide(mine, right, [i, j]) {
  return `yours **${fixed(mine[i][j], 3)}**, the reference **${fixed(right[i][j], 3)}**`;
}

/** A map of numbers with their positions and features counted, and a frame at one of them. */
function drawMap(panel, values, most, at) {
  const [left, right, below] = [26, 58, 22];
  const across = (widthOf(panel) - left - right) / values[0].length;
  const high = 13;
  const differs = largest(values.flat().filter(Number.isFinite));
  const label = `${values.length} by ${values[0].length} numbers, the largest ${fixed(differs, 3)}.`;
  const [svg] = canvas(panel, values.length * high + below, label);
  values.forEach((row, i) => {
    if (i % 4 === 0) words(svg, [left - 5, (i + 0.5) * high], String(i), "quiet right");
    row.forEach((value, j) => {
      const box = { x: left + j * across, y: i * high, width: across + 0.4, height: high + 0.4 };
      shape(svg, "rect", { ...box, fill: colorOf(value, most), "data-cell": `${i} ${j}` });
    });
  });
  if (at) {
    const place = { x: left + at[1] * across, y: at[0] * high, width: across, height: high };
    shape(svg, "rect", { ...place, class: "frame" });
  }
  const step = Math.ceil(24 / across);
  for (let j = 0; j < values[0].length; j += step) {
    words(svg, [left + (j + 0.5) * across, values.length * high + 12], String(j), "quiet");
  }
  scale(svg, left + across * values[0].length + 6, 0, values.length * high, most);
}
