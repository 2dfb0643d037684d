import { clamp, counted, unpack } from "./machine_data.js";
import { blockInside, headInside, numberInside } from "./machine_inside.js";
import { make, painter } from "./machine_paint.js";
import { Player } from "./machine_play.js";
import { drawRiver, surveyed } from "./machine_river.js";
import { buildStage, cellAt, markChosen, measure } from "./machine_stage.js";
import { describeVector, known, largestKnown, nearest, vectors } from "./machine_vectors.js";
import { allInWords, asText, briefly, describe, nameOf } from "./machine_words.js";

const HINT = "Point at a part to read it. Click a block to open it.";

class Machine {
  constructor(root) {
    const part = (name) => root.querySelector(name);
    Object.assign(this, {
      root,
      stage: part(".stage"),
      floor: part(".floor"),
      line: part(".line"),
      inside: part(".inside"),
      told: part(".told"),
      way: part(".way"),
      closer: part(".closer"),
      open: null,
      m: null,
    });
    this.player = new Player(root, () => this.close());
    root.addEventListener("pointerover", (event) => this.hover(event));
    root.addEventListener("pointermove", (event) => this.hover(event));
    root.addEventListener("pointerleave", () => this.tell(null));
    root.addEventListener("focusin", (event) => {
      if (event.target.matches(":focus-visible") && event.target.dataset.focus) this.tell(event.target.dataset.focus);
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
    if (!same) {
      this.paint = painter(m.colours);
      this.root.setAttribute("aria-label", m.alt);
      for (const [name, colour] of Object.entries(m.colours))
        if (typeof colour === "string") this.root.style.setProperty(`--${name}`, colour);
      this.layOut();
      this.legend();
      const list = this.root.querySelector(".words ol");
      list.replaceChildren(...allInWords(m).map((facts) => make("li", { "data-words": facts.part }, asText(facts))));
      this.reopen();
      this.tell(null);
    }
    markChosen(this.line, this.m, this.size);
  }

  layOut() {
    this.width = this.stage.clientWidth;
    this.size = measure(this.m, this.width);
    this.root.classList.toggle("tall", this.size.tall);
    buildStage(this.line, this.m, this.paint, this.size);
    markChosen(this.line, this.m, this.size);
    const map = surveyed(this.floor, this.m, this.size.tall);
    drawRiver(this.root.querySelector(".river"), this.m, map);
    this.player.prepare(this.m, map);
  }

  legend() {
    const swatch = (name, words) => make("span", {}, make("i", { style: `background: var(--${name})` }), words);
    const scale = (colours, words) =>
      make(
        "span",
        {},
        make("i", {
          class: "scale",
          style: `background: linear-gradient(90deg, ${colours
            .map(([stop, colour]) => `${colour} ${100 * stop}%`)
            .join(", ")})`,
        }),
        words,
      );
    const who = this.m.tokenName,
      makes = this.m.norm === "alone" ? "makes" : "adds";
    this.root
      .querySelector(".legend")
      .replaceChildren(
        swatch("accent", `residual stream of ${who}: its width is its length`),
        swatch("attention", `attention ${makes}`),
        swatch("mlp", `the MLP ${makes}`),
        scale(this.m.colours.warm, `where ${who} looks, each map on its own scale`),
        scale(this.m.colours.signed, "below and above 0"),
        ...(this.m.noLens ? [make("span", {}, this.m.noLens)] : []),
      );
  }

  // Pointing

  hover(event) {
    const element = event.target.closest?.("[data-part]");
    if (!element || !this.stage.contains(element)) return;
    this.tell(element.dataset.part, cellAt(element, event));
  }

  facts(part, cell) {
    const layer = this.open?.layer ?? null;
    if (layer !== null && part in vectors(this.m, layer)) return describeVector(this.m, layer, part, cell);
    if (part === "heads") return { ...describe(this.m, `heads-${layer + 1}`), from: ["q", "k", "v"], to: ["concat"] };
    if (layer !== null && part.startsWith("head-"))
      return { ...describe(this.m, part), from: ["q", "k", "v"], to: ["concat"] };
    if (part.startsWith("heads-") && cell !== null)
      return describe(this.m, part.replace("heads", "head").concat(`-${cell + 1}`));
    return describe(this.m, part, cell);
  }

  tell(part, cell = null) {
    const key = `${part} ${cell} ${this.open?.level}`;
    if (this.spoken === key) return;
    this.spoken = key;
    for (const element of this.root.querySelectorAll(".from, .to, .here"))
      element.classList.remove("from", "to", "here");
    const facts = this.facts(
      part ?? (this.open?.layer === undefined || this.open.layer === null ? "whole" : `block-${this.open.layer + 1}`),
      cell,
    );
    const mark = (parts, kind) => {
      for (const name of parts)
        for (const one of this.stage.querySelectorAll(`[data-focus="${name}"], [data-part="${name}"]`))
          one.classList.add(kind);
    };
    if (part) mark([part], "here");
    if (part) mark(facts.from, "from");
    if (part) mark(facts.to, "to");
    const inside = this.open && this.open.layer !== null ? vectors(this.m, this.open.layer) : {};
    const names = (parts) =>
      parts.map((name) => inside[name]?.name ?? (name === "heads" ? "the heads" : nameOf(this.m, name)));
    const way = [
      facts.from.length ? `from ${names(facts.from).join(", ")}` : "",
      facts.to.length ? `to ${names(facts.to).join(", ")}` : "",
    ];
    this.told.replaceChildren(
      make("p", {}, make("b", {}, facts.title), ` ${facts.what.replace(/\.?$/, ".")}`),
      make("p", { class: "value" }, facts.value ?? ""),
      make(
        "p",
        { class: "small" },
        ...[facts.equation, facts.shape, way.filter(Boolean).join(" · ")]
          .filter(Boolean)
          .map((words, i) => make("span", { class: i ? "" : "equation" }, words)),
      ),
    );
  }

  // Clicking

  click(event) {
    const row = event.target.closest("[data-row]"),
      pick = event.target.closest("[data-pick]");
    if (row) {
      this.go({ ...this.open, row: Number(row.dataset.row) });
      return;
    }
    const element = event.target.closest("[data-part]");
    const pointed = event.detail > 0; // by a pointer, not by a key
    if (pick) {
      this.number(pick.dataset.pick, cellAt(pick, event));
      return;
    }
    if (element) this.enter(element.dataset.part, pointed ? cellAt(element, event) : null);
  }

  enter(part, cell) {
    const [kind, a, b] = part.split("-"),
      layer = Number(a) - 1;
    if (this.open && a === undefined) {
      if (part !== "heads") this.number(part, cell);
    } else if (kind === "head") this.choose({ level: "head", layer, head: Number(b) - 1 });
    else if (kind === "heads" && cell !== null) this.choose({ level: "head", layer, head: cell });
    else if (a !== undefined) this.choose({ level: "block", layer });
    else if (kind === "patches" && cell !== null) this.choose({ token: cell + 1 });
    else if (["embedded", "tokens", "positions"].includes(kind)) {
      if (cell !== null && cell !== this.m.token) this.choose({ token: cell });
      else if (this.m.token) this.number("embedded", null);
    } else if (kind === "norm") this.number("y", null);
    else if (kind === "logits" || kind === "probabilities") this.number("logits", cell);
  }

  choose({ level, ...wanted }) {
    // for all pages; what opens does not wait for them
    if (level) this.go({ level, ...wanted });
    if (Object.entries(wanted).some(([name, value]) => this.m[name] !== value)) this.trigger("choose", wanted);
  }

  number(id, cell) {
    const { m } = this,
      layer = this.open?.layer ?? null;
    const fixed = { logits: [m.get("logits"), null], y: [m.get("y"), null] };
    if (id === "embedded") fixed.embedded = [m.get("embeddedRow"), Array.from(m.get("embedded.place", 0))];
    const [values, places] = fixed[id] ?? [vectors(m, layer)[id].values, known(m, layer, id)];
    const at =
      cell === null || cell >= values.length ? largestKnown(values, places) : places ? nearest(places, cell) : cell;
    this.go({ level: "number", layer, id, cell: at });
  }

  // Levels

  go(open) {
    const { m } = this,
      opened = !this.open;
    const origin =
      opened && open.level !== "number" ? this.line.querySelector(`[data-focus=block-${open.layer + 1}]`) : null;
    this.player.leave();
    this.open = open;
    const view =
      open.level === "block"
        ? blockInside(m, this.paint, open.layer)
        : open.level === "head"
          ? headInside(m, this.paint, open.layer, open.head, open.row ?? 0)
          : numberInside(m, this.paint, open.layer, open.id, open.cell);
    this.inside.replaceChildren(view);
    this.inside.hidden = false;
    this.root.classList.add("open");
    if (origin) {
      const from = origin.getBoundingClientRect(),
        ground = this.stage.getBoundingClientRect();
      this.inside.style.transformOrigin = `${from.left + from.width / 2 - ground.left}px ${from.top + from.height / 2 - ground.top}px`;
    }
    if (opened) {
      this.inside.classList.remove("unfolds");
      void this.inside.offsetWidth; // begins the animation anew
      this.inside.classList.add("unfolds");
      if (this.size.tall) this.root.scrollIntoView({ block: "start" });
    }
    this.crumbs();
    this.spoken = null;
    this.tell(null);
    const focused =
      open.level === "head" && open.row !== undefined ? this.inside.querySelector(".looked-row.is-chosen") : this.root;
    focused.focus({ preventScroll: true });
  }

  reopen() {
    // another drawing or model: what is open stays open, as far as there is such a thing
    if (!this.open) {
      this.crumbs();
      return;
    }
    const { layer, head = 0 } = this.open,
      gone = layer !== null && (layer >= this.m.depth || head >= this.m.heads);
    if (gone || this.open.level === "number") this.close();
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
    if (!this.open) {
      this.player.leave();
      return;
    }
    const { level, layer } = this.open;
    if (level !== "block" && layer !== null) this.go({ level: "block", layer });
    else {
      this.close();
      this.line
        .querySelector(layer === null ? "[data-focus=logits]" : `[data-focus=block-${layer + 1}]`)
        .focus({ preventScroll: true });
    }
  }

  crumbs() {
    const step = (words, go) => {
      const one = make(go ? "button" : "span", go ? { type: "button" } : { "aria-current": "true" }, words);
      if (go) one.onclick = go;
      return one;
    };
    const { open, m } = this,
      steps = [];
    if (open) {
      const { level, layer, head } = open,
        block = layer === null ? null : `Block ${layer + 1}`;
      steps.push(step("Machine", () => this.close()));
      if (block) steps.push(level === "block" ? step(block) : step(block, () => this.go({ level: "block", layer })));
      if (level === "head") steps.push(step(`Head ${head + 1}`));
      if (level === "number") steps.push(step("One number"));
      if (level !== "number")
        steps.push(
          make(
            "span",
            { class: "turn" },
            step("‹", () => this.turn(-1)),
            step("›", () => this.turn(1)),
          ),
        );
    } else steps.push(step(`${counted(m.depth, "block")}, one river`));
    this.way.replaceChildren(...steps);
    this.closer.hidden = !open;
    this.player.idle = open ? briefly[open.level](m, open.layer, open.head) : HINT;
    this.player.goTo(this.player.place);
  }

  turn(by) {
    const { open, m } = this;
    if (open.level === "block") this.go({ level: "block", layer: clamp(open.layer + by, 0, m.depth - 1) });
    else if (open.level === "head")
      this.go({ level: "head", layer: open.layer, head: clamp(open.head + by, 0, m.heads - 1) });
    else {
      const places = open.layer === null ? null : known(m, open.layer, open.id),
        at = places?.indexOf(open.cell);
      const size = open.id === "logits" ? m.classes.length : m.width;
      const cell = open.id === "embedded" || places ? (places ?? Array.from(m.get("embedded.place", 0))) : null;
      this.go({
        ...open,
        cell: cell
          ? cell[clamp((places ? at : cell.indexOf(open.cell)) + by, 0, cell.length - 1)]
          : clamp(open.cell + by, 0, size - 1),
      });
    }
  }

  goCloser() {
    const { level, layer, head = this.m.head, id } = this.open;
    const page =
      level === "head" || ["q", "k", "v", "concat"].includes(id)
        ? "attention"
        : id === "logits" || id === "y"
          ? "logits"
          : id === "embedded"
            ? "embedding"
            : "layers";
    this.trigger("go", layer === null ? { page } : { page, layer, head });
  }

  // While the machine has the focus the arrow keys are its own; else they turn the page.
  key(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by) {
      if (this.open) this.turn(by);
      else this.player.step(by);
    } else if (event.key === "Escape") this.out();
    else if (event.key === " " && event.target === this.root) this.player.button.click();
    else return;
    event.preventDefault();
    event.stopPropagation();
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
