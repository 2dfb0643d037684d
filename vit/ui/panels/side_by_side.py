"""Two drawings, or two models, on the same page: which stands beside the visitor's own, and how far apart they are."""

import streamlit as st

from vit import data, explain
from vit.charts import draw
from vit.charts.patches import token_word
from vit.numbers import plain
from vit.ui import beside, models, parts, state
from vit.ui import view as views
from vit.ui.panels import photo
from vit.ui.panels.draw import sample_indices
from vit.ui.show import show
from vit.ui.view import View


def control(view: View) -> View | None:
    """The way to choose what stands beside, and its view."""
    if not state.get().beside:
        if st.button("Compare with another", icon=":material/compare:"):
            choose(view)
        return None
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Change what stands beside", icon=":material/compare:"):
            choose(view)
        st.button("Stop comparing", type="tertiary", icon=":material/close:", on_click=lambda: state.choose(beside=""))
    try:
        return views.compared(view)
    except (ValueError, FileNotFoundError) as error:  # a run may have been deleted meanwhile
        st.warning(parts.as_text(f"{error} Nothing stands beside yours."))
        return None


def put_beside(code: str) -> None:
    state.choose(beside=code)
    st.session_state.beside_chosen = True  # the dialog has done its work


@st.dialog("Compare with another")
def choose(view: View) -> None:
    if st.session_state.pop("beside_chosen", False):
        st.rerun()
    st.markdown("The page shows both, side by side. What you choose, layer, head or class, you choose for both.")
    st.pills(f"the same {view.own} in another model", others(view.model_id), key="beside_model", wrap=True,
             format_func=models.name_of, on_change=lambda: put_beside(st.session_state.beside_model or ""))
    if state.reads_colours():
        st.markdown("or another photo in the same model:")
        show(photo.sample_sheet(""), "beside_photos",
             lambda cell: put_beside(beside.DRAWING + photo.sample(view, cell).code))
    else:
        st.markdown("or another drawing in the same model: a digit of MNIST's test set,")
        right, wrong = sample_indices()
        indices = right + wrong
        images, labels = data.load("mnist", "test")
        show(draw.samples(images[indices], labels[indices], None), "beside_samples",
             lambda cell: put_beside(f"{beside.DRAWING}s{indices[min(cell, len(indices) - 1)]}"))
    st.button(f"or this {view.own}: it stays while you {'choose' if view.is_photo else 'draw'} the next",
              on_click=put_beside, args=(f"{beside.DRAWING}{view.drawing.code}",), icon=":material/keep:")


def others(model_id: str) -> list[str]:
    """Models to compare with: a run's twin first, then those of ours for the same kind of picture, then all that were
    opened."""
    ours = [name for name in models.NAMES if models.is_for_photos(name) == state.reads_colours()]
    found = [*models.twins_of(model_id), *ours, *st.session_state.get("opened_models", ())]
    return [name for name in dict.fromkeys(found) if name != model_id]


# What is told of the two


def name_of(view: View, other: View) -> str:
    """What one of the two has of its own."""
    if view.model_id != other.model_id:
        return parts.as_text(models.name_of(view.model_id))
    return f"your {view.own}" if view.drawing == state.get().drawing else f"the {view.own} beside it"


def headline(view: View, other: View, more: str = "") -> None:
    st.markdown(f"**{name_of(view, other)}** · reads {view.told(view.trace.prediction)} with "
                f"{view.confidence:.1%}. {more}")


def are_the_same(view: View, other: View) -> bool:
    if same := (view.drawing, view.model_id) == (other.drawing, other.model_id):
        another = "Choose another photo" if view.is_photo else "Draw or pick another digit"
        st.info(f"Both are the same now. {another}, or choose another model: this one stays beside it.")
    return same


def heads_in_words(view: View, other: View) -> str:
    """How much of the attention lies elsewhere, in the chosen head and in all."""
    apart = explain.heads_apart(view.trace, other.trace, view.token)
    if apart is None:
        return ("The two have not the same layers, heads and patches, so there is no telling which head of one is "
                "which of the other.")
    layer, head = divmod(int(apart.argmax()), view.config.heads)
    return (f"In head {view.head + 1} of layer {view.layer + 1}, **{apart[view.layer, view.head]:.0%}** of "
            f"{token_word(view.token)}'s attention goes elsewhere in the other; over all heads it is "
            f"{apart.mean():.0%} on average, and most, {apart[layer, head]:.0%}, in head {head + 1} of layer "
            f"{layer + 1}. The panels below are about yours.")


def logits_in_words(view: View, other: View) -> str:
    """The two answers, the logit that is furthest apart, and when each was settled."""
    answers = (f"Yours is read as {view.told(view.trace.prediction)} with {view.confidence:.1%}, the one beside it as "
               f"{other.told(other.trace.prediction)} with {other.confidence:.1%}.")
    apart = explain.logits_apart(view.trace, other.trace)
    if apart is None:
        return f"{answers} The two models know other classes."
    settled = [explain.settled_at(explain.logit_lens(each.trace, each.model)) for each in (view, other)]
    return (f"{answers} Furthest apart is the logit of {view.word(apart.label)}: {plain(apart.one)} against "
            f"{plain(apart.other)}. The answer stands from {depth(settled[0])} on in yours, and from "
            f"{depth(settled[1])} on in the other.")


def depth(settled: int) -> str:
    return f"block {settled}" if settled else "the embedding"
