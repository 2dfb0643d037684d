"""Twins as they train: what visitors watch, and the buttons they have."""

import random
from dataclasses import replace

import streamlit as st

from vit import compare, runs
from vit.charts import training
from vit.charts.training import AXES, Line
from vit.datasets import DATASETS
from vit.numbers import duration
from vit.reports import Note, Report, Validation, of_kind
from vit.runs import Run
from vit.runs.places import where
from vit.runs.queue import dispatcher
from vit.studies.questions import brought_by, called
from vit.ui import parts, visitor
from vit.ui.panels.train import pair
from vit.ui.panels.train.pair import Judged, Twins, ask
from vit.ui.show import show

TICK = 0.5  # seconds
GLANCE = 2.0  # seconds between looks at a pair that has ended: somebody may let it go on
STATES = {"queued": "waiting", "running": "training"}  # the others are called by their names


def state_in_words(run: Run) -> str:
    return STATES.get(run.state, run.state)


def live(twins: Twins) -> None:
    """All that moves. It ticks as long as a worker may change something, be it that it only pauses: what a button
    asks for is done by the worker, a moment after the page was made anew."""
    st.fragment(panel, run_every=TICK if twins.moving else None)(twins.pair, twins.outline)
    if not twins.moving:
        st.fragment(notice_changes, run_every=GLANCE)(twins.pair, twins.outline)


def notice_changes(pair_id: str, shown: tuple[tuple[str, ...], ...]) -> None:
    twins = pair.read(pair_id) if st.session_state.train_pair == pair_id else None
    if twins is None or twins.outline != shown:
        st.rerun()


def panel(pair_id: str, shown: tuple[tuple[str, ...], ...]) -> None:
    twins = pair.read(pair_id) if st.session_state.train_pair == pair_id else None
    if twins is None or twins.outline != shown or "train_problem" in st.session_state:
        st.rerun()  # the rest of the page has something new to show
    judged = pair.judge(twins)
    buttons(twins)
    headline(twins, judged)
    curves(twins)
    bars, pictures = st.columns([3, 2], gap="large")
    with pictures:
        batch(twins)
    if twins.complete:
        with bars:
            per_class(twins, judged)
    if judged:
        mixed_up(twins, judged)


# The buttons


def buttons(twins: Twins) -> None:
    ids = [run.id for run in twins.runs]
    busy = twins.any_in("running", "queued")
    going_on = [run.id for run in twins.runs if run.resumable]
    refusal = visitor.refusal(twins.runs)
    with st.container(horizontal=True):
        st.button("Pause", icon=":material/pause:", disabled=bool(refusal) or not busy, key="train_pause",
                  on_click=ask, args=(runs.pause, *ids))
        st.button("Resume", icon=":material/play_arrow:", disabled=bool(refusal) or not going_on, key="train_resume",
                  on_click=ask, args=(dispatcher().start, *going_on))
        st.button("One epoch", icon=":material/skip_next:", key="train_step",
                  disabled=bool(refusal) or not (busy or going_on),
                  help="Train to the end of the epoch, then pause.", on_click=ask, args=(one_epoch, *ids))
        st.button("Stop", icon=":material/stop:", key="train_stop",
                  disabled=bool(refusal) or not (busy or twins.any_in("paused")),
                  on_click=ask, args=(runs.stop, *ids))
        st.button("Reset", icon=":material/replay:", key="train_reset",
                  help="Again from the same initial weights.",
                  on_click=pair.start, args=(twins.arms, twins.runs[0].preset, twins.runs[0].role.topic))
        st.button("New seed", icon=":material/casino:", key="train_seed",
                  help="Other initial weights, another order of images.", on_click=new_seed, args=(twins,))
    if refusal:
        st.caption(f"{refusal} Reset and New seed start twins of your own.")


def one_epoch(run_id: str) -> None:
    run = runs.get(run_id)
    if run.resumable or run.active:
        dispatcher().run_one_epoch(run_id, compare.epochs_done(runs.feed(run.folder).read()))


def new_seed(twins: Twins) -> None:
    seed = random.randrange(1, 10_000)
    arms = {name: replace(config, seed=seed) for name, config in twins.arms.items()}
    pair.start(arms, twins.runs[0].preset, twins.runs[0].role.topic)
    if "train_problem" not in st.session_state:
        st.session_state.knob_seed = seed


# Who is ahead


def headline(twins: Twins, judged: Judged | None) -> None:
    """The gap as a big number, the finding as a sentence, and how far each twin is."""
    if not twins.complete:
        progress(twins)
        return
    gap = compare.measure_gap(judged.verdicts, judged.labels) if judged else None
    question = twins.question
    big, words = st.columns([1, 3], gap="medium", vertical_alignment="center")
    with big:
        show(training.gap_card(gap, brought_by(question.first.name)))
    with words:
        st.markdown(parts.as_text(question.lesson(gap, twins.config.dataset, training=twins.any_in("running"))))
        progress(twins)


def progress(twins: Twins) -> None:
    for run, reports in zip(twins.runs, twins.reports, strict=True):
        steps = run.config.steps
        pace = compare.pace(reports, steps)
        show(training.progress(run.role.arm, run.role.side, in_words(run, reports, pace),
                               pace.step / steps if pace else 0.0))


def in_words(run: Run, reports: list[Report], pace: compare.Pace | None) -> list[str]:
    """State, accuracy, speed, and what there is to say."""
    running = run.state == "running"
    verdicts = of_kind(reports, Validation)
    words = [state_in_words(run)]
    if run.state == "queued":
        words = [f"number {runs.place_in_queue(run)} in the queue"]
    elif running:
        words = [f"{'training' if pace else 'waking up'} {where(run)}".strip()]
    if verdicts:
        words.append(f"reads {verdicts[-1].accuracy:.1%} of {verdicts[-1].images:,} validation images")
    if pace and running:
        words += [f"{pace.images_per_second:,.0f} images/s", f"{duration(pace.seconds_left)} left"]
    elif pace:
        words.append(f"trained for {duration(pace.seconds)}")
    if reason := dispatcher().troubles.get(run.id, run.reason):
        words.append(reason)
    return words + [note.message for note in of_kind(reports, Note)[-1:]]


def curves(twins: Twins) -> None:
    chosen, legend = st.columns([2, 3], vertical_alignment="center")
    x = chosen.segmented_control(
        "Along", list(AXES), format_func=lambda name: AXES[name], default="step", required=True, key="train_x",
        persist_state="session", label_visibility="collapsed",
    )
    with legend:
        show(training.legend([run.role.arm for run in twins.runs]))
    lines = [Line(run.role.arm, run.role.side, reports) for run, reports in zip(twins.runs, twins.reports, strict=True)]
    *places, last = st.columns([5, 5, 4])
    for column, quantity in zip(places, ("loss", "accuracy"), strict=True):
        with column:
            st.markdown(f"**{quantity.capitalize()}**")
            show(training.curves(lines, quantity, x, twins.config.model.classes), f"train_{quantity}")
    with last:
        st.markdown("**Learning rate**")
        show(training.learning_rates(lines, x), "train_learning_rate")


# Who pays


def per_class(twins: Twins, judged: Judged | None) -> None:
    dataset = DATASETS[twins.config.dataset]
    kind = dataset.thing if dataset.thing != "image" else "class"
    names = twins.question.names
    st.markdown(f"**Who pays?** Accuracy per {kind}, and below it the change {parts.as_text(brought_by(names[1]))}")
    if judged:
        show(training.class_bars(judged.verdicts, dataset.classes, names), "train_classes")
    else:
        st.caption("Waiting for the first validation of both twins.")


def mixed_up(twins: Twins, judged: Judged) -> None:
    """The confusion that is larger in the twin that is behind, and images that only that one gets wrong."""
    first, second = judged.verdicts
    behind = int(second.accuracy <= first.accuracy)
    verdicts = (first, second) if behind else (second, first)
    mixups = compare.grown_mixups(verdicts)
    chosen = compare.misread(verdicts, judged.labels, mixups)
    if not mixups or not chosen:
        return
    names, run = DATASETS[twins.config.dataset].classes, twins.runs[behind]
    listed = ", ".join(f"{names[mixup.one]} with {names[mixup.other]} ({mixup.first} → {mixup.second} times)"
                       for mixup in mixups)
    flips = run.config.mirrors and not twins.runs[1 - behind].config.mirrors
    told = f" Beside each image stands its mirror image: {called(run.role.arm)} was told that both are the same."
    st.markdown(f"**What {parts.as_text(called(run.role.arm))} mixes up more:** {listed}."
                + (parts.as_text(told) if flips else ""))
    show(training.misread(judged.images, judged.labels, chosen, verdicts, names, behind, mirrored=flips))


# What they learn from


def batch(twins: Twins) -> None:
    run = twins.runs[-1]
    st.markdown("**The batch it learns from right now**" if run.state == "running"
                else "**The batch it learned from last**")
    found = runs.read_batch(run.folder)
    if found is None:
        st.caption("Nothing to see yet.")
        return
    show(training.batch(found.images, found.mirrored, found.step), "train_batch")
    if not twins.complete:
        st.caption(f"Step {found.step:,}.")
        return
    shown, of = len(found.images), run.config.batch_size
    words = [f"{shown} of {of} images"] if shown < of else []
    if run.config.mirrors:
        words.append(f"orange frames mark the {found.mirrored.sum()} mirrored ones")
    st.caption(parts.as_text(f"Step {found.step:,}, {run.role.arm}: {', '.join(words) or 'all images'}. "
                             + what_the_other_sees(*twins.runs)))


def what_the_other_sees(first: Run, second: Run) -> str:
    ours, theirs = first.config, second.config
    if (ours.batch_size, ours.images_per_epoch, ours.seed) != (theirs.batch_size, theirs.images_per_epoch, theirs.seed):
        return "The other twin gets other batches."
    same = (ours.flips, ours.augmentation) == (theirs.flips, theirs.augmentation)
    as_they_are = not ours.mirrors and ours.augmentation == "none"
    how = "" if same else " as they are" if as_they_are else ", changed in its own way"
    return f"The other twin gets the same images{how}."
