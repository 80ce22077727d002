// What can be grabbed: by a pointer, a finger, or the arrow keys.

const within = (value, least, most) => Math.min(Math.max(value, least), most);

let held = null; // what a pointer holds: {by, value, to}

/**
 * The attributes of something that is moved: a slider, to those who cannot see it.
 *
 * motion: what a pointer's way means in units of the value, `along` or `around`; down: values grow
 * downwards.
 * move: called with each new value; on the way it may be between two whole numbers.
 */
function grip({ name, value, range: [least, most], said, motion, move, look = "", down = false }) {
  const to = (wanted) => move(within(wanted, least, most));
  const release = () => {
    if (held) held.to(Math.round(held.now));
    held = null;
  };
  return {
    class: `grip ${look}`,
    role: "slider",
    tabindex: 0,
    "aria-label": name,
    "aria-orientation": down ? "vertical" : "horizontal",
    "aria-valuemin": least,
    "aria-valuemax": most,
    "aria-valuenow": Math.round(value),
    "aria-valuetext": said ?? String(Math.round(value)),
    ontouchstart(event) {
      // Chromium ignores touch-action on shapes inside an svg; during a scroll this can't be canceled
      if (event.cancelable) event.preventDefault();
    },
    onpointerdown(event) {
      if (event.button > 0) return;
      event.preventDefault();
      this.focus({ preventScroll: true });
      this.setPointerCapture(event.pointerId);
      held = { by: motion(pointOf(this, event)), value, now: value, to };
    },
    onpointermove(event) {
      if (!held || !this.hasPointerCapture(event.pointerId)) return;
      held.now = held.value + held.by(pointOf(this, event));
      held.to(held.now);
    },
    onlostpointercapture: release,
    onkeydown(event) {
      const up = down ? -1 : 1;
      const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: up, ArrowDown: -up };
      const far = { PageUp: 10 * up, PageDown: -10 * up, Home: -Infinity, End: Infinity };
      const by = { ...steps, ...far }[event.key];
      if (!by) return;
      event.preventDefault();
      event.stopPropagation(); // elsewhere these keys turn the pages of the site
      to(Math.round(value) + by);
    },
  };
}

function pointOf(element, event) {
  const { left, top } = element.closest("svg").getBoundingClientRect();
  return [event.clientX - left, event.clientY - top];
}

/** Along a line: a unit has so many pixels, to the right, or down for axis 1. */
const along = (pixels, axis = 0) => (from) => (to) => (to[axis] - from[axis]) / pixels;

/** Around a dial: a unit turns the hand by so many radians. */
const around = ([x, y], frequency) => (from) => {
  const angle = (point) => Math.atan2(y - point[1], point[0] - x);
  let [last, turned] = [angle(from), 0];
  return (to) => {
    turned += wrapped(angle(to) - last);
    last = angle(to);
    return turned / frequency;
  };
};
