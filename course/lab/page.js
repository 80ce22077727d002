// The page is put together, and drawn anew when the window gets another width.

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
