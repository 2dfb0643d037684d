"""A pair of twins as they train: what visitors watch, and the buttons they have."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape

import numpy as np
import streamlit as st

from vit import data, runs
from vit.charts import runs as run_charts
from vit.charts.colours import data_uri
from vit.charts.numbers import duration, with_sign
from vit.charts.runs import AXES, COLOURS, NAMES, Line
from vit.config import TrainConfig
from vit.datasets import DATASETS
from vit.runs import Run
from vit.runs.queue import dispatcher
from vit.ui import training_chart

TICK = 0.5  # seconds
STATES = {
    "queued": "waiting", "running": "training", "paused": "paused", "stopping": "stopping", "done": "done",
    "stopped": "stopped", "failed": "failed", "interrupted": "interrupted",
}


@dataclass(frozen=True)
class Twins:
    runs: list[Run]
    reports: list[list[dict]]

    @property
    def config(self) -> TrainConfig:
        return self.runs[0].config

    @property
    def complete(self) -> bool:
        return [run.config.flips for run in self.runs] == [False, True]

    def any_in(self, *states: str) -> bool:
        return any(run.state in states for run in self.runs)


def read_twins(pair_id: str) -> Twins | None:
    found = runs.pair(pair_id)
    return Twins(found, [runs.feed(run.folder).read() for run in found]) if found else None


# Which pair this visitor looks at


def current_pair() -> str | None:
    if "train_pair" not in st.session_state:
        st.session_state.train_pair = st.query_params.get("run")
    pair_id = st.session_state.train_pair
    if pair_id and not runs.pair(pair_id):
        st.warning("That run is not here any more. It may have been deleted.")
        pair_id = None
    watch(pair_id)
    return pair_id


def watch(pair_id: str | None) -> None:
    st.session_state.train_pair = pair_id
    if pair_id:
        st.query_params["run"] = pair_id
    elif "run" in st.query_params:
        del st.query_params["run"]


def start(config: TrainConfig, preset: str) -> None:
    """New twins for this visitor; their own last ones stop if they still train, those of others go on."""
    before = st.session_state.get("train_started")
    try:
        pair_id = runs.create_twins(config, preset)
    except (runs.RunError, OSError) as error:
        st.session_state.train_problem = str(error)
        return
    for run in runs.pair(before) if before else []:
        if run.active or run.state == "paused":
            runs.stop(run.id)
    dispatcher().start(*(run.id for run in runs.pair(pair_id)))
    st.session_state.train_pair = st.session_state.train_started = pair_id


# The live part


def show(pair_id: str) -> None:
    twins = read_twins(pair_id)
    ticking = twins is not None and twins.any_in(*runs.ACTIVE)
    st.fragment(panel, run_every=TICK if ticking else None)(pair_id, ticking, checkpoints_of(twins))


def checkpoints_of(twins: Twins | None) -> list[list[str]]:
    return [run.checkpoints for run in twins.runs] if twins else []


def panel(pair_id: str, ticking: bool, checkpoints: list[list[str]]) -> None:
    twins = read_twins(pair_id) if st.session_state.train_pair == pair_id else None
    if twins is None or twins.any_in(*runs.ACTIVE) != ticking or checkpoints_of(twins) != checkpoints:
        st.rerun()  # the rest of the page has something new to show
    if "train_problem" in st.session_state:
        st.rerun()  # and so it has if a wish was refused
    verdicts = run_charts.latest_verdicts(*twins.reports) if twins.complete else None
    if verdicts and data.needs_download(twins.config.dataset):
        title = DATASETS[twins.config.dataset].title
        st.warning(f"{title} is no longer on this server, so answers cannot be compared.")
        verdicts = None
    buttons(twins)
    if twins.complete:
        headline(twins, verdicts)
    else:  # a run of its own, from the command line
        progress(twins.runs[0], twins.reports[0])
    curves(twins)
    bars, pictures = st.columns([3, 2], gap="large")
    with pictures:
        batch(twins)
    if twins.complete:
        with bars:
            per_class(twins, verdicts)
    if verdicts:
        mixed_up(twins, verdicts)


def buttons(twins: Twins) -> None:
    ids = [run.id for run in twins.runs]
    busy = twins.any_in("running", "queued")
    with st.container(horizontal=True):
        st.button("Pause", icon=":material/pause:", disabled=not busy, key="train_pause",
                  on_click=attempt, args=(runs.pause, *ids))
        going_on = [run.id for run in twins.runs if run.resumable]
        st.button("Resume", icon=":material/play_arrow:", disabled=not going_on, key="train_resume",
                  on_click=attempt, args=(dispatcher().start, *going_on))
        st.button("One epoch", icon=":material/skip_next:", key="train_step", disabled=not (busy or going_on),
                  help="Train to the end of the epoch, then pause.", on_click=attempt, args=(one_epoch, twins))
        st.button("Stop", icon=":material/stop:", key="train_stop",
                  disabled=not (busy or twins.any_in("paused")),
                  on_click=attempt, args=(runs.stop, *ids))
        st.button("Reset", icon=":material/replay:", key="train_reset",
                  help="Again from the same initial weights.",
                  on_click=lambda: start(twins.config, twins.runs[0].preset))
        st.button("New seed", icon=":material/casino:", key="train_seed",
                  help="Other initial weights, another order, other flips.", on_click=lambda: new_seed(twins))


def attempt(wish: Callable, *things) -> None:
    """Another visitor may have deleted the run in the meantime."""
    try:
        for thing in things:
            wish(thing)
    except (runs.RunError, OSError) as error:
        st.session_state.train_problem = str(error)


def new_seed(twins: Twins) -> None:
    seed = random.randrange(1, 10_000)
    start(replace(twins.config, seed=seed), twins.runs[0].preset)
    if "train_problem" not in st.session_state:
        st.session_state.knob_seed = seed


def one_epoch(twins: Twins) -> None:
    for run, reports in zip(twins.runs, twins.reports, strict=True):
        if run.resumable or run.active:
            done = max((report["epoch"] for report in reports if "epoch" in report), default=0)
            dispatcher().run_one_epoch(run.id, int(done))


def headline(twins: Twins, verdicts: tuple[dict, dict] | None) -> None:
    """The gap as a big number, the finding as a sentence, and how far each twin is."""
    gap = None
    if verdicts:
        _, labels = judged(twins.config, verdicts[0]["images"])
        gap = run_charts.measure_gap(*verdicts, labels)
    big, words = st.columns([1, 3], gap="medium", vertical_alignment="center")
    with big:
        value = with_sign(gap.points, 1) if gap else "…"
        margin = f"± {(gap.high - gap.low) / 2:.1f}" if gap else ""
        st.html(
            "<div class='gap' style='font-size:3.6rem;font-weight:700;line-height:1;white-space:nowrap;"
            f"font-variant-numeric:tabular-nums'>{value}"
            f"<span style='font-size:1.3rem;font-weight:400;opacity:.75'> {margin}</span></div>"
            "<div style='opacity:.75'>points ahead without flips</div>"
        )
    with words:
        st.markdown(run_charts.lesson(gap, twins.config.dataset, training=twins.any_in("running")))
        for run, reports in zip(twins.runs, twins.reports, strict=True):
            progress(run, reports)


def progress(run: Run, reports: list[dict]) -> None:
    steps = run.config.epochs * -(-run.config.images_per_epoch // run.config.batch_size)
    pace = run_charts.pace(reports, steps)
    verdicts = run_charts.of_kind(reports, "validation")
    parts = [f"<b>{NAMES[run.config.flips]}</b>", STATES[run.state]]
    if run.state == "queued":
        parts[1] = f"number {runs.place_in_queue(run)} in the queue"
    elif run.state == "running" and not pace:
        parts[1] = "waking up"
    if verdicts:
        parts.append(f"reads {verdicts[-1]['accuracy']:.1%}")
    if pace and run.state == "running":
        parts += [f"{pace.images_per_second:,.0f} images/s", f"{duration(pace.seconds_left)} left"]
    elif pace:
        parts.append(f"trained for {duration(pace.seconds)}")
    if run.reason:
        parts.append(escape(run.reason))
    parts += [escape(note["message"]) for note in run_charts.of_kind(reports, "note")[-1:]]
    done = min(1.0, pace.step / steps) if pace else 0.0
    st.html(
        f"<div>{' · '.join(parts)}</div><div role='progressbar' aria-valuenow='{done:.0%}' "
        f"style='height:7px;border-radius:4px;background:rgba(128,128,128,.25)'>"
        f"<div style='height:100%;border-radius:4px;width:{done:.1%};background:{COLOURS[run.config.flips]}'>"
        "</div></div>"
    )


def curves(twins: Twins) -> None:
    chosen, legend = st.columns([2, 3], vertical_alignment="center")
    x = chosen.segmented_control(
        "Along", AXES, format_func=AXES.get, default="step", required=True, key="train_x",
        persist_state="session", label_visibility="collapsed",
    )
    legend.html(
        "<div style='text-align:right'>"
        f"<span style='color:{COLOURS[False]}'>━━ ● without flips</span> &nbsp; "
        f"<span style='color:{COLOURS[True]}'>╍╍ ◆ with flips</span> &nbsp; "
        "<span style='opacity:.75'>thin: training · dots: validation</span></div>"
    )
    lines = [Line(NAMES[run.config.flips], run.config.flips, reports)
             for run, reports in zip(twins.runs, twins.reports, strict=True)]
    for column, quantity in zip(st.columns(2), ("loss", "accuracy"), strict=True):
        with column:
            st.markdown(f"**{quantity.capitalize()}**")
            training_chart.curves(
                run_charts.curves(lines, quantity, x, twins.config.model.classes), key=f"train_{quantity}",
                alt=f"{quantity} of both twins over {AXES[x]}, training and validation",
            )


def per_class(twins: Twins, verdicts: tuple[dict, dict] | None) -> None:
    thing = "digit" if twins.config.dataset == "mnist" else "class"
    st.markdown(f"**Who pays?** Accuracy per {thing}, and below it the change that flips bring")
    if not verdicts:
        st.caption("Waiting for the first validation of both twins.")
        return
    st.echarts_chart(
        run_charts.class_bars(*verdicts, DATASETS[twins.config.dataset].classes),
        key="train_classes", height=300,
        alt="accuracy per class without and with flips, with the difference below each",
    )


def batch(twins: Twins) -> None:
    run = twins.runs[-1]
    st.markdown("**The batch it learns from right now**" if run.state == "running"
                else "**The batch it learned from last**")
    try:
        with np.load(run.folder / "batch.npz") as content:
            images, mirrored, step = content["images"], content["mirrored"], int(content["step"])
    except (OSError, ValueError, KeyError):
        st.caption("Not started yet.")
        return
    st.html(f"<img src='{data_uri(run_charts.batch_strip(images, mirrored, columns=8))}' "
            f"alt='the images of step {step}, mirrored ones framed' "
            "style='width:100%;max-width:380px;image-rendering:pixelated;border-radius:6px'>")
    of_all = f" {len(images)} of {run.config.batch_size} images," if len(images) < run.config.batch_size else ""
    st.caption(
        f"Step {step:,}, {NAMES[run.config.flips]}:{of_all} orange frames mark the {mirrored.sum()} mirrored ones. "
        "The other twin gets the same images as they are." if twins.complete else f"Step {step:,}."
    )


@st.cache_resource(max_entries=4, show_spinner=False)
def judged(config: TrainConfig, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The validation images, and their labels, behind a verdict on so many."""
    from vit.training import load_validation

    images, labels, glance = load_validation(config)
    return (images, labels) if count == len(labels) else (images[glance], labels[glance])


def mixed_up(twins: Twins, verdicts: tuple[dict, dict]) -> None:
    """The confusion that grows, and images that only the twin with flips gets wrong."""
    mixups = run_charts.grown_mixups(*verdicts)
    images, labels = judged(twins.config, verdicts[0]["images"])
    chosen = run_charts.misread(*verdicts, labels, mixups)
    if not mixups or not chosen:
        return
    names = DATASETS[twins.config.dataset].classes
    st.markdown("**What flips mix up:** " + ", ".join(
        f"{names[pair.one]} with {names[pair.other]} ({pair.plain} → {pair.flips} times)" for pair in mixups
    ) + ". Beside each image stands its mirror image: the twin with flips was told that both are the same.")
    theirs = run_charts.answers(verdicts[1])
    figures = "".join(
        "<figure style='margin:0'>"
        f"<img src='{data_uri(images[i])}' alt='{names[labels[i]]}' style='{PICTURE}'>"
        f"<img src='{data_uri(np.ascontiguousarray(images[i][:, ::-1]))}' alt='its mirror image' "
        f"style='{PICTURE};opacity:.55;margin-left:2px'><figcaption>a <b>{names[labels[i]]}</b>, taken for "
        f"<b style='color:{COLOURS[True]}'>{names[theirs[i]]}</b></figcaption></figure>"
        for i in chosen
    )
    st.html(f"<div style='display:flex;flex-wrap:wrap;gap:1rem'>{figures}</div>")


PICTURE = "width:72px;height:72px;image-rendering:pixelated;border-radius:4px"
