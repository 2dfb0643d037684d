// Values to colours, and colours to canvases: one pixel of the canvas is one value.
const GONE = 0xff5c504a;

function shades(scale) {
  const table = new Uint32Array(256);
  const rgb = (colour) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
  for (let step = 0; step < 256; step++) {
    const place = step / 255;
    const next = Math.max(
      1,
      scale.findIndex(([stop]) => stop >= place),
    );
    const [[from, low], [to, high]] = [scale[next - 1], scale[next]];
    const share = (place - from) / (to - from),
      a = rgb(low),
      b = rgb(high);
    const [red, green, blue] = a.map((x, i) => Math.round(x + share * (b[i] - x)));
    table[step] = 0xff000000 | (blue << 16) | (green << 8) | red;
  }
  return table;
}

export function painter(colours) {
  const [signed, warm, ink] = [colours.signed, colours.warm, colours.ink].map(shades);
  const at = (table, place) => (Number.isNaN(place) ? GONE : table[Math.round(Math.min(Math.max(place, 0), 1) * 255)]);
  return {
    signed: (limit) => (x) => at(signed, 0.5 + x / limit / 2),
    warm: (most) => (x) => at(warm, x / (most || 1)),
    ink: (x) => at(ink, x / 255),
  };
}

export function draw(canvas, columns, rows, shadeAt) {
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d"),
    picture = context.createImageData(columns, rows);
  const pixels = new Uint32Array(picture.data.buffer);
  for (let i = 0; i < pixels.length; i++) pixels[i] = shadeAt(i);
  context.putImageData(picture, 0, 0);
  return canvas;
}

export const stripes = (canvas, values, shade, rows = 1) =>
  draw(canvas, values.length / rows, rows, (i) => shade(values[i]));

export function picture(canvas, m, paint) {
  // the image as the model gets it
  const image = m.get("image"),
    C = m.channels;
  return draw(canvas, m.image, m.image, (i) =>
    C === 1
      ? paint.ink(image[i])
      : (0xff000000 | (image[3 * i + 2] << 16) | (image[3 * i + 1] << 8) | image[3 * i]) >>> 0,
  );
}

// Small maps side by side, scaled up here: browsers scale a canvas of many maps unevenly.
export function mosaic(canvas, maps, grid, columns, tile, gap) {
  const rows = Math.ceil(maps.length / columns),
    density = Math.min(window.devicePixelRatio || 1, 2);
  const pitch = tile + gap,
    small = draw(document.createElement("canvas"), grid, grid * maps.length, (i) =>
      maps[Math.floor(i / grid / grid)](i % (grid * grid)),
    );
  canvas.width = Math.round((columns * pitch - gap) * density);
  canvas.height = Math.round((rows * pitch - gap) * density);
  canvas.style.width = `${columns * pitch - gap}px`;
  canvas.style.height = `${rows * pitch - gap}px`;
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = false;
  maps.forEach((_, n) => {
    const x = (n % columns) * pitch * density,
      y = Math.floor(n / columns) * pitch * density;
    context.drawImage(small, 0, n * grid, grid, grid, x, y, tile * density, tile * density);
  });
}

export function headMap(m, paint, layer, head) {
  const row = m.pattern(layer, head).slice(1),
    shade = paint.warm(Math.max(...row));
  return (i) => shade(row[i]);
}

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") element.className = value;
    else if (name === "style") element.style.cssText = value;
    else if (value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}
