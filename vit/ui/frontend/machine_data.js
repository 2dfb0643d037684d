// What Python has packed (vit/charts/machine.py), what follows from it, and numbers as text, as in vit/numbers.py.
const KINDS = { f4: Float32Array, i1: Int8Array, u1: Uint8Array, u2: Uint16Array };

export function unpack(bytes) {
  const buffer = bytes.slice().buffer; // a copy begins where arrays may begin
  const length = new DataView(buffer).getUint32(0, true);
  const facts = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const arrays = {};
  for (const [name, [kind, offset, ...shape]] of Object.entries(facts.arrays)) {
    const size = shape.reduce((product, side) => product * side, 1);
    arrays[name] = { shape, values: new KINDS[kind](buffer, 4 + length + offset, size) };
  }
  const get = (name, ...place) => {
    // what is left of an array when its first axes are fixed
    const { shape, values } = arrays[name];
    let from = 0,
      size = values.length;
    place.forEach((at, axis) => {
      size /= shape[axis];
      from += at * size;
    });
    return values.subarray(from, from + size);
  };
  const stream = (depth) => (depth < facts.depth ? get("resid_pre", depth) : get("leaving"));
  const patterns = new Map();
  const pattern = (layer, head) => {
    const key = layer * facts.heads + head;
    if (!patterns.has(key)) patterns.set(key, softmax(get("scores", layer, head)));
    return patterns.get(key);
  };
  return { ...facts, get, stream, pattern, has: (name) => name in arrays };
}

export function softmax(scores) {
  const most = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  const terms = Array.from(scores, (score) => Math.exp(score - most));
  const sum = terms.reduce((a, b) => a + b, 0);
  return terms.map((term) => term / sum);
}

export const sumOf = (values) => Array.from(values).reduce((a, b) => a + b, 0);
export const lengthOf = (vector) => Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0));
export const limitOf = (values) => values.reduce((most, x) => Math.max(most, Math.abs(x) || 0), 0) || 1;
export const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

export function furthest(values) {
  let best = 0;
  values.forEach((x, i) => {
    if (Math.abs(x) > Math.abs(values[best])) best = i;
  });
  return best;
}

export function layerNorm(x) {
  const mean = sumOf(x) / x.length;
  const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
  return { mean, deviation: Math.sqrt(variance + 1e-6) };
}

// One number of a vector as its largest products, what the others sum to, the bias and the total.
export function product(m, name, row, cell, x) {
  const nth = m.get(`${name}.place`, row).indexOf(cell);
  if (nth < 0) return null;
  const index = Array.from(m.get(`${name}.index`, row, nth)),
    weight = m.get(`${name}.weight`, row, nth);
  const bias = m.get(`${name}.bias`, row)[nth],
    total = m.get(`${name}.total`, row)[nth];
  const terms = index.map((i, n) => ({ index: i, a: x[i], b: weight[n], product: x[i] * weight[n] }));
  const rest = total - bias - sumOf(terms.map((term) => term.product));
  return { terms, bias, total, rest, restCount: x.length - terms.length };
}

export function dotProduct(a, b, count = 3) {
  const products = Array.from(a, (x, i) => ({ index: i, a: x, b: b[i], product: x * b[i] }));
  products.sort((one, other) => Math.abs(other.product) - Math.abs(one.product));
  const terms = products.slice(0, count);
  return {
    terms,
    bias: 0,
    total: sumOf(products.map((term) => term.product)),
    rest: sumOf(products.slice(count).map((term) => term.product)),
    restCount: Math.max(0, products.length - count),
  };
}

const withMinus = (text) => text.replaceAll("-", "−");
const noNumber = (value) => (Number.isNaN(value ?? Number.NaN) ? "no number" : value < 0 ? "−∞" : "∞");

export function number(value) {
  if (!Number.isFinite(value)) return noNumber(value);
  const size = Math.abs(value);
  if (size >= 999.5 || Number.isInteger(value)) return withMinus(value.toFixed(0));
  return withMinus(size < 1e-4 ? value.toExponential(1) : value.toPrecision(3));
}

export function fixed(value, decimals = 2) {
  return Number.isFinite(value) ? withMinus((+value.toFixed(decimals) || 0).toFixed(decimals)) : noNumber(value);
}

export function percent(share, decimals = 1) {
  return Number.isFinite(share) ? `${(100 * share).toFixed(decimals)}%` : noNumber(share);
}

export function column(values) {
  // to be added up below each other: the largest gets four digits
  const most = values.filter(Number.isFinite).reduce((a, b) => Math.max(a, Math.abs(b)), 0) || 1;
  const decimals = clamp(3 - Math.floor(Math.log10(most)), 0, 8);
  return values.map((value) => fixed(value, decimals));
}

const SMALL = "₀₁₂₃₄₅₆₇₈₉";
export const sub = (whole) => String(whole).replace(/\d/g, (digit) => SMALL[digit]);
export const counted = (count, thing) => `${count} ${thing}${count === 1 ? "" : "s"}`;
export const tokenWord = (token) => (token ? `patch ${token}` : "CLS");
