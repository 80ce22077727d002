// What is set, and the controls that set it: the sentence, the switches, the sliders, the tabs.

const settings = {
  words: wordsIn(NUMBERS.sentence),
  scheme: "sinusoidal",
  width: NUMBERS.widths.at(-1),
  base: 10000,
  start: 0,
  head: 1,
  matrix: "token",
  withWords: false,
  projected: false,
  view: "scores",
  probe: 4, // the word whose hands are shown, as its place in the sentence
  place: 4, // the position to which it was dragged
};

const $ = (id) => document.getElementById(id);

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** Set a text in which W_q and W_k are written as in a formula; one that is there is left alone,
 * so that it is not read out again. */
function say(where, text) {
  if (where.said === text) return;
  where.said = text;
  const parts = text.split(/W_([qk])/);
  const markup = parts.flatMap((part, i) => (i % 2 ? ["W", element("sub", {}, part)] : [part]));
  where.replaceChildren(...markup);
}

/** Change some settings and draw everything that depends on them. */
function set(changes) {
  Object.assign(settings, changes);
  settings.start = Math.min(settings.start, lastStart(settings.words));
  settings.probe = Math.min(settings.probe, settings.words.length - 1);
  if ("start" in changes || "words" in changes) settings.place = settings.start + settings.probe;
  redraw();
}

function addControls() {
  addChoice(
    "scheme",
    SCHEMES.map((scheme) => [scheme, scheme]),
  );
  addChoice("withWords", [
    [false, "positions alone"],
    [true, "words and positions"],
  ]);
  addChoice("projected", [
    [false, "without W_q, W_k"],
    [true, "with W_q, W_k"],
  ]);
  addChoice("view", [
    ["scores", "scores"],
    ["change", "change since 0"],
    ["weights", "weights"],
  ]);
  addSlider("width", NUMBERS.widths);
  addSlider("base", NUMBERS.bases);
  addSlider("start");
  addSlider("head");
  addSlider("place");
  $("head").max = unpacked(NUMBERS.alibi).length;
  addTabs();
  $("sentence").value = NUMBERS.sentence;
  $("sentence").addEventListener("input", () => {
    const words = wordsIn($("sentence").value).slice(0, NUMBERS.mostWords);
    set(words.length ? { words } : {});
  });
}

/** Radio buttons side by side: [[value, text], ...] for one setting. */
function addChoice(name, options) {
  const buttons = options.map(([value, text]) => {
    const radio = element("input", { type: "radio", name, value: String(value) });
    radio.addEventListener("change", () => set({ [name]: value }));
    const words = element("span");
    say(words, text);
    return element("label", {}, radio, words);
  });
  $(name).replaceChildren(...buttons);
}

/** A slider over some values of a setting, or over whole numbers where there is no list. */
function addSlider(name, values) {
  if (values) $(name).max = values.length - 1;
  $(name).addEventListener("input", () => {
    const number = Number($(name).value);
    set({ [name]: values ? values[number] : number });
  });
}

function addTabs() {
  const tabs = [
    ["token", "Token"],
    ["position", "Position"],
    ["sum", "Sum"],
  ].map(([name, text]) => {
    const tab = element("button", { type: "button", id: `tab-${name}`, textContent: text });
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", "rows-panel");
    tab.addEventListener("click", () => set({ matrix: name }));
    return tab;
  });
  $("matrix").replaceChildren(...tabs);
  $("matrix").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    next.focus();
    next.click();
  });
}

function showSettings() {
  const { words, scheme, width, base, start, head } = settings;
  const slope = -unpacked(NUMBERS.alibi)[head - 1][1][0];
  const texts = {
    width: `${width} features`,
    base: base.toLocaleString("en-US"),
    start: String(start),
    head: `${head} (slope ${slope > 0 ? `1/${shown(1 / slope)}` : shown(slope)})`,
  };
  const places = {
    width: NUMBERS.widths.indexOf(width),
    base: NUMBERS.bases.indexOf(base),
    start,
    head,
  };
  $("start").max = lastStart(words);
  for (const [name, text] of Object.entries(texts)) {
    $(name).value = places[name];
    $(name).setAttribute("aria-valuetext", text);
    $(`${name}-now`).textContent = text;
  }
  for (const name of ["scheme", "withWords", "projected", "view"]) {
    for (const radio of document.getElementsByName(name)) {
      radio.checked = radio.value === String(settings[name]);
    }
  }
  for (const tab of $("matrix").children) {
    const isChosen = tab.id === `tab-${settings.matrix}`;
    tab.setAttribute("aria-selected", isChosen);
    tab.tabIndex = isChosen ? 0 : -1;
  }
  $("rows-panel").setAttribute("aria-labelledby", `tab-${settings.matrix}`);
  $("settings-now").textContent = `${scheme} · width ${width} · from ${start}`;
}

function showSentenceNote() {
  const typed = wordsIn($("sentence").value);
  const strangers = strangersIn(settings.words).map((word) => `“${word}”`);
  const notes = [];
  if (typed.length === 0) notes.push("Type at least one word. The last sentence is still shown.");
  if (typed.length > NUMBERS.mostWords) {
    notes.push(`The first ${NUMBERS.mostWords} words are shown.`);
  }
  if (strangers.length) {
    const rows = strangers.length > 1 ? "random rows stand" : "a random row stands";
    notes.push(
      `The text that the tables were trained on has no ${strangers.join(", ")}: ${rows} in.`,
    );
  }
  say($("sentence-note"), notes.join(" "));
}

function showOrigin() {
  if (!NUMBERS.mine) return;
  const said = [
    NUMBERS.yours.length
      ? `Made with your own ${NUMBERS.yours.join(", ")}.`
      : "Nothing of yours is shown yet.",
  ];
  if (NUMBERS.borrowed.length) {
    said.push(
      `Borrowed from the reference, because yours are to do: ${NUMBERS.borrowed.join(", ")}.`,
    );
  }
  if (NUMBERS.unchecked.length) {
    said.push(`Not checked since you wrote it: ${NUMBERS.unchecked.join(", ")}.`);
  }
  if (NUMBERS.foundWrong.length) {
    said.push(`The last check found wrong: ${NUMBERS.foundWrong.join(", ")}.`);
    $("origin").classList.add("wrong");
  }
  $("origin").textContent = said.join(" ");
}
