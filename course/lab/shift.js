// The two last steps: what W_q and W_k leave of a score that depends on the distance, and what each
// model makes of texts that are longer than those of its training.

// --- a pair that moves along the text ----------------------------------------------------------------

const MOVING = SCHEMES.filter((scheme) => scheme !== "none");

function addShift() {
  choice(
    $("bare"),
    "bare",
    [
      [true, "without W_q, W_k"],
      [false, "with the trained W_q, W_k"],
    ],
    (value) => set({ bare: value }),
  );
  $("along").addEventListener("input", () => set({ start: Number($("along").value) }));
  addView("shift", drawShift);
}

/** By how much the score of the lit pair changes as it moves along the text, for each place. */
function changesAlong(scheme, bare, from = OWN) {
  const [query, key] = litPlaces();
  const told = sentence();
  const apart = positions()[query] - positions()[key];
  const pair = [told[query], told[key]];
  const scores = Array.from({ length: NUMBERS.longest - apart }, (_, place) =>
    pairScore(scheme, headOf(scheme), bare, pair, place + apart, place, from),
  );
  return scores.map((score) => score - scores[0]);
}

function drawShift() {
  const { bare } = state;
  check("bare", bare);
  const [query, key] = litPlaces();
  const where = positions();
  const pair = sentence().filter((_, index) => index === query || index === key);
  const along = MOVING.map((scheme) => ({
    name: CALLED[scheme],
    sign: MARKS[scheme],
    look: `of-${scheme}`,
    values: lately(
      changesAlong,
      scheme,
      bare,
      undefined,
      pair,
      where[query] - where[key],
      headOf(scheme),
    ),
  }));
  const both = MOVING.flatMap((scheme) =>
    [true, false].flatMap((one) =>
      lately(changesAlong, scheme, one, undefined, pair, where[query] - where[key], headOf(scheme)),
    ),
  ).filter(Number.isFinite);
  const slider = $("along");
  slider.max = NUMBERS.longest - state.order.length - state.gap;
  slider.value = state.start;
  slider.setAttribute("aria-valuetext", `key at ${where[key]}, query at ${where[query]}`);
  $("along-now").textContent = `key at ${where[key]}, query at ${where[query]}`;
  drawPlot($("shift"), {
    label: `Change of the score as the pair moves along the text. ${shiftNote(along)}`,
    x: "position of the key; the query stays as far from it",
    y: "change of the score",
    lines: along,
    at: where[key],
    low: Math.min(-0.1, ...both), // one scale for both switches
    high: Math.max(0.1, ...both),
  });
  say($("shift-note"), shiftNote(along));
}

function shiftNote(along) {
  const most = along.map(({ name, values }) => `${name} ${changed(largest(values))}`);
  return `Largest change, the distance as it is: ${most.join(", ")}.`;
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
    low: Math.floor(Math.min(...all)),
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
