// Draws formulas and diagrams, and unfolds what is folded before it is printed.

function drawFormulas() {
  for (const element of document.querySelectorAll(".math")) {
    const displayMode = element.tagName === "DIV";
    katex.render(element.textContent, element, { displayMode, throwOnError: false });
  }
}

// Colors are not Mermaid's: site.css gives them, so that they turn with the page's theme.
async function drawDiagrams() {
  const fontFamily = getComputedStyle(document.body).fontFamily;
  const flowchart = { padding: 12, nodeSpacing: 30, rankSpacing: 40 };
  mermaid.initialize({ startOnLoad: false, theme: "base", fontFamily, flowchart });
  await mermaid.run({ querySelector: ".mermaid" });
}

// What is wider than the page scrolls by itself; the keyboard has to get there too.
function letKeysScroll() {
  for (const element of document.querySelectorAll("pre, .math, .table-wrapper")) {
    if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
    else element.removeAttribute("tabindex");
  }
}

function unfoldForPrint() {
  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("details:not([open])")];
    for (const details of unfolded) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of unfolded) details.open = false;
  });
}

addEventListener("DOMContentLoaded", async () => {
  unfoldForPrint();
  if (window.katex) drawFormulas();
  if (window.mermaid) await drawDiagrams();
  letKeysScroll();
  addEventListener("resize", letKeysScroll);
});
