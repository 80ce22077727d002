// The forms that ask the questions: an answer is shown once a guess was committed to.

const guesses = {}; // question -> the key of the option that was committed to

function addGuess(form) {
  const name = form.dataset.question;
  const { options } = QUESTIONS[name];
  const legend = element("legend", {}, element("strong", { textContent: "Guess first" }));
  legend.append(element("span", { className: "ask" }));
  const labels = options.map(([key, text]) => {
    const radio = element("input", { type: "radio", name: `guess-${name}`, value: key });
    radio.addEventListener("change", () => showGuess(form));
    return element("label", {}, radio, text);
  });
  const button = element("button", { type: "submit" });
  const answer = element("div", {}, element("p", { className: "verdict" }), element("p"));
  answer.setAttribute("role", "status");
  form.replaceChildren(element("fieldset", {}, legend, ...labels), button, answer);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (name in guesses) {
      delete guesses[name];
      form.reset();
      redraw();
    } else {
      guesses[name] = form.querySelector(":checked").value;
      set(QUESTIONS[name].then);
    }
  });
}

function showGuess(form) {
  const { ask, options, answer } = QUESTIONS[form.dataset.question];
  const guess = guesses[form.dataset.question];
  const isCommitted = guess !== undefined;
  form.hidden = form.dataset.question === "repeated" && !repeatedWord(settings);
  if (form.hidden) return;
  say(form.querySelector(".ask"), ask(settings));
  const button = form.querySelector("button");
  button.textContent = isCommitted ? "Guess again" : "That is my guess: show me";
  button.disabled = !isCommitted && !form.querySelector(":checked");
  const found = isCommitted ? answer(settings) : {};
  for (const radio of form.querySelectorAll("input")) {
    radio.disabled = isCommitted;
    radio.parentElement.classList.toggle("right", radio.value === found.right);
    radio.parentElement.classList.toggle("guessed", radio.value === guess);
  }
  const [verdict, told] = form.querySelectorAll("p");
  say(verdict, isCommitted ? verdictOn(guess, found.right, options) : "");
  say(told, isCommitted ? found.told : "");
}

function verdictOn(guess, right, options) {
  const fitting = options.find(([key]) => key === right);
  const truth = fitting ? `It is: ${fitting[1]}.` : "None of these is.";
  return guess === right ? `✓ Your guess is right. ${truth}` : `✗ Not quite. ${truth}`;
}
