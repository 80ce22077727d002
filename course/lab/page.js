// The page: everything is drawn anew whenever something was set.

function redraw() {
  forgetCursors();
  showSettings();
  showSentenceNote();
  showTokens();
  drawRows();
  drawHandsOfWord();
  drawScores();
  document.querySelectorAll(".guess").forEach(showGuess);
}

/** Draw anew when the window gets another width, or the page another ground. */
function followTheWindow() {
  const isWide = matchMedia("(min-width: 56rem)");
  const fit = () => {
    $("controls").open = isWide.matches;
    $("controls").firstElementChild.tabIndex = isWide.matches ? -1 : 0; // a heading, or a button
  };
  fit();
  isWide.addEventListener("change", fit);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let drawn = document.body.clientWidth;
  new ResizeObserver(() => {
    if (document.body.clientWidth === drawn) return;
    drawn = document.body.clientWidth;
    redraw();
  }).observe(document.body);
}

showOrigin();
addControls();
addScores();
document.querySelectorAll(".guess").forEach(addGuess);
addCursor($("rows"), aboutRow, drawRows);
addCursor($("hands"), aboutHand, drawHandsOfWord);
for (const canvas of document.querySelectorAll("#scores canvas")) {
  addCursor(canvas, (cell) => aboutScore(canvas, cell), drawScores);
}
followTheWindow();
redraw();
