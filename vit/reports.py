"""What a run tells of itself: one value per kind of report, and how each stands as a line in metrics.jsonl.

A line from a file is trusted in nothing: what is not a whole report with finite numbers is no report.
"""

import json
from dataclasses import asdict, dataclass, fields, replace
from types import UnionType
from typing import Any, ClassVar, TypeVar, cast, get_args, get_origin


@dataclass(frozen=True, kw_only=True)
class StepReport:
    """The steps since the last such report: their mean loss and accuracy."""

    kind: ClassVar[str] = "train"
    step: int
    epoch: float
    loss: float
    accuracy: float
    learning_rate: float
    seconds: float = 0.0  # of training, since the run began; a worker knows, training itself has no clock
    images_per_second: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Validation:
    """The verdict on validation images: on a part of them between epochs, on all after an epoch (`whole`)."""

    kind: ClassVar[str] = "validation"
    step: int
    epoch: float
    images: int
    loss: float
    accuracy: float
    confusion: list[list[int]]  # row: what it is, column: the answer
    predictions: str  # one digit per image
    whole: bool = False
    train_loss: float | None = None  # of the epoch that has ended
    train_accuracy: float | None = None
    mirrored_accuracy: float | None = None  # on mirror images of that part, whenever weights are kept
    mirrored_by_class: list[float] | None = None  # the same for each class
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Note:
    """Something that is worth a sentence."""

    kind: ClassVar[str] = "note"
    step: int
    message: str
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class End:
    kind: ClassVar[str] = "end"
    step: int
    reason: str
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Validating:
    """A sign of life while the model is being judged; it is not written down."""

    kind: ClassVar[str] = "validating"
    step: int
    done: int
    of: int


Report = StepReport | Validation | Note | End
Any_Report = TypeVar("Any_Report", StepReport, Validation, Note, End)
MOST = 1e300  # no number of a run is larger; NaN, which is not below it, and Infinity are no numbers here
KINDS: dict[str, Any] = {kind.kind: kind for kind in (StepReport, Validation, Note, End)}


def of_kind(reports: "list[Report]", kind: type[Any_Report]) -> list[Any_Report]:
    return [report for report in reports if isinstance(report, kind)]


def at(report: Any_Report, seconds: float) -> Any_Report:
    return replace(report, seconds=round(seconds, 3))


def to_line(report: Report) -> bytes:
    values = {name: value for name, value in asdict(report).items() if value is not None}
    return json.dumps({"kind": report.kind} | values).encode() + b"\n"


def from_line(line: bytes) -> Report | None:
    """None for what is no report: a line that a crash cut short, or that somebody has changed."""
    try:
        values = json.loads(line)
        kind = KINDS[values["kind"]]
        known = {field.name for field in fields(kind)}
        report = kind(**{name: value for name, value in values.items() if name in known})
        return cast(Report, report) if _makes_sense(report) else None
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None


def _makes_sense(report: Any) -> bool:
    whole = all(_fits(getattr(report, field.name), field.type) for field in fields(report))
    return whole and (not isinstance(report, Validation) or _is_verdict(report))


def _fits(value: object, kind: Any) -> bool:
    allowed = tuple(get_origin(one) or one for one in (get_args(kind) if isinstance(kind, UnionType) else (kind,)))
    if isinstance(value, bool):
        return bool in allowed
    if isinstance(value, int | float):
        return abs(value) < MOST and (float in allowed or (int in allowed and isinstance(value, int)))
    return isinstance(value, allowed)


def _is_verdict(report: Validation) -> bool:
    """The confusion is a square of counts, and there is one answer for each image."""
    rows = report.confusion
    square = isinstance(rows, list) and all(isinstance(row, list) and len(row) == len(rows) for row in rows)
    counts = square and all(isinstance(n, int) and n >= 0 for row in rows for n in row)
    answers = report.predictions.isascii() and report.predictions.isdigit()
    shares = report.mirrored_by_class
    mirrored = shares is None or (
        len(shares) == len(rows) and all(_fits(share, float) and 0 <= share <= 1 for share in shares))
    return bool(counts and answers and mirrored and len(report.predictions) == report.images == sum(map(sum, rows)))
