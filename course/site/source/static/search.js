// Lessons come first, and before all the one whose file bears the name that is searched for.
Scorer.score = ([page, , , , score]) => {
  const query = new URLSearchParams(location.search).get("q").trim().toLowerCase();
  const isLesson = /^course\/lessons\/\d/.test(page);
  return score + (isLesson ? 20 : 0) + (isLesson && page.endsWith(`_${query}`) ? 20 : 0);
};

// Sphinx fetches each page found for an excerpt, which a browser forbids without a server. So the
// texts come along, in pages.js.
window.fetch = async (page) => new Response(PAGES[page]);
