"""What the pen did: strokes as points in pixels of the canvas, x to the right and y down."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

SIDE = 336  # of the canvas, in pixels: 12 for each of the model's 28, and no wider than a phone
BRUSH_SHARE = 0.065  # width of the brush, as a part of the canvas's side
BRUSH = round(BRUSH_SHARE * SIDE)

Stroke = Sequence[tuple[float, float]]
Points = Stroke | np.ndarray


def visible(strokes: Iterable[Points], side: float) -> Iterator[np.ndarray]:
    """The parts of the strokes that lie on the canvas: the pen may have left it and come back."""

    def on_canvas(points: np.ndarray) -> np.ndarray:
        return np.all((points >= 0) & (points <= side), axis=1)

    for stroke in strokes:
        points = np.array(stroke, float).reshape(-1, 2)
        points = points[np.isfinite(points).all(1)]
        if not on_canvas(points).all():  # then it is to be cut at the edge, and not at the last point before it
            points = _dense(points.clip(-9 * side, 10 * side))
        inside = on_canvas(points)
        for part in np.split(np.arange(len(points)), np.flatnonzero(np.diff(inside)) + 1):
            if len(part) and inside[part[0]]:
                yield points[part]


def _dense(points: np.ndarray) -> np.ndarray:
    """The same stroke with a point at each pixel of its length, if it is not absurdly long."""
    travelled = np.concatenate([[0], np.hypot(*np.diff(points, axis=0).T).cumsum()])
    stops = np.union1d(travelled, np.linspace(0, travelled[-1], min(int(travelled[-1]), 20_000) + 2))
    return np.stack([np.interp(stops, travelled, values) for values in points.T], axis=1)


def simplified(strokes: Sequence[np.ndarray], most_points: int) -> list[np.ndarray]:
    """The same strokes with as few points as can be seen, and with fewer if that is more than are allowed."""
    tolerance = 0.75
    while True:
        fewer = [_without_needless(stroke, tolerance) for stroke in strokes]
        if sum(map(len, fewer)) <= most_points:
            return fewer
        if tolerance > SIDE:  # of each stroke only its ends are left
            return fewer[: most_points // 2]
        tolerance *= 1.5


def _without_needless(points: np.ndarray, tolerance: float) -> np.ndarray:
    """The points that matter (Ramer, Douglas, Peucker): none left out lies further than the tolerance away."""
    keep, spans = {0, len(points) - 1}, [(0, len(points) - 1)]
    while spans:
        first, last = spans.pop()
        if last - first < 2:
            continue
        along = points[last] - points[first]
        away = points[first + 1 : last] - points[first]
        share = (away @ along / max(along @ along, 1e-9)).clip(0, 1)  # of the way along; the pen may have turned back
        distances = np.hypot(*(away - share[:, None] * along).T)
        if distances.max() > tolerance:
            middle = first + 1 + int(distances.argmax())
            keep.add(middle)
            spans += [(first, middle), (middle, last)]
    return points[sorted(keep)]


# The canvas's own JSON (fabric.js)


def to_fabric(strokes: Iterable[Stroke]) -> dict[str, Any]:
    """Strokes as the objects that the canvas can show again."""
    return {
        "objects": [
            {
                "type": "Path", "path": [["M", *stroke[0]], *(["L", *point] for point in stroke[1:] or stroke)],
                "fill": None, "stroke": "#ffffff", "strokeWidth": BRUSH,
                "strokeLineCap": "round", "strokeLineJoin": "round",
            }
            for stroke in strokes
        ]
    }  # fmt: skip


def from_fabric(drawing: dict[str, Any] | None) -> list[list[tuple[float, float]]]:
    """The strokes in what the canvas reports: curves whose centre may have been moved."""
    strokes = []
    for item in (drawing or {}).get("objects", []):
        path = item.get("path", [])
        if str(item.get("type")).lower() == "path" and (curve := _flattened(path)):
            strokes.append(_as_placed(np.array(curve), _centre(path), item))
    return strokes


def under_the_pen(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The stroke that the canvas would report if the pen, which came along these points, were lifted now."""
    return _flattened(_pencilled(points)) if len(points) > 1 else []


def _pencilled(points: Sequence[tuple[float, float]]) -> list[list[Any]]:
    """As fabric.js's pencil does it: points that are too close are left out, curves join the middles of the others."""
    first, *others, last = points
    kept = [first]
    for point in others[:-1]:
        if math.dist(kept[-1], point) >= 0.4:
            kept.append(point)
    kept.append(last)
    begin = end = np.array((1.0, 0.0))
    if len(kept) > 2:
        begin, end = np.sign(np.subtract(kept[2], kept[1])), np.sign(np.subtract(kept[-1], kept[-2]))
    longer = BRUSH / 1000  # at both ends
    curves = [["Q", *a, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2] for a, b in pairwise(kept) if a != b]
    return [["M", *(first - longer * begin)], *curves, ["L", *(last + longer * end)]]


def _flattened(path: list[list[Any]]) -> list[tuple[float, float]]:
    """Points along a path of M, L and Q commands."""
    points: list[tuple[float, float]] = []
    for command, *numbers in path:
        if command in "ML":
            points.append((numbers[0], numbers[1]))
        elif command == "Q" and points:
            (ax, ay), (bx, by, cx, cy) = points[-1], numbers
            for t in (0.25, 0.5, 0.75, 1):
                a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t * t
                points.append((a * ax + b * bx + c * cx, a * ay + b * by + c * cy))
    return points


def _centre(path: list[list[Any]]) -> np.ndarray:
    """The middle of a path as fabric.js sees it, which takes a curve's one control point for two."""
    drawn = [command for command in path if command[0] in "MLQ"]
    ends = np.array([command[-2:] for command in drawn], float)
    curved = np.array([command[0] == "Q" for command in drawn[1:]], bool)
    before, after = ends[:-1][curved], ends[1:][curved]
    control = np.array([command[1:3] for command in drawn[1:] if command[0] == "Q"], float).reshape(-1, 2)
    # Where such a curve turns back, x or y: (1 - t)² (control - before) + t² (after - control) = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        t = 1 / (1 + np.sqrt((control - after) / (control - before)))
    turns = (1 - t) ** 3 * before + 3 * t * (1 - t) * control + t**3 * after
    reached = np.concatenate([ends, np.where(np.isfinite(turns), turns, before)])
    return (reached.min(0) + reached.max(0)) / 2


def _as_placed(points: np.ndarray, centre: np.ndarray, item: dict[str, Any]) -> list[tuple[float, float]]:
    """Where the points lie after someone moved, turned or resized the stroke: `left`, `top` is its centre."""
    size = [item.get(f"scale{axis}", 1) * (-1 if item.get(f"flip{axis}") else 1) for axis in "XY"]
    angle = math.radians(item.get("angle", 0))
    turn = [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]]
    place = item.get("left", centre[0]), item.get("top", centre[1])
    return [(x, y) for x, y in ((points - centre) * size @ turn + place).tolist()]
