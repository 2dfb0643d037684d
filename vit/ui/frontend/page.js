/* What all pages share in the browser: it costs the server nothing. It stands in the HTML file itself, and watches what
   Streamlit shows below it. */

const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const app = one("#root") ?? document.body;

/* A page that is opened starts at its top, and the small machine in the corner lights up where it is. */
const PLACES = {
  "": "Draw: what goes in", machine: "Machine: all of it", patches: "Patches: the picture is cut",
  embedding: "Embedding: patches become vectors", attention: "Attention: the heads of the blocks",
  layers: "Layers: the stream through the blocks", logits: "Logits: what comes out",
  what_if: "What if: parts taken away", train: "Train: how its weights came to be", claims: "Claims: what holds of it",
};
let path = null;

function follow() {
  if (location.pathname === path) return;
  const first = path === null;
  path = location.pathname;
  const name = path.split("/").at(-1);
  const where = one(".pw-where");
  where.dataset.page = name || "draw";
  where.title = PLACES[name] ?? "";
  where.ariaLabel = `Where you are in the whole. ${where.title}`;
  if (!first) one("[data-testid=stMain]")?.scrollTo(0, 0);
}

/* Streamlit puts a page and its parameters into the history one by one. What follows from one touch is one step: the
   first new address makes it, all others take its place. */
const push = history.pushState.bind(history);
let stepped = true; // since the last touch; nobody has touched anything while a page is opened

history.pushState = (...address) => {
  if (stepped) history.replaceState(...address);
  else push(...address);
  stepped = true;
};
for (const touch of ["pointerdown", "keydown"]) addEventListener(touch, () => { stepped = false; }, true);

/* A connection that comes back may lead to another server, or to one that has started anew: neither knows this visitor
   until a page is asked for by its whole address, which the menu does not do. The canvas does so itself. */
let [met, away] = [false, false];

function askAgainWhenBack([{ target }]) {
  const connected = target.dataset.testConnectionState === "CONNECTED";
  const draws = location.pathname.endsWith("/");
  if (connected && away && !draws) dispatchEvent(new PopStateEvent("popstate"));
  met ||= connected;
  away = met && !connected;
}

new MutationObserver(askAgainWhenBack).observe(app, { subtree: true, attributeFilter: ["data-test-connection-state"] });

/* The tour points: it brings the thing into view and frames it. */
let pointed = null; // stop and selector

function point() {
  const card = one("[data-pw-points-at]");
  const target = card && all(card.dataset.pwPointsAt).find((element) => element.getClientRects().length);
  for (const framed of all("[data-pw-pointed]")) if (framed !== target) delete framed.dataset.pwPointed;
  const now = card ? `${card.dataset.pwStop} ${card.dataset.pwPointsAt}` : null;
  if (!target) {
    if (!card) pointed = null;
    return;
  }
  const tour = card.closest(".st-key-tour"); // not there while Streamlit puts the page together
  if (tour) dress(tour);
  target.dataset.pwPointed = "";
  if (now === pointed) return;
  pointed = now;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  target.scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
}

/* The first occurrence of a term on a page is marked. Ranges are painted, and nothing of the page is changed: it is
   React's. */
const terms = JSON.parse(one("#pw-terms").textContent);
const meanings = new Map(terms.flatMap((term) => [term.name, ...term.also].map((name) => [spelling(name, term), term])));
const escaped = (name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const spellings = (wanted) => terms.filter(({ symbol }) => symbol === wanted)
  .flatMap(({ name, also }) => [name, ...also]).sort((a, b) => b.length - a.length).map(escaped).join("|");
const edge = (inside) => `(?<![\\p{L}\\p{N}_])(?:${inside})(?![\\p{L}\\p{N}_])`;
const TERMS = new RegExp(`${edge(`(?:${spellings(false)})s?`)}`, "giu");
const SYMBOLS = new RegExp(edge(spellings(true)), "gu");
const READ = "[data-testid=stMain] .stMarkdown, [data-testid=stMain] [data-testid=stCaptionContainer], "
  + "[data-testid=stMain] .katex-html, [data-testid=stSidebar] .stMarkdown";
const UNREAD = "a, button, label, code, pre, h1, h2, h3, [role=dialog] *, .katex-mathml, .st-key-stepper *";
const known = new WeakMap(); // of text nodes: what one says is read once, until it says something else
const highlight = globalThis.Highlight && new Highlight();
let marked = []; // { range, term }

function spelling(name, term) {
  return term.symbol ? name : name.toLowerCase();
}

function termOf(found) {
  return meanings.get(found) ?? meanings.get(found.toLowerCase()) ?? meanings.get(found.toLowerCase().replace(/s$/, ""));
}

function* occurrences(node) {
  const { data } = node;
  const inEquation = node.parentElement.closest(".katex-html");
  if (inEquation && data.length > 2) return; // words in an equation stand beside it, too
  for (const expression of inEquation ? [SYMBOLS] : [TERMS, SYMBOLS]) {
    for (const { 0: found, index } of data.matchAll(expression)) yield [termOf(found), index, index + found.length];
  }
}

function termsIn(node) {
  if (known.get(node)?.data === node.data) return known.get(node).terms;
  const unread = !node.data.trim() || node.parentElement.closest(UNREAD);
  const terms = unread ? [] : [...occurrences(node)].filter(([term]) => term);
  known.set(node, { data: node.data, terms });
  return terms;
}

function firstOccurrences() {
  const first = new Map();
  for (const block of all(READ, app)) {
    const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      for (const [term, start, end] of termsIn(node)) if (!first.has(term)) first.set(term, { node, start, end });
    }
  }
  return first;
}

function markTerms() {
  if (!highlight) return; // the list is there all the same
  const now = [...firstOccurrences()].map(([term, { node, start, end }]) => {
    const before = marked.find(({ range, term: its }) => its === term && range.startContainer === node
      && range.startOffset === start && range.endOffset === end);
    if (before) return before;
    const range = new Range();
    range.setStart(node, start);
    range.setEnd(node, end);
    return { range, term };
  });
  for (const old of marked) if (!now.includes(old)) highlight.delete(old.range);
  for (const mark of now) if (!marked.includes(mark)) highlight.add(mark.range);
  marked = now;
  if (!CSS.highlights.has("pw-term")) CSS.highlights.set("pw-term", highlight);
}

/* Its meaning is shown by pointing, tapping, or from the keyboard. */
const tip = one(".pw-tip");

function explain({ range, term }) {
  dress(tip);
  tip.replaceChildren(Object.assign(document.createElement("b"), { textContent: term.name }), ` ${term.meaning}`);
  tip.hidden = false;
  const { left, top, bottom } = range.getBoundingClientRect();
  const above = top - tip.offsetHeight - 8;
  tip.style.left = `${Math.max(8, Math.min(left, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${above > 60 ? above : bottom + 8}px`;
}

function hideTip() {
  tip.hidden = true;
}

/* In the colours of the theme that is shown. */
function dress(element) {
  const { color, backgroundColor } = getComputedStyle(one("[data-testid=stApp]") ?? document.body);
  element.style.setProperty("--text", color);
  element.style.setProperty("--page", backgroundColor);
}

function termAt(x, y) {
  return marked.find(({ range }) => range.startContainer.isConnected && [...range.getClientRects()].some((area) =>
    x >= area.left && x <= area.right && y >= area.top && y <= area.bottom));
}

let pointing = 0;
addEventListener("pointermove", ({ clientX, clientY, pointerType, target }) => {
  if (pointerType === "touch") return;
  cancelAnimationFrame(pointing);
  pointing = requestAnimationFrame(() => {
    const readable = target.closest?.(READ) && !target.closest(UNREAD);
    const found = readable && termAt(clientX, clientY);
    if (found) explain(found);
    else hideTip();
  });
}, { passive: true });
addEventListener("click", ({ clientX, clientY, target }) => {
  if (!target.closest?.(READ) || target.closest(UNREAD)) return;
  const found = termAt(clientX, clientY);
  if (found) explain(found);
  else hideTip();
});
addEventListener("scroll", hideTip, { capture: true, passive: true });

const explainer = one(".pw-explain");
let spoken = -1;

function speak(next) {
  if (!marked.length) return;
  spoken = (next + marked.length) % marked.length;
  marked[spoken].range.startContainer.parentElement?.scrollIntoView({ block: "center" });
  setTimeout(() => explain(marked[spoken]), 50); // after the scroll, which hides it
}

explainer.addEventListener("focus", () => speak(Math.max(spoken, 0)));
explainer.addEventListener("blur", hideTip);
explainer.addEventListener("keydown", (event) => {
  const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape") explainer.blur();
  if (!way) return;
  event.preventDefault();
  speak(spoken + way);
});

/* All of them as a list. */
const glossary = one(".pw-glossary");
const search = one("input", glossary);

function find() {
  const wanted = search.value.trim().toLowerCase();
  for (const entry of all("dl > div", glossary)) entry.hidden = !entry.textContent.toLowerCase().includes(wanted);
  for (const group of all("section", glossary)) group.hidden = !one("dl > div:not([hidden])", group);
}

one(".pw-words").addEventListener("click", () => {
  dress(glossary);
  search.value = "";
  find();
  glossary.showModal();
});
search.addEventListener("input", find);
glossary.addEventListener("click", ({ target }) => {
  if (target === glossary || target.closest("header button")) glossary.close();
});
for (const name of ["keydown", "keyup"]) glossary.addEventListener(name, (event) => event.stopPropagation());

/* The sketch of the page goes with the first thing that is shown. */
const SHOWN = "h1, [role=dialog], [data-testid=stAlert], [data-testid=stException]";
let opened = false;

function open() {
  opened ||= Boolean(one(SHOWN, app));
  document.body.classList.toggle("pw-opened", opened);
}

/* Streamlit fetches the 5 MB of Plotly with the first chart, and a command's colours with the first command. Where
   claims are listed, both are one click away, and the browser has time while the list is read. */
const whenIdle = globalThis.requestIdleCallback ?? setTimeout;
const idle = () => new Promise((done) => { whenIdle(done); });
let prepared = false;

async function prepareClaim() {
  const own = one("script[type=module][src]"); // Streamlit's; the others lie beside it
  if (prepared || !own || !one(".pw-claims", app)) return;
  prepared = true;
  try {
    for (const script of one("#pw-page").dataset.ofClaims.split(" ")) {
      await idle();
      await import(new URL(script, own.src));
    }
    await idle();
    const unseen = document.createElement("div"); // the first chart of all takes far longer than others
    await globalThis.Plotly?.newPlot(unseen, [{ x: [0, 1], y: [0, 1], mode: "lines+markers" }], { height: 200 });
    globalThis.Plotly?.purge(unseen);
  } catch { /* Streamlit tries again, and says so if it cannot */ }
}

/* Streamlit tells nobody when it has shown something. Terms can wait until it is done. */
const PAUSE = 300; // milliseconds
let waiting = 0;

new MutationObserver(() => {
  if (!opened) open();
  follow();
  point();
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    whenIdle(markTerms);
    prepareClaim();
  }, PAUSE);
}).observe(app, { childList: true, subtree: true, characterData: true });
follow();
