import { lengthOf } from "./machine_data.js";

// The residual stream of the chosen token: a river whose width is the length of the vector, with what attention and the
// MLP add flowing into it. Everything is thought of as left to right; where the machine runs top to bottom, x and y swap.
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
  const { tall, centre, breadth } = map;
  const middles = Array.from({ length: m.depth }, (_, i) => lengthOf(m.get("resid_mid", i)));
  const added = Array.from({ length: m.depth }, (_, i) => ["attn_out", "mlp_out"].map((n) => lengthOf(m.get(n, i))));
  const streams = Array.from({ length: m.depth + 1 }, (_, i) => lengthOf(m.stream(i)));
  const longest = Math.max(...middles, ...streams, ...added.flat()) || 1;
  const wide = (length) => Math.max(1.5, (0.72 * breadth * length) / longest) || 1.5;
  const at = (a, across) => (tall ? `${across.toFixed(1)} ${a.toFixed(1)}` : `${a.toFixed(1)} ${across.toFixed(1)}`);
  const source = tall ? centre : map.z0.top + ((m.token + 0.5) / m.tokens) * map.z0.height;

  const sections = [
    [map.begin, source, 1.5],
    [map.houses[0].ends[0], centre, wide(streams[0])],
  ];
  map.houses.forEach(({ ends: [from, to] }, i) => {
    const size = to - from;
    sections.push(
      [from + 0.34 * size, centre, wide(streams[i])],
      [from + 0.52 * size, centre, wide(middles[i])],
      [from + 0.78 * size, centre, wide(middles[i])],
      [from + size, centre, wide(streams[i + 1])],
    );
  });
  sections.push([map.finish, centre, wide(streams[m.depth])]);
  const edge = (points, side) =>
    points.map(([a, across, width], i) => {
      const here = at(a, across + (side * width) / 2);
      if (!i) return here;
      const [b, before, width0] = points[i - 1],
        half = (a + b) / 2;
      return `C${at(half, before + (side * width0) / 2)} ${at(half, across + (side * width) / 2)} ${here}`;
    });
  const back = edge([...sections].reverse(), 1);
  const river = `M${edge(sections, -1).join("")}L${back.join("")}Z`;

  const count = Math.min(m.tokens, 26); // more would be a grey wall
  const threads = Array.from({ length: count }, (_, i) => {
    const share = (i + 0.5) / count,
      across = centre + (share - 0.5) * breadth * 0.92;
    const from = tall ? map.z0.left + share * map.z0.width : map.z0.top + share * map.z0.height;
    const enter = map.houses[0].ends[0],
      bend = (map.begin + enter) / 2;
    return `M${at(map.begin, from)}C${at(bend, from)} ${at(bend, across)} ${at(enter, across)}L${at(map.finish, across)}`;
  });
  // From the patches into the tokens, and from both terms of equation (1) into z₀.
  const [cut, rows, places] = ["[data-part=patches].square", ".embedded .strip", ".positions .strip"].map((one) =>
    map.rect(one),
  );
  const strand = (from, to, share) =>
    tall
      ? `M${from.left + share * from.width} ${from.bottom}C${from.left + share * from.width} ${(from.bottom + to.top) / 2} ${
          to.left + share * to.width
        } ${(from.bottom + to.top) / 2} ${to.left + share * to.width} ${to.top}`
      : `M${from.right} ${from.top + share * from.height}C${(from.right + to.left) / 2} ${from.top + share * from.height} ${
          (from.right + to.left) / 2
        } ${to.top + share * to.height} ${to.left} ${to.top + share * to.height}`;
  for (const [from, to] of [
    [cut, rows],
    [rows, map.z0],
    [places, map.z0],
  ])
    for (let i = 0; i < count; i += 2) threads.push(strand(from, to, (i + 0.5) / count));
  const joins = map.houses.flatMap(({ ends: [from, to], heads, mlp }, i) => {
    const size = to - from,
      [attention, hidden] = added[i];
    const above = tall ? heads.right : heads.bottom,
      below = tall ? mlp.left : mlp.top;
    const join = (start, end, across, width, target, kind) =>
      `<path class="${kind}" stroke-width="${width.toFixed(1)}" d="M${at(
        start,
        across,
      )}C${at(start, (across + target) / 2)} ${at(start + 0.4 * (end - start), target)} ${at(end, target)}"/>`;
    const a = wide(attention),
      b = wide(hidden);
    return [
      join(from + 0.3 * size, from + 0.6 * size, above, a, centre - Math.max(0, wide(middles[i]) - a) / 2, "attention"),
      join(from + 0.66 * size, from + size, below, b, centre + Math.max(0, wide(streams[i + 1]) - b) / 2, "mlp"),
    ];
  });
  svg.setAttribute("viewBox", `0 0 ${map.width} ${map.height}`);
  svg.style.width = `${map.width}px`;
  svg.style.height = `${map.height}px`;
  const gradient = `<linearGradient id="water" gradientUnits="userSpaceOnUse" x1="0" y1="0" ${
    tall ? `y2="${map.height}"` : `x2="${map.width}"`
  }><stop offset="0.2" stop-color="#0a6f8d"/><stop offset="1" stop-color="${m.colours.accent}"/></linearGradient>`;
  svg.innerHTML = `${gradient}<path class="threads" d="${threads.join("")}"/><path class="water" d="${river}"/>${joins.join("")}`;
}
