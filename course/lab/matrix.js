// Every query meets every key before it in a score: a map of them, on one scale for all schemes.

function addMatrix() {
  const panel = $("matrix");
  onArrows(panel, (rows, columns) => {
    const query = state.order.indexOf(state.query) + rows;
    const key = state.order.indexOf(state.key) + columns;
    if (query < 0 || query >= state.order.length || key < 0 || key > query) return;
    set({ query: state.order[query], key: state.order[key], gap: 0, pointed: null });
  });
  panel.addEventListener("pointermove", (event) => {
    const at = cellAt(event);
    point(at ? { query: state.order[at[0]], key: state.order[at[1]] } : null);
  });
  panel.addEventListener("pointerleave", () => point());
  panel.addEventListener("click", (event) => {
    const at = cellAt(event);
    if (at) set({ query: state.order[at[0]], key: state.order[at[1]], gap: 0 });
  });
  addView("matrix", drawMatrix);
}

/** Where the color scale ends: above the largest score of any scheme, at a round number. */
function limit() {
  const scores = SCHEMES.flatMap((scheme) =>
    attentionNow(scheme).scores.flatMap((row, query) => row.slice(0, query + 1)),
  );
  return 4 * Math.ceil(largest(scores.filter(Number.isFinite)) / 4) || 4;
}

/** The color of a value between -limit and limit; what is not a number has none. */
function colorOf(value, limit) {
  if (!Number.isFinite(value)) return "none";
  const map = NUMBERS.colors;
  const share = (value / limit + 1) / 2;
  return map[within(Math.floor(share * map.length), 0, map.length - 1)];
}

const isDark = (color) => {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16) / 255);
  return 0.3 * red + 0.6 * green + 0.1 * blue < 0.5;
};

function drawMatrix() {
  const told = sentence();
  const { scores } = attentionNow();
  const [litQuery, litKey] = litPlaces();
  const most = limit();
  const left = 26 + 8 * Math.max(...told.map((word) => word.length));
  const side = Math.min(
    46,
    Math.floor((Math.min(widthOf($("matrix")), 620) - left - 62) / told.length),
  );
  const [above, size] = [26, side * told.length];
  const [svg] = canvas($("matrix"), above + size + left * 0.6 + 12, matrixLabel());
  words(svg, [left + size / 2, 10], "keys", "k bold");
  put(words(svg, [8, above + size / 2], "queries", "q bold"), {
    transform: `rotate(-90 8 ${above + size / 2})`,
  });
  told.forEach((word, query) => {
    const look = query === litQuery ? "q bold right" : "ink right";
    words(svg, [left - 6, above + (query + 0.5) * side], word, look);
    scores[query].slice(0, query + 1).forEach((score, key) => {
      const [x, y] = [left + key * side, above + query * side];
      const color = colorOf(score, most);
      const box = {
        x,
        y,
        width: side - 1,
        height: side - 1,
        fill: color,
        "data-cell": `${query} ${key}`,
        class: query === litQuery ? "" : "pale",
      };
      shape(svg, "rect", box);
      if (side < 32) return;
      if (query !== litQuery && state.step === 2) return; // one row at a time
      const ink = color !== "none" && isDark(color) ? "on-dark" : "on-light";
      const number = words(svg, [x + side / 2, y + side / 2], fixed(score, 1), ink);
      number.dataset.cell = `${query} ${key}`;
    });
  });
  told.forEach((word, key) => {
    const place = [left + (key + 0.5) * side, above + size + 8];
    const name = words(svg, place, word, key === litKey ? "k bold right" : "ink right");
    put(name, { transform: `rotate(-45 ${place})` });
  });
  if (litQuery >= 0 && litKey >= 0 && litKey <= litQuery) {
    const place = { x: left + litKey * side, y: above + litQuery * side };
    shape(svg, "rect", { ...place, width: side - 1, height: side - 1, class: "frame" });
  }
  const right = left + size + 16;
  scale(svg, right, above, Math.min(size, 180), most);
  words(svg, [right - 2, above - 16], "score", "quiet left");
}

/** The color bar, with the numbers at its ends. */
function scale(svg, x, y, height, most) {
  const steps = 40;
  for (let step = 0; step < steps; step += 1) {
    const value = most * (1 - (2 * (step + 0.5)) / steps);
    const box = { x, y: y + (step * height) / steps, width: 12, height: height / steps + 0.5 };
    shape(svg, "rect", { ...box, fill: colorOf(value, most) });
  }
  [most, 0, -most].forEach((value, index) =>
    words(
      svg,
      [x + 17, y + 6 + (index * (height - 12)) / 2],
      fixed(value, most < 4 ? 1 : 0),
      "ink left",
    ),
  );
}

function matrixLabel() {
  const [query, key] = litPlaces();
  const told = sentence();
  const score = fixed(attentionNow().scores[query][key], 2);
  return (
    `Scores of ${told.length} queries (rows) and the keys before them, ${CALLED[state.scheme]}. ` +
    `Chosen: query “${told[query]}”, key “${told[key]}”: ${score}. Arrow keys choose another.`
  );
}

/** The chosen score in words, below the map. */
function scoreInWords() {
  const [query, key] = litPlaces();
  const told = sentence();
  const { scores, weights } = attentionNow();
  const unit = state.scheme === "alibi" ? "q · k / √D, less ALiBi's penalty" : "q · k / √D";
  return (
    `Query “${told[query]}”, key “${told[key]}”: score **${fixed(scores[query][key], 2)}** (${unit}). ` +
    `A softmax, which makes shares of the scores of a row, gives it ${percent(weights[query][key])} of ` +
    "the attention. " +
    "One color scale for all five models."
  );
}
