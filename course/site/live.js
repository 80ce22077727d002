// Figures of the lessons with something to move. Each begins as its still figure looks, which stays
// for paper, and for browsers without a script. Places are pixels of a figure 700 wide.

// --- parts -------------------------------------------------------------------------------------

/** A card with the finding above it; the places in it count from below the finding. */
function card(figure, height, finding) {
  const above = 16 + 28 * finding.length;
  const box = `0 ${-above} 700 ${height + above}`;
  const svg = shape(figure, "svg", { viewBox: box, width: 700, height: height + above });
  shape(svg, "rect", { x: 1, y: 1 - above, width: 698, height: height + above - 2, rx: 11 });
  finding.forEach((line, i) => words(svg, [16, 27 - above + 23 * i], line, "ink left bold title"));
  return svg;
}

/** Sliders below a figure, [name, least, most, value] each. Whenever one moves, `draw` gets the
 * values of all, draws, and returns what is to be seen, in sentences, what moves first. */
function addSliders(figure, svg, sliders, draw) {
  const inputs = sliders.map(([name, min, max, value]) => {
    const label = Object.assign(document.createElement("label"), { textContent: `${name}: ` });
    const input = Object.assign(document.createElement("input"), { type: "range", min, max });
    input.value = value;
    input.ariaLabel = name;
    label.append(document.createElement("b"), input);
    figure.append(label);
    return input;
  });
  const show = () => {
    const seen = draw(...inputs.map((input) => Number(input.value)));
    put(svg, { role: "img", "aria-label": seen.join(" ") });
    for (const input of inputs) {
      input.previousSibling.textContent = input.value;
      input.setAttribute("aria-valuetext", `${input.value}. ${seen[0]}`);
    }
  };
  for (const input of inputs) input.addEventListener("input", show);
  show();
}

// --- lesson 2: words move, and their new vectors move with them --------------------------------

const LOOKS = { dog: "what", bites: "quiet", man: "third" };

/** The new vectors of words in this order, (T, C). */
function attended(order) {
  const tokens = order.map((word) => NUMBERS.vectors[word]);
  const scores = times(tokens, transposed(tokens));
  const scale = Math.sqrt(tokens[0].length);
  return times(
    scores.map((row) => softmax(row.map((score) => score / scale))),
    tokens,
  );
}

/** A row of cells; what comes back says how high it lies, and what it holds. */
function addRow(parent, x, word, name) {
  const row = shape(parent, "g", { class: "row" });
  const numbers = [0, 60, 120, 180].map((aside) => {
    const place = { x: x + aside, y: 0, width: 60, height: 34 };
    shape(row, "rect", { ...place, class: `cell of-${LOOKS[word]}` });
    return words(row, [x + aside + 30, 17], "", word === "bites" ? "quiet" : "ink bold");
  });
  words(row, name, word, `${LOOKS[word]} ${name[0] < x ? "right" : "left"}`);
  const put = (y, entries) => {
    row.style.transform = `translateY(${y}px)`;
    entries.forEach((entry, column) => (numbers[column].textContent = entry));
  };
  return { row, put };
}

/** A sentence, with its vectors above and below attention; and what shows it in an order. */
function addSentence(svg, x, name) {
  const title = words(svg, [x + 120, 22], "", "ink bold");
  const rows = () =>
    Object.fromEntries(Object.keys(LOOKS).map((word) => [word, addRow(svg, x, word, [name, 17])]));
  const [before, after] = [rows(), rows()];
  shape(svg, "rect", { x, y: 176, width: 240, height: 40, rx: 10, class: "box" });
  words(svg, [x + 120, 196], "attention", "ink");
  arrow(svg, [x + 120, 150], [x + 120, 172], "quiet");
  arrow(svg, [x + 120, 219], [x + 120, 241], "quiet");
  const show = (order) => {
    const vectors = attended(order);
    title.textContent = order.join(" ");
    order.forEach((word, place) => {
      before[word].put(
        45 + 34 * place,
        NUMBERS.vectors[word].map((entry) => fixed(entry, 0)),
      );
      after[word].put(
        245 + 34 * place,
        vectors[place].map((entry) => fixed(entry, 2)),
      );
    });
    return vectors;
  };
  return { show, before };
}

function wordsMove(figure) {
  const finding = ["Move a word, and its new vector moves with it:", "nothing else happens"];
  const svg = card(figure, 360, finding);
  const label = "The vectors of three words before and after attention, in two orders";
  put(svg, { role: "group", "aria-label": label });
  const home = Object.keys(NUMBERS.vectors);
  const arrows = shape(svg, "g", {});
  const [left, right] = [addSentence(svg, 75, 65), addSentence(svg, 385, 648)];
  const [button, told] = ["button", "output"].map((tag) => document.createElement(tag));
  button.textContent = "Shuffle the words";
  figure.append(button, told);
  const asBefore = left.show(home);
  let order;

  function show(changed) {
    order = changed;
    const now = right.show(order);
    const moved = order.map((word) => asBefore[home.indexOf(word)]);
    const change = fixed(largest(minus(now, moved)), 2);
    told.textContent = `${order.join(" ")}: the new vectors of its words change by ${change}.`;
    arrows.replaceChildren();
    for (const [row, word] of home.entries()) {
      const place = order.indexOf(word);
      for (const top of [62, 262]) {
        arrow(arrows, [319, top + 34 * row], [378, top + 34 * place], LOOKS[word]);
      }
      const said = `${place + 1}: ${order.join(" ")}`;
      put(right.before[word].row, { "aria-valuenow": place + 1, "aria-valuetext": said });
    }
  }
  const moveTo = (word, place) => {
    const others = order.filter((other) => other !== word);
    const within = Math.min(Math.max(place, 0), others.length);
    if (within !== order.indexOf(word)) show(others.toSpliced(within, 0, word));
  };
  for (const word of home) {
    const { row } = right.before[word];
    shape(row, "path", { d: "M631 13l4.5 -5 4.5 5M631 21l4.5 5 4.5 -5", class: "quiet" });
    put(row, { role: "slider", tabindex: 0, "aria-orientation": "vertical" });
    put(row, {
      "aria-label": `Place of ${word}`,
      "aria-valuemin": 1,
      "aria-valuemax": home.length,
    });
    row.addEventListener("keydown", (event) => {
      const step = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation(); // elsewhere these keys turn the pages of the site
      moveTo(word, order.indexOf(word) + step);
    });
    row.addEventListener("touchstart", (event) => event.preventDefault()); // no scrolling meanwhile
    row.addEventListener("pointerdown", (event) => row.setPointerCapture(event.pointerId));
    row.addEventListener("pointermove", (event) => {
      if (!row.hasPointerCapture(event.pointerId)) return;
      const place = new DOMPoint(0, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      moveTo(word, Math.floor((place.y - 45) / 34));
    });
  }
  button.addEventListener("click", () => {
    const [first, ...others] = home.filter((word) => word !== order[0]);
    const kept = [order[0], ...others];
    show([first, ...(Math.random() < 0.5 ? kept : kept.reverse())]);
  });
  show(home.toReversed());
}

// --- lesson 4: a position moves, and the hands turn --------------------------------------------

function positionMoves(figure) {
  const first = 7;
  const finding = ["The fast hand tells neighbors apart,", "the slow hands far positions"];
  const svg = card(figure, 420, finding);
  const [rates, rows] = [NUMBERS.rates, NUMBERS.rows].map(unpacked);
  words(svg, [16, 46], "steps per turn", "quiet left");
  rates.forEach((rate, pair) => {
    const turn = (2 * Math.PI) / rate;
    words(svg, [200 + 145 * pair, 20], `hand ${pair}`, "ink bold");
    const rounded = Number(turn.toPrecision(turn < 1000 ? 3 : 4));
    words(svg, [200 + 145 * pair, 46], rounded.toLocaleString("en-US"), "quiet");
  });
  const scene = shape(svg, "g", {});
  addSliders(figure, svg, [["Position", 0, rows.length - 1, 51]], (position) => {
    scene.replaceChildren();
    [first, 8, position].forEach((shown, row) => {
      const y = 120 + 116 * row;
      words(scene, [16, y], `position ${shown}`, "ink bold left");
      rates.forEach((rate, pair) => {
        const place = [200 + 145 * pair, y];
        const turned = ((shown - first) * rate) % (2 * Math.PI);
        const moved = Math.abs(Math.sin(turned / 2)) > Math.sin(0.1);
        const tips = [first, shown].map((at) => [rows[at][2 * pair + 1], rows[at][2 * pair]]);
        dial(scene, place, 47);
        if (moved) sector(scene, place, 47, first * rate, turned, "of-accent");
        if (row) hand(scene, place, 47, tips[0], "faint");
        hand(scene, place, 47, tips[1], moved ? "accent" : "quiet");
      });
    });
    const turns = rates.map((rate) => `${fixed(((position - first) * rate * 180) / Math.PI, 0)}°`);
    return [`From position ${first} to ${position} the four hands turn by ${turns.join(", ")}.`];
  });
}

// --- lesson 5: query and key move, and the angle between them stays ----------------------------

function queryAndKeyMove(figure) {
  const svg = card(figure, 275, ["Both hands turn, and the angle between them stays"]);
  const [queries, keys] = [NUMBERS.queries, NUMBERS.keys].map(unpacked);
  const pair = [0, 2];
  line(svg, [518, 10], [518, 265], "faint");
  const scene = shape(svg, "g", {});
  const sliders = [
    ["Both move: query at position", 0, queries.length - 1, 1],
    ["The key is later by", 0, keys.length - queries.length, 2],
  ];
  addSliders(figure, svg, sliders, (position, apart) => {
    scene.replaceChildren();
    const shown = [0, position, queries.length - 1].map((m) => [m, m + apart]);
    const seen = [...shown, [apart, 0]].map(([m, n], column) => {
      const place = [[95, 260, 425, 610][column], 128];
      const look = column < 3 ? "accent" : "quiet";
      const angle = turnBetween(pair, queries[m], keys[n]); // counterclockwise
      const start = Math.atan2(queries[m][2], queries[m][0]);
      dial(scene, place, 62);
      sector(scene, place, 36, start, angle, `of-${look} ${look}`);
      const point = (vector, name, color) => {
        const length = Math.hypot(...pair.map((feature) => vector[feature]));
        const [right, up] = pair.map((feature) => vector[feature] / length);
        hand(scene, place, 62, [right, up], color);
        words(scene, [place[0] + 78 * right, place[1] - 78 * up], name, `${color} bold`);
      };
      point(queries[m], "q", "query");
      point(keys[n], "k", "key");
      const [turn, score] = [fixed(angle, 2), fixed(dot(queries[m], keys[n]), 3)];
      const ofNames = column === 1 ? "ink bold" : "quiet"; // the one that moves
      words(scene, [place[0], 9], `q at ${m}`, ofNames);
      words(scene, [place[0], 30], `k at ${n}`, ofNames);
      words(scene, [place[0], 226], `angle ${turn} rad`, look);
      words(scene, [place[0], 255], `score ${score}`, `${look} bold`);
      return `Query at ${m}, key at ${n}: angle ${turn} radians, score ${score}.`;
    });
    return [seen[1], ...seen.toSpliced(1, 1)];
  });
}

// --- all of them ---------------------------------------------------------------------------------

/** The name of a figure -> what makes it live. */
const LIVE = {
  same_vectors_moved: wordsMove,
  hands_of_three_positions: positionMoves,
  both_hands_turn: queryAndKeyMove,
};

const knowsColors = CSS.supports("color", "light-dark(red, red)"); // older browsers keep the still one
for (const [name, build] of Object.entries(LIVE)) {
  const image = document.querySelector(`article img[src$="/${name}.svg"]`);
  if (!image || !knowsColors) continue;
  const figure = Object.assign(document.createElement("figure"), { className: "live" });
  for (const [color, [light, dark]] of Object.entries(NUMBERS.colors)) {
    figure.style.setProperty(`--${color}`, `light-dark(${light}, ${dark})`);
  }
  const still = image.closest("p") ?? image;
  build(figure);
  still.classList.add("still");
  still.after(figure);
}
