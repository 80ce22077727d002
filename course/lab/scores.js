// Section 3: the scores of the sentence under each scheme, and how far they change by a shift.

function addScores() {
  const panels = SCHEMES.map((scheme) => {
    const canvas = element("canvas", { id: `scores-${scheme}`, tabIndex: 0 });
    canvas.setAttribute("role", "img");
    canvas.dataset.scheme = scheme;
    return element(
      "div",
      {},
      element("h3", { textContent: scheme }),
      element("figure", {}, canvas),
    );
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
    const home = limitOf(scores(settings, scheme, 0));
    // a change is drawn on the scale of the scores: what is next to nothing looks like nothing
    const limit = { scores: limitOf(values), change: home, weights: 1 }[view];
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
    : "Positions alone: no words. RoPE needs something to turn, so there the first word stands " +
      "at every position; ALiBi's penalties stand alone.";
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

/** The largest change by any shift: "0" where it is no more than rounding. */
function changeInWords(settings, scheme) {
  const change = largestChange(settings, scheme);
  return isRounding(settings, scheme, change) ? "0" : shown(change, 2);
}
