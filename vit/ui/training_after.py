"""What is left of runs: checkpoints to look into, numbers to take away, and the list of them all."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from vit import data, run_exports, runs
from vit.charts import attention, embedding
from vit.charts import runs as run_charts
from vit.charts.colours import data_uri
from vit.charts.runs import AXES, NAMES, Line
from vit.config import TrainConfig
from vit.runs import Run
from vit.ui import frame, models, state, training_chart, training_live, view

MOST_LISTED = 40


# How the weights grew


def epochs(pair_id: str) -> None:
    """A slider over the epochs whose weights are kept, with a door to the explorer at each."""
    twins = runs.pair(pair_id)
    stems = sorted(set.intersection(*(set(run.checkpoints) for run in twins))) if twins else []
    if not stems:
        return
    if data.needs_download(twins[0].config.dataset):
        return  # a run from elsewhere, or its data set was deleted
    st.subheader("How it grew", anchor=False)
    stem = choose_epoch(stems) if len(stems) > 1 else stems[0]
    for column, run in zip(st.columns(len(twins), gap="large"), twins, strict=True):
        with column:
            one_twin(run, stem)


def choose_epoch(stems: list[str]) -> str:
    """The last one, until the visitor goes back to another."""
    kept = st.session_state.get("train_epoch")
    st.session_state.train_epoch_widget = kept if kept in stems else stems[-1]

    def changed():
        chosen = st.session_state.train_epoch_widget
        st.session_state.train_epoch = None if chosen == stems[-1] else chosen

    return st.select_slider("after epoch", stems, key="train_epoch_widget", on_change=changed,
                            format_func=lambda name: f"{int(name.removeprefix('epoch-'))}")


def one_twin(run: Run, stem: str) -> None:
    path = runs.checkpoint_path(run.id, stem)
    pictures = grown(str(path), path.stat().st_mtime, view.is_dark(), *digit_to_read(run))
    upright, mirrored = accuracies(str(path), path.stat().st_mtime, run.config)
    epoch = int(stem.removeprefix("epoch-"))
    st.markdown(f"**{NAMES[run.config.flips].capitalize()}**, after epoch {epoch}: it reads {upright:.0%} of "
                f"upright and **{mirrored:.0%} of mirrored** images.")
    figures = "".join(
        f"<figure style='margin:0;flex:1 1 110px;max-width:220px'><img src='{source}' alt='{caption}' "
        "style='width:100%;image-rendering:pixelated;border-radius:4px'>"
        f"<figcaption style='opacity:.75;font-size:.9rem'>{caption}</figcaption></figure>"
        for caption, source in pictures.items()
    )
    st.html(f"<div style='display:flex;flex-wrap:wrap;gap:1rem;align-items:flex-start'>{figures}</div>")
    if st.button("Open in the explorer", icon=":material/open_in_new:", key=f"explore_{run.config.flips}"):
        state.choose(model=f"run:{run.id}/{stem}")
        frame.go_to("draw" if state.get().drawing is None else "attention")


def digit_to_read(run: Run) -> tuple[bytes, tuple[int, ...]]:
    """The visitor's drawing; without one, or for other pictures, the first validation image."""
    drawing = state.get().drawing
    image = models.image_of(drawing) if drawing and run.config.dataset == "mnist" else None
    if image is None:
        image = training_live.judged(run.config, run.config.validation_images)[0][0]
    return image.tobytes(), image.shape


@st.cache_data(max_entries=100, show_spinner=False)
def grown(path: str, modified: float, dark: bool, pixels: bytes, shape: tuple[int, ...]) -> dict[str, str]:
    """Filters, positions and attention of one checkpoint as pictures, by their captions."""
    from vit import checkpoints, explain
    from vit.trace import trace_image

    model = checkpoints.load(Path(path))
    image = np.frombuffer(pixels, np.uint8).reshape(shape)
    trace = trace_image(model, image)
    filters, limit = embedding.filters(model.embedding.projection.weight.numpy(), model.config.channels, dark)
    similarity = explain.position_similarity(trace.position_embeddings)
    looks = trace.blocks[-1].pattern[:, 0].mean(0)
    return {
        "Positions: how alike each is to the others, from blue −1 to red 1":
            data_uri(embedding.position_maps(similarity, dark)),
        f"Where CLS looks in the last block, brightest is most; it answers {trace.prediction}":
            data_uri(attention.over_digit(image, looks)),
        f"Filters that patches are compared with, from blue −{limit:.2g} to red {limit:.2g}":
            data_uri(filters),
    }


@st.cache_data(max_entries=100, show_spinner=False)
def accuracies(path: str, modified: float, config: TrainConfig) -> tuple[float, float]:
    """How much of 500 validation images a checkpoint reads: as they are, and mirrored."""
    import torch

    from vit import checkpoints

    images, labels = (array[:500] for array in training_live.judged(config, config.validation_images))
    model = checkpoints.load(Path(path))
    with torch.inference_mode():
        answers = [model(data.normalise(pixels)).argmax(1).numpy() for pixels in (images, images[:, :, ::-1])]
    return tuple(float((answer == labels).mean()) for answer in answers)


# Taking a run away


def downloads(pair_id: str) -> None:
    for run in runs.pair(pair_id):
        stems = run.checkpoints
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{NAMES[run.config.flips]}**")
            download("metrics.csv", partial(run_exports.as_csv, run), f"{run.id}.csv", "text/csv")
            download("TensorBoard", partial(run_exports.as_tensorboard, run), f"{run.id}-tensorboard.zip",
                     "application/zip")
            if stems:
                download(f"{stems[-1]}.safetensors", runs.checkpoint_path(run.id, stems[-1]).read_bytes,
                         f"{run.id}-{stems[-1]}.safetensors", "application/octet-stream")


def download(label: str, make: Callable[[], str | bytes], file: str, kind: str) -> None:
    """A button whose file is made when it is pressed."""
    st.download_button(label, make, file, kind, key=f"download_{file}", icon=":material/download:",
                       on_click="ignore")


# All runs


def table() -> None:
    everything = by_pair(runs.list_runs())
    if not everything:
        return
    st.subheader("All runs on this server", anchor=False)
    offer_to_clean_up(everything)
    pairs = everything[:MOST_LISTED]
    rows = pd.DataFrame([row(pair, before) for pair, before in zip(pairs, [*everything[1:], None], strict=False)])
    # Rows are chosen by their place. Once another run comes or goes, the choice would mean another one: it is dropped.
    key = "train_table_" + "_".join(twins[0].pair for twins in pairs)
    percent = st.column_config.NumberColumn(format="%.1f %%")
    chosen = st.dataframe(
        rows, hide_index=True, on_select="rerun", selection_mode="multi-row", key=key,
        column_config={NAMES[False]: percent, NAMES[True]: percent,
                       "what changed": st.column_config.TextColumn(width="large")},
    ).selection.rows
    actions([pairs[i] for i in chosen if i < len(pairs)])


def by_pair(found: list[Run]) -> list[list[Run]]:
    pairs: dict[str, list[Run]] = {}
    for run in found:
        pairs.setdefault(run.pair, []).append(run)
    return [sorted(twins, key=lambda run: run.config.flips) for twins in pairs.values()]


def row(twins: list[Run], before: list[Run] | None) -> dict:
    verdicts = {run.config.flips: runs.last_verdict(run.folder) for run in twins}
    accuracy = {flips: 100 * verdict["accuracy"] if verdict else None for flips, verdict in verdicts.items()}
    return {
        "started": time.strftime("%d %b, %H:%M", time.localtime(twins[0].created)),
        "run": twins[0].preset or "own",
        "what changed": runs.what_changed(twins[0].config, before[0].config) if before else "the first",
        NAMES[False]: accuracy.get(False), NAMES[True]: accuracy.get(True),
        "state": ", ".join(dict.fromkeys(training_live.STATES[run.state] for run in twins)),
        "MB": round(sum(runs.disk_used(run.folder) for run in twins) / 1e6, 1),
    }


def actions(chosen: list[list[Run]]) -> None:
    if not chosen:
        st.caption("Choose a run to look at it or to delete it, two to compare them.")
        return
    with st.container(horizontal=True):
        if len(chosen) == 1 and st.button("Show this run", icon=":material/visibility:"):
            training_live.watch(chosen[0][0].pair)
            st.rerun()
        if st.button(f"Delete {len(chosen)} run{'s' if len(chosen) > 1 else ''}", icon=":material/delete:"):
            remove(chosen)
    if len(chosen) == 2:
        compare(*chosen)


def compare(newer: list[Run], older: list[Run]) -> None:
    changed = runs.what_changed(newer[0].config, older[0].config)
    st.markdown(f"**From the older run (faded) to the newer:** {changed}.")
    lines = [
        Line(f"{age}, {NAMES[run.config.flips]}", run.config.flips, runs.feed(run.folder).read(),
             faded=age == "older")
        for age, twins in (("newer", newer), ("older", older)) for run in twins
    ]
    x = st.session_state.get("train_x", "step")
    for column, quantity in zip(st.columns(2), ("loss", "accuracy"), strict=True):
        with column:
            training_chart.curves(run_charts.curves(lines, quantity, x), key=f"compare_{quantity}",
                                  alt=f"{quantity} of two pairs of twins over {AXES[x]}")


def remove(pairs: list[list[Run]]) -> None:
    try:
        for twins in pairs:
            for run in twins:
                runs.delete(run.id)
    except (runs.RunError, OSError) as error:
        st.session_state.train_problem = str(error)
    st.rerun()


def offer_to_clean_up(pairs: list[list[Run]]) -> None:
    used, limit = runs.disk_used(), runs.disk_limit()
    if used < 0.8 * limit:
        return
    idle = [twins for twins in reversed(pairs) if not any(run.active for run in twins)]
    oldest = idle[: max(1, len(idle) // 2)]
    st.warning(f"The runs take {used / 1e6:,.0f} of {limit / 1e6:,.0f} MB.")
    if oldest and st.button(f"Delete the {len(oldest)} oldest", icon=":material/delete_sweep:"):
        remove(oldest)
