// Wide elements scroll by themselves; the keyboard has to get there too.
function letKeysScroll() {
  for (const element of document.querySelectorAll("pre, .math, .table-wrapper, .output")) {
    if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
    else element.removeAttribute("tabindex");
  }
}

addEventListener("load", letKeysScroll);
addEventListener("resize", letKeysScroll);

/** Show the first place that a search has found, and unfold what hides it. */
function showHit() {
  const hit = document.querySelector("article .highlighted");
  for (let fold = hit?.closest("details"); fold; fold = fold.parentElement.closest("details")) {
    fold.open = true;
  }
  hit?.scrollIntoView({ block: "center" });
}

// Sphinx marks the words a moment after the page has been read
addEventListener("load", () => setTimeout(showHit, 50));
