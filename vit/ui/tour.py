"""A guided walk for newcomers: each stop points at one thing, asks for one thing, and notices when it is done."""

from collections.abc import Callable, Container
from dataclasses import dataclass

import streamlit as st

from vit import drawing
from vit.ui import markup, state
from vit.ui.view import View

FIRST_DIGIT = 0  # of MNIST's test set: what the tour starts with, where nobody has drawn yet
OWN = {"strokes": "your drawing", "sample": "the digit you picked", "picture": "the digit on your photo",
       "photo": "your photo"}


@dataclass(frozen=True)
class Stop:
    page: str
    points_at: str  # a selector
    words: Callable[[View], str]
    asks_for: tuple[str, ...] = ()  # parameters of a link: the stop is done when one of them has changed


def whole_machine(view: View) -> str:
    config = view.config
    return (f"This is the whole machine, with {OWN[view.drawing.kind]} in it: pixels, {config.patches} patches, "
            f"{config.tokens} tokens, {config.depth} blocks, and an answer: **{view.answer}**. Press "
            "**Play** and watch it flow. Then we take it apart.")


def what_goes_in(view: View) -> str:
    size = f"{view.config.image_size} x {view.config.image_size} pixels"
    came = {
        "strokes": "The model never sees your canvas. Your ink is cropped, scaled and put in the middle, as the "
                   f"pictures tell; **{size}** are all that it gets. **Draw another digit**, small and in a corner: "
                   "where does it end up?",
        "sample": f"The digit you picked is one of MNIST's: it has {size} from the start, and these are all that the "
                  "model gets. **Draw one of your own**, and see what becomes of your ink.",
        "picture": f"On your photo the ink was found, cropped and put in the middle: **{size}** are all that the model "
                   "gets. **Draw another digit** on the canvas, small and in a corner: where does it end up?",
        "photo": f"The model never sees your whole photo. A square is cut out and scaled: **{size}** of three colours "
                 "are all that it gets. **Click the photo**, or make the square smaller: what is left to be seen?",
    }
    return came[view.drawing.kind]


def cut(view: View) -> str:
    config = view.config
    return (f"A Transformer reads words. So the picture is cut into **{config.patches} patches** of "
            f"{config.patch_size} x {config.patch_size} pixels, and each is one word. **Click a patch**, best one "
            f"{'where something is to be seen' if view.is_photo else 'with ink in it'}.")


def embedded(view: View) -> str:
    config = view.config
    return (f"The {config.patch_values} numbers of a patch become **{config.width}**, by one matrix that is the same "
            "for all patches. Each stripe is one of them. **Click another stripe**: the filter beside it is what it "
            "looks for.")


def all_heads(view: View) -> str:
    config = view.config
    return (f"Now the tokens look at each other, {config.heads} times side by side in each of {config.depth} blocks. "
            "Each small map is where one head looks. **Click a map** that lights up "
            f"{'in a few places only' if view.is_photo else 'on the ink'}.")


def one_head(view: View) -> str:
    share = view.trace.blocks[view.layer].pattern[view.head, view.token, 1:].max()
    return (f"The head that you chose, over your {view.thing}. Its favourite patch gets **{share:.0%}** of the "
            "attention. **Click a patch**, and read below why it gets so much, or so little.")


def one_pair(view: View) -> str:
    return (f"Here is all the maths of attention, with numbers of this {view.own}: query times key, divided by √d_k, "
            "softmax, and the values that are collected. Point at a word with dots under it: it tells what it means.")


def stream(view: View) -> str:
    return (f"Nothing is ever replaced: each of the {view.config.depth} blocks only **adds**. The two colours are what "
            "its attention and its MLP add. **Click another block**: which adds most?")


def answer(view: View) -> str:
    return (f"What would the model say after each block? Read the rows from the top: at which block does it make up "
            f"its mind that this is {view.told(view.prediction)}, with {view.confidence:.0%} in the end?")


def taken_away(view: View) -> str:
    return (f"Looking is not using. **Hide patches** until the {view.answer} is no longer read: which ones "
            "does the answer stand on? The sidebar shows the changed answer on every page.")


def trained(view: View) -> str:
    return ("So far the weights were given. Here **you train two models** that differ in one thing, such as mirrored "
            "digits, and see what it does. Start both twins, or look at what was recorded.")


def claimed(view: View) -> str:
    return ("Last stop. Articles say much about models like this one. Here is what came out when we tried it, with "
            "every run to see. **Open a claim** that you would have believed.")


STORY = (
    Stop("machine", ".st-key-machine", whole_machine),
    Stop("draw", ".st-key-drawing", what_goes_in, ("d",)),
    Stop("patches", ".st-key-grid", cut, ("token",)),
    Stop("embedding", ".st-key-outputs", embedded, ("output",)),
    Stop("attention", ".st-key-heads", all_heads, ("layer", "head")),
    Stop("attention", ".st-key-over_digit", one_head, ("at",)),
    Stop("attention", ".st-key-attention_panel", one_pair),
    Stop("layers", ".st-key-river", stream, ("layer",)),
    Stop("logits", ".st-key-lens", answer),
    Stop("what_if", ".st-key-missing_patches", taken_away, ("off",)),
    Stop("train", ".st-key-train_start", trained),
    Stop("claims", ".st-key-claims_list", claimed),
)


def stops(pages: Container[str]) -> list[Stop]:
    return [stop for stop in STORY if stop.page in pages]


def is_on() -> bool:
    return st.session_state.get("tour_stop") is not None


def start_button(first_page: Callable[[], None]) -> None:
    if not is_on() and st.button("Tour", icon=":material/explore:"):
        if state.drawing() is None:
            state.draw(drawing.from_sample(FIRST_DIGIT))
        first_page()


def go_to_stop(number: int | None, page: str = "") -> None:
    st.session_state.tour_stop = number
    st.session_state.tour_before = state.link_parameters(page) if page else {}


def show(page: str, view: View | None, story: list[Stop], go_to: Callable[[str], None]) -> None:
    number = st.session_state.tour_stop
    stop = story[number]
    here, last = stop.page == page, number + 1 == len(story)

    def turn(to: int) -> None:
        go_to_stop(to, story[to].page)
        go_to(story[to].page)

    with st.container(border=True, key="tour", gap="small"):
        words = stop.words(view) if view else "There is no drawing to tell about. **Draw a digit**, or pick one."
        st.markdown(f"**{number + 1} of {len(story)}.** {words}")
        if here:
            st.html(markup.render("tour", stop=number, points_at=stop.points_at if view else ".st-key-drawing"))
            now = state.link_parameters(page)
            if any(now.get(name) != st.session_state.tour_before.get(name) for name in stop.asks_for):
                st.markdown(":material/check_circle: Done. On to the next stop.")
        with st.container(horizontal=True):
            if not here and st.button("Take me there", type="primary", key="tour_there"):
                turn(number)
            if here and last:
                st.button("Finish", type="primary", key="tour_finish", on_click=go_to_stop, args=(None,))
            elif here and st.button("Next stop", type="primary", key="tour_next"):
                turn(number + 1)
            if here and number and st.button("Stop before", key="tour_before_this"):
                turn(number - 1)
            if not (here and last):
                st.button("Leave the tour", key="tour_leave", on_click=go_to_stop, args=(None,))
