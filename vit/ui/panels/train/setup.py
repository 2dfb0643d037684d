"""What to train: a question and a budget first, and every knob for those who want them."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import streamlit as st

from vit import compare, data
from vit.config import (
    INITIALISATIONS,
    OPTIMIZERS,
    SCHEDULES,
    TRAINING_PRESETS,
    TrainConfig,
    ViTConfig,
)
from vit.datasets import DATASETS
from vit.numbers import duration
from vit.runs import Arms, estimates
from vit.studies import questions
from vit.studies.questions import OWN, QUESTIONS, Question
from vit.ui import estimates as here
from vit.ui import parts

Start = Callable[[Arms, str, str], None]

PRESETS = {"quick": "Quick", "tiny": "Tiny", "article": "Article"}
INTRODUCTIONS = {
    "quick": "A small model that tells the whole story.",
    "tiny": "The ViT of the scratch tutorial: six blocks, four heads.",
    "article": "The article's model and recipe: RMSprop at 0.00001, until five epochs bring nothing.",
}
EFFECTS = {
    "dataset": "what the twins learn to read; flips harm digits, and need not harm clothes or animals",
    "train_images": "how many images an epoch has; fewer are quicker and easier to learn by heart",
    "epochs": "how often each image is seen",
    "batch_size": "images per step; larger is steadier, with fewer steps in the same time",
    "learning_rate": "how far each step moves the weights; if it is too large, the loss jumps",
    "optimizer": "how a gradient becomes a step",
    "schedule": "what becomes of the learning rate: it stays, falls like a cosine, or halves on a plateau",
    "warmup_steps": "the first steps are small ones, because the gradients of fresh attention are unreliable",
    "weight_decay": "pulls weights towards 0 at each step",
    "initialisation": "where the weights start",
    "stop_patience": "ends the run after so many epochs without a better validation loss",
    "seed": "other initial weights, another order of the images",
    "compile": "torch.compile: a slow start, then faster steps",
    "patch_size": "smaller patches are more tokens, and much more work",
    "width": "how long a token's vector is",
    "depth": "how many blocks",
    "heads": "how many views each block takes",
    "mlp_ratio": "how wide each block's MLP is",
    "dropout": "how many values are silenced at random while training",
}
INITIALISATION_NAMES = {
    "trunc-normal": "truncated normal, σ = 0.02", "pytorch": "PyTorch's own",
    "pytorch-randn": "PyTorch's own, CLS and positions from N(0, 1)",
    "unit-normal": "N(0, 1)",
}


NUMBER, CHOICE = st.number_input, st.selectbox
KNOBS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "dataset": (CHOICE, {"options": list(DATASETS), "format_func": lambda name: DATASETS[name].title}),
    "train_images": (NUMBER, {"min_value": 10, "step": 1000, "value": None, "placeholder": "all"}),
    "epochs": (NUMBER, {"min_value": 1, "step": 1}),
    "batch_size": (NUMBER, {"min_value": 1, "step": 8}),
    "stop_patience": (NUMBER, {"min_value": 1, "step": 1, "value": None, "placeholder": "never"}),
    "seed": (NUMBER, {"min_value": 0, "step": 1}),
    "optimizer": (CHOICE, {"options": OPTIMIZERS}),
    "learning_rate": (NUMBER, {"format": "%.6f", "step": 1e-5}),
    "schedule": (CHOICE, {"options": SCHEDULES}),
    "warmup_steps": (NUMBER, {"min_value": 0, "step": 50}),
    "weight_decay": (NUMBER, {"min_value": 0.0, "format": "%.3f", "step": 0.01}),
    "initialisation": (CHOICE, {"options": INITIALISATIONS, "format_func": INITIALISATION_NAMES.get}),
    "patch_size": (CHOICE, {}),  # whose options depend on the images
    "width": (NUMBER, {"min_value": 1, "step": 8}),
    "depth": (NUMBER, {"min_value": 1, "step": 1}),
    "heads": (NUMBER, {"min_value": 1, "step": 1}),
    "mlp_ratio": (NUMBER, {"min_value": 0.5, "step": 0.5}),
    "dropout": (NUMBER, {"min_value": 0.0, "max_value": 0.9, "step": 0.05}),
    "compile": (st.toggle, {}),
}
OF_MODEL = ("patch_size", "width", "depth", "heads", "mlp_ratio", "dropout")
MAY_DIFFER = [name for name in KNOBS if name not in ("dataset", "seed", "epochs", "stop_patience")]


def choose(start: Start, can_start: bool) -> None:
    """Question, budget, knobs, and the button that starts twins with them."""
    if "train_preset" not in st.session_state:
        st.session_state.train_preset = "quick"
        fill_knobs()
    row = st.container(horizontal=True, vertical_alignment="center")
    asked = row.selectbox(
        "What do you ask?", [*QUESTIONS, OWN], key="train_question", persist_state="session", width=340,
        format_func=title_of, label_visibility="collapsed",
    )
    preset = row.segmented_control(
        "What do you train?", list(PRESETS), format_func=lambda name: PRESETS[name], key="train_preset", required=True,
        on_change=fill_knobs, persist_state="session", label_visibility="collapsed",
    ) or "quick"
    differs = st.empty()
    arms: Arms | None = None
    try:
        with st.expander("All knobs"):
            config = knobs()
        question = QUESTIONS.get(asked) or own_question(config)
        arms = question.arms(config)
        differs.markdown(parts.as_text(question.differs))
        say_what_changes(config, TRAINING_PRESETS[preset])
        st.caption(f"{INTRODUCTIONS[preset]} {estimate(arms)}")
    except ValueError as error:
        st.error(parts.as_text(str(error)))
    row.button("Start both twins", type="primary", icon=":material/play_arrow:", key="train_start",
               disabled=arms is None or not can_start, on_click=start, args=(arms, preset, asked))


def title_of(question_id: str) -> str:
    return QUESTIONS[question_id].title if question_id in QUESTIONS else questions.OWN_TITLE


def own_question(config: TrainConfig) -> Question:
    """Any knob, and what it is in the second twin."""
    which, what = st.columns(2)
    name = which.selectbox(
        "The twins differ in", MAY_DIFFER, index=MAY_DIFFER.index("learning_rate"), key="train_own_knob",
        persist_state="session", format_func=lambda name: name.replace("_", " "),
    )
    first = getattr(config.model if name in OF_MODEL else config, name)
    widget, options = KNOBS[name]
    if name == "patch_size":
        options = {"options": patch_sizes(config.dataset)}
    key = f"train_own_{name}"
    if key not in st.session_state:
        st.session_state[key] = another(first, options)
    with what:
        second = widget(f"{name.replace('_', ' ')} of the second twin", key=key, persist_state="session", **options)
    return questions.own(name, first, second, name in OF_MODEL)


def another(value: Any, options: dict[str, Any]) -> Any:
    """A value that is not this one, for a start: the next choice, the other side, twice as much."""
    if isinstance(value, bool):
        return not value
    if "options" in options:
        choices = list(options["options"])
        return choices[(choices.index(value) + 1) % len(choices)]
    return 2 * value if value else options["step"]


def fill_knobs() -> None:
    preset = TRAINING_PRESETS[st.session_state.train_preset]
    for part in (preset, preset.model):
        for field in fields(part):
            if field.name in EFFECTS:
                st.session_state[f"knob_{field.name}"] = getattr(part, field.name)


def knobs() -> TrainConfig:
    """All settings, as the visitor has turned them. Raises ValueError with a sentence if they make no sense."""
    learning, model, judging = st.columns(3, gap="medium")
    with learning:
        chosen = {name: knob(name) for name in
                  ("dataset", "train_images", "epochs", "batch_size", "stop_patience", "seed")}
    with judging:
        chosen |= {name: knob(name) for name in
                   ("optimizer", "learning_rate", "schedule", "warmup_steps", "weight_decay", "initialisation")}
    dataset = DATASETS[chosen["dataset"]]
    fitting = patch_sizes(chosen["dataset"])
    st.session_state.knob_patch_size = min(fitting, key=lambda side: abs(side - st.session_state.knob_patch_size))
    with model:
        shape = {name: knob(name, **({"options": fitting} if name == "patch_size" else {})) for name in OF_MODEL}
        chosen["compile"] = knob("compile")
    if data.needs_download(chosen["dataset"]):
        st.caption(f"{dataset.title} is downloaded when you start.")
    return replace(TRAINING_PRESETS[st.session_state.train_preset], **chosen,
                   model=ViTConfig(image_size=dataset.image_size, channels=dataset.channels, **shape))


def patch_sizes(dataset: str) -> list[int]:
    size = DATASETS[dataset].image_size
    return [side for side in range(2, size // 2 + 1) if size % side == 0]


def knob(name: str, **more: Any) -> Any:
    widget, options = KNOBS[name]
    return widget(name.replace("_", " "), key=f"knob_{name}", help=f"{EFFECTS[name].capitalize()}.",
                  persist_state="session", **options, **more)


def say_what_changes(config: TrainConfig, preset: TrainConfig) -> None:
    """Each knob that was turned, with what it does."""
    turned = [f"- {compare.change_in_words(name, old, new)}: {EFFECTS[name]}."
              for name, old, new in compare.changes(config, preset) if name in EFFECTS]
    if turned:
        st.markdown("You change:\n" + "\n".join(turned))


def estimate(arms: Arms) -> str:
    """How much there is to do, and how long both twins take."""
    config = next(iter(arms.values()))
    what = (f"{config.model.parameters:,} weights, {config.epochs} epochs of "
            f"{config.images_per_epoch:,} images")
    each = [here.seconds(one) for one in arms.values()]
    per_second = here.images_per_second(config)
    if None in each or per_second is None:
        return f"{what}: too large to try how long that takes."
    at_most = "at most " if config.stop_patience else ""
    took = duration(estimates.together([one for one in each if one is not None]))
    return (f"{what}: {at_most}about **{took}** on this machine, if nobody else trains; "
            f"each twin learns {per_second:,.0f} images a second.")
