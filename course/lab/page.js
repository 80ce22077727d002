// The page is put together, and redrawn when the window changes its width.

addWords();
addNext();
addMatrix();
addHands();
addShift();
addCliff();
addFree();
addMine();
addStory();

let drawnWidth = document.body.clientWidth;
new ResizeObserver(() => {
  if (document.body.clientWidth === drawnWidth) return;
  drawnWidth = document.body.clientWidth;
  widths.clear();
  draw();
}).observe(document.body);
