import { counted, furthest, layerNorm, lengthOf, number, percent, sub, tokenWord } from "./machine_data.js";

// What each part of the machine is: its name, what it does, its shape, its equation in the paper's notation, its value
// for this drawing, where it comes from, where it goes, and the page that has it all.
export function describe(m, part, cell = null) {
  const [kind, a, b] = part.split("-");
  const layer = Number(a) - 1,
    facts = PARTS[kind](m, layer, b === undefined ? cell : Number(b) - 1);
  return { part, from: [], to: [], ...facts };
}

export const briefly = {
  block: (m, layer) =>
    `${tokenWord(m.token)} is ${number(lengthOf(m.stream(layer)))} long before block ${layer + 1}, ` +
    `${number(lengthOf(m.stream(layer + 1)))} after`,
  head: (m, layer, head) => looks(m, layer, head),
  number: () => "",
};

export const nameOf = (m, part) => describe(m, part).title;

export function asText(facts) {
  return [
    facts.title,
    facts.what,
    `Shape: ${facts.shape}.`,
    facts.equation && `Equation: ${facts.equation}.`,
    facts.value,
  ]
    .filter(Boolean)
    .map((text) => (/[.:]$/.test(text) ? text : `${text}.`))
    .join(" ");
}

const before = (layer) => (layer > 0 ? `block-${layer}` : "tokens");
const after = (m, layer) => (layer + 1 < m.depth ? `block-${layer + 2}` : "norm");
const read = { cls: "CLS", mean: "the mean of all patches", last: "the last patch" };
const readSymbol = { cls: "z_L⁰", mean: "mean of z_L", last: "z_Lᴺ" };
const POSITIONS = {
  learned: "Learned, one row for each place. Without them the patches would have no order.",
  sine: "Sines and cosines of each token's number. Without them the patches would have no order.",
  none: "All 0 in this model: no token is told where it stands.",
};

function place(m, token) {
  if (!token) return "CLS, which has no pixels";
  return `patch ${token}: row ${Math.floor((token - 1) / m.grid) + 1}, column ${((token - 1) % m.grid) + 1}`;
}

export function equations(m, layer) {
  const z = `z${sub(layer)}`,
    next = `z${sub(layer + 1)}`,
    middle = `z′${sub(layer + 1)}`;
  if (m.norm === "after") return [`${middle} = LN(MSA(${z}) + ${z})`, `${next} = LN(MLP(${middle}) + ${middle})`];
  if (m.norm === "alone") return [`${middle} = MSA(LN(${z}))`, `${next} = MLP(LN(${middle}))`];
  return [`(2) ${middle} = MSA(LN(${z})) + ${z}`, `(3) ${next} = MLP(LN(${middle})) + ${middle}`];
}

export function answerAfter(m, depth) {
  if (!m.has("lens")) return null;
  return { name: m.soFar[depth], best: m.get("lensBest")[depth], share: m.get("lensMost")[depth] };
}

const would = (m, depth) => {
  const answer = answerAfter(m, depth);
  return answer ? `It would say ${answer.name}, with ${percent(answer.share)}.` : m.noLens;
};

export function looks(m, layer, head) {
  const row = m.pattern(layer, head);
  const most = row.indexOf(Math.max(...row));
  const own = most ? `, ${percent(row[0])} at CLS` : "";
  return `${tokenWord(m.token)} looks most at ${tokenWord(most)}, with ${percent(row[most])}${own}`;
}

const PARTS = {
  whole(m) {
    const bests = m.has("lens") ? Array.from(m.get("lensBest")) : [],
      settled = bests.findLastIndex((best) => best !== m.prediction) + 1;
    const name = m.names[m.classes.indexOf(m.prediction)];
    return {
      title: "The machine",
      what: `${m.alt}.`,
      value:
        `${tokenWord(m.token)} enters the first block ${number(lengthOf(m.stream(0)))} long and leaves the last ` +
        `${number(lengthOf(m.stream(m.depth)))} long. ` +
        (m.noLens ||
          (settled ? `From block ${settled} on it would say ${name}.` : `It would say ${name} from the start.`)),
      shape: `${counted(m.depth, "block")} of ${counted(m.heads, "head")}, D = ${m.width}`,
    };
  },
  digit(m, _, cell) {
    const image = m.get("image"),
      pixels = m.image ** 2,
      C = m.channels;
    let inked = 0;
    for (let i = 0; i < pixels; i++) inked += image.subarray(i * C, i * C + C).some((x) => x > 0);
    return {
      title: `Your ${m.thing}`,
      what: `What the model sees of your ${m.channels === 1 ? "drawing" : "picture"}.`,
      equation: "x of H x W x C",
      shape: `${m.image} x ${m.image} x ${C}, whole numbers from 0 to 255`,
      value:
        cell === null
          ? `${inked} of ${pixels.toLocaleString("en")} pixels are not black`
          : `row ${Math.floor(cell / m.image) + 1}, column ${(cell % m.image) + 1}: ` +
            image.subarray(cell * C, cell * C + C).join(", "),
      to: ["patches"],
      page: "patches",
    };
  },
  patches: (m, _, cell) => ({
    title: `${m.tokens - 1} patches`,
    what: "The picture, cut. Each patch is read as one row of numbers. Click one to choose it.",
    shape: `N x P²C = ${m.tokens - 1} x ${m.patchValues}`,
    equation: "x_p of N x (P²·C)",
    value: place(m, cell === null ? m.token : cell + 1),
    from: ["digit"],
    to: ["embedded"],
    page: "patches",
  }),
  embedded: (m, _, cell) => ({
    title: `${m.tokens} tokens`,
    what: "Each patch times one matrix E. CLS stands first: learned, and the same for every picture.",
    shape: `(N+1) x D = ${m.tokens} x ${m.width}`,
    equation: "[x_class; x_p¹E; x_p²E; …; x_pᴺE]",
    value:
      cell === null || cell === m.token
        ? `${tokenWord(m.token)} is ${number(lengthOf(m.get("embeddedRow")))} long`
        : `${place(m, cell)}. Click to choose it`,
    from: ["patches"],
    to: ["tokens"],
    page: "embedding",
  }),
  positions: (m, _, cell) => ({
    title: "Positions",
    what: POSITIONS[m.positions],
    shape: `(N+1) x D = ${m.tokens} x ${m.width}`,
    equation: "E_pos",
    value:
      cell === null || cell === m.token
        ? `${tokenWord(m.token)}'s is ${number(lengthOf(m.get("positionsRow")))} long`
        : place(m, cell),
    to: ["tokens"],
    page: "embedding",
  }),
  tokens: (m, _, cell) => ({
    title: "z₀",
    what: "Tokens and positions, added: what enters the first block.",
    shape: `(N+1) x D = ${m.tokens} x ${m.width}`,
    equation: "(1) z₀ = [x_class; x_p¹E; …; x_pᴺE] + E_pos",
    value:
      cell === null || cell === m.token
        ? `${tokenWord(m.token)} is ${number(lengthOf(m.get("tokensRow")))} long`
        : `${place(m, cell)}. Click to choose it`,
    from: ["embedded", "positions"],
    to: ["block-1"],
    page: "embedding",
  }),
  block: (m, layer) => ({
    title: `Block ${layer + 1}`,
    what:
      m.norm === "before"
        ? "Attention gathers, the MLP thinks it over; both add to the stream."
        : m.norm === "after"
          ? "Attention and MLP add to the stream; LayerNorm follows each sum."
          : "Attention and MLP replace the stream; nothing is added.",
    shape: `${m.tokens} x ${m.width} in and out, ${counted(m.heads, "head")}, ${m.hidden} hidden units`,
    equation: equations(m, layer).join("   "),
    value:
      `${tokenWord(m.token)}: ${number(lengthOf(m.stream(layer)))} long before, attention ` +
      `${number(lengthOf(m.get("attn_out", layer)))}, MLP ${number(lengthOf(m.get("mlp_out", layer)))}, ` +
      `${number(lengthOf(m.stream(layer + 1)))} after. ${would(m, layer + 1)}`,
    from: [before(layer)],
    to: [after(m, layer)],
    page: "layers",
  }),
  head: (m, layer, head) => ({
    title: `Head ${head + 1} of block ${layer + 1}`,
    what: `Where ${tokenWord(m.token)} looks: the brighter, the more. Queries and keys decide.`,
    shape: `one row of its ${m.tokens} x ${m.tokens} weights; d_k = D/h = ${m.headWidth}`,
    equation: m.scaled ? "softmax(qkᵀ/√d_k) v" : "softmax(qkᵀ) v",
    value: looks(m, layer, head),
    from: [before(layer)],
    to: [`mlp-${layer + 1}`],
    page: "attention",
  }),
  mlp(m, layer, cell) {
    const hidden = m.get("mlp_hidden", layer),
      unit = cell === null || cell >= hidden.length ? furthest(hidden) : cell;
    return {
      title: `MLP of block ${layer + 1}`,
      what: "Hidden units, each one question to the token; red is a yes.",
      shape: `${m.width} → ${m.hidden} → ${m.width}`,
      equation: "MLP(x) = GELU(xW₁ + b₁)W₂ + b₂",
      value:
        `${hidden.filter((x) => x > 0).length} of ${m.hidden} units are above 0; unit ${unit + 1}: ` +
        `${number(hidden[unit])}`,
      from: [`heads-${layer + 1}`],
      to: [after(m, layer)],
      page: "layers",
    };
  },
  answer(m, layer) {
    const lens = m.has("lens") ? m.get("lens", layer + 1) : null;
    const order = lens ? Array.from(lens.keys()).sort((i, j) => lens[j] - lens[i]) : [];
    return {
      title: `Answer after block ${layer + 1}`,
      what: lens ? "If the model stopped here: last LayerNorm and head, applied to CLS now." : m.noLens,
      shape: `${m.classes.length} probabilities`,
      equation: `softmax(LN(z${sub(layer + 1)}⁰)W + b)`,
      value: order
        .slice(0, 3)
        .map((i) => `${m.names[i]} with ${percent(lens[i])}`)
        .join(", "),
      from: [`block-${layer + 1}`],
      to: [],
      page: "logits",
    };
  },
  norm(m) {
    const { mean, deviation } = layerNorm(m.get("read"));
    return {
      title: "The last LayerNorm",
      what: `Brings ${read[m.reads]} to one scale; the answer is read from it alone.`,
      shape: `1 x D = 1 x ${m.width}`,
      equation: `(4) y = LN(${readSymbol[m.reads]})`,
      value: `mean ${number(mean)}, deviation ${number(deviation)} before; y is ${number(lengthOf(m.get("y")))} long`,
      from: [`block-${m.depth}`],
      to: ["logits"],
      page: "logits",
    };
  },
  logits: (m, _, cell) => ({
    title: "Logits",
    what: "For each class one sum: y times its weights. Click one to unfold it.",
    shape: `${m.classes.length} numbers`,
    equation: "yW + b",
    value: listed(m, cell, m.get("logits"), number),
    from: ["norm"],
    to: ["probabilities"],
    page: "logits",
  }),
  probabilities: (m, _, cell) => ({
    title: "Probabilities",
    what: "Softmax: e to the power of each logit, divided by their sum.",
    shape: `${m.classes.length} numbers that sum to 1`,
    equation: "softmax(yW + b)",
    value: listed(m, cell, m.get("probabilities"), percent),
    from: ["logits"],
    to: [],
    page: "logits",
  }),
};
PARTS.heads = (m, layer) => ({ ...PARTS.block(m, layer), title: `Heads of block ${layer + 1}` });

function listed(m, cell, values, write) {
  const all =
    cell === null
      ? Array.from(values.keys())
          .sort((i, j) => values[j] - values[i])
          .slice(0, 3)
      : [cell];
  return all.map((i) => `${m.names[i]}: ${write(values[i])}`).join(", ");
}

// The stations of Play: what lights up, for how many seconds, and a caption of at most twelve words.
export function stations(m) {
  const who = tokenWord(m.token),
    first = m.stream(1),
    best = m.names[m.classes.indexOf(m.prediction)];
  const logit = m.get("logits")[m.classes.indexOf(m.prediction)];
  const share = m.get("probabilities")[m.classes.indexOf(m.prediction)];
  const each = Math.min(2.2, 10 / Math.max(1, m.depth - 1));
  const blocks = Array.from({ length: m.depth - 1 }, (_, i) => {
    const answer = answerAfter(m, i + 2);
    return {
      part: `block-${i + 2}`,
      seconds: each,
      caption: answer
        ? `Block ${i + 2}: stopped here, it would say ${answer.name}, with ${percent(answer.share)}.`
        : `Block ${i + 2}: ${who} is now ${number(lengthOf(m.stream(i + 2)))} long.`,
    };
  });
  return [
    { part: "digit", seconds: 2.2, caption: `Your ${m.thing}: ${m.image} x ${m.image} pixels.` },
    {
      part: "patches",
      seconds: 2.6,
      caption: `It falls into ${m.tokens - 1} patches of ${m.patch} x ${m.patch} pixels.`,
    },
    { part: "embedded", seconds: 2.6, caption: `One matrix turns each patch into ${m.width} numbers: a token.` },
    {
      part: "tokens",
      seconds: 2.6,
      caption:
        m.positions === "none"
          ? "CLS joins, the same for every picture."
          : "CLS joins, the same for every picture. Positions tell the place.",
    },
    {
      part: "heads-1",
      seconds: 2.4,
      caption: `Block 1: ${m.heads === 1 ? "one head lets" : `${m.heads} heads let`} ${who} look at the tokens.`,
    },
    {
      part: "mlp-1",
      seconds: 2.4,
      caption:
        `Then its MLP: ${who} ${lengthOf(first) > lengthOf(m.stream(0)) ? "grows" : "shrinks"} from ` +
        `${number(lengthOf(m.stream(0)))} to ${number(lengthOf(first))}.`,
    },
    ...blocks,
    { part: "norm", seconds: 2, caption: `The last LayerNorm brings ${read[m.reads]} to one scale.` },
    {
      part: "logits",
      seconds: 2.4,
      caption: `${m.classes.length} sums, one per class: ${best} gets ${number(logit)}.`,
    },
    {
      part: "probabilities",
      seconds: 2.6,
      caption: `Softmax makes them probabilities: ${best}, with ${percent(share)}.`,
    },
  ];
}

// All of it as a list, for those who read or hear it.
export function allInWords(m) {
  const blocks = Array.from({ length: m.depth }, (_, layer) => [
    `block-${layer + 1}`,
    ...Array.from({ length: m.heads }, (_unused, head) => `head-${layer + 1}-${head + 1}`),
    `mlp-${layer + 1}`,
  ]).flat();
  const parts = ["digit", "patches", "embedded", "positions", "tokens", ...blocks, "norm"];
  return [
    ...parts.map((part) => describe(m, part)),
    { ...describe(m, "logits"), value: m.names.map((name, i) => `${name}: ${number(m.get("logits")[i])}`).join(", ") },
    {
      ...describe(m, "probabilities"),
      value: m.names.map((name, i) => `${name}: ${percent(m.get("probabilities")[i])}`).join(", "),
    },
  ];
}
