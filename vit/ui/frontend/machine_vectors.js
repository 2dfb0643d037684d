import { dotProduct, furthest, layerNorm, lengthOf, number, product, sub, tokenWord } from "./machine_data.js";

// Every vector of one block for the chosen token: its name, values, where it comes from, where it goes.
export function vectors(m, layer) {
  const get = (name) => m.get(name, layer),
    who = tokenWord(m.token),
    D = m.width;
  const z = `z${sub(layer)}`,
    next = `z${sub(layer + 1)}`,
    middle = `z′${sub(layer + 1)}`;
  const after = m.norm === "after",
    alone = m.norm === "alone";
  const intoHeads = after ? "z" : "ln1",
    intoMlp = after ? "ln1" : "ln2";
  const x = after ? z : `LN(${z})`,
    x2 = after ? middle : `LN(${middle})`;
  const row = { shape: `1 x ${D}` };
  const made = {
    z: {
      ...row,
      name: z,
      values: m.stream(layer),
      what: `${who} as the block finds it`,
      scale: "stream",
      equation: z,
      to: after ? ["q", "k", "v", "mid"] : alone ? ["ln1"] : ["ln1", "mid"],
    },
    ln1: {
      ...row,
      values: get("ln1"),
      from: [after ? "mid" : "z"],
      to: after ? ["hidden", "sum"] : ["q", "k", "v"],
      name: after ? `LN = ${middle}` : `LN(${z})`,
      what: "Mean 0 and deviation 1, then a learned γ and β each",
      equation: "LN(x) = (x − μ)/σ · γ + β",
    },
    ...Object.fromEntries(
      ["q", "k", "v"].map((name) => [
        name,
        {
          shape: `1 x ${D}: ${m.heads} heads of ${m.headWidth}`,
          name,
          values: get(name),
          scale: "qkv",
          from: [intoHeads],
          to: ["heads"],
          cuts: m.heads,
          equation: `${name} = ${x}·W_${name} + b_${name}`,
          what: { q: `What ${who} asks`, k: `What ${who} is found by`, v: `What ${who} hands on when it is looked at` }[
            name
          ],
        },
      ]),
    ),
    concat: {
      shape: `1 x ${D}: ${m.heads} heads of ${m.headWidth}`,
      name: "[head 1; …; head h]",
      values: get("heads"),
      what: "What all heads bring, side by side",
      equation: m.scaled ? "head = softmax(qkᵀ/√d_k) v" : "head = softmax(qkᵀ) v",
      from: ["heads"],
      to: ["msa"],
      cuts: m.heads,
    },
    msa: {
      ...row,
      name: alone ? `·W_o = ${middle}` : "·W_o = MSA",
      values: get("attn_out"),
      scale: "stream",
      what: "The heads, mixed by one matrix: what attention adds",
      equation: "MSA = [head₁; …; head_h]·W_o + b_o",
      from: ["concat"],
      to: [alone ? "ln2" : "mid"],
    },
    mid: {
      ...row,
      name: after ? `${z} + MSA` : `${z} + MSA = ${middle}`,
      values: get("resid_mid"),
      scale: "stream",
      what: "The residual sum",
      equation: after ? `MSA(${z}) + ${z}` : `(2) ${middle} = MSA(LN(${z})) + ${z}`,
      from: ["z", "msa"],
      to: after ? ["ln1"] : ["ln2", "out"],
    },
    ln2: {
      ...row,
      name: after ? `LN = ${next}` : `LN(${middle})`,
      values: get("ln2"),
      from: [after ? "sum" : alone ? "msa" : "mid"],
      to: after ? [] : ["hidden"],
      what: "Mean 0 and deviation 1, then a learned γ and β each",
      equation: "LN(x) = (x − μ)/σ · γ + β",
    },
    hidden: {
      shape: `1 x ${m.hidden}`,
      name: "GELU(x·W₁ + b₁)",
      values: get("mlp_hidden"),
      from: [intoMlp],
      to: ["mlp"],
      what: "The MLP's hidden units",
      equation: `GELU(${x2}·W₁ + b₁)`,
    },
    mlp: {
      ...row,
      name: alone ? `·W₂ = ${next}` : "·W₂ = MLP",
      values: get("mlp_out"),
      scale: "stream",
      from: ["hidden"],
      to: alone ? [] : [after ? "sum" : "out"],
      what: "What the MLP adds",
      equation: "MLP(x) = GELU(x·W₁ + b₁)·W₂ + b₂",
    },
    out: {
      ...row,
      name: `${middle} + MLP = ${next}`,
      values: m.stream(layer + 1),
      scale: "stream",
      from: ["mid", "mlp"],
      to: [],
      what: `${who} as the block leaves it`,
      equation: `(3) ${next} = MLP(LN(${middle})) + ${middle}`,
    },
  };
  if (after)
    made.sum = {
      ...row,
      name: `${middle} + MLP`,
      values: get("ln1").map((value, i) => value + get("mlp_out")[i]),
      scale: "stream",
      from: ["ln1", "mlp"],
      to: ["ln2"],
      what: "The second sum",
      equation: `MLP(${middle}) + ${middle}`,
    };
  return made;
}

// What stands where: three columns for attention, three for the MLP; the heads and hidden units stand in the middle.
export function order(m) {
  if (m.norm === "after")
    return [
      [
        ["z", "q", "k", "v"],
        ["concat", "msa", "mid", "ln1"],
      ],
      [[], ["mlp", "sum", "ln2"]],
    ];
  if (m.norm === "alone")
    return [
      [
        ["z", "ln1", "q", "k", "v"],
        ["concat", "msa"],
      ],
      [["ln2"], ["mlp"]],
    ];
  return [
    [
      ["z", "ln1", "q", "k", "v"],
      ["concat", "msa", "mid"],
    ],
    [["ln2"], ["mlp", "out"]],
  ];
}

const SUMS = { q: "q", k: "k", v: "v", msa: "attn_out", hidden: "mlp_hidden", mlp: "mlp_out" };

// The numbers of a vector that can be unfolded: all, or those whose largest products are known.
export function known(m, layer, id) {
  return id in SUMS ? Array.from(m.get(`${SUMS[id]}.place`, layer)) : null;
}

export function nearest(places, cell) {
  return places.reduce((best, place) => (Math.abs(place - cell) < Math.abs(best - cell) ? place : best));
}

export function largestKnown(values, places) {
  return places ? places[furthest(places.map((place) => values[place]))] : furthest(values);
}

// One number, unfolded: the terms it is the sum of, or the steps that lead to it, and the vectors that these come from.
export function unfold(m, layer, id, cell) {
  if (id === "logits") return ofLogit(m, cell);
  if (id === "embedded") return ofPatch(m, cell);
  if (id === "y")
    return ofNorm(
      "y",
      m.get("read"),
      `(4) y = LN of what the classifier reads`,
      m.get("gamma"),
      m.get("beta"),
      m.get("y"),
      cell,
    );
  const all = vectors(m, layer),
    { values, name, what, equation, from = [] } = all[id];
  const facts = {
    title: `number ${cell + 1} of ${name}`,
    what,
    equation,
    value: values[cell],
    vector: name,
    values,
    sources: [],
  };
  if (id === "ln1" || id === "ln2") {
    const nth = id === "ln1" ? 1 : 2,
      source = all[from[0]];
    return {
      ...ofNorm(
        name,
        source.values,
        source.name,
        m.get(`gamma${nth}`, layer),
        m.get(`beta${nth}`, layer),
        values,
        cell,
      ),
      what,
    };
  }
  if (id === "mid" || id === "out" || id === "sum") {
    const both = [id === "mid" ? "z" : m.norm === "after" ? "ln1" : "mid", id === "mid" ? "msa" : "mlp"].map(
      (one) => all[one],
    );
    return {
      ...facts,
      sum: both.map((one) => [one.name.split(" = ").pop(), one.values[cell]]),
      sources: both.map((one) => [one.name, one.values, [cell]]),
    };
  }
  if (id in SUMS) {
    const source = id === "msa" ? all.concat : all[from[0]],
      made = product(m, SUMS[id], layer, cell, source.values);
    const lines = id === "hidden" ? [`GELU(${number(made.total)}) = ${number(values[cell])}`] : [];
    return {
      ...facts,
      ...made,
      x: "x",
      w: "w",
      lines,
      sources: [
        [
          `x = ${source.name}, its ${made.terms.length} largest terms marked`,
          source.values,
          made.terms.map((term) => term.index),
        ],
      ],
    };
  }
  if (id === "concat")
    return {
      ...facts,
      lines: [`It is number ${(cell % m.headWidth) + 1} of head ${Math.floor(cell / m.headWidth) + 1}.`],
    };
  return { ...facts, lines: [layer ? `Block ${layer} has left it.` : "Tokens and positions, added."] };
}

function ofNorm(name, x, source, gamma, beta, out, cell) {
  const { mean, deviation } = layerNorm(x),
    scaled = (x[cell] - mean) / deviation;
  const signed = (value) => (value < 0 ? `(${number(value)})` : number(value));
  return {
    title: `number ${cell + 1} of ${name}`,
    what: "Minus the mean, divided by the deviation, then its own γ and β",
    value: out[cell],
    vector: name,
    values: out,
    sources: [[`x = ${source}`, x, [cell]]],
    equation: "LN(x) = (x − μ)/σ · γ + β",
    lines: [
      `μ = ${number(mean)}, σ = ${number(deviation)}`,
      `(${number(x[cell])} − ${signed(mean)}) / ${number(deviation)} = ${number(scaled)}`,
      `${number(scaled)} · ${signed(gamma[cell])} + ${signed(beta[cell])} = ${number(out[cell])}`,
    ],
  };
}

function ofLogit(m, cell) {
  const made = product(m, "logits", 0, m.classes[cell], m.get("y"));
  return {
    ...made,
    title: `the logit of ${m.names[cell]}`,
    what: `y times the ${m.width} weights of this class`,
    equation: "logits = yW + b",
    value: m.get("logits")[cell],
    x: "y",
    w: "w",
    vector: "logits",
    values: m.get("logits"),
    sources: [[`y, its ${made.terms.length} largest terms marked`, m.get("y"), made.terms.map((term) => term.index)]],
  };
}

function ofPatch(m, cell) {
  const made = product(m, "embedded", 0, cell, m.get("patchRow")),
    values = m.get("embeddedRow");
  return {
    ...made,
    title: `number ${cell + 1} of ${tokenWord(m.token)}'s token`,
    value: values[cell],
    vector: "x_p E",
    values,
    what: `The patch's ${m.patchValues} pixels, normalised, times column ${cell + 1} of E`,
    equation: "x_p E",
    x: "x",
    w: "E",
    sources: [
      [`x_p, its ${made.terms.length} largest terms marked`, m.get("patchRow"), made.terms.map((term) => term.index)],
    ],
  };
}

// A head for the chosen token: the tokens it looks at most, with their keys, scores, weights and values.
export function headRows(m, layer, head) {
  const looked = m.get("looked", layer, head),
    weights = m.pattern(layer, head),
    scores = m.get("scores", layer, head);
  return Array.from(looked, (token, n) => ({
    token,
    key: m.get("keys", layer, head, n),
    score: scores[token],
    weight: weights[token],
    value: m.get("values", layer, head, n),
  }));
}

export const pair = (m, layer, head, row) => dotProduct(m.get("q", layer, head), row.key);

export function describeVector(m, layer, id, cell) {
  const { name, what, shape, equation, values, from = [], to = [] } = vectors(m, layer)[id];
  const head = ["q", "k", "v", "concat"].includes(id) ? `, head ${Math.floor(cell / m.headWidth) + 1}` : "";
  const one = cell === null ? "" : `; number ${cell + 1}${head}: ${number(values[cell])}`;
  return {
    part: id,
    title: name,
    what,
    shape,
    equation,
    from,
    to,
    page: ["q", "k", "v", "concat", "msa"].includes(id) ? "attention" : "layers",
    value: `${number(lengthOf(values))} long${one}`,
  };
}
