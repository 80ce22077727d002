// Free play: your own sentence, and any head.

function addFree() {
  const field = $("sentence");
  field.value = NUMBERS.sentence;
  $("known-words").replaceChildren(
    ...NUMBERS.words.map((word) => element("option", { value: word })),
  );
  field.addEventListener("input", () => {
    const read = wordsIn(field.value);
    const words = read.filter(isKnown).slice(0, NUMBERS.mostWords);
    say($("sentence-note"), aboutSentence(read, words));
    if (words.length < 2) return;
    const order = [...words.keys()];
    set({
      words,
      order,
      query: order.length - 1,
      key: order.length - 2,
      start: 0,
      gap: 0,
      pointed: null,
    });
  });
  choice(
    $("head"),
    "head",
    Array.from({ length: HEADS }, (_, head) => [head, String(head + 1)]),
    (head) => set({ chosenHead: head }),
  );
  const adds = NUMBERS.words.map((word) => {
    const button = element("button", { type: "button", textContent: word });
    button.addEventListener("click", () => {
      field.value = `${field.value.trim()} ${word}`;
      field.dispatchEvent(new Event("input"));
    });
    return button;
  });
  $("vocabulary").replaceChildren(...adds);
  addView("head", () => check("head", headOf(state.scheme)));
}

/** The words of a sentence, lower-case, and its full stops, each for itself. */
function wordsIn(text) {
  return text.toLowerCase().match(/[\p{L}\p{N}'’]+|\./gu) ?? [];
}

function aboutSentence(read, words) {
  const unknown = [...new Set(read.filter((word) => !isKnown(word)))].map((word) => `“${word}”`);
  const notes = [];
  if (unknown.length) {
    notes.push(
      `The models do not know ${unknown.join(", ")}: left out. They know the words below.`,
    );
  }
  if (words.length < 2) notes.push("It takes two words that they know; the last sentence stays.");
  if (read.filter(isKnown).length > NUMBERS.mostWords) {
    notes.push(`The first ${NUMBERS.mostWords} words are taken.`);
  }
  return notes.join(" ");
}
