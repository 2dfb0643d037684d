import { column, counted, furthest, lengthOf, limitOf, number, percent, sumOf, tokenWord } from "./machine_data.js";
import { draw, headMap, make, mosaic, picture, stripes } from "./machine_paint.js";
import { describeVector, headRows, known, order, pair, unfold, vectors } from "./machine_vectors.js";
import { asText, describe, equations } from "./machine_words.js";

const text = (tag, words, className = "") => make(tag, { class: className }, words);

// Level two: one block, from z to z, all of its vectors as rows of colours.
export function blockInside(m, paint, layer) {
  const all = vectors(m, layer),
    [attention, mlp] = order(m),
    [second, third] = equations(m, layer);
  const limits = {
    stream: limitOf(
      Object.values(all)
        .filter((v) => v.scale === "stream")
        .flatMap((v) => Array.from(v.values)),
    ),
    qkv: limitOf(["q", "k", "v"].flatMap((name) => Array.from(all[name].values))),
  };
  const bars = (ids) =>
    make("div", { class: "vectors" }, ...ids.map((id) => bar(m, paint, layer, id, all[id], limits)));
  return make(
    "div",
    { class: "block-view" },
    text("h3", second, "equation"),
    make("div", { class: "half-block" }, bars(attention[0]), headGrid(m, paint, layer), bars(attention[1])),
    text("h3", third, "equation"),
    make("div", { class: "half-block" }, bars(mlp[0]), units(m, paint, layer, all.hidden), bars(mlp[1])),
  );
}

function bar(m, paint, layer, id, vector, limits) {
  const limit = limits[vector.scale] ?? limitOf(vector.values),
    D = vector.values.length,
    places = known(m, layer, id);
  const strip = stripes(
    make("canvas", { "data-part": id, "data-columns": D, "data-rows": 1 }),
    vector.values,
    paint.signed(limit),
  );
  const ticks = (places ?? []).map((place) => make("i", { style: `left: ${((place + 0.5) / D) * 100}%` }));
  const cuts = vector.cuts ? make("u", { class: "cuts", style: `--cuts: ${vector.cuts}` }) : null;
  return make(
    "button",
    {
      type: "button",
      class: "vector",
      "data-part": id,
      "data-focus": id,
      "aria-label": `${asText(describeVector(m, layer, id, null))} Unfold its largest number.`,
    },
    make(
      "span",
      { class: "vector-name" },
      text("b", vector.name),
      text("small", `${number(lengthOf(vector.values))} long, colours to ±${number(limit)}`),
    ),
    make("span", { class: "framed" }, strip, cuts),
    make("span", { class: "ticks" }, ...ticks),
  );
}

function headGrid(m, paint, layer) {
  const across = Math.ceil(Math.sqrt(m.heads)),
    tile = Math.max(18, Math.min(72, 184 / Math.ceil(m.heads / across)));
  const tiles = Array.from({ length: m.heads }, (_, head) => {
    const map = make("canvas", {}),
      part = `head-${layer + 1}-${head + 1}`;
    mosaic(map, [headMap(m, paint, layer, head)], m.grid, 1, tile, 0);
    return make(
      "button",
      {
        type: "button",
        class: head === m.head && layer === m.layer ? "head is-chosen" : "head",
        "data-part": part,
        "data-focus": part,
        "aria-label": `${asText(describe(m, part))} Open it.`,
      },
      map,
      text("small", String(head + 1)),
    );
  });
  return make(
    "div",
    { class: "middle-part", "data-part": "heads" },
    text("span", `${counted(m.heads, "head")} · where ${tokenWord(m.token)} looks`, "vector-name"),
    make("div", { class: "head-grid", style: `--across: ${across}` }, ...tiles),
  );
}

function units(m, paint, layer, vector) {
  const across = Math.min(64, vector.values.length),
    down = Math.ceil(vector.values.length / across);
  const shade = paint.signed(limitOf(vector.values));
  const map = draw(
    make("canvas", { "data-part": "hidden", "data-columns": across, "data-rows": down, class: "units" }),
    across,
    down,
    (i) => (i < vector.values.length ? shade(vector.values[i]) : 0),
  );
  const awake = vector.values.filter((x) => x > 0).length;
  return make(
    "button",
    {
      type: "button",
      class: "middle-part vector",
      "data-part": "hidden",
      "data-focus": "hidden",
      "aria-label": `${asText(describeVector(m, layer, "hidden", null))} Unfold its largest number.`,
    },
    make("span", { class: "vector-name" }, text("b", vector.name), text("small", `${awake} of ${m.hidden} above 0`)),
    map,
  );
}

// Level three: one head, from q to what it brings home.
export function headInside(m, paint, layer, head, chosen) {
  const rows = headRows(m, layer, head),
    weights = m.pattern(layer, head),
    q = m.get("q", layer, head);
  const out = m.get("heads", layer, head),
    root = m.scaled ? `/√${m.headWidth}` : "";
  const limit = limitOf([...q, ...rows.flatMap((row) => Array.from(row.key))]);
  const valueLimit = limitOf(rows.flatMap((row) => Array.from(row.value)));
  const own = number(limitOf(out));
  const others = m.tokens - rows.length,
    left = Math.max(0, 1 - sumOf(rows.map((row) => row.weight)));
  const vector = (values, most) => stripes(make("canvas", { class: "short" }), values, paint.signed(most));
  const most = Math.max(...rows.map((row) => row.weight));
  const table = make(
    "div",
    { class: "looked", role: "group", "aria-label": "The tokens it looks at most" },
    make(
      "div",
      { class: "looked-row names" },
      ...["", "k", `q·k${root}`, "weight", "v"].map((words) => text("span", words)),
    ),
    ...rows.map((row, n) =>
      make(
        "button",
        {
          type: "button",
          class: n === chosen ? "looked-row is-chosen" : "looked-row",
          "data-row": n,
          "aria-label": `${tokenWord(row.token)}: score ${number(row.score)}, weight ${percent(row.weight)}`,
        },
        text("span", tokenWord(row.token)),
        vector(row.key, limit),
        text("span", number(row.score), "figure"),
        make(
          "span",
          { class: "weight" },
          make("i", { style: `width: ${(100 * row.weight) / (most || 1)}%` }),
          text("small", percent(row.weight)),
        ),
        vector(row.value, valueLimit),
      ),
    ),
    others > 0
      ? make(
          "div",
          { class: "looked-row names" },
          text("span", `${others} others`),
          text("span", ""),
          text("span", ""),
          make("span", { class: "weight" }, text("small", percent(left))),
          text("span", ""),
        )
      : null,
    make(
      "div",
      { class: "looked-row result" },
      text("span", `head ${head + 1}`),
      text("span", ""),
      text("span", ""),
      text("span", "Σ weight·v", "figure"),
      vector(out, limitOf(out)),
    ),
    text(
      "p",
      `Colours of q and k go to ±${number(limit)}, of v to ±${number(valueLimit)}, of the head to ±${own}.`,
      "hint",
    ),
  );
  return make(
    "div",
    { class: "head-view" },
    make(
      "div",
      { class: "over" },
      overDigit(m, paint, weights),
      text("span", `q of ${tokenWord(m.token)}, d_k = ${m.headWidth}`, "vector-name"),
      vector(q, limit),
    ),
    table,
    pairCard(m, layer, head, rows[chosen]),
    collectCard(head, rows, out, others),
  );
}

function overDigit(m, paint, weights) {
  const row = weights.slice(1),
    most = Math.max(...row) || 1,
    map = make("canvas", { class: "over-map" });
  const base = picture(document.createElement("canvas"), m, paint),
    side = m.grid * 16;
  map.width = side;
  map.height = side;
  const context = map.getContext("2d");
  context.imageSmoothingEnabled = false;
  context.drawImage(
    draw(document.createElement("canvas"), m.grid, m.grid, (i) => paint.warm(most)(row[i])),
    0,
    0,
    side,
    side,
  );
  context.globalCompositeOperation = "screen";
  context.globalAlpha = 0.4;
  context.drawImage(base, 0, 0, side, side);
  return map;
}

function pairCard(m, layer, head, row) {
  const made = pair(m, layer, head, row),
    root = Math.sqrt(m.headWidth);
  return make(
    "div",
    { class: "card pair" },
    text("b", `q·k for ${tokenWord(row.token)}`),
    termTable(made, "q", "k"),
    text(
      "p",
      m.scaled
        ? `${number(made.total)} / √${m.headWidth} = ${number(made.total / root)}`
        : `${number(made.total)}, not divided by √d_k`,
    ),
    text("p", `softmax over ${m.tokens} tokens: ${percent(row.weight)}`, "total"),
  );
}

function collectCard(head, rows, out, others) {
  const cell = furthest(out),
    terms = rows
      .slice(0, 3)
      .map((row) => ({ index: row.token, a: row.weight, b: row.value[cell], product: row.weight * row.value[cell] }));
  const made = {
    terms,
    bias: 0,
    total: out[cell],
    rest: out[cell] - sumOf(terms.map((term) => term.product)),
    restCount: others + rows.length - terms.length,
  };
  return make(
    "div",
    { class: "card" },
    text("b", `number ${cell + 1} of head ${head + 1}: weight times v`),
    termTable(made, "a", "v", (index) => tokenWord(index)),
  );
}

function termTable(made, a, b, label = (index) => `${a}${index + 1} · ${b}${index + 1}`) {
  const values = [...made.terms.map((term) => term.product), made.rest, made.bias, made.total],
    shown = column(values);
  const most = limitOf(values.slice(0, -1));
  const row = (words, detail, at, kind = "") =>
    make(
      "tr",
      { class: kind },
      text("td", words),
      text("td", detail),
      make(
        "td",
        { class: "line-bar" },
        make("i", { class: values[at] < 0 ? "minus" : "", style: `width: ${(46 * Math.abs(values[at])) / most}px` }),
      ),
      text("td", shown[at]),
    );
  const n = made.terms.length;
  return make(
    "table",
    { class: "terms" },
    ...made.terms.map((term, i) => row(label(term.index), `${number(term.a)} × ${number(term.b)}`, i)),
    made.restCount > 0 ? row(`${made.restCount} others`, "", n) : null,
    made.bias ? row("bias", "", n + 1) : null,
    make("tr", { class: "total" }, text("td", "total"), text("td", ""), text("td", ""), text("td", shown.at(-1))),
  );
}

// Level three: one number.
export function numberInside(m, paint, layer, id, cell) {
  const facts = unfold(m, layer, id, cell);
  const sums = facts.sum && column([...facts.sum.map(([, value]) => value), facts.value]);
  return make(
    "div",
    { class: "number-view" },
    make(
      "div",
      { class: "number-head" },
      text("h3", facts.title),
      text("strong", number(facts.value), "big"),
      text("p", `${facts.what}.`),
      text("p", facts.equation, "equation"),
    ),
    make(
      "div",
      { class: "card" },
      facts.terms ? termTable(facts, facts.x, facts.w) : null,
      sums
        ? make(
            "table",
            { class: "terms" },
            ...facts.sum.map(([name], i) => make("tr", {}, text("td", name), text("td", sums[i]))),
            make("tr", { class: "total" }, text("td", "total"), text("td", sums[2])),
          )
        : null,
      ...(facts.lines ?? []).map((words) => text("p", words)),
    ),
    context(m, paint, layer, id, cell, facts),
  );
}

// The vectors that the number comes from, and the one it belongs to.
function context(m, paint, layer, id, cell, facts) {
  const places =
    id === "embedded" ? Array.from(m.get("embedded.place", 0)) : layer === null ? null : known(m, layer, id);
  const more = places ? "marked numbers unfold as well: click one" : "click another number to unfold it";
  const own = strip(paint, `${facts.vector}: ${more}`, facts.values, [cell], places ?? [], id);
  return make(
    "div",
    { class: "context" },
    ...facts.sources.map(([name, values, at]) => strip(paint, name, values, at, [])),
    own,
  );
}

function strip(paint, name, values, chosen, places, pick) {
  const size = values.length,
    shade = paint.signed(limitOf(values));
  const bars = stripes(make("canvas", { "data-columns": size, "data-rows": 1, "data-pick": pick }), values, shade);
  const at = (place) => `left: ${((place + 0.5) / size) * 100}%`;
  return make(
    "div",
    { class: "vector" },
    make("span", { class: "vector-name" }, text("b", name), text("small", `colours to ±${number(limitOf(values))}`)),
    make(
      "span",
      { class: "framed" },
      bars,
      ...chosen.map((place) => make("i", { class: "chosen column-mark", style: at(place) })),
    ),
    make("span", { class: "ticks" }, ...places.map((place) => make("i", { style: at(place) }))),
  );
}
