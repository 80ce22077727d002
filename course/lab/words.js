// The sentence: each word can be dragged onto another, and wears a bar: how much the query attends
// to it.

/** In the story the last word stays, because it asks what comes next. */
const isFixed = (number) => state.step < 6 && number === state.order.at(-1);

function addWords() {
  const strip = $("words");
  let grabbed = null; // {number, order} of the word under the pointer when it was pressed

  const numberAt = (event) => {
    const under = document.elementFromPoint(event.clientX, event.clientY)?.closest("#words > *");
    return under ? Number(under.dataset.number) : null;
  };
  const place = (number) => state.order.indexOf(number);

  function exchange(order, one, other) {
    if (one === other || isFixed(one) || isFixed(other)) return order;
    return swapped(order, order.indexOf(one), order.indexOf(other));
  }

  strip.addEventListener("pointerdown", (event) => {
    const number = numberAt(event);
    if (number === null || event.button > 0) return;
    grabbed = { number, order: state.order, over: number };
    strip.setPointerCapture(event.pointerId);
    if (event.target.closest("button")) event.target.closest("button").focus();
    event.preventDefault();
  });
  strip.addEventListener("pointermove", (event) => {
    if (!grabbed) return point(pairWith(numberAt(event)));
    // the word that was here when dragging began, because others have moved since
    const under = nearest(event);
    if (under === null || under === grabbed.over) return;
    grabbed.over = under;
    const other = grabbed.order[under];
    state.pointed = null;
    glide(() => set({ order: exchange(grabbed.order, grabbed.number, other), gap: 0 }));
  });
  strip.addEventListener("pointerup", () => {
    const wasClicked = grabbed && grabbed.order === state.order;
    const { number } = grabbed ?? {};
    grabbed = null;
    if (wasClicked && state.step > 1) choose(number);
  });
  strip.addEventListener("pointercancel", () => (grabbed = null));
  strip.addEventListener("pointerleave", () => grabbed || point());
  strip.addEventListener("focusin", (event) => {
    lastFocused = Number(event.target.parentElement.dataset.number);
    for (const button of strip.querySelectorAll("button")) setTabStop(button);
  });
  strip.addEventListener("focusout", () => grabbed || point());
  strip.addEventListener("keydown", (event) => {
    const number = Number(event.target.closest("[data-number]")?.dataset.number);
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (["Enter", " "].includes(event.key) && state.step > 1) choose(number);
    if (!step) return;
    event.preventDefault();
    const other = state.order[place(number) + step];
    if (other === undefined) return;
    if (event.shiftKey) {
      glide(() => set({ order: exchange(state.order, number, other), gap: 0 }));
    }
    const next = event.shiftKey ? number : other;
    strip.querySelector(`[data-number="${next}"] button`).focus();
    point(pairWith(next));
  });

  /** The place in the sentence that is nearest to the pointer, wherever its word still glides; none
   * far away. */
  function nearest(event) {
    const frame = strip.getBoundingClientRect();
    const far = [...strip.children].map((box) => {
      const [x, y] = [box.offsetLeft + box.offsetWidth / 2, box.offsetTop + box.offsetHeight / 2];
      return Math.hypot(event.clientX - frame.x - x, (event.clientY - frame.y - y) / 2);
    });
    const index = far.indexOf(Math.min(...far));
    return far[index] < 150 ? index : null;
  }

  addView("words", drawWords);
}

let lastFocused = 0; // the number of the word at which the Tab key enters the sentence

function setTabStop(button) {
  const entry = state.order.includes(lastFocused) ? lastFocused : state.order[0];
  button.tabIndex = Number(button.parentElement.dataset.number) === entry ? 0 : -1;
}

/** Choose a word as query or, if it comes before the query, as key. */
function choose(number) {
  const { order, query } = state;
  if (order.indexOf(number) < order.indexOf(query)) return set({ key: number, gap: 0 });
  const before = order[Math.max(0, order.indexOf(number) - 1)];
  set({ query: number, key: before, gap: 0 });
}

/** What pointing at a word points at: the query with it, if the query sees it. */
function pairWith(number) {
  const { order, query } = state;
  if (number === null || order.indexOf(number) > order.indexOf(query)) return null;
  return { query, key: number };
}

function drawWords() {
  const { order } = state;
  const strip = $("words");
  if (strip.children.length !== order.length) strip.replaceChildren(...order.map(column));
  const { weights } = attentionNow();
  const [query, key] = litPlaces();
  const where = positions();
  order.forEach((number, index) => {
    const box = strip.querySelector(`[data-number="${number}"]`) ?? strip.children[index];
    if (strip.children[index] !== box) strip.insertBefore(box, strip.children[index]);
    const share = index <= query ? weights[query][index] : null;
    const [bar, button, place] = box.children;
    bar.firstChild.textContent = share === null ? "" : percent(share);
    bar.lastChild.style.height = `calc(${share || 0} * (100% - 1.5rem))`; // the number is above it
    button.textContent = state.words[number];
    place.textContent = state.scheme === "none" ? "" : where[index];
    box.classList.toggle("query", index === query);
    box.classList.toggle("key", index === key && key !== query && state.step > 1);
    box.classList.toggle(
      "hint",
      state.step === 1 && !isMoved() && NUMBERS.swapped.includes(number),
    );
    box.classList.toggle("fixed", isFixed(number));
    box.classList.toggle("unread", share === null);
    setTabStop(button);
    button.setAttribute("aria-label", aboutWord(number, index, share));
  });
  say($("words-note"), wordsNote(query));
}

function column(number) {
  const box = element(
    "div",
    {},
    element("span", { className: "bar" }, element("small"), element("i")),
    element("button", { type: "button" }),
    element("small", { className: "place" }),
  );
  box.dataset.number = number;
  return box;
}

function aboutWord(number, index, share) {
  const place = `“${state.words[number]}”, place ${index + 1} of ${state.order.length}`;
  const seen = share === null ? "not read by the query" : `gets ${percent(share)} of the attention`;
  return `${place}, ${seen}. ${isFixed(number) ? "It stays." : "Shift with an arrow key moves it."}`;
}

function wordsNote(query) {
  const { scheme } = state;
  const asks = state.words[state.order[query]];
  const head = `head ${headOf(scheme) + 1} of ${HEADS}, which read side by side`;
  const places = scheme === "none" ? "" : " Below: positions.";
  return `Bars: how much “${asks}” attends to each word, or reads from it (${CALLED[scheme]}; ${head}).${places}`;
}

/** Let the words glide from where they were to where a change puts them. */
function glide(change) {
  const boxes = [...$("words").children];
  const before = boxes.map((box) => box.getBoundingClientRect());
  change();
  if (isCalm()) return;
  boxes.forEach((box, index) => {
    const now = box.getBoundingClientRect();
    const [x, y] = [before[index].x - now.x, before[index].y - now.y];
    if (x || y) box.animate([{ transform: `translate(${x}px, ${y}px)` }, {}], 180);
  });
}
