"""What a visitor does in a page, and how a test waits for what follows."""

import re

from playwright.sync_api import expect

PATH = ("Draw", "Machine", "Patches", "Embedding", "Attention", "Layers", "Logits")
PATIENCE = 600_000  # milliseconds, for what workers do; they may share the machine with many others
SEVEN = [(90, 80), (240, 80), (160, 270)]


def settled(page):
    """Until Streamlit has nothing more to send, and the browser nothing more to fetch for it."""
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
    expect(page.locator("[data-stale=true]")).to_have_count(0)
    expect(page.locator("[data-testid=stSkeleton]")).to_have_count(0)
    assert page.locator("[data-testid=stException]").count() == 0


def drawn_code(page) -> str:
    expect(page).to_have_url(re.compile(r"[?&]d="))
    return re.search(r"[?&]d=([^&]+)", page.url)[1]


def place(locator) -> dict:
    """Where it stands once it is in view and has come to rest."""
    locator.hover(trial=True)  # unlike bounding_box(), it waits for that, also when the page puts another in its place
    return locator.bounding_box()


def put_down(page, stroke):
    """A stroke on the canvas with the mouse, which stays down; points in canvas pixels."""
    box = place(page.locator("canvas.upper-canvas"))
    (x, y), *others = stroke
    page.mouse.move(box["x"] + x, box["y"] + y)
    page.mouse.down()
    for x, y in others:
        page.mouse.move(box["x"] + x, box["y"] + y, steps=8)


def draw(page, *strokes):
    for stroke in strokes:
        put_down(page, stroke)
        page.mouse.up()


def ink_at(page, x: int, y: int) -> bool:
    """Whether a stroke on the canvas covers a point; while a new sheet takes the old one's place, on either of them."""
    covered = """(canvases, [x, y]) =>
      canvases.some((canvas) => canvas.getContext("2d").getImageData(x, y, 1, 1).data[3] > 0)"""
    return page.locator("canvas.dc-canvas.lower-canvas").evaluate_all(covered, [x, y])


def click_cell(page, alt: str, row: int, column: int, rows: int, columns: int):
    """Click into one of the cells of a picture."""
    frame = page.locator(".frame", has=page.get_by_alt_text(alt))
    box = place(frame)
    frame.click(position={"x": (column + 0.5) * box["width"] / columns, "y": (row + 0.5) * box["height"] / rows})


class Connection:
    """A page's way to its server, which can be cut and mended."""

    def __init__(self, page):
        self.open, self.sockets = True, []
        page.route_web_socket(re.compile("_stcore/stream"), self.route)

    def route(self, socket):
        if not self.open:
            socket.close()
            return
        server = socket.connect_to_server()
        socket.on_message(server.send)
        server.on_message(socket.send)
        self.sockets.append(socket)

    def cut(self):
        self.open = False
        self.sockets[-1].close()

    def mend(self):
        self.open = True
