/* Remedies for faults of streamlit-drawable-canvas 0.13.0. Each names its fault and how to notice that it can go:
   take it out, and see whether the browser tests that are named still pass. */

/* The canvas lives in a shadow root, which our style sheets do not reach (see canvas_inside.css for what is mended
   there). A root that is attached, or changes inside, is nothing that a page can listen to, so each new sheet is looked
   for from frame to frame until it is there.
   test_each_new_sheet_keeps_its_paper_and_has_no_toolbar, test_a_stroke_in_the_upper_right_corner_is_ink_too */
const PATIENCE = 20_000; // milliseconds
let styledSheet = null;

function styleInside(css) {
  const roots = [...document.querySelectorAll(".st-key-canvas *")].map((element) => element.shadowRoot);
  const fresh = roots.filter((root) => root?.querySelector(".canvas-root") && !root.querySelector("[data-patchwise]"));
  for (const root of fresh) {
    const style = document.createElement("style");
    style.dataset.patchwise = "";
    style.textContent = css;
    root.append(style);
  }
  return fresh.length > 0;
}

function styleSoon({ css, sheet }) {
  const until = performance.now() + PATIENCE;
  let frame = 0;
  const look = () => {
    if (styleInside(css)) styledSheet = sheet;
    else if (performance.now() < until) frame = requestAnimationFrame(look);
  };
  if (sheet !== styledSheet) look();
  return () => cancelAnimationFrame(frame);
}

/* A pen that is lifted over a disabled button, or outside the window, is not heard of: hold it.
   test_a_stroke_that_ends_outside_the_canvas_is_kept_up_to_its_edge */
function hold(event) {
  const [touched] = event.composedPath();
  if (touched.matches?.("canvas.upper-canvas")) touched.setPointerCapture(event.pointerId);
}

/* A stroke is told 200 ms after it ended. The first button of the hidden toolbar, "Update the app with this drawing",
   tells it at once. benchmarks.interaction, stroke */
let drawnOn = null; // while the pen is down
let lastDrawnOn = null;

const tell = (canvas) => canvas.querySelector(".dc-toolbar button")?.click();

function penDown(event) {
  drawnOn = event.composedPath().find((node) => node.querySelector?.(".canvas-root")) ?? null;
}

function penUp() {
  if (!drawnOn) return;
  const canvas = drawnOn;
  [drawnOn, lastDrawnOn] = [null, canvas];
  setTimeout(() => tell(canvas)); // once the canvas has taken the stroke in
}

/* A stroke that ends while the connection is broken is never told, though it stays on the canvas: tell what is there
   when the connection is back. test_a_stroke_drawn_while_the_connection_is_broken_arrives
   Where nothing is to be told, the page is asked for by its address, as page.js does elsewhere. */
function tellAfterReconnecting() {
  const app = document.querySelector("[data-testid=stApp]");
  const state = () => app.getAttribute("data-test-connection-state");
  let before = state();
  const observer = new MutationObserver(() => {
    if (before !== "CONNECTED" && state() === "CONNECTED") {
      if (lastDrawnOn?.isConnected) tell(lastDrawnOn);
      else dispatchEvent(new PopStateEvent("popstate"));
    }
    before = state();
  });
  observer.observe(app, { attributes: true, attributeFilter: ["data-test-connection-state"] });
  return () => observer.disconnect();
}

export default function ({ data: [data] }) {
  const stopLooking = styleSoon(data);
  const stopTelling = tellAfterReconnecting();
  const heard = { pointerdown: hold, mousedown: penDown, touchstart: penDown, mouseup: penUp, touchend: penUp };
  for (const [name, listener] of Object.entries(heard)) document.addEventListener(name, listener);
  return () => {
    stopLooking();
    stopTelling();
    for (const [name, listener] of Object.entries(heard)) document.removeEventListener(name, listener);
  };
}
