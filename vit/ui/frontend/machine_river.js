import { lengthOf } from "./machine_data.js";

// The residual stream of the chosen token: a river whose width is the length of the vector, with what attention and
// the MLP add flowing into it. All is thought of as left to right; where it runs top to bottom, x and y swap.
export function surveyed(floor, m, tall) {
  const ground = floor.getBoundingClientRect();
  const rect = (selector, nth = 0) => {
    const area = floor.querySelectorAll(selector)[nth].getBoundingClientRect();
    const box = { left: area.left - ground.left, top: area.top - ground.top, width: area.width, height: area.height };
    return { ...box, right: box.left + box.width, bottom: box.top + box.height };
  };
  const along = (box) => (tall ? [box.top, box.bottom] : [box.left, box.right]);
  const middle = (box) => (tall ? (box.left + box.right) / 2 : (box.top + box.bottom) / 2);
  const houses = Array.from({ length: m.depth }, (_, i) => ({
    ends: along(rect(".house", i)),
    heads: rect(".house .heads", i),
    mlp: rect(".house .mlp", i),
    lane: rect(".house .lane", i),
  }));
  const z0 = rect(".tokens .strip"),
    y = rect(".y");
  return {
    rect,
    tall,
    houses,
    z0,
    y,
    width: ground.width,
    height: ground.height,
    centre: middle(houses[0].lane),
    breadth: tall ? houses[0].lane.width : houses[0].lane.height,
    begin: along(z0)[1],
    finish: along(y)[0],
  };
}

export function drawRiver(svg, m, map) {
  const blocks = Array.from({ length: m.depth }, (_, layer) => layer);
  const streams = [...blocks, m.depth].map((depth) => lengthOf(m.stream(depth)));
  const middles = blocks.map((layer) => lengthOf(m.get("resid_mid", layer)));
  const added = blocks.map((layer) => ["attn_out", "mlp_out"].map((name) => lengthOf(m.get(name, layer))));
  const longest = Math.max(...[...middles, ...streams, ...added.flat()].filter(Number.isFinite)) || 1;
  const size = (length) => Math.max(1.5, (0.72 * map.breadth * length) / longest) || 1.5;
  const sizes = { streams: streams.map(size), middles: middles.map(size), added: added.map((pair) => pair.map(size)) };
  svg.setAttribute("viewBox", `0 0 ${map.width} ${map.height}`);
  svg.style.width = `${map.width}px`;
  svg.style.height = `${map.height}px`;
  const end = map.tall ? `y2="${map.height}"` : `x2="${map.width}"`;
  svg.innerHTML = `<linearGradient id="water" gradientUnits="userSpaceOnUse" x1="0" y1="0" ${end}>
    <stop offset="0.2" stop-color="#0a6f8d"/><stop offset="1" stop-color="${m.colours.accent}"/></linearGradient>
    <path class="threads" d="${threads(m, map)}"/>
    <path class="water" d="${water(m, map, sizes)}"/>${joins(map, sizes)}`;
}

const point = (map, along, across) => (map.tall ? [across, along] : [along, across]).map((x) => x.toFixed(1)).join(" ");

function water(m, map, { streams, middles }) {
  const { centre, z0 } = map;
  const source = map.tall ? centre : z0.top + ((m.token + 0.5) / m.tokens) * z0.height;
  const sections = [[map.begin, source, 1.5], [map.houses[0].ends[0], centre, streams[0]]]; // where, middle, width
  map.houses.forEach(({ ends: [from, to] }, layer) => {
    const at = (share) => from + share * (to - from);
    sections.push([at(0.34), centre, streams[layer]], [at(0.52), centre, middles[layer]]);
    sections.push([at(0.78), centre, middles[layer]], [at(1), centre, streams[layer + 1]]);
  });
  const isRead = m.token === { cls: 0, last: m.tokens - 1 }[m.reads]; // the head reads no other token
  if (isRead) sections.push([map.finish, centre, streams[m.depth]]);
  const bank = (points, side) => points.map(([along, across, width], i) => {
    const here = point(map, along, across + (side * width) / 2);
    if (!i) return here;
    const [before, middle, size] = points[i - 1], half = (along + before) / 2;
    return `C${point(map, half, middle + (side * size) / 2)} ${point(map, half, across + (side * width) / 2)} ${here}`;
  });
  return `M${bank(sections, -1).join("")}L${bank(sections.reverse(), 1).join("")}Z`;
}

// All tokens, as thin lines: from the patches into both terms of equation (1), into z₀, and through the blocks.
function threads(m, map) {
  const count = Math.min(m.tokens, 26); // more would be a grey wall
  const { begin, finish, centre, breadth, z0 } = map, enter = map.houses[0].ends[0];
  const strip = (part) => map.rect(`.${part} .strip`);
  const [cut, rows, places] = [map.rect("[data-part=patches].square"), strip("embedded"), strip("positions")];
  const ends = (box) => map.tall ? [box.top, box.bottom] : [box.left, box.right];
  const across = (box, share) => map.tall ? box.left + share * box.width : box.top + share * box.height;
  const curve = (from, a, to, b) => {
    const half = (from + to) / 2;
    return `M${point(map, from, a)}C${point(map, half, a)} ${point(map, half, b)} ${point(map, to, b)}`;
  };
  const strands = Array.from({ length: count }, (_, i) => (i + 0.5) / count).map((share, i) => {
    const lane = centre + (share - 0.5) * breadth * 0.92;
    const first = i % 2 ? [] : [[cut, rows], [rows, z0], [places, z0]].map(([from, to]) =>
      curve(ends(from)[1], across(from, share), ends(to)[0], across(to, share)));
    return `${first.join("")}${curve(begin, across(z0, share), enter, lane)}L${point(map, finish, lane)}`;
  });
  return strands.join("");
}

// What attention lets fall into the river from above, and the MLP from below.
function joins(map, { streams, middles, added }) {
  const join = (kind, width, from, bank, to, target) => {
    const bend = `${point(map, from, (bank + target) / 2)} ${point(map, from + 0.4 * (to - from), target)}`;
    const path = `M${point(map, from, bank)}C${bend} ${point(map, to, target)}`;
    return `<path class="${kind}" stroke-width="${width.toFixed(1)}" d="${path}"/>`;
  };
  return map.houses.flatMap(({ ends: [from, to], heads, mlp }, layer) => {
    const at = (share) => from + share * (to - from), [attention, hidden] = added[layer];
    const above = map.tall ? heads.right : heads.bottom, below = map.tall ? mlp.left : mlp.top;
    const upper = map.centre - Math.max(0, middles[layer] - attention) / 2;
    const lower = map.centre + Math.max(0, streams[layer + 1] - hidden) / 2;
    return [join("attention", attention, at(0.3), above, at(0.6), upper),
      join("mlp", hidden, at(0.66), below, at(1), lower)];
  }).join("");
}
