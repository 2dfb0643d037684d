"""Curves that grow under the pointer. Chart libraries lose the values that a visitor reads each time new
points arrive, twice a second; this chart redraws its lines in place and reads them again."""

import streamlit as st

JS = """
const HEIGHT = 300, LEFT = 52, RIGHT = 14, TOP = 14, BOTTOM = 44;

function ticksUpTo(most, count) {
  const raw = most / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= raw);
  const ticks = [];
  for (let value = 0; value <= most * 1.0001; value += step) ticks.push(value);
  return ticks;
}

const short = (value) => (+value.toFixed(4)).toLocaleString("en");

function lastUpTo(points, x) {
  let low = 0, high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= x) low = middle + 1; else high = middle;
  }
  return low ? points[low - 1] : null;
}

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".curves");
  const svg = root.querySelector("svg"), tip = root.querySelector(".tip");
  root.setAttribute("role", "img");
  root.setAttribute("aria-label", data.alt);

  function draw() {
    const width = root.clientWidth || 400;
    const xs = data.lines.flatMap((line) => line.points.map((point) => point[0]));
    const ys = data.lines.flatMap((line) => line.points.map((point) => point[1]));
    const right = Math.max(1e-9, ...xs), top = data.top ?? Math.max(data.guess.value * 1.08, ...ys);
    const X = (x) => LEFT + (x / right) * (width - LEFT - RIGHT);
    const Y = (y) => HEIGHT - BOTTOM - (Math.min(y, top) / top) * (HEIGHT - TOP - BOTTOM);
    let parts = "";
    for (const y of ticksUpTo(top, 5)) {
      parts += `<line class="grid" x1="${LEFT}" x2="${width - RIGHT}" y1="${Y(y)}" y2="${Y(y)}"/>` +
        `<text x="${LEFT - 8}" y="${Y(y) + 4}" text-anchor="end">${short(y)}${data.unit}</text>`;
    }
    if (xs.length) for (const x of ticksUpTo(right, Math.max(2, Math.floor(width / 110)))) {
      parts += `<text x="${X(x)}" y="${HEIGHT - BOTTOM + 18}" text-anchor="middle">${short(x)}</text>`;
    }
    parts += `<text x="${(LEFT + width - RIGHT) / 2}" y="${HEIGHT - 6}" text-anchor="middle">${data.axis}</text>`;
    const guess = Y(data.guess.value);
    parts += `<line class="guess" x1="${LEFT}" x2="${width - RIGHT}" y1="${guess}" y2="${guess}"/>` +
      `<text x="${width - RIGHT}" y="${guess - 5}" text-anchor="end">${data.guess.name}</text>`;
    for (const line of data.lines) {
      const path = line.points.map((point, i) => `${i ? "L" : "M"}${X(point[0]).toFixed(1)} ${Y(point[1]).toFixed(1)}`);
      parts += `<path d="${path.join("")}" stroke="${line.colour}" stroke-width="${line.width}" ` +
        `stroke-opacity="${line.opacity}" ${line.dashed ? 'stroke-dasharray="7 4"' : ""}/>`;
      if (line.dots) for (const [x, y] of line.points) {
        const turned = line.dashed ? `transform="rotate(45 ${X(x)} ${Y(y)})"` : "";
        parts += `<rect x="${X(x) - 3}" y="${Y(y) - 3}" width="6" height="6" rx="${line.dashed ? 0 : 3}" ` +
          `fill="${line.colour}" fill-opacity="${line.opacity}" ${turned}/>`;
      }
    }
    svg.setAttribute("width", width);
    svg.innerHTML = parts + '<line class="pointer" y1="' + TOP + '" y2="' + (HEIGHT - BOTTOM) + '"/>';
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
    tip.innerHTML = "";
    const row = (name, value, colour) => {
      const line = document.createElement("div"), left = document.createElement("span");
      const right = document.createElement("b");
      left.textContent = name;
      right.textContent = value;
      left.style.color = colour ?? "inherit";
      line.append(left, right);
      tip.append(line);
    };
    row(data.axis, short(+x.toFixed(data.decimals)));
    for (const line of data.lines) {
      const point = lastUpTo(line.points, x);
      if (point) row(line.name, point[1].toFixed(data.precision) + data.unit, line.colour);
    }
    const left = X(x) + 14 + tip.offsetWidth > width ? X(x) - 14 - tip.offsetWidth : X(x) + 14;
    tip.style.left = `${Math.max(0, left)}px`;
  }

  root.onpointermove = root.onpointerdown = (event) => {
    root.pointer = event.clientX - root.getBoundingClientRect().left;
    root.read();
  };
  root.onpointerleave = () => { root.pointer = undefined; root.read(); };
  root.observer?.disconnect();
  root.observer = new ResizeObserver(draw);
  root.observer.observe(root);
  draw();
}
"""
HTML = '<div class="curves"><svg height="300"></svg><div class="tip"></div></div>'
CSS = """
.curves { position: relative; height: 300px; color: var(--st-text-color); font: 13px var(--st-font, sans-serif); }
svg { display: block; position: absolute; inset: 0; }
text { fill: currentColor; fill-opacity: 0.7; }
path { fill: none; stroke-linejoin: round; }
.grid { stroke: currentColor; stroke-opacity: 0.1; }
.guess { stroke: currentColor; stroke-opacity: 0.55; stroke-dasharray: 5 4; }
.pointer { stroke: currentColor; stroke-opacity: 0.4; }
.tip { position: absolute; display: none; top: 40px; z-index: 9; padding: 0.35rem 0.6rem; border-radius: 0.4rem;
  pointer-events: none; background: var(--st-background-color); border: 1px solid #8886; }
.tip div { display: flex; justify-content: space-between; gap: 1.2rem; white-space: nowrap; }
.tip b { font-variant-numeric: tabular-nums; }
"""

_component = None


def curves(chart: dict, *, key: str, alt: str) -> None:
    """Show what run_charts.curves made of the metrics."""
    global _component
    if _component is None:
        _component = st.components.v2.component("patchwise_curves", html=HTML, css=CSS, js=JS)
    _component(key=key, data=chart | {"alt": alt})
