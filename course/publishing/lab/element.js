// <course-lab scene="..."> around a still picture: the picture stays for paper and without a script.

/** The name of a scene -> {hint, room, start, demo, draw, needs}: see the lessons' rooms. */
const SCENES = {};

const isCalm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

class CourseLab extends HTMLElement {
  connectedCallback() {
    this.scene = SCENES[this.getAttribute("scene")];
    if (this.figure || !this.scene) return;
    this.figure = document.createElement("div");
    this.figure.className = "lab";
    this.figure.role = "group";
    this.figure.ariaLabel = this.scene.hint;
    const { needs } = this.scene;
    if (!needs || window.COURSE_NUMBERS) return this.begin();
    const script = Object.assign(document.createElement("script"), { src: NUMBERS_ADDRESS });
    script.addEventListener("load", () => this.begin());
    document.head.append(script);
  }

  begin() {
    const { start } = this.scene;
    const first = typeof start === "function" ? start() : start; // one that depends on the student's
    this.state = { ...first };
    this.home = { ...this.state };
    this.append(this.figure);
    this.classList.add("ready");
    new ResizeObserver(() => this.draw()).observe(this.figure);
    this.draw();
    for (const kind of ["pointerdown", "keydown"]) {
      this.addEventListener(kind, () => this.touched(), { capture: true });
    }
    if (this.scene.demo && !isCalm()) this.demonstrate();
  }

  touched() {
    this.gliding = null;
    this.wasTouched = true;
    if (this.state.isDemo) this.set({ ...this.home, isDemo: false }); // never half of a swap
    if (this.waiting) this.draw(); // a grip counts from what is drawn
  }

  /** Change some of the state; draw once a frame. */
  set(changes) {
    Object.assign(this.state, changes);
    this.waiting ??= requestAnimationFrame(() => this.draw());
  }

  /** Go to a state: what is a number gets there in a second. */
  glide(changes, seconds = 1) {
    const from = { ...this.state };
    const moves = Object.keys(changes).filter((name) => typeof from[name] === "number");
    if (isCalm()) return this.set(changes);
    const began = performance.now();
    const step = (now) => {
      if (this.gliding !== step) return;
      const part = within((now - began) / 1000 / seconds, 0, 1);
      const eased = part * part * (3 - 2 * part);
      const between = (name) => from[name] + (changes[name] - from[name]) * eased;
      this.set({ ...changes, ...Object.fromEntries(moves.map((name) => [name, between(name)])) });
      if (part < 1) requestAnimationFrame(step);
      else this.gliding = null;
    };
    this.gliding = step;
    requestAnimationFrame(step);
  }

  /** The first time that it is in view, show what can be moved: there and back. */
  demonstrate() {
    const watch = new IntersectionObserver(
      ([{ isIntersecting }]) => {
        if (!isIntersecting) return;
        watch.disconnect();
        if (this.wasTouched) return;
        this.set({ isDemo: true });
        this.glide(this.scene.demo, 0.7);
        setTimeout(() => this.wasTouched || this.glide({ ...this.home, isDemo: false }, 0.7), 900);
      },
      { threshold: 0.7 },
    );
    watch.observe(this.figure);
  }

  /** A button that brings the beginning back; it keeps its room while there is nothing to bring. */
  again() {
    const isHome = Object.keys(this.home).every((name) => String(this.state[name]) === String(this.home[name]));
    const label = "start again";
    const look = isHome || this.state.isDemo ? "again unneeded" : "again";
    const goHome = () => this.glide(this.home);
    return h("button", { type: "button", class: look, title: label, "aria-label": label, onclick: goHome }, "↺");
  }

  draw() {
    cancelAnimationFrame(this.waiting);
    this.waiting = null;
    const width = this.figure.clientWidth;
    if (!width) return;
    const drawn = this.scene.draw(this.state, (changes) => this.set(changes), width, this);
    patch(this.figure, [
      ...ownSays(this.getAttribute("scene")),
      h("div", { class: "hint" }, h("span", {}, this.scene.hint), this.again()),
      h("svg", { width, height: drawn.height, viewBox: `0 0 ${width} ${drawn.height}` }, drawn.shapes),
      h("p", { class: "seen", "aria-live": held || this.gliding ? "off" : "polite" }, drawn.seen),
      h("div", { class: "switches" }, drawn.switches ?? []),
    ]);
  }
}

/** What the course says of the student's own functions, if it draws them: what is wrong first. */
function ownSays(scene) {
  const own = window.COURSE_OWN?.[scene];
  if (!own) return [];
  const looks = { "✓": "right", "✗": "wrong" };
  const lines = own.says.map(({ mark, text: words }) => {
    const parts = words.split("`").map((part, index) => (index % 2 ? h("code", {}, part) : part));
    return h("li", { class: looks[mark] ?? "" }, `${mark} `, parts);
  });
  return [h("ul", { class: "own" }, lines, h("li", { class: "drawn" }, own.drawn))];
}

/** Buttons of which one is pressed: {name: what it is called}. */
function choice(label, names, chosen, choose) {
  const buttons = Object.entries(names).map(([name, called]) =>
    h(
      "button",
      { type: "button", "aria-pressed": String(name === chosen), onclick: () => choose(name) },
      called,
    ),
  );
  return h("span", { role: "group", "aria-label": label, class: "choice" }, buttons);
}

const NUMBERS_ADDRESS = document.currentScript?.src.replace("lab.js", "lab-numbers.js");

/** The figure of a phrase: in the next paragraph, or else the last one before it. */
function nearest(phrase) {
  const next = phrase.closest("p").nextElementSibling;
  if (next?.matches("course-lab")) return next;
  const isBefore = (lab) => lab.compareDocumentPosition(phrase) & Node.DOCUMENT_POSITION_FOLLOWING;
  return [...document.querySelectorAll("course-lab")].filter(isBefore).at(-1);
}

/** Call something when the whole page is there; this script may be faster. */
function onceRead(call) {
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", call);
  else call();
}

/** Phrases of the text that set a figure. */
function addPhrases() {
  for (const phrase of document.querySelectorAll("a.set")) {
    const lab = nearest(phrase);
    if (!lab?.scene) continue;
    const go = () => {
      lab.touched();
      const wanted = JSON.parse(phrase.dataset.set);
      const moves = Object.keys(wanted).filter((name) => typeof wanted[name] === "number");
      if (moves.every((name) => lab.state[name] === wanted[name])) {
        for (const name of moves) lab.state[name] = lab.home[name]; // a second click shows it again
      }
      lab.glide(wanted);
      lab.figure.scrollIntoView({ block: "nearest", behavior: isCalm() ? "auto" : "smooth" });
    };
    phrase.role = "button";
    phrase.tabIndex = 0;
    phrase.addEventListener("click", go);
    phrase.addEventListener("keydown", (event) => {
      if (!["Enter", " "].includes(event.key)) return;
      event.preventDefault();
      go();
    });
  }
}
