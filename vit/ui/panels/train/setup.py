"""What to train: presets first, and every knob for those who want them."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

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
from vit.datasets import DATASETS, VALIDATION_IMAGES
from vit.numbers import duration
from vit.ui import parts

if TYPE_CHECKING:
    from vit.speed import Speed

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
    "seed": "other initial weights, another order, other flips",
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


def choose(start: Callable[[TrainConfig, str], None], can_start: bool) -> None:
    """Preset, knobs, and the button that starts twins with them."""
    if "train_preset" not in st.session_state:
        st.session_state.train_preset = "quick"
        fill_knobs()
    row = st.container(horizontal=True, vertical_alignment="center")
    preset = row.segmented_control(
        "What do you train?", list(PRESETS), format_func=lambda name: PRESETS[name], key="train_preset", required=True,
        on_change=fill_knobs, persist_state="session", label_visibility="collapsed",
    ) or "quick"
    config = None
    with st.expander("All knobs"):
        try:
            config = knobs()
        except ValueError as error:
            st.error(parts.as_text(str(error)))
    row.button("Start both twins", type="primary", icon=":material/play_arrow:", key="train_start",
               disabled=config is None or not can_start, on_click=start, args=(config, preset))
    if config:
        say_what_changes(config, TRAINING_PRESETS[preset])
        st.caption(f"{INTRODUCTIONS[preset]} {estimate(config)}")


def fill_knobs() -> None:
    preset = TRAINING_PRESETS[st.session_state.train_preset]
    for part in (preset, preset.model):
        for field in fields(part):
            if field.name in EFFECTS:
                st.session_state[f"knob_{field.name}"] = getattr(part, field.name)


def knobs() -> TrainConfig:
    learning, model, judging = st.columns(3, gap="medium")
    with learning:
        dataset = knob(st.selectbox, "dataset", options=list(DATASETS), format_func=lambda name: DATASETS[name].title)
        train_images = knob(st.number_input, "train_images", min_value=10, step=1000, value=None, placeholder="all")
        epochs = knob(st.number_input, "epochs", min_value=1, step=1)
        batch_size = knob(st.number_input, "batch_size", min_value=1, step=8)
        stop_patience = knob(st.number_input, "stop_patience", min_value=1, step=1, value=None, placeholder="never")
        seed = knob(st.number_input, "seed", min_value=0, step=1)
    with judging:
        optimizer = knob(st.selectbox, "optimizer", options=OPTIMIZERS)
        rate = knob(st.number_input, "learning_rate", format="%.6f", step=1e-5)
        schedule = knob(st.selectbox, "schedule", options=SCHEDULES)
        warmup = knob(st.number_input, "warmup_steps", min_value=0, step=50)
        decay = knob(st.number_input, "weight_decay", min_value=0.0, format="%.3f", step=0.01)
        initialisation = knob(st.selectbox, "initialisation", options=INITIALISATIONS,
                              format_func=INITIALISATION_NAMES.get)
    image_size, channels = DATASETS[dataset].image_size, DATASETS[dataset].channels
    fitting = [side for side in range(2, image_size // 2 + 1) if image_size % side == 0]
    st.session_state.knob_patch_size = min(fitting, key=lambda side: abs(side - st.session_state.knob_patch_size))
    with model:
        shape = ViTConfig(
            image_size=image_size, channels=channels,
            patch_size=knob(st.selectbox, "patch_size", options=fitting),
            width=knob(st.number_input, "width", min_value=1, step=8),
            depth=knob(st.number_input, "depth", min_value=1, step=1),
            heads=knob(st.number_input, "heads", min_value=1, step=1),
            mlp_ratio=knob(st.number_input, "mlp_ratio", min_value=0.5, step=0.5),
            dropout=knob(st.number_input, "dropout", min_value=0.0, max_value=0.9, step=0.05),
        )
        compiled = knob(st.toggle, "compile")
    chosen = replace(
        TRAINING_PRESETS[st.session_state.train_preset], model=shape, dataset=dataset,
        train_images=train_images, epochs=epochs, batch_size=batch_size, stop_patience=stop_patience,
        seed=seed, optimizer=optimizer, learning_rate=rate, schedule=schedule, warmup_steps=warmup,
        weight_decay=decay, initialisation=initialisation, compile=compiled,
    )
    if data.needs_download(dataset):
        st.caption(f"{DATASETS[dataset].title} is downloaded when you start.")
    return chosen


def knob(widget: Callable[..., Any], name: str, **options: Any) -> Any:
    return widget(name.replace("_", " "), key=f"knob_{name}", help=f"{EFFECTS[name].capitalize()}.",
                  persist_state="session", **options)


def say_what_changes(config: TrainConfig, preset: TrainConfig) -> None:
    """Each knob that was turned, with what it does."""
    turned = [f"- {compare.change_in_words(name, old, new)}: {EFFECTS[name]}."
              for name, old, new in compare.changes(config, preset) if name in EFFECTS]
    if turned:
        st.markdown("You change:\n" + "\n".join(turned))


def estimate(config: TrainConfig) -> str:
    from vit.speed import MOST_IMAGES  # a step with more would have no other speed

    images = config.images_per_epoch
    what = f"{config.model.parameters:,} weights, {config.epochs} epochs of {images:,} images"
    speed = speed_of(TrainConfig(
        model=replace(config.model, depth=1), dataset=config.dataset, optimizer=config.optimizer,
        clip_norm=config.clip_norm, batch_size=min(config.batch_size, MOST_IMAGES),
    ))
    if speed is None:
        return f"{what}: too large to try how long that takes."
    per_second = speed.images_per_second(config.model.depth, config.batch_size)
    at_most = "at most " if config.stop_patience else ""
    # Judging takes a third of the work per image, and all validation images are judged after each epoch.
    glances = images / config.batch_size / config.validate_every * config.validation_images
    work = config.epochs * (images + (glances + VALIDATION_IMAGES) / 3)
    return (
        f"{what}: {at_most}about **{duration(work / per_second)}** on this machine if each twin has a core to itself; "
        f"it then learns {per_second:,.0f} images a second."
    )


@st.cache_data(max_entries=64, ttl=600, show_spinner="Measuring how fast this machine is …")
def speed_of(config: TrainConfig) -> "Speed | None":
    """Once for each shape: of the depth and the batch size no more than is tried is in `config`."""
    from vit import speed

    return speed.measure(config)
