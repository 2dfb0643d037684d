"""The whole model as one table, from pixels to logits, and beside other models."""

from collections.abc import Iterable
from typing import NamedTuple

from vit.charts.picture import TemplatePicture
from vit.config import ViTConfig
from vit.numbers import in_bytes, many
from vit.walkthrough import Coincidence, Step, Total, WalkThrough, coincidences, named_models, walk_through


class Cell(NamedTuple):
    """A number, how it comes about, and its share of the largest in its column."""

    text: str
    formula: str = ""
    share: float = 0
    exact: str = ""


class Row(NamedTuple):
    name: str
    what: str
    cells: list[Cell]


class Section(NamedTuple):
    title: str
    rows: list[Row]
    total: Row | None = None


def table(config: ViTConfig) -> TemplatePicture:
    """Every step of the chosen model, what its weights, multiplications and memory are, and where most of them lie."""
    walk, depth = walk_through(config), config.depth
    largest = Total(*(max(getattr(step, name) for step in steps_of(walk))
                      for name in ("weights", "multiplications", "memory")))
    in_blocks = "the block" if depth == 1 else f"each of the {depth} blocks"
    sections = [
        Section("Embedding", rows_of(walk.embedding, largest)),
        Section(f"Inside {in_blocks}", rows_of(walk.block, largest),
                Row("all blocks", f"{depth} times this", totals(walk.blocks)) if depth > 1 else None),
        Section("Answer", rows_of(walk.head, largest),
                Row("the whole model", "for one picture", totals(walk.total))),
    ]
    return TemplatePicture(
        "walkthrough", {"names": ("step", "shape", "weights", "multiplications", "memory"), "sections": sections},
        alt=f"from pixels to logits in {len(steps_of(walk))} kinds of steps: {walk.total.weights:,} weights, "
            f"{walk.total.multiplications:,} multiplications and {in_bytes(walk.total.memory)} for one picture",
    )


def steps_of(walk: WalkThrough) -> list[Step]:
    return [*walk.embedding, *walk.block, *walk.head]


def rows_of(steps: Iterable[Step], largest: Total) -> list[Row]:
    return [
        Row(step.name, step.what, [
            Cell(" × ".join((*several(step), *(f"{side:,}" for side in step.shape))),
                 " × ".join((*several(step), *step.letters))),
            Cell(f"{step.weights:,}" if step.weights else "", "", share(step.weights, largest.weights)),
            Cell(many(step.multiplications) if step.multiplications else "", step.formula,
                 share(step.multiplications, largest.multiplications), f"{step.multiplications:,}"),
            Cell(in_bytes(step.memory), "", share(step.memory, largest.memory), f"{step.memory:,} bytes"),
        ])
        for step in steps
    ]


def several(step: Step) -> list[str]:
    return [str(len(step.fields))] if len(step.fields) > 1 else []


def totals(total: Total) -> list[Cell]:
    return [Cell(""), Cell(f"{total.weights:,}"),
            Cell(many(total.multiplications), exact=f"{total.multiplications:,}"),
            Cell(in_bytes(total.memory), exact=f"{total.memory:,} bytes")]


def share(value: int, largest: int) -> float:
    return round(value / largest, 3)


def side_by_side(config: ViTConfig) -> TemplatePicture:
    """The chosen model and those of the texts: shapes, and what they cost."""
    models, own = named_models(config)
    walks = [walk_through(one) for one in models.values()]
    totals = [walk.total for walk in walks]
    rows = [
        ("picture, H × W × C", [f"{one.image_size} × {one.image_size} × {one.channels}" for one in models.values()]),
        ("side of a patch, P", [str(one.patch_size) for one in models.values()]),
        ("numbers of a patch, P²C", [str(one.patch_values) for one in models.values()]),
        ("width of a token, D", [str(one.width) for one in models.values()]),
        ("tokens, T = N + 1", [str(one.tokens) for one in models.values()]),
        ("blocks, L", [str(one.depth) for one in models.values()]),
        ("heads × width, h × d_k", [f"{one.heads} × {one.head_width}" for one in models.values()]),
        ("weights", [many(total.weights) for total in totals]),
        ("multiplications", [many(total.multiplications) for total in totals]),
        ("of these, for pairs, T²", [f"{pairs(walk) / walk.total.multiplications:.0%}" for walk in walks]),
        ("memory", [in_bytes(total.memory) for total in totals]),
    ]
    told = ", ".join(f"{name} {many(total.weights)} weights" for name, total in zip(models, totals, strict=True))
    values = {"names": list(models), "rows": rows, "own": list(models).index(own)}
    return TemplatePicture("models_table", values, alt=f"side by side: {told}")


def pairs(walk: WalkThrough) -> int:
    """Multiplications that grow with the square of the tokens."""
    return walk.config.depth * sum(step.multiplications for step in walk.block if "T²" in step.formula)


def coincidence() -> TemplatePicture:
    """How many numbers a patch has, beside how many a token has."""
    found: list[Coincidence] = coincidences()
    told = ", ".join(f"{one.name} {one.values} and {one.width}" for one in found)
    return TemplatePicture("coincidence", {"models": found}, alt=f"numbers of a patch and of a token: {told}")
