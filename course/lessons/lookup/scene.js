// Lesson 1: ids are dragged along a table, and what is learned goes back to the rows that they pick.

const { names: NAMES, table: TABLE, ids: IDS } = EXAMPLE.lookup;
const IDS_AT_FIRST = Object.fromEntries(IDS.map((id, place) => [`id${place}`, id]));

const idsOf = (state) => IDS.map((_, place) => Math.round(state[`id${place}`]));

SCENES.lookup = {
  room: [540, 519],
  hint: "Drag an id to another row of the table.",
  start: { ...IDS_AT_FIRST, steps: NAMES.map(() => 0) },
  demo: { id4: 4 },
  draw(state, set, width) {
    const ids = idsOf(state);
    const isNarrow = width < 560;
    const [wide, high, left, top, gap] = isNarrow ? [30, 32, 56, 40, 4] : [52, 34, 70, 40, 24];
    const right = left + 4 * wide;
    const apart = (width - right - gap) / IDS.length;
    const x = (place) => right + gap + (place + 0.5) * apart;
    const xBelow = (place) => (isNarrow ? ((place + 0.5) * width) / IDS.length : x(place));
    const cell = 52;
    const y = (row) => top + (row + 0.5) * high;
    const below = top + NAMES.length * high + 26;
    const row = (id) => TABLE[id].map((value) => value - 0.1 * state.steps[id]);
    const look = (id) => (ids.includes(id) ? "what" : "quiet");
    const number = (value) => fixed(value, 1);
    const table = NAMES.flatMap((name, id) => [
      text([left - (isNarrow ? 6 : 10), y(id)], `${name} ${id}`, `right ${look(id)} ${isNarrow ? "small" : ""}`),
      ...row(id).flatMap((value, feature) => [
        rect([left + feature * wide, y(id) - high / 2 + 1], [wide - 2, high - 2], `cell of-${look(id)}`),
        text(
          [left + (feature + 0.5) * wide - 1, y(id)],
          number(value),
          `${state.steps[id] ? `where ${isNarrow ? "" : "bold"}` : ""} ${isNarrow ? "small" : ""}`,
        ),
      ]),
    ]);
    const columns = ids.flatMap((id, place) => [
      text([x(place), 16], NAMES[id], isNarrow ? "small bold" : "bold"),
      through([[x(place), top], [x(place), below - 22], [xBelow(place), below - 4]], "axis"),
      ...row(id).flatMap((value, feature) => [
        rect([xBelow(place) - cell / 2, below + 27 * feature], [cell, 25], "cell of-what"),
        text([xBelow(place), below + 27 * feature + 13], number(value)),
      ]),
    ]);
    const grips = ids.map((id, place) => {
      const at = state[`id${place}`];
      return h(
        "g",
        grip({
          name: `Id ${place} of the text`,
          value: at,
          range: [0, NAMES.length - 1],
          said: `${id}: ${NAMES[id]}`,
          motion: along(high, 1),
          down: true,
          move: (value) => set({ [`id${place}`]: value, steps: NAMES.map(() => 0) }),
        }),
        line([right + 2, y(at)], [x(place), y(at)], "thin what"),
        circle([x(place), y(at)], 22, "near"),
        circle([x(place), y(at)], 14, "pill what"),
        text([x(place), y(at)], String(id), "on-pill bold"),
      );
    });
    const learn = (count) => set({ steps: state.steps.map((one, id) => one + count * ids.filter((used) => used === id).length) });
    return {
      height: below + 27 * 4 + 4,
      seen: lookupSeen(ids, state.steps),
      switches: [
        h("button", { type: "button", onclick: () => learn(1) }, "learn: send a gradient of 1 back"),
      ],
      shapes: [...table, ...columns, ...grips],
    };
  },
};

function lookupSeen(ids, steps) {
  const text_ = ids.map((id) => NAMES[id]).join(" ");
  if (!Math.max(...steps)) return `“${text_}” has the ids ${ids.join(", ")}: each picks its row, whatever is next to it.`;
  const count = (id) => ids.filter((used) => used === id).length;
  const most = ids.toSorted((one, other) => count(other) - count(one))[0];
  const resting = NAMES.flatMap((_, id) => (ids.includes(id) ? [] : [id]));
  const twice =
    count(most) > 1 ? `; row ${most} changes ${count(most)} times as much, because ${count(most)} ids picked it` : "";
  const rest = resting.length ? `; row ${resting.join(" and row ")} stays as it was` : "";
  return `Only the rows that were picked learn${twice}${rest}.`;
}
