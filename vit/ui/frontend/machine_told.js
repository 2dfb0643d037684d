import { make } from "./machine_paint.js";
import { describeVector, vectors } from "./machine_vectors.js";
import { describe, nameOf } from "./machine_words.js";

const layerOf = (open) => open?.layer ?? null; // of what is open

// What is told of a part, or of what is open where nothing is pointed at.
export function factsOf(m, open, part, cell) {
  const layer = layerOf(open);
  if (part === null) return factsOfOpen(m, open);
  if (layer !== null && part in vectors(m, layer)) return describeVector(m, layer, part, cell);
  const inside = { from: ["q", "k", "v"], to: ["concat"] };
  if (part === "heads") return { ...describe(m, `heads-${layer + 1}`), ...inside };
  if (layer !== null && part.startsWith("head-")) return { ...describe(m, part), ...inside };
  if (part.startsWith("heads-") && cell !== null) return describe(m, `${part.replace("heads", "head")}-${cell + 1}`);
  return describe(m, part, cell);
}

function factsOfOpen(m, open) {
  const { level, layer, head, id, cell } = open ?? {};
  if (level === "block") return describe(m, `block-${layer + 1}`);
  if (level === "head") return factsOf(m, open, `head-${layer + 1}-${head + 1}`, null);
  if (level !== "number") return describe(m, "whole");
  return layer === null ? describe(m, id === "y" ? "norm" : id) : describeVector(m, layer, id, cell);
}

export function tell(told, m, open, facts) {
  const inside = layerOf(open) === null ? {} : vectors(m, open.layer);
  const names = (parts) =>
    parts.map((name) => inside[name]?.name ?? (name === "heads" ? "the heads" : nameOf(m, name))).join(", ");
  const way = [facts.from.length ? `from ${names(facts.from)}` : "", facts.to.length ? `to ${names(facts.to)}` : ""];
  const small = [["equation", facts.equation], ["", facts.shape], ["", way.filter(Boolean).join(" · ")]]
    .filter(([, words]) => words).map(([kind, words]) => make("span", { class: kind }, words));
  told.replaceChildren(
    make("p", {}, make("b", {}, facts.title), ` ${facts.what.replace(/\.?$/, ".")}`),
    make("p", { class: "value" }, facts.value ?? ""),
    make("p", { class: "small" }, ...small),
  );
}

// Lights up where the pointer is, where that comes from, and where it goes.
export function light(stage, part, facts) {
  for (const element of stage.querySelectorAll(".from, .to, .here")) element.classList.remove("from", "to", "here");
  if (part === null) return;
  for (const [kind, parts] of Object.entries({ here: [part], from: facts.from, to: facts.to }))
    for (const name of parts)
      for (const element of stage.querySelectorAll(`[data-focus="${name}"], [data-part="${name}"]`))
        element.classList.add(kind);
}

export function legend(m) {
  const entry = (look, words) => make("span", {}, make("i", look), words);
  const swatch = (name, words) => entry({ style: `background: var(--${name})` }, words);
  const scale = (colours, words) => {
    const stops = colours.map(([stop, colour]) => `${colour} ${100 * stop}%`).join(", ");
    return entry({ class: "scale", style: `background: linear-gradient(90deg, ${stops})` }, words);
  };
  const makes = m.norm === "alone" ? "makes" : "adds";
  return [
    swatch("accent", `residual stream of ${m.tokenName}: its width is its length`),
    swatch("attention", `attention ${makes}`),
    swatch("mlp", `the MLP ${makes}`),
    scale(m.colours.warm, `where ${m.tokenName} looks, each map on its own scale`),
    scale(m.colours.signed, "below and above 0"),
    ...(m.noLens ? [make("span", {}, m.noLens)] : []),
  ];
}
