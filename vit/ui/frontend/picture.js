const WORD = 13, SMALLEST_WORD = 7;  // pixels
const LETTER = 0.6;  // width of a letter in parts of its height

export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".picture");
  const part = (name) => root.querySelector(name);
  const frame = part(".frame"), tip = part(".tip"), scale = part(".scale");
  const { rows, columns } = data;
  const percent = (share) => `${100 * share}%`;
  root.drawn ??= {};
  const draw = (name, ingredients, how) => {  // only what has changed: a page has many pictures
    const now = JSON.stringify(ingredients);
    if (root.drawn[name] !== now) how();
    root.drawn[name] = now;
  };
  const { width, aspect, clickable, rowNames, columnNames, corner } = data;
  draw("frame", [rows, columns, width, aspect, clickable, rowNames, columnNames, corner], () => {
    const left = rowNames.length ? "2.2rem" : "0px";
    frame.style.width = `min(100% - ${left}, ${width}px)`;
    frame.style.aspectRatio = aspect;
    frame.style.cursor = clickable ? "pointer" : "default";
    frame.style.marginLeft = left;
    frame.style.marginTop = columnNames.length ? "1.5rem" : "0";
    part(".corner").textContent = corner;
    const name = (text, left, top, kind) => {
      const span = document.createElement("span");
      span.textContent = text;
      span.className = kind;
      span.style.left = left;
      span.style.top = top;
      return span;
    };
    part(".names").replaceChildren(
      ...rowNames.map((text, r) => text && name(text, "-0.4rem", percent((r + 0.5) / rows), "row")).filter(Boolean),
      ...columnNames.map((text, c) => text && name(text, percent((c + 0.5) / columns), "-0.2rem", "column"))
        .filter(Boolean));
  });
  draw("image", [data.source, data.alt, data.smooth], () => {
    Object.assign(part("img"), { src: data.source, alt: data.alt });
    part("img").style.imageRendering = data.smooth ? "auto" : "";
  });
  draw("lines", [rows, columns, data.lines], () => {
    const line = (x1, y1, x2, y2) => `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}"/>`;
    let lines = "";
    for (let r = 1; data.lines && r < rows; r++) lines += line(0, r, columns, r);
    for (let c = 1; data.lines && c < columns; c++) lines += line(c, 0, c, rows);
    part("svg").setAttribute("viewBox", `0 0 ${columns} ${rows}`);
    part("svg").innerHTML = lines;
  });
  const inCell = (element, index, span = 1) => {
    element.style.left = percent((index % columns + span / 2) / columns);
    element.style.top = percent((Math.floor(index / columns) + 0.5) / rows);
    return element;
  };
  draw("boxes", [rows, columns, data.chosen, data.dashed, data.span], () => {
    const box = (index, kind) => {
      const cell = inCell(document.createElement("div"), index, data.span);
      cell.className = kind;
      cell.style.width = percent(data.span / columns);
      cell.style.height = percent(1 / rows);
      return cell;
    };
    part(".boxes").replaceChildren(
      ...data.chosen.map((i) => box(i, "whole")), ...data.dashed.map((i) => box(i, "broken")));
  });
  draw("words", [rows, columns, data.words, data.bright], () => {
    const bright = new Set(data.bright);
    const words = part(".words"); // the watch below may look once more when the picture has gone
    words.replaceChildren(...Object.entries(data.words).map(([index, text]) => {
      const word = inCell(document.createElement("span"), index);
      word.textContent = text;
      word.className = bright.has(Number(index)) ? "on-bright" : "";
      return word;
    }));
    // Words shrink with their cells, and stay away where nobody could read them: the tip tells them as well.
    const longest = Math.max(0, ...Object.values(data.words).map((text) => text.length));
    root.fit = () => {
      const size = Math.min(WORD, root.wide / columns / (longest * LETTER));
      words.style.fontSize = `${size}px`;
      words.style.display = size < SMALLEST_WORD ? "none" : "";
    };
    if (root.wide) root.fit(); // to ask the frame would lay out the whole page in the middle of a change
    root.watch ??= new ResizeObserver(([{ contentRect }]) => {
      root.wide = contentRect.width;
      root.fit();
    });
    root.watch.observe(frame);
  });
  draw("scale", [data.scale, data.width], () => {
    scale.style.display = data.scale ? "flex" : "none";
    scale.style.width = `min(100%, ${data.width}px)`;
    if (!data.scale) return;
    for (const name of ["low", "high", "caption"]) scale.querySelector(`.${name}`).textContent = data.scale[name];
    scale.querySelector(".bar").style.background = data.scale.gradient;
  });
  const cellAt = (event) => {
    const area = frame.getBoundingClientRect();
    const c = Math.floor((event.clientX - area.left) / area.width * columns);
    const r = Math.floor((event.clientY - area.top) / area.height * rows);
    return Math.min(Math.max(r, 0), rows - 1) * columns + Math.min(Math.max(c, 0), columns - 1);
  };
  frame.onclick = (event) => { if (data.clickable) setTriggerValue("cell", cellAt(event)); };
  const tell = (cell) => {
    root.told = cell;
    tip.textContent = data.labels[cell] ?? "";
    tip.style.display = tip.textContent ? "block" : "none";
  };
  if (root.told !== undefined) tell(root.told);  // a click may have changed what it says
  frame.onpointermove = (event) => {
    tell(cellAt(event));
    const area = frame.getBoundingClientRect();
    const x = event.clientX - area.left;
    tip.style.left = `${Math.min(x + 12, Math.max(0, area.width - tip.offsetWidth))}px`;
    tip.style.top = `${event.clientY - area.top + 16}px`;
  };
  frame.onpointerleave = () => {
    root.told = undefined;
    tip.style.display = "none";
  };
}
