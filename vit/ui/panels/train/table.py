"""All runs on this server: choose one to look at, two to compare them, any to delete them."""

from typing import Any

import streamlit as st

from vit import compare, runs
from vit.charts import training
from vit.charts.training import Line
from vit.ui import parts, visitor
from vit.ui.panels.train import deleting, pair
from vit.ui.panels.train.entries import Entry, all_entries, many
from vit.ui.panels.train.live import state_in_words
from vit.ui.show import show

MOST_LISTED = 40


def table() -> None:
    deleting.offer_to_take_back()
    entries = all_entries()
    if not entries:
        return
    st.subheader("All runs on this server", anchor=False)
    readable = [entry for entry in entries if entry.runs]
    deleting.offer_to_clean_up(readable)
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
    deleting.ask_before_deleting(entries)


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
                  on_click=deleting.propose_to_delete, args=(chosen,))
        if refusal:
            st.caption(refusal)
    if len(chosen) == len(readable) == 2:
        compare_two(*chosen)


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
