"""Was that luck? The same twins with other seeds: a dot for each run, and an interval that narrows as they end."""

import streamlit as st

from vit import runs
from vit.charts import repeats
from vit.numbers import duration
from vit.runs import Run, series
from vit.runs.series import Series
from vit.studies.repeats import Repeats
from vit.ui import estimates, parts, visitor
from vit.ui.panels.train.pair import Twins, attempt, refuse
from vit.ui.show import show

LOOK_EVERY = 2.0  # seconds
OFFERED = (2, 4, 8)


def luck(twins: Twins) -> None:
    """For twins that have come to their end, and those that belong to a series."""
    name = twins.runs[0].role.series or twins.pair  # these twins belong to a series, or begin one
    found = series.read(name) or Series(name, ())
    if not twins.complete or not (found.runs or all(map(series.came_to_its_end, twins.runs))):
        return
    st.subheader("Was that luck?", anchor=False)
    all_runs = [*runs.pair(name), *found.runs]
    shown = repeats_of(all_runs, twins.runs)
    st.markdown(parts.as_text(shown.in_words()))
    show(repeats.dots(shown), "luck_dots")
    for folder, sentence in found.faults:
        st.caption(parts.as_text(f"{folder}: {sentence}"))
    if found.moving:
        still_coming(found)
        st.fragment(notice_ends, run_every=LOOK_EVERY)(name, states(found))
    else:
        offer(name, twins.runs, {run.config.seed for run in all_runs})


def states(found: Series) -> list[str]:
    return [run.state for run in found.runs]


def notice_ends(name: str, shown: list[str]) -> None:
    """Nothing is drawn anew until a run ends: a chart would forget what the pointer reads."""
    found = series.read(name)
    if found is None or states(found) != shown:
        st.rerun()


def repeats_of(all_runs: list[Run], twins: list[Run]) -> Repeats:
    first, second = (run.role.arm for run in twins)
    values = Series("", tuple(all_runs)).values()
    return Repeats((first, second), values.get(first, {}), values.get(second, {}))


def still_coming(found: Series) -> None:
    refused = visitor.refusal(series.unfinished(found))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Stop repeating", icon=":material/stop:", key="luck_stop", disabled=bool(refused), on_click=attempt,
                  args=(stop, found.id))
        st.caption(f"{found.ended} of {len(found.runs)} runs have ended. Each dot comes when its run is done. "
                   + refused)


def stop(series_id: str) -> None:
    series.stop(series_id, by=visitor.me())


def offer(name: str, twins: list[Run], used: set[int]) -> None:
    """So many other seeds, with the time that they take."""
    room = runs.room_in_queue(visitor.me().mark)
    if not room:
        whose = "The queue is full" if not runs.room_in_queue() else "You have as many waiting as one visitor may"
        st.caption(f"{whose} at the moment. Try again when some runs have begun.")
        return
    offered = [number for number in OFFERED if number <= room] or [room]
    with st.container(horizontal=True, vertical_alignment="center"):
        count = st.segmented_control("Other seeds", offered, default=offered[min(1, len(offered) - 1)], required=True,
                                     key="luck_seeds", label_visibility="collapsed") or offered[0]
        seeds = [seed for seed in range(count + len(used)) if seed not in used][:count]
        st.button(f"Repeat with {count} other seeds", icon=":material/casino:", key="luck_start", on_click=repeat,
                  args=(name, twins, seeds))
        st.caption(how_long(twins, count))


def how_long(twins: list[Run], count: int) -> str:
    seconds = estimates.seconds_of_all([run.config for _ in range(count) for run in twins])
    what = f"{2 * count} runs, {runs.max_workers()} at once"
    return (f"About {duration(seconds)} on this machine: {what}." if seconds is not None
            else f"{what}; too large to try how long that takes.")


def repeat(name: str, twins: list[Run], seeds: list[int]) -> None:
    arms = {run.role.arm: run.config for run in twins}
    try:
        series.create(arms, seeds, topic=twins[0].role.topic, preset=twins[0].preset, series_id=name,
                      owner=visitor.me().mark)
    except (runs.RunError, OSError) as error:
        refuse(error)
