// The two last steps: what W_q and W_k leave of a score that depends on the distance, and what each
// model makes of texts that are longer than those of its training.

// --- a pair that moves along the text ----------------------------------------------------------------

function addShift() {
  const options = [
    [true, "without W_q, W_k"],
    [false, "with the trained W_q, W_k"],
  ];
  choice($("bare"), "bare", options, (value) => set({ bare: value }));
  addView("shift", drawShift);
}

/** How the score of two words, that far apart, differs from that at position 0, for each place. */
function changesAlong(scheme, bare, pair, apart, head, from) {
  const scores = Array.from({ length: NUMBERS.longest - apart }, (_, place) =>
    pairScore(scheme, head, bare, pair, place + apart, place, from),
  );
  return scores.map((score) => score - scores[0]);
}

function drawShift() {
  check("bare", state.bare);
  const [query, key] = litPlaces();
  const where = positions();
  const apart = where[query] - where[key];
  const pair = [query, key].map((index) => sentence()[index]);
  const along = (scheme, bare) =>
    lately(changesAlong, scheme, bare, pair, apart, headOf(scheme), undefined);
  const lines = SCHEMES.map((scheme) => ({
    name: CALLED[scheme],
    sign: MARKS[scheme],
    look: `of-${scheme}`,
    values: along(scheme, state.bare),
  }));
  const both = SCHEMES.flatMap((scheme) => [true, false].flatMap((bare) => along(scheme, bare)));
  const shown = both.filter(Number.isFinite);
  const most = lines.map(({ name, values }) => `${name} ${changed(largest(values))}`);
  const note =
    `Query “${pair[0]}”, key “${pair[1]}”, always ${apart} apart. Largest change of their score: ` +
    `${most.join(", ")}.`;
  drawPlot($("shift"), {
    label: `Change of the score as a pair moves along the text. ${note}`,
    x: `position of the key; the query stands ${apart} further on`,
    y: "change of the score",
    lines,
    at: where[key],
    low: Math.min(-0.1, ...shown), // one scale for both switches
    high: Math.max(0.1, ...shown),
  });
  say($("shift-note"), note);
}

// --- longer than trained -------------------------------------------------------------------------------

function addCliff() {
  const slider = $("reach");
  put(slider, { min: NUMBERS.read, max: NUMBERS.farthest, step: NUMBERS.binned });
  slider.addEventListener("input", () => set({ reach: Number(slider.value) }));
  addView("cliff", drawCliff);
}

/** The loss of a scheme's model at the words read last. */
function lossAt(scheme, reach) {
  return lossesOf(scheme)[reach / NUMBERS.binned - 1];
}

const lossesOf = (scheme) => NUMBERS.mine?.losses[scheme] ?? NUMBERS.models[scheme].losses;

function drawCliff() {
  const { reach, step } = state;
  $("reach").value = reach;
  const text = `${reach} words`;
  $("reach").setAttribute("aria-valuetext", text);
  $("reach-now").textContent = text;
  const all = SCHEMES.flatMap((scheme) => lossesOf(scheme)).filter(Number.isFinite);
  drawPlot($("cliff"), {
    label: `Loss at each word of a text, for five models. ${cliffNote()}`,
    x: "word of the text",
    y: "loss, nats a word",
    first: NUMBERS.binned / 2,
    per: NUMBERS.binned,
    shaded: NUMBERS.read,
    until: reach,
    lines: SCHEMES.map((scheme) => ({
      name: CALLED[scheme],
      sign: MARKS[scheme],
      look: `of-${scheme}`,
      values: lossesOf(scheme),
    })),
    low: Math.floor(Math.min(...all)) - 0.2, // room for the names while the lines are short
    high: Math.max(...all) + 0.1,
    at: step === 5 ? undefined : reach - NUMBERS.binned / 2,
  });
  say($("cliff-note"), cliffNote());
}

function cliffNote() {
  const { reach } = state;
  const losses = SCHEMES.map((scheme) => `${CALLED[scheme]} ${fixed(lossAt(scheme, reach), 2)}`);
  return `Loss at words ${reach - NUMBERS.binned + 1} to ${reach}: ${losses.join(", ")}.`;
}
