"""What is left of twins: checkpoints to look into, and numbers to take away."""

from collections.abc import Callable
from functools import partial

import numpy as np
import streamlit as st

from vit import compare, runs
from vit.caches import SizedCache
from vit.charts import attention, embedding, training
from vit.reports import Report
from vit.runs import Run, exports
from vit.ui import frame, models, parts, state, view
from vit.ui.panels.train import pair
from vit.ui.panels.train.pair import Twins
from vit.ui.show import show

MB = 1_000_000
MOST_DOWNLOADED = 200 * MB  # a file is in the server's memory while it is handed over
_grown: SizedCache[dict[str, np.ndarray]] = SizedCache(
    50 * MB, lambda pictures: sum(picture.nbytes for picture in pictures.values())
)


def epochs(twins: Twins) -> None:
    """A slider over the epochs whose weights are kept, with a door to the explorer at each."""
    stems = twins.checkpoints
    if not stems:
        return
    st.subheader("How it grew", anchor=False)
    stem = choose_epoch(stems) if len(stems) > 1 else stems[0]
    for column, run, reports in zip(st.columns(len(twins.runs), gap="large"), twins.runs, twins.reports, strict=True):
        with column:
            one_twin(run, reports, stem)


def choose_epoch(stems: list[str]) -> str:
    """The last one, until the visitor goes back to another."""
    kept = st.session_state.get("train_epoch")
    st.session_state.train_epoch_widget = kept if kept in stems else stems[-1]

    def changed() -> None:
        chosen = st.session_state.train_epoch_widget
        st.session_state.train_epoch = None if chosen == stems[-1] else chosen

    return st.select_slider("after epoch", stems, key="train_epoch_widget", on_change=changed,
                            format_func=lambda stem: str(epoch_of(stem)))


def epoch_of(stem: str) -> int:
    return int(stem.removeprefix("epoch-"))


def one_twin(run: Run, reports: list[Report], stem: str) -> None:
    name = run.role.arm[:1].upper() + run.role.arm[1:]
    st.markdown(f"**{parts.as_text(name)}**, {reading(run, reports, epoch_of(stem))}")
    image = image_to_read(run)
    if image is None:
        st.caption("Its data set is no longer on this server, so there is no image to show it.")
        return
    model_id = f"run:{run.id}/{stem}"
    try:
        pictures = _grown.get((models.identity(model_id), view.is_dark(), image.tobytes()),
                              lambda: grown(model_id, view.is_dark(), image))
    except (ValueError, OSError) as error:
        st.caption(parts.as_text(str(error)))
        return
    show(training.gallery(pictures))
    if st.button("Open in the explorer", icon=":material/open_in_new:", key=f"explore_{run.role.side}"):
        state.choose(model=model_id)
        frame.go_to("draw" if state.drawing() is None else "attention")


def reading(run: Run, reports: list[Report], epoch: int) -> str:
    """How much it reads then, as it measured itself."""
    verdict = compare.verdict_after(reports, epoch)
    if verdict is None:
        return f"after epoch {epoch}."
    sentence = f"after epoch {epoch}: it reads {verdict.accuracy:.1%} of {verdict.images:,} validation images"
    if verdict.mirrored_accuracy is None:
        return f"{sentence}."
    mirrored = min(run.config.validation_images, verdict.images)
    return f"{sentence} and **{verdict.mirrored_accuracy:.1%} of {mirrored:,} mirror images** of such."


def image_to_read(run: Run) -> np.ndarray | None:
    """The visitor's drawing; without one, or for other pictures, the first validation image."""
    drawing = state.shown_to(colours=False)
    image = models.image_of(drawing) if drawing and run.config.dataset == "mnist" else None
    if image is not None:
        return image
    found = pair.validation_images(run.config, run.config.validation_images)
    return found[0][0] if found else None


def grown(model_id: str, dark: bool, image: np.ndarray) -> dict[str, np.ndarray]:
    """Filters, positions and attention of one checkpoint as pictures, by their captions."""
    from vit import explain
    from vit.trace import last_look

    model, _ = models.load(model_id)
    seen = last_look(model, image)
    filters, limit = embedding.filters(model.embedding.projection.weight.numpy(), model.config.channels, dark)
    similarity = explain.position_similarity(model.embedding.position_embeddings.numpy())
    return {
        "Positions: how alike each is to the others, from blue −1 to red 1":
            embedding.position_maps(similarity, dark),
        f"Where CLS looks in the last block, brightest is most; it answers {seen.prediction}":
            attention.over_digit(image, seen.pattern, alt="where CLS looks", caption="").pixels,
        f"Filters that patches are compared with, from blue −{limit:.2g} to red {limit:.2g}": filters,
    }


# Taking a run away


def downloads(twins: Twins) -> None:
    for run in twins.runs:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{parts.as_text(run.role.arm)}**")
            download("metrics.csv", partial(exports.as_csv, run), f"{run.id}.csv", "text/csv")
            download("TensorBoard", partial(exports.as_tensorboard, run), f"{run.id}-tensorboard.zip",
                     "application/zip")
            for stem in run.checkpoints[-1:]:
                if run.config.checkpoint_size > MOST_DOWNLOADED:
                    size = f"{run.config.checkpoint_size / MB:,.0f} MB"
                    st.caption(f"Its weights, {size}, are too large to be handed over here. They lie in its folder.")
                    continue
                download(f"{stem}.safetensors", partial(weights, run.id, stem), f"{run.id}-{stem}.safetensors",
                         "application/octet-stream")


def weights(run_id: str, stem: str) -> bytes:
    return runs.checkpoint_path(run_id, stem).read_bytes()


def download(label: str, make: Callable[[], str | bytes], file: str, kind: str) -> None:
    """A button whose file is made when it is pressed."""
    st.download_button(label, make, file, kind, key=f"download_{file}", icon=":material/download:",
                       on_click="ignore")
