"""Settings that hosts make by environment variables; the README lists them all."""

import os


def whole_number(variable: str, otherwise: int) -> int:
    """What does not look like a number counts as not set."""
    told = os.environ.get(variable, "")
    return int(told) if told.isascii() and told.isdecimal() and len(told) < 16 else otherwise


def ray_address() -> str:
    """Where Ray's dashboard takes jobs, such as http://127.0.0.1:8265; nothing if runs train on this machine."""
    return os.environ.get("PATCHWISE_RAY", "").strip().rstrip("/")
