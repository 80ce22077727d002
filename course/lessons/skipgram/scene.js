// Lesson 6: words on a map, and an arrow from one to another that is carried to a third.

const TERMS = ["a", "b", "c"];
const N_SHOWN = 10; // the people, who come first

/** The two directions in which rows differ most, each of length 1 (by power iteration). */
function principal(rows) {
  const mean = rows.reduce((sum, row) => added(sum, row)).map((value) => value / rows.length);
  let centered = rows.map((row) => row.map((value, i) => value - mean[i]));
  return range(2).map(() => {
    let axis = rows[0].map((_, i) => Math.cos(i));
    for (let step = 0; step < 200; step += 1) {
      const along_ = centered.map((row) => dot(row, axis));
      axis = applied(transposed(centered), along_);
      const length = Math.sqrt(dot(axis, axis));
      axis = axis.map((value) => value / length);
    }
    centered = centered.map((row) => row.map((value, i) => value - dot(row, axis) * axis[i]));
    return axis;
  });
}

let axes = null;

SCENES.skipgram = {
  room: [596, 564],
  needs: true,
  hint: "Drag king, man or woman to another word.",
  start: { a: "king", b: "man", c: "woman", carried: null },
  demo: { c: "girl" },
  draw(state, set, width) {
    const { words, rows: packed } = window.COURSE_NUMBERS.skipgram;
    const rows = unpacked(packed);
    const shown = words.slice(0, N_SHOWN);
    axes ??= principal(rows.slice(0, N_SHOWN));
    const flat = rows.slice(0, N_SHOWN).map((row) => axes.map((axis) => dot(row, axis)));
    const height = width < 560 ? 420 : 440;
    const ends = range(2).map((axis) => flat.map((point) => point[axis])).map((all) => [Math.min(...all), Math.max(...all)]);
    const [mx, my] = [56, 34];
    const place = ([u, v]) => [
      mx + ((u - ends[0][0]) / (ends[0][1] - ends[0][0])) * (width - 2 * mx),
      my + ((ends[1][1] - v) / (ends[1][1] - ends[1][0])) * (height - 2 * my),
    ];
    const spots = apart(flat.map(place));
    const at = (word) => spots[words.indexOf(word)];
    const row = (word) => rows[words.indexOf(word)];
    const sum = row(state.a).map((value, i) => value - row(state.b)[i] + row(state.c)[i]);
    const end = place(axes.map((axis) => dot(sum, axis)));
    const size = (vector) => Math.sqrt(dot(vector, vector));
    const near = words
      .map((word) => [word, dot(row(word), sum) / size(sum) / size(row(word))])
      .sort((one, other) => other[1] - one[1]);
    const [[first, cosine], [second, next]] = near;
    const tip = shown.includes(first) ? shortOf(at(state.c), end, first, at(first)) : end;
    const seen =
      `${state.a} − ${state.b} + ${state.c} is nearest to ${first} (cosine ${fixed(cosine, 2)}), ` +
      `then to ${second} (${fixed(next, 2)}).`;
    const nearest = (point) =>
      shown.toSorted((one, other) => away(at(one), point) - away(at(other), point))[0];
    const signs = { a: "", b: "− ", c: "+ " };
    const tags = TERMS.map((term) => {
      const word = state[term];
      const spot = state.carried?.term === term ? state.carried.to : at(word);
      const turn = words.indexOf(word);
      const go = (other) => set({ [term]: words[other], carried: null });
      return h(
        "g",
        {
          ...grip({
            name: `The word ${{ a: "to begin with", b: "to subtract", c: "to add" }[term]}`,
            value: turn,
            range: [0, N_SHOWN - 1],
            said: `${word}. ${seen}`,
            motion: () => (to) => to,
            move: (value) => go(Math.round(value)),
          }),
          onpointermove(event) {
            if (!held || !this.hasPointerCapture(event.pointerId)) return;
            const to = pointOf(this, event);
            set({ [term]: nearest(to), carried: { term, to } });
          },
          onlostpointercapture() {
            held = null;
            set({ carried: null });
          },
        },
        pill(spot, `${signs[term]}${word}`, { a: "what", b: "quiet", c: "where" }[term]),
      );
    });
    return {
      height,
      seen,
      shapes: [
        ...shown.map((word) =>
          text(at(word), word, TERMS.some((term) => state[term] === word) ? "quiet" : word === first ? "what bold" : "quiet"),
        ),
        arrow(at(state.b), at(state.a), "quiet"),
        arrow(at(state.c), tip, "where"),
        circle(tip, 6, "filled where"),
        shown.includes(first) ? line(tip, at(first), "level") : null,
        ...tags,
      ],
    };
  },
};

/** The end of an arrow, moved back along it until it doesn't cover a word. */
function shortOf(from, end, word, [x, y]) {
  const points = range(100).map((i) => from.map((start, axis) => end[axis] + (i / 100) * (start - end[axis])));
  const isFree = ([u, v]) => Math.abs(u - x) > pillWidth(word) / 2 || Math.abs(v - y) > 18;
  return points.find(isFree) ?? end;
}

/** Points moved up or down until no name covers another one. */
function apart(points) {
  const moved = points.map((point) => [...point]);
  const byHeight = moved.toSorted((one, other) => one[1] - other[1]);
  byHeight.forEach((point, index) => {
    for (const [x, y] of byHeight.slice(0, index)) {
      if (Math.abs(x - point[0]) < 66) point[1] = Math.max(point[1], y + 17);
    }
  });
  return moved;
}

const away = ([x, y], [u, v]) => Math.hypot(x - u, y - v);

function arrow([x1, y1], [x2, y2], look) {
  const turn = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
  const transform = `translate(${x2} ${y2}) rotate(${turn})`;
  return h("g", {}, [
    line([x1, y1], [x2, y2], look),
    h("path", { d: "M2 0L-9 -5V5Z", transform, class: `filled ${look}` }),
  ]);
}
