"""What awaits a visitor: the same question, asked with many seeds before anybody came."""

import numpy as np
import streamlit as st

from vit import data
from vit.charts import repeats, training
from vit.compare import per_class
from vit.datasets import DATASETS
from vit.reports import Validation, of_kind
from vit.studies.questions import DEFAULT, QUESTIONS
from vit.studies.repeats import Mirrors, Record, record_of
from vit.studies.results import BadStudy
from vit.ui import parts
from vit.ui.panels.train.pair import Twins
from vit.ui.show import show


def recorded() -> None:
    """The recorded result of the question that is chosen, or a sentence if there is none."""
    question = QUESTIONS.get(st.session_state.get("train_question", DEFAULT.id))
    if question is None:
        return
    st.subheader("What awaits you", anchor=False)
    try:
        found = record_of(question)
    except BadStudy as error:
        st.caption(parts.as_text(str(error)))
        return
    pairs = found.repeats.found.n
    st.markdown(parts.as_text(
        f"{pairs} pairs of such twins were trained before you came ({found.setting.name}, seeds 0 to {pairs - 1}). "
        f"{found.repeats.in_words()}"))
    show(repeats.dots(found.repeats), "recorded_dots")
    curves_and_classes(found, question.names)
    if found.mirrors:
        why(found.mirrors, found.setting.base.dataset)


def curves_and_classes(found: Record, names: tuple[str, str]) -> None:
    show(training.legend(names, f"means of {found.repeats.found.n} seeds, on validation images"))
    left, right = st.columns(2, gap="large")
    dataset = DATASETS[found.setting.base.dataset]
    with left:
        st.markdown("**Accuracy**")
        show(repeats.mean_curves(names, found.curves, found.repeats.found.n, len(dataset.classes)), "recorded_curves")
    with right:
        st.markdown(f"**Who pays?** Accuracy per {dataset.thing}, and below it the change")
        show(training.bars(found.by_class, dataset.classes, names, "accuracy per class"), "recorded_classes")


# Why some hardly lose


def mirror(twins: Twins) -> None:
    """The same for a visitor's own twins, if one of them sees mirror images: after the last epoch of both."""
    if [run.config.mirrors for run in twins.runs] != [False, True]:
        return
    measured = [[verdict for verdict in of_kind(reports, Validation) if verdict.whole and verdict.mirrored_by_class]
                for reports in twins.reports]
    classes = len(DATASETS[twins.config.dataset].classes)
    if not all(some and len(some[-1].confusion) == classes for some in measured):
        return
    rows = [(per_class(some[-1]), 100 * np.array(some[-1].mirrored_by_class)) for some in measured]
    if rows[0][0].mean() < 50:  # it has not learned to read yet
        return
    why(Mirrors(*(row.tolist() for pair in rows for row in pair)), twins.config.dataset)


def why(found: Mirrors, dataset: str) -> None:
    """Each class beside its mirror image, with how well the latter is read by both twins."""
    classes = DATASETS[dataset].classes
    images = pictures(dataset)
    st.markdown(f"**Why do some {DATASETS[dataset].thing}s hardly lose?** {parts.as_text(found.in_words(classes))}")
    if images is None:
        return
    show(repeats.mirrors(found, images, classes))
    st.caption("Each pair is one image and its mirror image. The bars tell how many mirror images of validation images "
               "each twin reads as what they are: blue without flips, orange with flips. Below stands what flips "
               "change for the images as they are, in points.")


@st.cache_data(max_entries=8, show_spinner=False)
def pictures(dataset: str) -> np.ndarray | None:
    """One of each class; None if the data set is not on this server."""
    if data.needs_download(dataset):
        return None
    try:
        return data.typical(*data.load(dataset, "validation"))
    except (data.DataUnavailable, OSError):
        return None
