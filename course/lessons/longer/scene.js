// Lesson 7: a text grows, and hands leave the arcs that they were trained on.

const [HEAD_DIM, TRAINED, LONGEST] = [16, 512, 4096];

/** The frequency of every pair for a text some times as long as those of the training. */
const STRETCHED = {
  none: () => frequencies(HEAD_DIM),
  linear: (factor) => frequencies(HEAD_DIM).map((rate) => rate / factor),
  ntk: (factor) => frequencies(HEAD_DIM, 10000 * factor ** (HEAD_DIM / (HEAD_DIM - 2))),
  yarn: (factor) =>
    frequencies(HEAD_DIM).map((rate) => {
      const turns = (TRAINED * rate) / (2 * Math.PI);
      const keep = within((turns - 1) / 31, 0, 1);
      return rate * (keep + (1 - keep) / factor);
    }),
};

/** The frequencies by the student's own function; its table has even steps of 1 / factor. */
function ownRates(remedy, factor) {
  const rows = ownNumbers("longer")[remedy];
  if (!rows) return null;
  const place = ((1 - 1 / factor) / (1 - TRAINED / LONGEST)) * (rows.length - 1);
  const before = Math.min(Math.floor(place), rows.length - 2);
  return rows[before].map((rate, pair) => rate + (place - before) * (rows[before + 1][pair] - rate));
}

const REMEDIES = { none: "no remedy", linear: "interpolation", ntk: "NTK", yarn: "YaRN" };

SCENES.longer = {
  room: [601, 369],
  hint: "Drag the end of the text, or turn a slow hand by its dot.",
  start: () => ({ length: 2048, remedy: ownNumbers("longer").yarn ? "yarn" : "none" }),
  demo: { length: 3072 },
  draw(state, set, width) {
    const length = Math.round(state.length);
    const factor = Math.max(1, state.length / TRAINED);
    const reference = STRETCHED[state.remedy](factor);
    const own = ownRates(state.remedy, factor);
    const rates = own ?? reference;
    const before = frequencies(HEAD_DIM);
    const columns = width < 560 ? 4 : 8;
    const side = width / columns;
    const radius = Math.min(side / 2 - 7, 42);
    const tall = 2 * radius + 56;
    const isNew = rates.map((rate, pair) => isOutside(rate * state.length, before[pair] * TRAINED));
    const dials = rates.flatMap((rate, pair) => {
      const center = [((pair % columns) + 0.5) * side, Math.floor(pair / columns) * tall + radius + 28];
      const [trained, now] = [before[pair] * TRAINED, rate * state.length];
      const look = isNew[pair] ? "wrong" : "where";
      const tip = tipOf(center, radius, [Math.cos(now), Math.sin(now)]);
      const shapes = hand(center, tip, look);
      const wanted = reference[pair] * state.length;
      const behind = tipOf(center, radius, [Math.cos(wanted), Math.sin(wanted)]);
      const canTurn = state.remedy === "none" && rate < 0.05; // with a remedy it wouldn't follow
      return [
        text([center[0], 12 + Math.floor(pair / columns) * tall], `pair ${pair}`, "quiet small"),
        circle(center, radius, "dial"),
        sector(center, radius, 0, Math.min(trained, 2 * Math.PI), "seen-arc"),
        sector(center, radius, trained, isNew[pair] ? Math.min(now, 2 * Math.PI) - trained : 0, "new-arc"),
        text([center[0], center[1] + radius + 15], turnsOf(now), `small ${isNew[pair] ? "wrong bold" : "quiet"}`),
        own ? ghost(hand(center, behind, "where")) : null,
        h(
          "g",
          canTurn
            ? grip({
                name: `Hand of pair ${pair}`,
                value: state.length,
                range: [TRAINED, LONGEST],
                motion: around(center, rate),
                move: (value) => set({ length: value }),
              })
            : { class: "still-hand" },
          canTurn ? circle(tip, 20, "near") : null,
          canTurn ? shapes : shapes[0],
        ),
      ];
    });
    const y = tall * (8 / columns) + 34;
    const x = (position) => 24 + (position / LONGEST) * (width - 62);
    const seen = longerSeen(length, state.remedy, isNew, rates[0]);
    return {
      height: y + 40,
      seen,
      switches: [choice("Remedy", REMEDIES, state.remedy, (remedy) => set({ remedy }))],
      shapes: [
        ...dials,
        line([x(0), y], [x(LONGEST), y], "axis"),
        line([x(0), y], [x(TRAINED), y], "thick quiet"),
        line([x(TRAINED), y], [x(state.length), y], `thick ${isNew.includes(true) ? "wrong" : "where"}`),
        text([x(0), y + 24], `trained: ${TRAINED}`, "left small quiet"),
        h(
          "g",
          grip({
            name: "Length of the text",
            value: state.length,
            range: [TRAINED, LONGEST],
            said: seen,
            motion: along((width - 62) / LONGEST),
            move: (value) => set({ length: value }),
          }),
          pill([x(state.length), y], length.toLocaleString("en-US"), isNew.includes(true) ? "wrong" : "where"),
        ),
      ],
    };
  },
};

/** Does a hand pass angles that it never had in the training? */
const isOutside = (now, trained) => trained < 2 * Math.PI && now > trained * 1.000001;

const turnsOf = (angle) => {
  const turns = angle / (2 * Math.PI);
  return turns < 1 ? `${fixed((angle * 180) / Math.PI, 0)}°` : `${fixed(turns, turns < 10 ? 1 : 0)} turns`;
};

function longerSeen(length, remedy, isNew, fastest) {
  const count = isNew.filter(Boolean).length;
  const step = `${fixed((fastest * 180) / Math.PI, 0)}° apart`;
  const outside = count ? `${count} of 8 pairs reach angles that training never showed` : "no pair leaves its trained arc";
  return `${length.toLocaleString("en-US")} tokens, ${REMEDIES[remedy]}: ${outside}, and on pair 0 neighbors are ${step}.`;
}
