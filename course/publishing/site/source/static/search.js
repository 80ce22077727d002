// Sphinx fetches each page found for an excerpt, which a browser forbids without a server. So the
// texts come along, in pages.js.
window.fetch = async (page) => new Response(PAGES[page]);

const WORDS = (new URLSearchParams(location.search).get("q") ?? "").toLowerCase().match(/\S+/g) ?? [];

/** How often a page says the words that are searched for, not counting parts of other words. */
function mentions(page) {
  const said = PAGES[`./${page}.html`]?.toLowerCase().match(/\w+/g) ?? [];
  return said.filter((word) => WORDS.includes(word)).length;
}

// Lessons come first: the one whose room is named like that, then the one that says it most often.
Scorer.score = ([page, , , , score]) => {
  if (!/^course\/lessons\/\w+\/README$/.test(page)) return score;
  return score + 20 + Math.min(mentions(page), 40) + (page.endsWith(`/${WORDS.join(" ")}/README`) ? 60 : 0);
};

// Sphinx looks for the stems of words in a text ("rotari"), and quotes its beginning if none is there.
const quote = Search.makeSearchSummary;
Search.makeSearchSummary = (page, _, anchor) => quote(page, WORDS, anchor);
