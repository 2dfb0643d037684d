/* While the pen is down, the stroke so far goes to the server, which answers with what the model makes of it. The canvas
   (streamlit-drawable-canvas 0.13.0, with fabric.js in it) knows nothing of this, and tells the stroke itself when the
   pen is lifted: whatever goes wrong here, that way stays. tests/browser/test_live.py */

const OFTEN = 60; // milliseconds from one message to the next, at least
const QUICK = 80; // an answer that takes longer comes from a busy server, which gets a rest
const REST = 6; // times what the answer took longer
const BUSY = 400; // when answers take so long, there are none
const NONE = 5_000; // for so long
const LOST = 1_000; // what takes so long never comes

let send = null; // while the page with the canvas is there
let stroke = null; // while the pen is down: the canvas, the finger if it is one, and the points
let waiting = null; // for an answer, one at a time: the message's number, and since when
let number = 0;
let trips = [0, 0]; // how long the last two answers took
let nextAt = 0;
let timer = 0;

function tell() {
  const now = performance.now();
  if (waiting && now - waiting.since > LOST) answered();
  if (!send || !stroke?.news || waiting) return;
  clearTimeout(timer);
  if (now < nextAt) {
    timer = setTimeout(tell, nextAt - now);
    return;
  }
  number += 1;
  waiting = { number, since: now };
  stroke.news = false;
  send({ number, points: stroke.points });
}

function answered() {
  const now = performance.now(), { since } = waiting;
  waiting = null;
  trips = [trips[1], now - since];
  const trip = Math.min(...trips); // a single hiccup is forgiven
  const rest = trip > BUSY ? NONE : Math.max(0, trip - QUICK) * REST;
  nextAt = Math.max(since + OFTEN, now + rest);
}

function pointOf(event) {
  const { clientX, clientY } = event.changedTouches?.[0] ?? event;
  const { left, top } = stroke.canvas.getBoundingClientRect();
  return [clientX - left, clientY - top];
}

const fingerOf = (event) => event.changedTouches?.[0].identifier ?? null;

function penDown(event) {
  const [canvas] = event.composedPath();
  if (event.button || event.touches?.length > 1 || !canvas.matches?.("canvas.upper-canvas")) return;
  stroke = { canvas, finger: fingerOf(event), points: [], news: false };
  stroke.points.push(pointOf(event), pointOf(event)); // twice, as fabric.js's pencil does
}

/* The points that the pencil takes: none twice in a row, and with the shift key the last one moves. */
function penMove(event) {
  if (event.buttons === 0) stroke = null; // it was lifted where nobody heard of it
  if (!stroke || fingerOf(event) !== stroke.finger) return;
  const { points } = stroke, point = pointOf(event), last = points[points.length - 1];
  if (point[0] === last[0] && point[1] === last[1]) return;
  if (event.shiftKey) points.pop();
  points.push(point);
  stroke.news = true;
  tell();
}

function penUp(event) {
  if (stroke && fingerOf(event) === stroke.finger) stroke = null;
}

const heard = { mousedown: penDown, touchstart: penDown, mousemove: penMove, touchmove: penMove, mouseup: penUp,
  touchend: penUp, touchcancel: penUp };
for (const [name, listener] of Object.entries(heard)) {
  document.addEventListener(name, listener, { capture: true, passive: true });
}

export default function ({ data: [seen], setTriggerValue }) {
  const mine = (message) => setTriggerValue("stroke", message);
  send = mine;
  if (waiting && seen === waiting.number) {
    answered();
    tell();
  }
  return () => { if (send === mine) send = null; };
}
