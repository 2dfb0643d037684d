import { clamp, fixed, furthest, limitOf, percent } from "./machine_data.js";
import { draw, headMap, make, mosaic, picture, stripes } from "./machine_paint.js";
import { answerAfter, asText, describe } from "./machine_words.js";

const ANOTHER = "The up and down keys choose another token.";
const KEYS = { patches: ANOTHER, embedded: ANOTHER, positions: ANOTHER, tokens: ANOTHER };
const GAP = 8,
  TILE_GAP = 2;

const areWords = (names) => names.some((name) => name.length > 2);

// How large everything may be: left to right, or on a narrow screen top to bottom.
export function measure(m, width) {
  const tall = width < 640;
  if (tall)
    return {
      tall,
      upper: clamp(width - 196, 110, 220),
      ...fit(m.heads, clamp(width - 200, 106, 216), 44, 26),
      house: 60,
      digit: clamp((width - 40) / 2, 90, 150),
    };
  const digit = clamp(width * 0.11, 92, 132),
    strip = 66,
    end = 50 + 92 + (areWords(m.names) ? 150 : 92);
  const rest = width - digit - 2 * strip - end - 8 * GAP;
  const house = clamp((rest - (m.depth - 1) * 6) / m.depth, 24, 150);
  const tiles = fit(m.heads, house - 8, 194, 96),
    used = Math.ceil(m.heads / tiles.columns) * (tiles.tile + TILE_GAP);
  return { tall, upper: clamp(used + 8, 160, 200), house, digit, ...tiles };
}

function fit(count, width, height, most) {
  let best = { tile: 0 };
  for (let columns = 1; columns <= count; columns++) {
    const rows = Math.ceil(count / columns);
    const tile = Math.min((width + TILE_GAP) / columns, (height + TILE_GAP) / rows, most) - TILE_GAP;
    if (tile > best.tile) best = { tile, columns };
  }
  return best;
}

const canvas = (part, cells, className = "") =>
  make("canvas", { "data-part": part, "data-columns": cells[0], "data-rows": cells[1], class: className });

function button(m, part, className, ...children) {
  const told = `${asText(describe(m, part))} ${KEYS[part] ?? (part.startsWith("block") ? "Enter opens it." : "")}`;
  const names = { "data-part": part, "data-focus": part, "aria-label": told.trim() };
  return make("button", { type: "button", class: className, ...names }, ...children);
}

const name = (text) => make("span", { class: "name" }, text);
const cell = (className, ...children) => make("span", { class: className }, ...children);

export function buildStage(line, m, paint, size) {
  line.replaceChildren(
    start(m, paint),
    tokens(m, paint),
    z0(m, paint),
    make("span", { class: "houses" }, ...Array.from({ length: m.depth }, (_, layer) => house(m, paint, layer, size))),
    ...end(m, paint),
  );
  for (const [name, value] of Object.entries({ upper: size.upper, house: size.house, digit: size.digit }))
    line.style.setProperty(`--${name}`, `${value}px`);
}

function start(m, paint) {
  const digit = picture(canvas("digit", [m.image, m.image], "square"), m, paint);
  const cut = picture(canvas("patches", [m.grid, m.grid], "square"), m, paint);
  return make(
    "span",
    { class: "start" },
    button(m, "digit", "half", name(`your ${m.thing}`), digit),
    button(m, "patches", "half cut", name(`${m.tokens - 1} patches`), frame(m, cut)),
  );
}

// The lines along which the picture is cut, and the chosen patch.
function frame(m, cut) {
  const lines = make("span", { class: "lines", style: `--grid: ${m.grid}` });
  const box = m.token
    ? make("i", {
        class: "chosen",
        style: `left: ${(((m.token - 1) % m.grid) / m.grid) * 100}%;
    top: ${(Math.floor((m.token - 1) / m.grid) / m.grid) * 100}%; width: ${100 / m.grid}%; height: ${100 / m.grid}%`,
      })
    : null;
  return make("span", { class: "framed" }, cut, lines, box);
}

function rows(m, paint, part) {
  const strip = canvas(part, [1, m.tokens], "strip"),
    shade = paint.signed(127);
  stripes(strip, m.get(part), shade, m.tokens);
  const box = make("i", { class: "chosen row", style: `top: ${((m.token + 0.5) / m.tokens) * 100}%` });
  return make("span", { class: `framed ${part}` }, strip, box);
}

function tokens(m, paint) {
  return make(
    "span",
    { class: "column begin" },
    name("tokens"),
    cell("upper", button(m, "embedded", "bare", rows(m, paint, "embedded"))),
    cell("lane plus", "+"),
    cell("below", button(m, "positions", "bare", rows(m, paint, "positions"), name("positions"))),
  );
}

function z0(m, paint) {
  return make(
    "span",
    { class: "column begin sum" },
    name("z₀"),
    button(m, "tokens", "bare middle", rows(m, paint, "tokens")),
  );
}

function house(m, paint, layer, size) {
  const heads = make("canvas", { "data-part": `heads-${layer + 1}`, class: "heads" });
  mosaic(
    heads,
    Array.from({ length: m.heads }, (_, head) => headMap(m, paint, layer, head)),
    m.grid,
    size.columns,
    size.tile,
    TILE_GAP,
  );
  Object.assign(heads.dataset, { columns: size.columns, rows: Math.ceil(m.heads / size.columns), heads: m.heads });
  const hidden = m.get("mlp_hidden", layer),
    across = Math.ceil(Math.sqrt(m.hidden * (size.tall ? 1.3 : 0.9)));
  const down = Math.ceil(m.hidden / across),
    shade = paint.signed(limitOf(hidden) / 2);
  const mlp = draw(canvas(`mlp-${layer + 1}`, [across, down], "mlp"), across, down, (i) =>
    i < hidden.length ? shade(hidden[i]) : 0,
  );
  const marked = make("i", { class: "chosen tile" });
  return button(
    m,
    `block-${layer + 1}`,
    "column house",
    name(String(layer + 1)),
    cell("upper", make("span", { class: "framed" }, heads, marked)),
    cell("lane"),
    cell("lower", mlp),
    answer(m, layer),
  );
}

function answer(m, layer) {
  const said = answerAfter(m, layer + 1);
  if (!said) return cell("foot");
  const kind = said.best === m.prediction ? "so-far same" : "so-far";
  const foot = make(
    "span",
    { class: "foot", "data-part": `answer-${layer + 1}` },
    make("b", { class: kind, style: `--sure: ${said.share}; --letters: ${said.name.length}` }, said.name),
    make("small", {}, percent(said.share, 0)),
  );
  return foot;
}

function end(m, paint) {
  const y = m.get("y"),
    strip = stripes(make("canvas", { class: "y", "data-part": "norm" }), y, paint.signed(limitOf(y)));
  const logits = m.get("logits"),
    shares = m.get("probabilities"),
    limit = limitOf(logits);
  const best = furthest(shares);
  const bars = (part, row) =>
    make(
      "span",
      { class: "bars" },
      ...Array.from(m.names, (_, i) =>
        make("span", { class: i === best ? "bar best" : "bar", "data-part": part, "data-cell": i }, ...row(i)),
      ),
    );
  const logitRow = (i) => [
    make("em", { title: m.names[i] }, m.names[i]),
    make(
      "span",
      { class: "signed" },
      make("i", {
        class: logits[i] < 0 ? "minus" : "",
        style: `left: ${logits[i] < 0 ? 50 + (50 * logits[i]) / limit : 50}%;
      width: ${(50 * Math.abs(logits[i])) / limit}%`,
      }),
    ),
    make("small", {}, fixed(logits[i])),
  ];
  const shareRow = (i) => [
    make("span", { class: "track" }, make("i", { style: `width: ${100 * shares[i]}%` })),
    make("small", {}, percent(shares[i])),
  ];
  return [
    make("span", { class: "column last" }, name("LN"), button(m, "norm", "bare middle", strip, name("y"))),
    make(
      "span",
      { class: areWords(m.names) ? "answers named" : "answers" },
      button(m, "logits", "table", name("logits"), bars("logits", logitRow)),
      button(m, "probabilities", "table", name("answer"), bars("probabilities", shareRow)),
      make(
        "b",
        { class: "said", "data-part": "probabilities", style: `--letters: ${m.names[best].length}` },
        m.names[best],
      ),
    ),
  ];
}

// Which cell of a part a pointer is over: a head, a unit, a token, a patch, a pixel.
export function cellAt(element, event) {
  if (element.dataset.cell !== undefined) return Number(element.dataset.cell);
  const columns = Number(element.dataset.columns),
    rows = Number(element.dataset.rows);
  if (!columns) return null;
  const area = element.getBoundingClientRect();
  const x = clamp(Math.floor(((event.clientX - area.left) / area.width) * columns), 0, columns - 1);
  const y = clamp(Math.floor(((event.clientY - area.top) / area.height) * rows), 0, rows - 1);
  const at = y * columns + x;
  return element.dataset.heads && at >= Number(element.dataset.heads) ? null : at;
}

export function markChosen(line, m, size) {
  line.querySelectorAll(".house").forEach((house, layer) => {
    const here = layer === m.layer,
      tile = house.querySelector(".tile"),
      pitch = size.tile + TILE_GAP;
    house.classList.toggle("is-chosen", here);
    tile.hidden = !here;
    const [row, column] = [Math.floor(m.head / size.columns), m.head % size.columns];
    const side = `width: ${size.tile}px; height: ${size.tile}px`;
    tile.style.cssText = `left: ${column * pitch}px; top: ${row * pitch}px; ${side}`;
  });
}
