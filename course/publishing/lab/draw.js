// Elements as data, and the page made to look like them. Shapes take pixels; their looks are classes.

const SVG = "http://www.w3.org/2000/svg";
const SHAPES = new Set(["svg", "g", "line", "path", "circle", "rect", "text"]);

/** An element as data: attributes (functions are listeners) and children (strings are text). */
const h = (tag, attributes = {}, ...children) => ({ tag, attributes, children: children.flat() });

/** Make the children of a node look like this. A child with the same tag stays, and keeps its focus. */
function patch(parent, children) {
  children.forEach((wanted, index) => {
    const isText = typeof wanted !== "object" || wanted === null;
    let node = parent.childNodes[index];
    const tag = isText ? "#text" : wanted.tag;
    if (node?.nodeName.toLowerCase() !== tag) {
      const made = nodeOf(tag);
      if (node) node.replaceWith(made);
      else parent.append(made);
      node = made;
    }
    if (isText) {
      if (node.data !== String(wanted ?? "")) node.data = wanted ?? "";
    } else {
      dress(node, wanted.attributes);
      patch(node, wanted.children);
    }
  });
  while (parent.childNodes.length > children.length) parent.lastChild.remove();
}

function nodeOf(tag) {
  if (tag === "#text") return document.createTextNode("");
  return SHAPES.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
}

function dress(node, attributes) {
  const before = node.dressed ?? {};
  for (const name of Object.keys(before)) {
    if (name in attributes) continue;
    if (name.startsWith("on")) node[name] = null;
    else node.removeAttribute(name);
  }
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node[name] = value;
    else if (before[name] !== value) node.setAttribute(name, value);
  }
  node.dressed = attributes;
}

// --- shapes ------------------------------------------------------------------------------------

/** Words with their middle at the point; "left" or "right" in the look: their left or right end. */
const text = ([x, y], words, look = "") => h("text", { x, y, class: look }, words);
const line = ([x1, y1], [x2, y2], look = "") => h("line", { x1, y1, x2, y2, class: look });
const circle = ([cx, cy], r, look = "") => h("circle", { cx, cy, r, class: look });
const path = (d, look = "") => h("path", { d, class: look });

function rect([x, y], [width, height], look = "", rx = 4) {
  return h("rect", { x, y, width: Math.max(0, width), height: Math.max(0, height), rx, class: look });
}

/** A line through points; those with a y that is no number are left out. */
function through(points, look) {
  const drawn = points.filter(([, y]) => Number.isFinite(y));
  return path(`M${drawn.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L") || "0 0"}`, look);
}

/** A hand from the middle of a dial to its tip, [to the right, up] in radii. */
const tipOf = ([x, y], radius, [right, up]) => [x + radius * right, y - radius * up];

const hand = (center, tip, look) => [line(center, tip, `hand ${look}`), circle(tip, 5, `tip ${look}`)];

/** What the reference draws, behind the student's own. */
const ghost = (shapes) => h("g", { class: "ghost" }, shapes);

/** The part of a dial that a hand passes over; angles in radians, counterclockwise from the right. */
function sector(center, radius, from, turned, look) {
  const at = (angle) => tipOf(center, radius, [Math.cos(angle), Math.sin(angle)]).join(" ");
  if (Math.abs(turned) >= 2 * Math.PI) return circle(center, radius, look);
  const [long, clockwise] = [Math.abs(turned) > Math.PI ? 1 : 0, turned < 0 ? 1 : 0];
  const arc = `A${radius} ${radius} 0 ${long} ${clockwise} ${at(from + turned)}`;
  return path(`M${center.join(" ")}L${at(from)}${arc}Z`, look);
}

const pillWidth = (words) => 9 * words.length + 22;

/** Words on a rounded ground: what can be grabbed along a line. */
function pill([x, y], words, look) {
  const width = pillWidth(words);
  return [
    rect([x - width / 2, y - 15], [width, 30], `pill ${look}`, 15),
    text([x, y], words, "on-pill bold"),
  ];
}

/** A number with so many decimals, a real minus sign, and none before zero. */
function fixed(value, digits) {
  if (!Number.isFinite(value)) return "not a number";
  const rounded = Number(value.toFixed(digits)) || 0;
  return rounded.toFixed(digits).replace("-", "−");
}

const percent = (share) => `${fixed(100 * share, share > 0.0995 || share < 0.0005 ? 0 : 1)}%`;
