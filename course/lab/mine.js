// A student's own functions beside the reference's: their numbers, the difference, what the course
// knows of the mistake, and which of the story's claims still hold.

const SHOWN_POSITIONS = 12;
const SHOWN_SCHEMES = SCHEMES.filter((scheme) => scheme !== "none");

const isOwn = (scheme) => NUMBERS.mine !== null && scheme in NUMBERS.mine.positions;

function troubleWith(scheme) {
  const trouble = NUMBERS.mine?.troubles[scheme];
  return trouble ? ` Yours cannot be shown, so this is the reference's: ${trouble}` : "";
}

// --- what the story claims -----------------------------------------------------------------------------

/** What rounding to float32 may leave of a number next to this one. */
const isNothing = (value, size) => Math.abs(value) <= 1e-3 * Math.max(size, 1e-6);

const probe = (part) =>
  projected(
    "rope",
    part,
    tellingHead("rope"),
    normed(tokenRow("rope", home().at(-1)), weight("rope", "norms")[0]),
  );
const PLACES = Array.from({ length: NUMBERS.longest }, (_, position) => position);

/** The change of a hand's length from position 0 to where it is largest, as a share. */
function stretch(from) {
  const q = probe(0);
  const lengths = PLACES.map((position) =>
    PAIRS.map((pair) => length(turned(q, position, from), pair)),
  );
  return Math.max(
    ...lengths.flatMap((row) => row.map((one, i) => Math.abs(one / length(q, PAIRS[i]) - 1))),
  );
}

const length = (vector, pair) => Math.hypot(...pair.map((feature) => vector[feature]));

/** How far a score moves along the text though query and key stay as far apart, and its size. */
function drift(scheme, bare, from) {
  const pair = [home().at(-1), home()[NUMBERS.swapped[1]]];
  const scores = PLACES.slice(3).map((query) =>
    pairScore(scheme, tellingHead(scheme), bare, pair, query, query - 3, from),
  );
  return [largest(scores.map((score) => score - scores[0])), largest(scores)];
}

/** How alike the two most alike rows among the first ones are: their largest difference. */
function leastApart(scheme, from) {
  const rows = unpacked(from[scheme]).slice(0, NUMBERS.read);
  const gaps = rows.flatMap((row, i) =>
    rows.slice(0, i).map((other) => largest(row.map((value, j) => value - other[j]))),
  );
  return Math.min(...gaps);
}

/** [scheme, step, what the story claims, what to say where it does not hold; nothing if it does]. */
const CLAIMS = [
  [
    "learned",
    2,
    "Each position has a row of its own.",
    (from) => {
      const gap = leastApart("learned", from);
      return gap > 1e-6
        ? ""
        : "Two of your positions have the same row: the model cannot tell them apart.";
    },
  ],
  [
    "sinusoidal",
    2,
    "Each position has a row of its own.",
    (from) => {
      const gap = leastApart("sinusoidal", from);
      return gap > 1e-6
        ? ""
        : "Two of your positions have the same row: the model cannot tell them apart.";
    },
  ],
  [
    "sinusoidal",
    4,
    "Without W_q and W_k, the product of two rows depends on their distance alone.",
    (from) => {
      const [change, size] = drift("sinusoidal", true, from);
      return isNothing(change, size)
        ? ""
        : `Along the text the product of your rows changes by ${fixed(change, 2)}, though the distance stays.`;
    },
  ],
  [
    "rope",
    3,
    "A hand that turns keeps its length.",
    (from) => {
      const share = stretch(from);
      return share < 1e-3 ? "" : `Your hands change their length here, by up to ${percent(share)}.`;
    },
  ],
  [
    "rope",
    3,
    "The score of two words depends on their distance alone.",
    (from) => {
      const [change, size] = drift("rope", false, from);
      return isNothing(change, size)
        ? ""
        : `Along the text your score changes by ${fixed(change, 2)}, though the distance stays.`;
    },
  ],
  [
    "rope",
    3,
    "Distance counts: the hands do turn.",
    (from) => {
      const q = probe(0);
      const moved = largest(
        PLACES.map((position) => turned(q, position, from).map((value, i) => value - q[i])),
      );
      return moved > 1e-6
        ? ""
        : "Your hands never turn: the model cannot tell one order from another.";
    },
  ],
  [
    "alibi",
    4,
    "A penalty depends on the distance alone.",
    (from) => {
      const [change, size] = drift("alibi", true, from);
      return isNothing(change, size)
        ? ""
        : `Along the text your penalty changes by ${fixed(change, 2)}, though the distance stays.`;
    },
  ],
  [
    "alibi",
    2,
    "The further away the key, the lower the score.",
    (from) => {
      const falls = unpacked(from.alibi).every((head) =>
        PLACES.slice(1).every((query) =>
          PLACES.slice(1, query + 1).every((key) => head[query][key] > head[query][key - 1]),
        ),
      );
      return falls ? "" : "In yours a key further away is not lowered more.";
    },
  ],
];

let judged = null;

/** The claims on the student's own functions, each with what to say if it does not hold. */
function judgedClaims() {
  judged ??= CLAIMS.filter(([scheme]) => isOwn(scheme)).map(([scheme, step, claim, breaks]) => {
    return { scheme, step, claim, sentence: breaks(OWN) };
  });
  return judged;
}

const isBroken = (scheme) => judgedClaims().some((one) => one.scheme === scheme && one.sentence);

function drawBroken() {
  const broken = judgedClaims().filter(({ step, sentence }) => step === state.step && sentence);
  $("broken").hidden = broken.length === 0;
  const sentences = broken.map(({ scheme, sentence }) => `**${CALLED[scheme]}:** ${sentence}`);
  if (broken.length) say($("broken"), `✗ With your functions: ${sentences.join(" ")}`);
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
  const items = own.map(({ name, whose, status, says, look }) => {
    const said =
      whose === "borrowed" ? "still to do: borrowed from the reference" : (WORDS[status] ?? status);
    const item = element(
      "li",
      { className: status },
      element("code", { textContent: name }),
      ` ${said}`,
    );
    if (whose !== "borrowed" && says)
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
  panel.append(
    element("p", {
      className: "quiet",
      textContent: `Shown: ${what}; down: ${rows}, across: ${columns}. One scale for all three.`,
    }),
    element("div", { className: "maps" }, ...maps),
    element("p", { className: "note" }, ...marked(firstDifference(scheme))),
    element("ul", { className: "claims" }, ...claimsOf(scheme)),
  );
  return panel;
}

const WORDS = {
  passed: "passes its tests",
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
  if (off.length === 0) return `All ${count} numbers are the reference's.`;
  const [i, j, value, want] = off[0];
  const [row, column] = SHOWS[scheme];
  return (
    `${off.length} of ${count} numbers differ. The first: ${row} ${i}, ${column} ${j}: ` +
    `yours **${fixed(value, 3)}**, the reference **${fixed(want, 3)}**.`
  );
}

function drawMine() {
  for (const panel of $("mine").querySelectorAll("section")) {
    const { scheme } = panel.dataset;
    if (!isOwn(scheme)) continue;
    const [mine, right] = [OWN, REFERENCE].map((from) => tableOf(scheme, from));
    const most = largest([...mine, ...right].flat().filter(Number.isFinite)) || 1;
    [mine, right, minus(mine, right)].forEach((values, index) =>
      drawMap(panel.querySelectorAll(".map")[index], values, most),
    );
  }
}

/** A map of numbers with their positions and features counted. */
function drawMap(panel, values, most) {
  const [left, right, below] = [26, 58, 22];
  const across = (panel.clientWidth - left - right) / values[0].length;
  const high = 13;
  const differs = largest(values.flat().filter(Number.isFinite));
  const label = `${values.length} by ${values[0].length} numbers, the largest ${fixed(differs, 3)}.`;
  const [svg] = canvas(panel, values.length * high + below, label);
  values.forEach((row, i) => {
    if (i % 4 === 0) words(svg, [left - 5, (i + 0.5) * high], String(i), "quiet right");
    row.forEach((value, j) => {
      const box = { x: left + j * across, y: i * high, width: across + 0.4, height: high + 0.4 };
      shape(svg, "rect", { ...box, fill: colorOf(value, most) });
    });
  });
  const step = Math.ceil(24 / across);
  for (let j = 0; j < values[0].length; j += step) {
    words(svg, [left + (j + 0.5) * across, values.length * high + 12], String(j), "quiet");
  }
  const x = left + across * values[0].length + 6;
  const steps = 30;
  for (let at = 0; at < steps; at += 1) {
    const value = most * (1 - (2 * (at + 0.5)) / steps);
    const size = (values.length * high) / steps;
    shape(svg, "rect", {
      x,
      y: at * size,
      width: 8,
      height: size + 0.5,
      fill: colorOf(value, most),
    });
  }
  [most, -most].forEach((value, i) =>
    words(svg, [x + 11, 7 + i * (values.length * high - 14)], fixed(value, 1), "quiet left"),
  );
}
