// Lines over an axis, each with its name at its end; at `at`, a line and a dot on each.

/**
 * figure: label (for who cannot see it), x and y (what the axes count), lines (name, look, values,
 * and the value now, if it is another than the line's), at (a place on the axis), first (the value
 * of x at the first place), per (x from one place to the next), shaded (up to this x), until
 * (draw no further), low and high (the ends of the y axis, if they are given), height (pixels).
 */
function drawPlot(panel, figure) {
  const { lines, first = 0, per = 1, until = Infinity, height = 230 } = figure;
  const length = lines[0].values.length;
  const isNarrow = widthOf(panel) < 440;
  const longest = Math.max(...lines.map(({ name, sign = "" }) => `${sign} ${name}`.length));
  const [left, right, top, below] = [48, isNarrow ? 16 : 16 + 9 * longest, 14, 46];
  const legend = isNarrow ? 20 * Math.ceil(lines.length / 2) : 0;
  const [svg, width] = canvas(panel, top + height + below + legend, figure.label);
  const values = lines.flatMap((one) => [...one.values, one.now]).filter(Number.isFinite);
  const low = figure.low ?? Math.min(0, ...values);
  const high = figure.high ?? Math.max(0.1, ...values);
  const last = first + per * (length - 1);
  const x = (value) => left + ((value - first) / (last - first)) * (width - left - right);
  const y = (value) => top + ((high - value) / (high - low)) * height;
  if (figure.shaded) {
    const box = { x: left, y: top, width: x(figure.shaded) - left, height };
    shape(svg, "rect", { ...box, class: "shaded" });
    words(svg, [left + 4, top + 12], "trained", "quiet left");
  }
  for (const tick of ticks(low, high)) {
    line(svg, [left, y(tick)], [width - right, y(tick)], tick === 0 ? "axis" : "rule");
    words(svg, [left - 6, y(tick)], fixed(tick, high - low < 4 ? 1 : 0), "quiet right");
  }
  for (const tick of ticks(first, last)) {
    words(svg, [x(tick), top + height + 14], fixed(tick, 0), "quiet");
  }
  words(svg, [(left + width - right) / 2, top + height + 34], figure.x, "quiet");
  put(words(svg, [12, top + height / 2], figure.y, "quiet"), {
    transform: `rotate(-90 12 ${top + height / 2})`,
  });
  const ends = [];
  lines.forEach((one, index) => {
    const points = one.values
      .map((value, at) => [first + per * at, value])
      .filter(([place, value]) => place <= until && Number.isFinite(value));
    const data = one.pair === undefined ? {} : { "data-pair": one.pair };
    const path = points.map(([place, value]) => `${x(place).toFixed(1)} ${y(value).toFixed(1)}`);
    if (path.length) {
      shape(svg, "path", { d: `M${path.join("L")}`, class: `curve ${one.look}`, ...data });
      shape(svg, "path", { d: `M${path.join("L")}`, class: "near", ...data });
    }
    const text = `${one.sign ?? ""} ${one.name}`;
    if (isNarrow) {
      const place = [
        left + (index % 2) * ((width - left) / 2),
        top + height + below + 12 + 20 * Math.floor(index / 2),
      ];
      put(words(svg, place, `${one.sign ?? "—"} ${one.name}`, `left bold ${one.look}`), data);
    } else if (points.length) {
      ends.push({ wanted: y(points.at(-1)[1]), text, look: one.look, data });
    }
    const shown = one.now ?? one.values[Math.round((figure.at - first) / per)];
    if (figure.at !== undefined && Number.isFinite(shown)) {
      shape(svg, "circle", { cx: x(figure.at), cy: y(shown), r: 4.5, class: `filled ${one.look}` });
    }
  });
  if (figure.at !== undefined)
    line(svg, [x(figure.at), top], [x(figure.at), top + height], "cursor");
  const end = x(Math.min(until, last)) + 10;
  apart(ends, top + height - 8).forEach(({ at, text, look, data }) =>
    put(words(svg, [end, at], text, `left bold ${look}`), data),
  );
}

/** Round numbers between two others, some four to eight of them. */
function ticks(low, high) {
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((one) => one * power >= rough) * power;
  const count = Math.floor(high / step + 1e-9) - Math.ceil(low / step - 1e-9) + 1;
  return Array.from({ length: count }, (_, index) => (Math.ceil(low / step - 1e-9) + index) * step);
}

/** Names at the ends of lines, moved so that they don't overlap. */
function apart(ends, lowest) {
  const sorted = [...ends].sort((one, other) => one.wanted - other.wanted);
  let least = 8;
  for (const one of sorted) least = (one.at = Math.max(one.wanted, least)) + 17;
  let most = lowest;
  for (const one of sorted.reverse()) most = (one.at = Math.min(one.at, most)) - 17;
  return sorted;
}
