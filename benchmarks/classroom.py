"""How many visitors the server holds: `python -m benchmarks.classroom FILE [--visitors 1 10 30 60 100] [--mixed]`.

FILE holds pen strokes in UNIPEN format. Each visitor is a session of its own in Streamlit's protocol, without a
browser, and draws a stroke every two seconds, digit after digit; its address must always tell its own drawing. A
stroke counts from when it is sent until the script has finished. --mixed adds a class of 30: 20 draw, 5 change layers,
5 watch twins that train. Run it on a machine that does nothing else.
"""

import argparse
import asyncio
import os
import random
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.session import Session
from tests.support.visitor import serving
from vit import drawing
from vit.drawing import unipen
from vit.drawing.strokes import SIDE, Stroke

BOX = 500
EVERY = 2.0  # seconds between two strokes of a visitor
ARRIVE_WITHIN = 10.0
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Lesson:
    """What happened while a class was there."""

    answers: dict[str, list[float]] = field(default_factory=dict)  # seconds, by what was done
    traffic: dict[str, int] = field(default_factory=dict)  # bytes over the WebSocket, both ways, by the same
    mistaken: int = 0  # addresses with somebody else's drawing
    errors: list[str] = field(default_factory=list)

    def note(self, what: str, seconds: float, session: Session) -> None:
        self.answers.setdefault(what, []).append(seconds)
        self.traffic[what] = self.traffic.get(what, 0) + session.traffic


class Server:
    """How much of the machine the server takes, with the processes that it has started."""

    def __init__(self, process: subprocess.Popen):
        self.pid = process.pid

    def family(self) -> list[int]:
        found, parents = [self.pid], {self.pid}
        while parents:
            files = (file for pid in parents for file in Path(f"/proc/{pid}/task").glob("*/children"))
            parents = {int(child) for file in files for child in file.read_text().split()}
            found += parents
        return found

    def cpu_seconds(self) -> float:
        numbers = (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in self.family())
        return sum(int(fields[11]) + int(fields[12]) for fields in numbers) / TICKS

    def megabytes(self) -> float:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="pen strokes in UNIPEN format")
    parser.add_argument("--visitors", type=int, nargs="*", default=[1, 10, 30, 60, 100])
    parser.add_argument("--seconds", type=float, default=30, help="how long each class draws")
    parser.add_argument("--mixed", action="store_true", help="also a class of 30 that does different things")
    parser.add_argument("--folder", type=Path, help="of another copy of the app, to compare with")
    arguments = parser.parse_args()
    digits = [scaled(digit.strokes) for digit in unipen.read(arguments.file, BOX) if digit.strokes]
    with serving(*([arguments.folder] if arguments.folder else [])) as (url, process):
        server = Server(process)
        asyncio.run(warm_up(url, digits[0]))
        for visitors in arguments.visitors:
            asyncio.run(hold(f"{visitors} draw", url, server, digits, arguments.seconds, drawing=visitors))
        if arguments.mixed:
            asyncio.run(hold("20 draw, 5 change layers, 5 watch", url, server, digits, arguments.seconds, drawing=20,
                             choosing=5, watching=5))


def scaled(strokes: Sequence[Stroke]) -> list[Stroke]:
    return [[(x * SIDE / BOX, y * SIDE / BOX) for x, y in stroke] for stroke in strokes]


async def warm_up(url: str, digit: Sequence[Stroke]) -> None:
    session = await Session.open(url)
    await session.draw(digit)
    await session.close()


async def hold(name: str, url: str, server: Server, digits: Sequence[Sequence[Stroke]], seconds: float,
               drawing: int = 0, choosing: int = 0, watching: int = 0) -> None:
    lesson, before = Lesson(), server.cpu_seconds()
    began = time.perf_counter()
    pair = await start_twins(url) if watching else ""
    visits = [draw(url, lesson, random.Random(number), digits, seconds) for number in range(drawing)]
    visits += [choose(url, lesson, random.Random(-number - 1), seconds) for number in range(choosing)]
    visits += [watch(url, lesson, pair, seconds) for _ in range(watching)]
    for outcome in await asyncio.gather(*visits, return_exceptions=True):
        if isinstance(outcome, BaseException):
            lesson.errors.append(repr(outcome))
    cores = (server.cpu_seconds() - before) / (time.perf_counter() - began)
    print(f"\n{name}: {len(lesson.errors)} errors, {lesson.mistaken} mistaken, {cores:.2f} cores, "
          f"{server.megabytes():,.0f} MB, {', '.join(lesson.errors[:3])}")
    for what, times in lesson.answers.items():
        ordered = sorted(times)
        print(f"  {what:8} {len(ordered):6} times   p50 {1000 * median(ordered):6.0f} ms   "
              f"p95 {1000 * ordered[int(0.95 * (len(ordered) - 1))]:6.0f} ms   worst {1000 * ordered[-1]:6.0f} ms   "
              f"{lesson.traffic[what] / len(ordered) / 1000:6.1f} KB each", flush=True)


async def arrive(url: str, lesson: Lesson, chance: random.Random, page: str = "", query: str = "") -> Session:
    await asyncio.sleep(chance.uniform(0, min(ARRIVE_WITHIN, EVERY * 5)))
    began = time.perf_counter()
    session = await Session.open(url, page, query)
    lesson.note("arrival", time.perf_counter() - began, session)
    return session


async def draw(url: str, lesson: Lesson, chance: random.Random, digits: Sequence[Sequence[Stroke]],
               seconds: float) -> None:
    session = await arrive(url, lesson, chance)
    due = ends = time.perf_counter()
    ends += seconds
    while due < ends:
        strokes = chance.choice(digits)
        for count in range(1, len(strokes) + 1):
            due = await pace(due)
            lesson.note("stroke", await session.draw(strokes[:count]), session)
            drawn = drawing.from_strokes(strokes[:count])
            lesson.mistaken += session.drawing != (drawn.code if drawn else "")
        await session.press("Clear")
    await leave(session, lesson)


async def choose(url: str, lesson: Lesson, chance: random.Random, seconds: float) -> None:
    session = await arrive(url, lesson, chance, "attention", f"d=s{chance.randrange(100)}")
    due = ends = time.perf_counter()
    ends += seconds
    while due < ends:
        due = await pace(due)
        lesson.note("layer", await session.choose("layer", chance.randint(1, 10)), session)
    await leave(session, lesson)


async def watch(url: str, lesson: Lesson, pair: str, seconds: float) -> None:
    session = await arrive(url, lesson, random.Random(pair), "train", f"run={pair}")
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends and session.fragments:
        fragment, interval = next(iter(session.fragments.items()))
        await asyncio.sleep(interval)
        lesson.note("look", await session.run(fragment), session)
    await leave(session, lesson)


async def start_twins(url: str) -> str:
    session = await Session.open(url, "train")
    await session.press("Start both twins")
    await session.close()
    return session.query.partition("run=")[2].partition("&")[0]


async def pace(due: float) -> float:
    """Wait until something is due; returns when the next is."""
    await asyncio.sleep(max(0.0, due - time.perf_counter()))
    return max(due, time.perf_counter()) + EVERY


async def leave(session: Session, lesson: Lesson) -> None:
    if session.exceptions:
        lesson.errors.append(f"{session.exceptions} exceptions on the page")
    await session.close()


if __name__ == "__main__":
    main()
