import { clamp } from "./machine_data.js";
import { stations } from "./machine_words.js";

const SPEEDS = [1, 2, 0.5];
const DOTS = 70;

// Play: the drawing flows through the machine. Where it is, is one number: the station, and how far that has come.
export class Player {
  constructor(root, onLeave) {
    const part = (name) => root.querySelector(name);
    Object.assign(this, { root, onLeave, place: null, playing: false, speed: 0 });
    Object.assign(this, {
      slider: part(".place"),
      button: part(".play"),
      caption: part(".caption"),
      flow: part(".flow"),
      river: part(".river"),
      line: part(".line"),
      floor: part(".floor"),
    });
    this.calm = window.matchMedia("(prefers-reduced-motion: reduce)");
    this.button.onclick = () => (this.playing ? this.pause() : this.play());
    part(".back").onclick = () => this.step(-1);
    part(".on").onclick = () => this.step(1);
    part(".speed").onclick = () => {
      this.speed = (this.speed + 1) % SPEEDS.length;
      part(".speed").textContent = `${SPEEDS[this.speed]}×`;
    };
    this.slider.oninput = () => {
      this.pause();
      this.goTo(Number(this.slider.value));
    };
    this.tick = this.tick.bind(this);
  }

  prepare(m, map) {
    // another drawing, or another size of the picture
    Object.assign(this, { m, map, stations: stations(m) });
    this.slider.max = this.stations.length;
    this.times = this.timetable();
    this.cells = null;
    this.flow.width = map.width;
    this.flow.height = map.height;
    this.goTo(this.place);
  }

  // When each element lights up: at a station, and a part of the way through it.
  timetable() {
    const at = new Map(this.stations.map((station, i) => [station.part, i]));
    const times = [];
    const light = (selector, time, nth = 0) => {
      const element = this.line.querySelectorAll(selector)[nth];
      if (element) times.push([element, time]);
    };
    light("[data-focus=digit]", 0.05);
    light("[data-focus=patches]", 1.75);
    light("[data-focus=embedded]", 2.75);
    light("[data-focus=positions]", 3.1);
    light(".plus", 3.1);
    light("[data-focus=tokens]", 3.75);
    for (let layer = 0; layer < this.m.depth; layer++) {
      const first = at.get(`heads-${layer + 1}`),
        start = first ?? at.get(`block-${layer + 1}`);
      light(".house", start, layer);
      light(".house .heads", start + (layer ? 0.25 : 0.3), layer);
      light(".house .mlp", layer ? start + 0.6 : start + 1.3, layer);
      light(".house .foot", layer ? start + 0.8 : start + 1.7, layer);
    }
    for (const part of ["norm", "logits", "probabilities"]) light(`[data-focus=${part}]`, at.get(part) + 0.15);
    light(".said", at.get("probabilities") + 0.4);
    return times;
  }

  play() {
    this.onLeave();
    if (this.place === null || this.place >= this.stations.length) this.goTo(0);
    this.playing = true;
    this.button.textContent = "❚❚ Pause";
    this.last = performance.now();
    this.waited = 0;
    this.next = requestAnimationFrame(this.tick);
  }

  pause() {
    this.playing = false;
    cancelAnimationFrame(this.next);
    this.button.textContent = "▶ Play";
  }

  leave() {
    // the whole picture again
    this.pause();
    this.goTo(null);
  }

  step(by) {
    // to the end of a station, where all of it is lit
    this.onLeave();
    this.pause();
    const here = this.place === null ? (by > 0 ? 0 : this.stations.length + 1) : Math.ceil(this.place - 0.001);
    this.goTo(clamp(here + by, 1, this.stations.length));
  }

  tick(now) {
    if (!this.playing || !this.root.isConnected) return;
    const seconds = (clamp(now - this.last, 0, 100) / 1000) * SPEEDS[this.speed];
    this.last = now;
    const station = Math.min(Math.floor(this.place), this.stations.length - 1);
    if (this.calm.matches) {
      // no motion in between: station after station
      this.waited += seconds;
      if (this.place % 1 || !this.place) this.goTo(Math.max(1, Math.ceil(this.place)));
      if (this.waited > this.stations[Math.max(0, Math.ceil(this.place) - 1)].seconds) {
        this.waited = 0;
        this.goTo(this.place + 1);
      }
    } else this.goTo(this.place + seconds / this.stations[station].seconds);
    if (this.place >= this.stations.length) this.pause();
    else this.next = requestAnimationFrame(this.tick);
  }

  goTo(place) {
    const count = this.stations.length,
      whole = place === null;
    this.place = whole ? null : Math.min(place, count);
    const time = whole ? count : this.place;
    this.root.classList.toggle("playing", !whole && time < count);
    for (const [element, lit] of this.times) element.classList.toggle("unlit", time < lit);
    const station = this.stations[clamp(Math.ceil(time - 0.001) - 1, 0, count - 1)];
    const words = whole ? (this.idle ?? "") : station.caption;
    this.caption.classList.toggle("idle", whole);
    if (this.caption.textContent !== words) {
      this.caption.textContent = words;
      if (this.playing && this.map.tall) this.follow(station.part);
    }
    this.slider.value = time;
    this.slider.setAttribute("aria-valuetext", whole ? "the whole machine" : station.caption);
    this.draw(time);
  }

  follow(part) {
    // from top to bottom the machine is longer than the screen
    this.line
      .querySelector(`[data-part=${part}]`)
      ?.scrollIntoView({ block: "center", behavior: this.calm.matches ? "auto" : "smooth" });
  }

  // What moves is drawn over the picture: patches that fall, tokens that form, light on the river.
  draw(time) {
    const { map, flow, river } = this,
      count = this.stations.length;
    const context = flow.getContext("2d");
    context.clearRect(0, 0, flow.width, flow.height);
    const front = time >= count ? null : this.frontAt(time);
    const rest = front === null ? 0 : Math.max(0, (map.tall ? map.height : map.width) - front);
    river.style.clipPath = front === null ? "" : map.tall ? `inset(0 0 ${rest}px 0)` : `inset(0 ${rest}px 0 0)`;
    if (front === null || this.calm.matches) return;
    if (time > 1 && time < 4) this.drawEntrance(context, time);
    else if (time >= 4) this.drawLight(context, front);
  }

  frontAt(time) {
    const { map, m } = this,
      first = 4;
    const through = clamp(time < first + 2 ? (time - first) / 2 : time - first - 1, 0, m.depth);
    if (time <= first) return map.begin;
    const layer = Math.min(Math.floor(through), m.depth - 1),
      [from, to] = map.houses[layer].ends;
    if (through >= m.depth) return to + clamp(time - first - 1 - m.depth, 0, 1) * (map.finish - to);
    return layer === 0 ? map.begin + through * (to - map.begin) : from + (through - layer) * (to - from);
  }

  drawEntrance(context, time) {
    const { map, m } = this;
    this.cells ??= {
      digit: map.rect("[data-part=digit].square"),
      patches: map.rect("[data-part=patches].square"),
      rows: map.rect(".embedded .strip"),
      positions: map.rect(".positions .strip"),
      sum: map.rect(".tokens .strip"),
      image: this.line.querySelector("[data-part=digit].square"),
      stripes: this.line.querySelector(".embedded .strip"),
      places: this.line.querySelector(".positions .strip"),
    };
    const { digit, patches, rows, positions, sum, image, stripes, places } = this.cells;
    context.imageSmoothingEnabled = false;
    const station = Math.floor(time),
      share = time - station,
      P = m.image / m.grid;
    const ease = (x) => x * x * (3 - 2 * x),
      mix = (a, b, x) => a + (b - a) * x;
    const tile = (box, i) => ({
      x: box.left + ((i % m.grid) * box.width) / m.grid,
      y: box.top + (Math.floor(i / m.grid) * box.height) / m.grid,
      w: box.width / m.grid,
      h: box.height / m.grid,
    });
    const row = (box, i) => ({
      x: box.left,
      y: box.top + (i * box.height) / m.tokens,
      w: box.width,
      h: box.height / m.tokens,
    });
    if (station < 3)
      for (let i = 0; i < m.tokens - 1; i++) {
        const moved = ease(clamp(share * 1.8 - (0.8 * i) / (m.tokens - 1), 0, 1));
        const from = station === 1 ? tile(digit, i) : tile(patches, i);
        const to = station === 1 ? tile(patches, i) : row(rows, i + 1);
        const [x, y, w, h] = ["x", "y", "w", "h"].map((side) => mix(from[side], to[side], moved));
        context.globalAlpha = station === 1 ? 1 : 1 - moved;
        if (moved > 0 && context.globalAlpha)
          context.drawImage(image, (i % m.grid) * P, Math.floor(i / m.grid) * P, P, P, x, y, w, h);
        context.globalAlpha = station === 2 ? moved : 0;
        if (context.globalAlpha) context.drawImage(stripes, 0, i + 1, m.width, 1, x, y, w, h);
      }
    else {
      const joined = ease(clamp(share * 2.2 - 0.7, 0, 1)),
        came = ease(clamp(share * 3, 0, 1));
      const cls = row(rows, 0);
      context.globalAlpha = came;
      context.fillStyle = m.colours.accent;
      if (came < 1) context.fillRect(cls.x, cls.y - 46 * (1 - came), cls.w, Math.max(3, cls.h));
      context.globalAlpha = 0.85 * joined;
      for (const [strip, box] of [
        [stripes, rows],
        [places, positions],
      ])
        if (joined < 1)
          context.drawImage(
            strip,
            mix(box.left, sum.left, joined),
            mix(box.top, sum.top, joined),
            mix(box.width, sum.width, joined),
            mix(box.height, sum.height, joined),
          );
    }
    context.globalAlpha = 1;
  }

  drawLight(context, front) {
    const { map } = this,
      spot = (a, across) => (map.tall ? [across, a] : [a, across]);
    const drift = (performance.now() / 1000) * 60;
    context.fillStyle = "#e8fbff";
    for (let i = 0; i < DOTS; i++) {
      const span = map.finish - map.houses[0].ends[0],
        a = map.houses[0].ends[0] + ((i * 97.3 + drift) % span);
      if (a > front) continue;
      context.globalAlpha = 0.15 + 0.45 * Math.abs(Math.sin(i * 2.4));
      const [x, y] = spot(a, map.centre + Math.sin(i * 12.9) * map.breadth * 0.2);
      context.fillRect(x, y, 2, 2);
    }
    const [x, y] = spot(front, map.centre);
    const glow = context.createRadialGradient(x, y, 0, x, y, 34);
    glow.addColorStop(0, "rgba(190, 245, 255, 0.85)");
    glow.addColorStop(1, "rgba(0, 180, 216, 0)");
    context.globalAlpha = 1;
    context.fillStyle = glow;
    context.fillRect(x - 34, y - 34, 68, 68);
  }
}
