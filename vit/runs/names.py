"""Names of run folders: what runs that are compared have in common, and what tells them apart."""

import re
import secrets
import time

RUN_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")
OF_A_PAIR = re.compile(r"(\d{8}-\d{6}-[0-9a-f]{4}(?:-s\d+)?)-.+")  # as new_pair_id and of_seed make them
LONGEST_ARM = 30


def new_pair_id() -> str:
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"


def of_seed(series_id: str, seed: int) -> str:
    """The pair of one seed in a series."""
    return f"{series_id}-s{seed}"


def pair_of(run_id: str) -> str:
    """What the names of twins have in common, without looking into them."""
    found = OF_A_PAIR.fullmatch(run_id)
    return found[1] if found else run_id.removesuffix("-plain").removesuffix("-flips")


def in_short(run_id: str) -> str:
    """Enough to tell a run from others: what is unlike in their names, and the arm."""
    found = OF_A_PAIR.fullmatch(run_id)
    if not found:
        return run_id
    pair, arm = found[1], run_id.removeprefix(f"{found[1]}-")
    return f"{'-'.join(pair.split('-')[2:])} · {arm}"


def slug(arm: str) -> str:
    """The name of an arm as a part of a folder's name."""
    return re.sub(r"[^a-z0-9]+", "-", arm.lower())[:LONGEST_ARM].strip("-") or "arm"
