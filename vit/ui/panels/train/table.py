"""All runs on this server: choose one to look at, two to compare them, any to delete them."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import streamlit as st

from vit import compare, runs
from vit.charts import training
from vit.charts.training import Line
from vit.runs import Run, deleted
from vit.runs.names import pair_of
from vit.ui import parts, visitor
from vit.ui.panels.train import pair
from vit.ui.panels.train.live import state_in_words
from vit.ui.show import show

MOST_LISTED = 40
LOOK_EVERY = 1.0  # seconds, while something can be taken back


@dataclass(frozen=True)
class Entry:
    """A line of the table: twins, a single run, or a folder that cannot be read."""

    name: str
    runs: Sequence[Run] = ()
    fault: str = ""

    @property
    def ids(self) -> list[str]:
        return [run.id for run in self.runs] or [self.name]

    @property
    def training(self) -> bool:
        return any(run.active for run in self.runs)

    @cached_property
    def owner(self) -> str:
        return self.runs[0].owner if self.runs else runs.owner_of(self.name)

    @cached_property
    def size(self) -> int:
        folders: list[Path] = [run.folder for run in self.runs] or [runs.root() / self.name]
        return sum(map(runs.disk_used, folders))

    @property
    def started(self) -> str:
        try:
            return time.strftime("%d %b, %H:%M", time.localtime(self.runs[0].created)) if self.runs else ""
        except (ValueError, OverflowError, OSError):  # no date that there is
            return ""


def table() -> None:
    offer_to_take_back()
    entries = all_entries()
    if not entries:
        return
    st.subheader("All runs on this server", anchor=False)
    readable = [entry for entry in entries if entry.runs]
    offer_to_clean_up(readable)
    listed = entries[:MOST_LISTED]
    before: list[Entry | None] = [*readable[1:], None]
    older = {entry.name: earlier for entry, earlier in zip(readable, before, strict=True)}
    # Rows are chosen by their place. Once another run comes or goes, the choice would mean another one: it is dropped.
    key = "train_table_" + "_".join(entry.name for entry in listed)
    percent = st.column_config.NumberColumn(format="%.1f %%")
    chosen = st.dataframe(
        [row(entry, older.get(entry.name)) for entry in listed], hide_index=True, on_select="rerun",
        selection_mode="multi-row", key=key,
        column_config={"first": percent, "second": percent,
                       "what changed": st.column_config.TextColumn(width="medium")},
    ).selection.rows
    actions([listed[i] for i in chosen if i < len(listed)])
    ask_before_deleting(entries)


# What is there


def all_entries() -> list[Entry]:
    """Newest first, and then what cannot be read."""
    found, unreadable = runs.everything()
    pairs: dict[str, list[Run]] = {}
    for run in found:
        pairs.setdefault(run.pair, []).append(run)
    readable = [Entry(name, sorted(twins, key=lambda run: run.role.side)) for name, twins in pairs.items()]
    return readable + [Entry(name, fault=sentence) for name, sentence in unreadable]


def row(entry: Entry, before: Entry | None) -> dict[str, Any]:
    accuracy: dict[int, float] = {}
    for run in entry.runs:
        if verdict := runs.last_verdict(run.folder):
            accuracy[run.role.side] = 100 * verdict.accuracy
    first = entry.runs[0] if entry.runs else None
    return {
        "started": entry.started,
        "run": (first.preset or "own") if first else entry.name,
        "twins": " / ".join(run.role.arm for run in entry.runs),
        "first": accuracy.get(0), "second": accuracy.get(1),
        "what changed": changed_since(before, entry) if first else entry.fault,
        "state": ", ".join(dict.fromkeys(map(state_in_words, entry.runs))) or "cannot be read",
        "MB": round(entry.size / 1e6, 1),
    } | ({"whose": whose(entry.owner)} if runs.key_is_set() else {})


def whose(owner: str) -> str:
    return "yours" if owner == visitor.me().mark else "another's" if owner else "nobody's"


def changed_since(before: Entry | None, entry: Entry) -> str:
    if before is None:
        return "the first"
    found = compare.changes(entry.runs[0].config, before.runs[0].config)
    arms = [[run.role.arm for run in one.runs] for one in (before, entry)]
    if not found and arms[0] != arms[1]:
        return "another question"
    return compare.what_changed(entry.runs[0].config, before.runs[0].config)


def actions(chosen: list[Entry]) -> None:
    if not chosen:
        st.caption("Choose a run to look at it or to delete it, two to compare them.")
        return
    readable = [entry for entry in chosen if entry.runs]
    refusal = next(filter(None, (visitor.me().refusal(entry.owner) for entry in chosen)), "")
    with st.container(horizontal=True, vertical_alignment="center"):
        if len(chosen) == len(readable) == 1 and st.button("Show this run", icon=":material/visibility:",
                                                            key="train_show"):
            pair.look_at(chosen[0].name)
            st.rerun()
        st.button(f"Delete {many(len(chosen))}", icon=":material/delete:", key="train_delete", disabled=bool(refusal),
                  on_click=propose_to_delete, args=(chosen,))
        if refusal:
            st.caption(refusal)
    if len(chosen) == len(readable) == 2:
        compare_two(*chosen)


def many(count: int) -> str:
    return f"{count} run{'' if count == 1 else 's'}"


def compare_two(newer: Entry, older: Entry) -> None:
    changed = changed_since(older, newer)
    st.markdown(f"**From the older run (faded) to the newer:** {parts.as_text(changed)}.")
    lines = [
        Line(f"{age}, {run.role.arm}", run.role.side, runs.feed(run.folder).read(), faded=age == "older")
        for age, entry in (("newer", newer), ("older", older)) for run in entry.runs
    ]
    x = st.session_state.get("train_x") or "step"
    for column, quantity in zip(st.columns(2), ("loss", "accuracy"), strict=True):
        with column:
            show(training.curves(lines, quantity, x), f"compare_{quantity}")


# Deleting


def propose_to_delete(entries: list[Entry]) -> None:
    st.session_state.train_deleting = [entry.name for entry in entries]


def keep() -> None:
    st.session_state.pop("train_deleting", None)


def delete(entries: list[Entry]) -> None:
    keep()
    pair.attempt(partial(deleted.set_aside, visitor.me()), [run_id for entry in entries for run_id in entry.ids])
    looked_at = st.session_state.get("train_pair")
    if looked_at in [entry.name for entry in entries] and not pair.read(looked_at):
        st.session_state.train_left = looked_at
        pair.look_at(None)


def offer_to_take_back() -> None:
    if deleted.to_take_back(visitor.me()):
        st.fragment(take_back_bar, run_every=LOOK_EVERY)()


def take_back_bar() -> None:
    found = deleted.to_take_back(visitor.me())
    if not found:
        st.rerun()  # their minute is over, or another tab took them back
    left = min(one.seconds_left for one in found)
    count = len({pair_of(one.run_id) for one in found})
    with st.container(horizontal=True, vertical_alignment="center", key="train_deleted"):
        st.markdown(f"{many(count).capitalize()} deleted. You can take that back for {left:.0f} s.", width="content")
        st.button("Take back", icon=":material/undo:", key="train_take_back", on_click=take_back)


def take_back() -> None:
    pair.attempt(deleted.take_back, visitor.me())
    left = st.session_state.pop("train_left", None)
    if left and not st.session_state.train_pair and pair.read(left):
        st.session_state.train_pair = left


def ask_before_deleting(entries: list[Entry]) -> None:
    """The question stays until it is answered, though the page may be made anew meanwhile: runs go on."""
    names = st.session_state.get("train_deleting", ())
    doomed = [entry for entry in entries if entry.name in names]
    if doomed:
        question(doomed)
    else:
        keep()


@st.dialog("Delete?", on_dismiss=keep)
def question(entries: list[Entry]) -> None:
    for entry in entries:
        kind = f"{entry.runs[0].preset or 'own'}, started {entry.started}" if entry.runs else "cannot be read"
        st.markdown(f"- **{parts.as_text(entry.name)}** ({parts.as_text(kind)}), {entry.size / 1e6:,.1f} MB"
                    + (". **It is training now, and will be stopped.**" if entry.training else ""))
    in_all = "" if len(entries) == 1 else f", {sum(entry.size for entry in entries) / 1e6:,.1f} MB in all"
    st.markdown(f"{many(len(entries)).capitalize()}{in_all}: metrics, checkpoints and all. Other visitors may be "
                "looking at them. You can take this back for a minute; then they are gone for good.")
    with st.container(horizontal=True):
        if st.button("Delete", type="primary", icon=":material/delete:", key="train_delete_yes"):
            delete(entries)
            st.rerun()
        if st.button("Keep", key="train_delete_no"):
            keep()
            st.rerun()


def offer_to_clean_up(entries: list[Entry]) -> None:
    used, limit = runs.disk_used() - deleted.size(), runs.disk_limit()
    if used < 0.8 * limit:
        return
    idle = [entry for entry in reversed(entries) if not entry.training]
    ours = [entry for entry in idle if not visitor.me().refusal(entry.owner)]
    oldest = ours[: max(1, len(ours) // 2)]
    st.warning(f"The runs take {used / 1e6:,.0f} of {limit / 1e6:,.0f} MB."
               + ("" if oldest else " None of them is yours to delete."))
    if oldest:
        of_yours = "" if len(ours) == len(idle) else " of yours"
        st.button(f"Delete the {len(oldest)} oldest{of_yours}", icon=":material/delete_sweep:", key="train_clean_up",
                  on_click=propose_to_delete, args=(oldest,))
