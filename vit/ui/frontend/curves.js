// Curves that grow under the pointer. Streamlit 1.67 hands each change of an ECharts or Plotly chart over as a new chart,
// which forgets what the pointer reads: twice a second while a run trains. This one redraws its lines in place and reads
// them again. It can go once st.echarts_chart keeps its tooltip while new points arrive (tests/browser/test_train.py).
const HEIGHT = 300, LEFT = 52, RIGHT = 14, TOP = 14, BOTTOM = 44;

function ticksUpTo(most, count) {
  const raw = most / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= raw);
  const ticks = [];
  for (let value = 0; value <= most * 1.0001; value += step) ticks.push(value);
  return ticks;
}

const short = (value) => (value && Math.abs(value) < 0.001 ? value.toExponential().replace(/(\.\d\d)\d+/, "$1")
  : (+value.toFixed(4)).toLocaleString("en"));

function lastUpTo(points, x) {
  let low = 0, high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= x) low = middle + 1; else high = middle;
  }
  return low ? points[low - 1] : null;
}

function element(name, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

export default function ({ data: [data], parentElement }) {
  const root = parentElement.querySelector(".curves");
  const svg = root.querySelector("svg"), tip = root.querySelector(".tip");
  root.setAttribute("role", "img");
  root.setAttribute("aria-label", data.alt);
  const [level, levelName] = data.level ?? [0, ""];

  function draw() {
    const width = root.clientWidth || 400;
    const xs = data.curves.flatMap((curve) => curve.points.map((point) => point[0]));
    const ys = data.curves.flatMap((curve) => curve.points.map((point) => point[1]));
    const right = Math.max(1e-9, ...xs), top = data.top ?? Math.max(1e-12, level * 1.08, ...ys);
    const X = (x) => LEFT + (x / right) * (width - LEFT - RIGHT);
    const Y = (y) => HEIGHT - BOTTOM - (Math.min(y, top) / top) * (HEIGHT - TOP - BOTTOM);
    const parts = [];
    const across = (y, kind) => element("line", { class: kind, x1: LEFT, x2: width - RIGHT, y1: Y(y), y2: Y(y) });
    const word = (text, x, y, anchor) => element("text", { x, y, "text-anchor": anchor }, text);
    for (const y of ticksUpTo(top, 5)) {
      parts.push(across(y, "grid"), word(short(y) + data.unit, LEFT - 8, Y(y) + 4, "end"));
    }
    if (xs.length) for (const x of ticksUpTo(right, Math.max(2, Math.floor(width / 110)))) {
      parts.push(word(short(x), X(x), HEIGHT - BOTTOM + 18, "middle"));
    }
    parts.push(word(data.axis, (LEFT + width - RIGHT) / 2, HEIGHT - 6, "middle"));
    if (level) parts.push(across(level, "level"), word(levelName, width - RIGHT, Y(level) - 5, "end"));
    for (const curve of data.curves) {
      const kind = ["dots", "dashed", "faded", "bold"].filter((name) => curve[name]).join(" ");
      const path = curve.points.map(([x, y], i) => `${i ? "L" : "M"}${X(x).toFixed(1)} ${Y(y).toFixed(1)}`);
      parts.push(element("path", { class: `curve ${kind}`, d: path.join(""), stroke: curve.colour }));
      if (curve.dots) for (const [x, y] of curve.points) {
        const turned = curve.dashed ? { transform: `rotate(45 ${X(x)} ${Y(y)})` } : { rx: 3 };
        parts.push(element("rect", { class: curve.faded ? "faded" : "", x: X(x) - 3, y: Y(y) - 3, width: 6, height: 6,
          fill: curve.colour, ...turned }));
      }
    }
    svg.setAttribute("width", width);
    svg.replaceChildren(...parts, element("line", { class: "pointer", y1: TOP, y2: HEIGHT - BOTTOM }));
    const places = [...new Set(xs)].sort((a, b) => a - b);
    root.read = () => read(places, X, right, width);
    root.read();
  }

  function read(places, X, right, width) {
    const pointer = svg.querySelector(".pointer");
    const shown = root.pointer !== undefined && places.length > 0;
    tip.style.display = pointer.style.display = shown ? "block" : "none";
    if (!shown) return;
    const wanted = (root.pointer - LEFT) / (width - LEFT - RIGHT) * right;
    const x = places.reduce((best, place) => Math.abs(place - wanted) < Math.abs(best - wanted) ? place : best);
    pointer.setAttribute("x1", X(x));
    pointer.setAttribute("x2", X(x));
    const row = (name, value, colour = "inherit") => {
      const line = document.createElement("div"), left = document.createElement("span");
      const number = document.createElement("b");
      left.textContent = name;
      number.textContent = value;
      left.style.color = colour;
      line.append(left, number);
      return line;
    };
    const values = data.curves.map((curve) => [curve, lastUpTo(curve.points, x)]).filter(([, point]) => point);
    tip.replaceChildren(
      row(data.axis, short(+x.toFixed(data.decimals))),
      ...values.map(([curve, point]) => row(curve.name, point[1].toFixed(data.precision) + data.unit, curve.colour)));
    const left = X(x) + 14 + tip.offsetWidth > width ? X(x) - 14 - tip.offsetWidth : X(x) + 14;
    tip.style.left = `${Math.max(0, left)}px`;
  }

  root.onpointermove = root.onpointerdown = (event) => {
    root.pointer = event.clientX - root.getBoundingClientRect().left;
    root.read();
  };
  root.onpointerleave = () => { root.pointer = undefined; root.read(); };
  root.draw = draw;
  draw();
  if (!root.observer) {
    root.observer = new ResizeObserver(() => root.draw());
    root.observer.observe(root);
  }
}
