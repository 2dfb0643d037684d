"""What visitors ask of runs: done if they may, and refused in a sentence if not."""

import json
from collections.abc import Callable

from vit.runs.folder import gone
from vit.runs.limits import RunError
from vit.runs.names import RUN_ID
from vit.runs.owners import Visitor, as_mark
from vit.runs.status import root


def owner_of(run_id: str) -> str:
    """The mark of whoever started a run; empty where none is recorded, or none that can be read."""
    if not RUN_ID.fullmatch(run_id):
        return ""
    try:
        return as_mark(json.loads((root() / run_id / "config.json").read_bytes())["owner"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""


def check(visitor: Visitor, *run_ids: str) -> None:
    for run_id in run_ids:
        if not RUN_ID.fullmatch(run_id) or not (root() / run_id).is_dir():
            raise gone(run_id)
        if refusal := visitor.refusal(owner_of(run_id)):
            raise RunError(refusal)


def ask(visitor: Visitor, action: Callable[[str], None], *run_ids: str) -> None:
    """Of all these runs, or of none if one of them is not this visitor's to control."""
    check(visitor, *run_ids)
    for run_id in run_ids:
        action(run_id)
