// RoPE's picture: the two features of a pair are a hand. A query's and a key's hands turn with their
// positions; the score is a sum over the pairs, drawn over the distance.

function addHands() {
  addRuler();
  addView("hands", drawHands);
  addView("curves", drawCurves);
  for (const id of ["hands", "curves"]) {
    $(id).addEventListener("pointermove", (event) => {
      const pair = event.target.closest?.("[data-pair]")?.dataset.pair;
      point(pair === undefined ? null : { pair: Number(pair) });
    });
    $(id).addEventListener("pointerleave", () => point());
  }
  onArrows($("hands"), (rows, columns) =>
    point({ pair: within((lit().pair ?? -1) + rows + columns, 0, HALF - 1) }),
  );
  $("hands").addEventListener("blur", () => point());
}

/** The lit query and key of RoPE's model: vectors as they meet, positions, places. */
function rotated() {
  const [query, key] = litPlaces();
  const { queries, keys } = attentionNow("rope");
  const where = positions();
  return { q: queries[query], k: keys[key], m: where[query], n: where[key], query, key };
}

function drawHands() {
  const { q, k, m, n, query, key } = rotated();
  const columns = widthOf($("hands")) < 520 ? 2 : HALF;
  const side = Math.min(widthOf($("hands")) / columns, 180);
  const radius = side / 2 - 26;
  const [above, height] = [22, side + 40];
  const label = `Hands of query “${sentence()[query]}” at ${m} and key “${sentence()[key]}” at ${n}.`;
  const [svg] = canvas($("hands"), height * Math.ceil(HALF / columns), label);
  const told = [];
  PAIRS.forEach((pair, index) => {
    const [x, y] = [
      ((index % columns) + 0.5) * side,
      Math.floor(index / columns) * height + above + side / 2,
    ];
    const group = shape(svg, "g", { "data-pair": index, class: lit().pair === index ? "lit" : "" });
    const box = {
      x: x - side / 2 + 2,
      y: y - side / 2 - above + 2,
      width: side - 4,
      height: height - 4,
    };
    shape(group, "rect", { ...box, class: "ground" });
    words(
      group,
      [x, y - side / 2 - 6],
      `pair ${index}: numbers ${pair.join(", ")}`,
      `bold pair-${index}`,
    );
    dial(group, [x, y], radius);
    const reach = longestHand(pair);
    const angle = turnBetween(pair, k, q);
    sector(
      group,
      [x, y],
      radius * 0.55,
      Math.atan2(k[pair[1]], k[pair[0]]),
      angle,
      "of-accent accent",
    );
    for (const [vector, name] of [
      [k, "k"],
      [q, "q"],
    ]) {
      const tip = pair.map((feature) => vector[feature] / reach);
      hand(group, [x, y], radius, tip, name);
      const far = Math.hypot(...tip) || 1;
      const out = (radius * Math.max(far, 0.35) + 13) / far;
      words(group, [x + tip[0] * out, y - tip[1] * out], name, `${name} bold`);
    }
    const [degrees, part] = [fixed((angle * 180) / Math.PI, 0), pairByPair(q, k)[index]];
    words(group, [x, y + side / 2 + 2], `k to q ${degrees}°: ${fixed(part, 2)}`, "accent bold");
    told.push(`pair ${index}: angle ${degrees} degrees, adds ${fixed(part, 2)}`);
  });
  put(svg, { "aria-label": `${label} ${told.join("; ")}.` });
}

/** The longest hand of a pair that any word of the sentence has: hands are drawn next to it. */
function longestHand(pair) {
  const { queries, keys } = attentionNow("rope");
  const length = (vector) => Math.hypot(...pair.map((feature) => vector[feature]));
  const most = Math.max(...[...queries, ...keys].map(length).filter(Number.isFinite));
  return most > 0 ? most : 1;
}

// --- the text as a ruler, on which query and key are dragged ----------------------------------------

const HANDLES = ["both", "k", "q"]; // as the Tab key reaches them

const isNarrow = () => widthOf($("ruler")) < 520;
const margin = () => (isNarrow() ? 52 : 110); // next to the first and last position: for a handle
const pixels = () => (widthOf($("ruler")) - 2 * margin()) / (NUMBERS.longest - 1);

function addRuler() {
  const handles = HANDLES.map((name) => {
    const handle = element("button", { type: "button", className: `handle ${name}` });
    handle.setAttribute("role", "slider");
    handle.setAttribute("aria-valuemin", 0);
    handle.setAttribute("aria-valuemax", NUMBERS.longest - 1);
    let from = null;
    handle.addEventListener("pointerdown", (event) => {
      from = { x: event.clientX, start: state.start, gap: state.gap };
      handle.setPointerCapture(event.pointerId);
      handle.focus();
      event.preventDefault();
    });
    handle.addEventListener("pointermove", (event) => {
      if (from) moveBy(name, Math.round((event.clientX - from.x) / pixels()), from);
    });
    for (const end of ["pointerup", "pointercancel"])
      handle.addEventListener(end, () => (from = null));
    onArrows(handle, (rows, columns) => moveBy(name, columns - rows, state));
    handle.addEventListener("keydown", (event) => {
      const far = { Home: -NUMBERS.longest, End: NUMBERS.longest }[event.key];
      if (!far) return;
      event.preventDefault();
      moveBy(name, far, state);
    });
    return handle;
  });
  $("ruler").append(...handles);
  addView("ruler", drawRuler);
}

/** Move the query, the key or both along the text; no word passes another. */
function moveBy(name, steps, { start, gap }) {
  const room = NUMBERS.longest - state.order.length;
  if (name === "q") set({ start, gap: within(gap + steps, 0, room - start) });
  if (name === "both") set({ start: within(start + steps, 0, room - gap) });
  if (name === "k") {
    const moved = within(steps, -start, gap); // the query stays
    set({ start: start + moved, gap: gap - moved });
  }
}

function drawRuler() {
  const where = positions();
  const [query, key] = litPlaces();
  const panel = $("ruler");
  const [svg] = canvas(panel, 128, "The positions of the text");
  const x = (position) => margin() + position * pixels();
  line(svg, [x(0), 50], [x(NUMBERS.longest - 1), 50], "axis");
  for (let tick = 0; tick < NUMBERS.longest; tick += 10) {
    line(svg, [x(tick), 46], [x(tick), 54], "axis");
    words(svg, [x(tick), 64], String(tick), "quiet");
  }
  where.forEach((position) =>
    shape(svg, "circle", { cx: x(position), cy: 50, r: 3, class: "filled quiet" }),
  );
  for (const place of [where[query], where[key]]) line(svg, [x(place), 14], [x(place), 50], "link");
  line(svg, [x(where[key]), 50], [x(where[query]), 50], "link");
  const places = { q: where[query], k: where[key], both: (where[query] + where[key]) / 2 };
  const said = {
    q: `Query “${sentence()[query]}”`,
    k: `Key “${sentence()[key]}”`,
    both: "Both, the distance as it is",
  };
  const [asks, answers] = isNarrow() ? ["", ""] : [query, key].map((at) => `${sentence()[at]}, `);
  const shown = {
    q: `${asks}q ${where[query]}`,
    k: `${answers}k ${where[key]}`,
    both: "↔ both",
  };
  if (state.step !== 4) {
    const { q, k } = rotated();
    const score = pairByPair(q, k).reduce((sum, part) => sum + part, 0);
    words(svg, [x(places.both), 117], `score ${fixed(score, 2)}`, "accent bold");
  }
  for (const [index, handle] of [...panel.querySelectorAll(".handle")].entries()) {
    const name = HANDLES[index];
    handle.style.left = `${x(places[name])}px`;
    handle.textContent = shown[name];
    handle.setAttribute("aria-label", said[name]);
    handle.setAttribute("aria-valuenow", Math.floor(places[name]));
    handle.setAttribute("aria-valuetext", `query at ${where[query]}, key at ${where[key]}`);
  }
}

// --- the score over the distance ---------------------------------------------------------------------

/** The part of each pair in the score, for each distance: (distances, D / 2). */
function partsByDistance() {
  const [query, key] = litPlaces();
  const rows = lately(normedInputs, "rope", sentence(), positions());
  const head = headOf("rope");
  const q = projected("rope", 0, head, rows[query]);
  const k = projected("rope", 1, head, rows[key]);
  const still = turned(k, 0);
  return Array.from({ length: NUMBERS.longest }, (_, apart) => pairByPair(turned(q, apart), still));
}

function drawCurves() {
  const parts = partsByDistance();
  const { q, k, m, n } = rotated();
  const now = pairByPair(q, k);
  const sums = parts.map((row) => row.reduce((sum, part) => sum + part, 0));
  const lines = PAIRS.map((_, pair) => ({
    name: `pair ${pair}`,
    look: lit().pair === null || lit().pair === pair ? `pair-${pair}` : `pair-${pair} faint`,
    pair,
    values: parts.map((row) => row[pair]),
    now: now[pair],
  }));
  const total = now.reduce((sum, part) => sum + part, 0);
  lines.push({ name: "the score", look: "sum", values: sums, now: total });
  drawPlot($("curves"), {
    label: `RoPE's score over the distance. At distance ${m - n} it is ${fixed(total, 2)}.`,
    x: "distance of query and key, in positions",
    y: "score",
    lines,
    at: m - n,
    height: widthOf($("curves")) < 440 ? 230 : 280,
  });
  say($("hands-note"), handsNote(total, m, n));
}

function handsNote(total, m, n) {
  const now = `Query at ${m}, key at ${n}: distance ${m - n}, score **${fixed(total, 2)}**. `;
  if (isBroken("rope")) return now;
  return (
    `${now}It is the sum of what the pairs add, written below each; an angle below 0 is clockwise. ` +
    "Move both: every hand turns, no angle changes, the score stays. Move one: the angles change; " +
    "pair 0 may go round, the last hardly moves."
  );
}
