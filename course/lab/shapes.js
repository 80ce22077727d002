// Shapes of SVG, and numbers as people write them. Looks are classes of the style sheet.

const within = (value, least, most) => Math.min(Math.max(value, least), most);

function put(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function shape(parent, tag, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  put(made, attributes);
  made.textContent = text;
  parent.append(made);
  return made;
}

/** Words whose middle is at the place; "left" or "right" in the look: their left or right end. */
const words = (parent, [x, y], text, look) => shape(parent, "text", { x, y, class: look }, text);

function line(parent, [x1, y1], [x2, y2], look) {
  return shape(parent, "line", { x1, y1, x2, y2, class: look });
}

function arrow(parent, [x1, y1], [x2, y2], look) {
  const turn = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
  line(parent, [x1, y1], [x2, y2], look);
  const place = `translate(${x2} ${y2}) rotate(${turn})`;
  shape(parent, "path", { d: "M3 0L-8 -5V5Z", transform: place, class: `${look} filled` });
}

const dial = (parent, [cx, cy], r) => shape(parent, "circle", { cx, cy, r, class: "dial" });

/** A hand from the middle of a dial: [to the right, up], where 1 is the dial's edge. */
function hand(parent, [x, y], radius, [right, up], look) {
  const tip = [x + radius * right, y - radius * up];
  line(parent, [x, y], tip, `hand ${look}`);
  shape(parent, "circle", { cx: tip[0], cy: tip[1], r: 4.2, class: `${look} filled` });
}

/** The sector that a hand passes over; angles in radians, counterclockwise from the right. */
function sector(parent, [x, y], radius, from, turned, look) {
  const at = (angle) => `${x + radius * Math.cos(angle)} ${y - radius * Math.sin(angle)}`;
  const [long, clockwise] = [Math.abs(turned) > Math.PI ? 1 : 0, turned < 0 ? 1 : 0];
  const arc = `A${radius} ${radius} 0 ${long} ${clockwise} ${at(from + turned)}`;
  shape(parent, "path", { d: `M${x} ${y}L${at(from)}${arc}Z`, class: look });
}

/** A number with so many decimals, a real minus sign, and none before zero. */
function fixed(value, digits) {
  if (!Number.isFinite(value)) return "not a number";
  const rounded = Number(value.toFixed(digits)) || 0;
  return rounded.toFixed(digits).replace("-", "−");
}
