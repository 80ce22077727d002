// Section 1: the rows of tokens and positions, and their sum, a tab for each.

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
    limit: limitOf(...matrices), // one scale, so that the tabs compare
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
    if (isSaid)
      told.push(`Cosine of the first two rows of “${repeated[0]}”: ${shown(likeness, 2)}.`);
  } else {
    told.push("No word occurs twice: try a sentence in which one does.");
  }
  if (scheme === "RoPE")
    told.push("RoPE adds nothing to a token. It turns queries and keys: see 2.");
  if (scheme === "ALiBi") told.push("ALiBi adds nothing to a token. It lowers scores: see 3.");
  say($("rows-note"), told.join(" "));
}

function aboutRow([row, column]) {
  const value = matrixOf(settings, settings.scheme, settings.matrix)[row][column];
  const where = `“${settings.words[row]}” at ${settings.start + row}, feature ${column}`;
  return `${where}: ${shown(value, 4)}`;
}
