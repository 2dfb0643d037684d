"""Telling runs apart by their settings, in words."""

from dataclasses import fields

from vit.config import TrainConfig


def what_changed(now: TrainConfig, before: TrainConfig) -> str:
    """The settings that differ, in words; flips are left out, since twins have both."""
    changes = []
    for part, old_part, skip in ((now, before, ("model", "flips")), (now.model, before.model, ())):
        for field in fields(part):
            old, new = getattr(old_part, field.name), getattr(part, field.name)
            if field.name not in skip and old != new:
                changes.append(change_in_words(field.name, old, new))
    return ", ".join(changes) or "nothing: the same run again"


def change_in_words(name: str, old: object, new: object) -> str:
    without = {"train_images": "all", "stop_patience": "never"}.get(name, "none")
    return f"{name.replace('_', ' ')} {in_words(old, without)} → {in_words(new, without)}"


def in_words(value: object, without: str) -> str:
    if value is None:
        return without
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
