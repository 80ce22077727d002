// What the model predicts next: for the words in their first order, and as they are now; and
// the same for all schemes in a table.

function addNext() {
  addView("next", drawNext);
  addView("compared", drawCompared);
}

function drawNext() {
  const [before, now] = [nextAtFirst(), nextNow()];
  const names = [...new Set([...plausible(before), ...plausible(now)])];
  const parts =
    isMoved() || state.gap || state.start
      ? [
          ["as at first", asAtFirst(), before],
          ["as you left them", sentence(), now],
        ]
      : [["", sentence(), now]];
  const panels = parts.map(([title, said, probabilities]) => {
    const rows = names.map((word) => {
      const share = probabilities[NUMBERS.words.indexOf(word)];
      const bar = element("i");
      bar.style.width = `${100 * share}%`;
      return element(
        "div",
        {},
        element("b", { textContent: word }),
        element("span", {}, bar),
        element("small", { textContent: percent(share) }),
      );
    });
    const heading = element(
      "p",
      {},
      ...(title ? [element("strong", { textContent: `${title}: ` })] : []),
      `${said.join(" ")} …`,
    );
    return element("div", { className: "said" }, heading, ...rows);
  });
  $("next").replaceChildren(...panels);
}

/** The two likeliest words, the second only if it is more than a hair. */
const plausible = (probabilities) =>
  likeliest(probabilities, 2)
    .filter(([, share], index) => index === 0 || share >= 0.005)
    .map(([word]) => word);

/** For each scheme: what it says next in either order, and how much attention has changed. */
function drawCompared() {
  const best = (probabilities) => likeliest(probabilities, 1)[0];
  const cell = ([word, share]) => (share >= 0 ? `${word} ${percent(share)}` : percent(share));
  const rows = SCHEMES.map((scheme) => {
    const name = element("th", { scope: "row" }, mark(scheme), ` ${CALLED[scheme]}`);
    const row = element("tr", { className: scheme === state.scheme ? "chosen" : "" }, name);
    for (const text of [
      cell(best(nextAtFirst(scheme))),
      cell(best(nextNow(scheme))),
      points(changeOfWeights(scheme)),
    ]) {
      row.append(element("td", { textContent: text }));
    }
    return row;
  });
  $("compared").tBodies[0].replaceChildren(...rows);
}

/** A scheme's mark, which tells it apart without its color. */
function mark(scheme) {
  const sign = element("span", { className: `of-${scheme}`, textContent: MARKS[scheme] });
  sign.setAttribute("aria-hidden", "true");
  return sign;
}

const MARKS = { none: "●", learned: "▲", sinusoidal: "◆", rope: "■", alibi: "▼" };
