import { clamp, counted, unpack } from "./machine_data.js";
import { blockInside, headInside, numberInside } from "./machine_inside.js";
import { make, painter } from "./machine_paint.js";
import { Player } from "./machine_play.js";
import { drawRiver, surveyed } from "./machine_river.js";
import { buildStage, cellAt, markChosen, measure } from "./machine_stage.js";
import { factsOf, legend, light, tell } from "./machine_told.js";
import { known, largestKnown, nearest, vectors } from "./machine_vectors.js";
import { allInWords, asText, briefly } from "./machine_words.js";

const HINT = "Point at a part to read it. Click a block to open it.";
const OF_TOKENS = ["patches", "embedded", "positions", "tokens"];

class Machine {
  constructor(root) {
    const part = (name) => root.querySelector(name);
    Object.assign(this, { root, stage: part(".stage"), floor: part(".floor"), line: part(".line") });
    Object.assign(this, { inside: part(".inside"), told: part(".told"), way: part(".way"), closer: part(".closer") });
    Object.assign(this, { m: null, open: null, pinned: null }); // open: a block, head or number; pinned: a part clicked
    this.player = new Player(root, () => this.close());
    for (const kind of ["pointerover", "pointermove"]) root.addEventListener(kind, (event) => this.hover(event));
    root.addEventListener("pointerleave", () => this.tell(null));
    root.addEventListener("focusin", ({ target }) => {
      if (target.matches(":focus-visible") && target.dataset.focus) this.tell(target.dataset.focus);
    });
    root.addEventListener("keydown", (event) => this.key(event));
    this.stage.addEventListener("click", (event) => this.click(event));
    this.closer.onclick = () => this.goCloser();
    this.observer = new ResizeObserver(() => {
      if (this.m && this.width !== this.stage.clientWidth) this.layOut();
    });
    this.observer.observe(this.stage);
  }

  show(m, trigger) {
    this.trigger = trigger;
    const same = this.m?.identity === m.identity;
    this.m = same ? Object.assign(this.m, { layer: m.layer, head: m.head }) : m;
    if (!same) this.showAnother();
    markChosen(this.line, this.m, this.size);
  }

  showAnother() {
    const { m, root } = this;
    this.paint = painter(m.colours);
    root.setAttribute("aria-label", m.alt);
    for (const [name, colour] of Object.entries(m.colours))
      if (typeof colour === "string") root.style.setProperty(`--${name}`, colour);
    this.layOut();
    root.querySelector(".legend").replaceChildren(...legend(m));
    const words = allInWords(m).map((facts) => make("li", { "data-words": facts.part }, asText(facts)));
    root.querySelector(".words ol").replaceChildren(...words);
    this.reopen();
    this.spoken = null;
    this.tell(null);
  }

  layOut() {
    this.width = this.stage.clientWidth;
    this.size = measure(this.m, this.width);
    this.root.classList.toggle("tall", this.size.tall);
    const focused = this.line.contains(this.root.getRootNode().activeElement) && this.root.getRootNode().activeElement;
    buildStage(this.line, this.m, this.paint, this.size);
    if (focused) this.line.querySelector(`[data-focus=${focused.dataset.focus}]`)?.focus({ preventScroll: true });
    markChosen(this.line, this.m, this.size);
    const map = surveyed(this.floor, this.m, this.size.tall);
    drawRiver(this.root.querySelector(".river"), this.m, map);
    this.player.prepare(this.m, map);
  }

  // Pointing

  hover(event) {
    const element = event.target.closest?.("[data-part]");
    if (element && this.stage.contains(element)) this.tell(element.dataset.part, cellAt(element, event));
  }

  tell(pointed, cell = null) {
    const part = pointed ?? (this.open ? null : this.pinned), key = `${part} ${cell}`;
    if (this.spoken === key) return;
    this.spoken = key;
    const facts = factsOf(this.m, this.open, part, cell);
    light(this.stage, pointed, facts);
    tell(this.told, this.m, this.open, facts);
  }

  // Clicking

  click(event) {
    const row = event.target.closest("[data-row]"), pick = event.target.closest("[data-pick]");
    const element = event.target.closest("[data-part]"), byPointer = event.detail > 0; // and not by a key
    if (row) this.go({ ...this.open, row: Number(row.dataset.row) });
    else if (pick) this.number(pick.dataset.pick, cellAt(pick, event));
    else if (element) this.enter(element.dataset.part, byPointer ? cellAt(element, event) : null);
  }

  enter(part, cell) {
    const [kind, a, b] = part.split("-"), layer = Number(a) - 1;
    if (this.open && a === undefined) {
      if (part !== "heads") this.number(part, cell);
    } else if (kind === "head") this.choose({ level: "head", layer, head: Number(b) - 1 });
    else if (kind === "heads" && cell !== null) this.choose({ level: "head", layer, head: cell });
    else if (a !== undefined) this.choose({ level: "block", layer });
    else if (kind === "norm") this.number("y", null);
    else if (kind === "logits" || kind === "probabilities") this.number("logits", cell);
    else this.enterToken(kind, cell === null || kind === "digit" ? null : kind === "patches" ? cell + 1 : cell);
  }

  enterToken(part, token) {
    const { m } = this;
    if (m.token && part === "embedded" && (token === null || token === m.token)) this.number("embedded", null);
    else {
      this.pinned = part;
      this.crumbs();
      if (token !== null) this.choose({ token });
    }
  }

  choose({ level, ...wanted }) { // for all pages; what opens does not wait for them
    if (level) this.go({ level, ...wanted });
    if (Object.entries(wanted).some(([name, value]) => this.m[name] !== value)) this.trigger("choose", wanted);
  }

  // One number of a vector; of no cell, or of one whose products are not known, the largest or the nearest.
  number(id, cell) {
    const layer = this.open?.layer ?? null, { values, places } = this.numbers(layer, id);
    const free = cell === null || cell >= values.length;
    const at = free ? largestKnown(values, places) : places ? nearest(places, cell) : cell;
    this.go({ level: "number", layer, id, cell: at });
  }

  numbers(layer, id) {
    const { m } = this;
    if (layer !== null) return { values: vectors(m, layer)[id].values, places: known(m, layer, id) };
    if (id !== "embedded") return { values: m.get(id), places: null };
    return { values: m.get("embeddedRow"), places: Array.from(m.get("embedded.place", 0)) };
  }

  // Levels

  go(open) {
    const { m, paint } = this, opened = !this.open;
    this.player.leave();
    this.open = open;
    this.pinned = null;
    const { level, layer, head, row, id, cell } = open;
    this.inside.replaceChildren(level === "block" ? blockInside(m, paint, layer)
      : level === "head" ? headInside(m, paint, layer, head, row ?? 0) : numberInside(m, paint, layer, id, cell));
    if (opened) this.unfoldFrom(layer);
    this.inside.hidden = false;
    this.root.classList.add("open");
    if (opened && this.size.tall) this.root.scrollIntoView({ block: "start" });
    this.crumbs();
    this.spoken = null;
    this.tell(null);
    const here = row === undefined ? this.root : this.inside.querySelector(".looked-row.is-chosen");
    here.focus({ preventScroll: true });
  }

  unfoldFrom(layer) {
    const from = this.line.querySelector(layer === null ? ".answers" : `[data-focus=block-${layer + 1}]`);
    const area = from.getBoundingClientRect(), ground = this.stage.getBoundingClientRect();
    const x = area.left + area.width / 2 - ground.left, y = area.top + area.height / 2 - ground.top;
    this.inside.style.transformOrigin = `${x}px ${y}px`;
  }

  reopen() { // another drawing, token or model: what is open stays open, as far as there is such a thing
    const { layer = null, head = 0, level } = this.open ?? {};
    const gone = level === "number" || (layer !== null && (layer >= this.m.depth || head >= this.m.heads));
    if (!this.open) this.crumbs();
    else if (gone) this.close();
    else this.go(this.open);
  }

  close() {
    if (!this.open) return;
    this.open = null;
    this.inside.hidden = true;
    this.inside.replaceChildren();
    this.root.classList.remove("open");
    if (this.size.tall) this.layOut(); // it may have been hidden while its size changed
    this.crumbs();
    this.spoken = null;
    this.tell(null);
  }

  out() {
    const { level, layer } = this.open ?? {};
    if (!this.open) {
      this.pinned = null;
      this.player.leave();
      this.crumbs();
      this.tell(null);
    } else if (level !== "block" && layer !== null) this.go({ level: "block", layer });
    else {
      this.close();
      const from = layer === null ? "[data-focus=logits]" : `[data-focus=block-${layer + 1}]`;
      this.line.querySelector(from).focus({ preventScroll: true });
    }
  }

  crumbs() {
    const step = (words, go) => {
      const one = make(go ? "button" : "span", go ? { type: "button" } : { "aria-current": "true" }, words);
      if (go) one.onclick = go;
      return one;
    };
    const { open, m } = this, { level, layer, head } = open ?? {}, steps = [];
    if (open) {
      steps.push(step("Machine", () => this.close()));
      const outward = level === "block" ? null : () => this.go({ level: "block", layer });
      if (layer !== null) steps.push(step(`Block ${layer + 1}`, outward));
      if (level !== "block") steps.push(step(level === "head" ? `Head ${head + 1}` : "One number"));
      steps.push(make("span", { class: "turn" }, step("‹", () => this.turn(-1)), step("›", () => this.turn(1))));
    } else {
      steps.push(step(`${counted(m.depth, "block")}, one river`));
      if (m.token) steps.push(make("span", { class: "turn" }, step("choose CLS", () => this.choose({ token: 0 }))));
    }
    this.way.replaceChildren(...steps);
    const page = this.page();
    this.closer.hidden = !page;
    if (page) this.closer.textContent = `Look closer: ${page[0].toUpperCase()}${page.slice(1)} →`;
    this.player.idle = open ? briefly[level](m, layer, head) : HINT;
    this.player.goTo(this.player.place);
  }

  turn(by) { // to the next block, head or number
    const { open, m } = this, { level, layer, head, id, cell } = open;
    if (level === "block") this.go({ level, layer: clamp(layer + by, 0, m.depth - 1) });
    else if (level === "head") this.go({ level, layer, head: clamp(head + by, 0, m.heads - 1) });
    else {
      const { values, places } = this.numbers(layer, id), at = places ? places.indexOf(cell) : cell;
      const next = clamp(at + by, 0, (places ?? values).length - 1);
      this.go({ ...open, cell: places ? places[next] : next });
    }
  }

  // The page that has it all.
  page() {
    const { level, layer, id } = this.open ?? {};
    if (!this.open) return this.pinned && factsOf(this.m, null, this.pinned, null).page;
    if (level !== "number") return level === "head" ? "attention" : "layers";
    if (layer === null) return id === "embedded" ? "embedding" : "logits";
    return factsOf(this.m, this.open, id, null).page;
  }

  goCloser() {
    const { layer = null, head = this.m.head } = this.open ?? {};
    this.trigger("go", layer === null ? { page: this.page() } : { page: this.page(), layer, head });
  }

  // While the machine has the focus the arrow keys are its own; else they turn the page.
  key(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key], down = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (by && this.open) this.turn(by);
    else if (by) this.player.step(by);
    else if (down && OF_TOKENS.includes(event.target.dataset.focus)) this.nextToken(down, event.target.dataset.focus);
    else if (event.key === "Escape") this.out();
    else if (event.key === " " && event.target === this.root) this.player.button.click();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  nextToken(by, part) {
    this.pinned = part;
    this.choose({ token: clamp(this.m.token + by, 0, this.m.tokens - 1) });
  }
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".machine");
  root.machine ??= new Machine(root);
  root.machine.show(unpack(data), setTriggerValue);
  return () => {
    root.machine.player.pause();
    root.machine.observer.disconnect();
  };
}
