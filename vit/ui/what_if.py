"""What a visitor has taken away from the model: kept in the session, and as a code in links."""

import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

if TYPE_CHECKING:
    from vit.config import ViTConfig
    from vit.model import Probe

SHUFFLE_SEED = 1
SWITCHES = {
    "positions": ("Positions off", "No token knows where it is."),
    "shuffle": ("Patches shuffled", "The same patches in another order; each place keeps its position."),
    "scaling": ("No 1/√d_k", "Scores go into softmax as they are, and it gets sharper."),
    "causal": ("GPT's mask", "Each token sees only itself and those before it. CLS is the first."),
}
BLOCKS = {"attention": "attention off, by block", "mlp": "MLP off, by block"}

COUNT = r"([1-9]\d{0,3})"
IN_A_LINK = re.compile(rf"patch{COUNT}|head{COUNT}\.{COUNT}|(attention|mlp){COUNT}")


class Change(NamedTuple):
    words: str
    probe: "Probe"


def key(name: str) -> str:
    return f"what_if_{name}"


def order(config: "ViTConfig") -> list[int]:
    """Which patch of the drawing lies at each place."""
    from vit.interventions import ShufflePatches

    return ShufflePatches(SHUFFLE_SEED).order(config.patches).tolist() if is_on("shuffle") else [*range(config.patches)]


def hidden_places(config: "ViTConfig") -> list[int]:
    """Where the hidden patches lie: when all are shuffled they go with the others."""
    hidden = st.session_state.get(key("patches"), ())
    return [place for place, patch in enumerate(order(config)) if patch in hidden]


def silent_heads(config: "ViTConfig") -> list[tuple[int, int]]:
    """(layer, head) of those that are off, one by one or with their whole block."""
    chosen = st.session_state.get(key("heads"), set())
    blocks = blocks_off("attention", config)
    return [(layer, head) for layer in range(config.depth) for head in range(config.heads)
            if layer in blocks or (layer, head) in chosen]


def blocks_off(name: str, config: "ViTConfig") -> list[int]:
    """Counted from 0; the visitor counts from 1."""
    return [block - 1 for block in st.session_state.get(key(name)) or () if block <= config.depth]


def is_on(name: str) -> bool:
    return bool(st.session_state.get(key(name)))


def changes(config: "ViTConfig") -> list[Change]:
    from vit import interventions as what

    patches, blocks, mlps = hidden_places(config), blocks_off("attention", config), blocks_off("mlp", config)
    heads = [(layer, head) for layer, head in silent_heads(config) if layer not in blocks]
    by_block = {block: tuple(head for layer, head in heads if layer == block) for block, _ in heads}
    possible: list[tuple[object, str, Probe]] = [
        (patches, f"{counted(len(patches), 'patch', 'patches')} hidden", what.MaskPatches(tuple(patches))),
        (is_on("shuffle"), "shuffled patches", what.ShufflePatches(SHUFFLE_SEED)),
        (is_on("positions"), "no positions", what.PositionsOff()),
        (heads, f"{counted(len(heads), 'head', 'heads')} off", what.HeadsOff(by_block)),
        (blocks, f"attention off in {counted(len(blocks), 'block', 'blocks')}", what.AttentionOff(tuple(blocks))),
        (mlps, f"{counted(len(mlps), 'MLP', 'MLPs')} off", what.MlpOff(tuple(mlps))),
        (is_on("scaling"), "no 1/√d_k", what.ScalingOff(config)),
        (is_on("causal"), "GPT's mask", what.CausalMask()),
    ]
    return [Change(words, probe) for wanted, words, probe in possible if wanted]


def probes(config: "ViTConfig") -> list["Probe"]:
    return [change.probe for change in changes(config)]


def listed(words: list[str]) -> str:
    """a, b and c"""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def toggle(name: str, item: object) -> None:
    """Take a patch or a head away, or give it back."""
    st.session_state[key(name)] = st.session_state.get(key(name), frozenset()) ^ {item}


def hide(patches: Iterable[int]) -> None:
    st.session_state[key("patches")] = st.session_state.get(key("patches"), frozenset()) | frozenset(patches)


def put_back() -> None:
    take_away(frozenset(), frozenset(), frozenset(), {name: set() for name in BLOCKS})


def take_away(switched: Collection[str], patches: Collection, heads: Collection, blocks: dict[str, Collection]) -> None:
    kept = st.session_state
    kept.update({key(name): name in switched for name in SWITCHES})
    kept.update({key(name): sorted(blocks[name]) for name in BLOCKS})
    kept.update({key("patches"): frozenset(patches), key("heads"): frozenset(heads)})


def as_code() -> str:
    """What is taken away, as it stands in a link, where all is counted from 1."""
    kept = st.session_state
    items = [name for name in SWITCHES if is_on(name)]
    items += [f"patch{patch + 1}" for patch in sorted(kept.get(key("patches"), ()))]
    items += [f"head{layer + 1}.{head + 1}" for layer, head in sorted(kept.get(key("heads"), ()))]
    items += [f"{name}{block}" for name in BLOCKS for block in sorted(kept.get(key(name)) or ())]
    return ",".join(items)


def beyond(config: "ViTConfig") -> list[str]:
    """What is taken away that this model does not have, in words."""
    kept = st.session_state
    patches = [f"patch {patch + 1}" for patch in sorted(kept.get(key("patches"), ())) if patch >= config.patches]
    heads = [f"head {head + 1} of layer {layer + 1}" for layer, head in sorted(kept.get(key("heads"), ()))
             if layer >= config.depth or head >= config.heads]
    blocks = [f"block {block}" for name in BLOCKS for block in kept.get(key(name)) or () if block > config.depth]
    return patches + heads + blocks


def restore(code: str) -> bool:
    """Take away what a link says, as far as it makes sense; whether all of it does. Whether the model has such a
    patch or head is not known yet."""
    items = code.split(",")
    found = [match for item in items if (match := IN_A_LINK.fullmatch(item))]
    take_away(
        [item for item in items if item in SWITCHES],
        [int(match[1]) - 1 for match in found if match[1]],
        [(int(match[2]) - 1, int(match[3]) - 1) for match in found if match[2]],
        {name: {int(match[5]) for match in found if match[4] == name} for name in BLOCKS},
    )
    return all(item in SWITCHES or IN_A_LINK.fullmatch(item) for item in items)
