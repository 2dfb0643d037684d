"""Run it here: the same arms on this machine, with seeds of the visitor's choice, beside what is recorded."""

from dataclasses import replace

import streamlit as st

from vit import data, runs
from vit.charts import claim_tables, claims
from vit.datasets import DATASETS
from vit.numbers import duration
from vit.runs import series
from vit.runs.queue import dispatcher
from vit.runs.series import Series
from vit.studies import here, shelf
from vit.studies.catalogue import CATALOGUE
from vit.studies.results import Result, findings_of
from vit.studies.study import Computation, Setting, Study
from vit.studies.words import count
from vit.ui import estimates, parts, visitor
from vit.ui.show import show
from vit.ui.view import is_dark

TICK = 2.0  # seconds
MOST_SEEDS = 10
SEEDS = {True: "new ones", False: "those that are recorded"}


def panel(study: Study | Computation, result: Result | None) -> None:
    """Closed until it is asked for: how fast this machine is takes a moment to measure."""
    if isinstance(study, Computation):
        return
    st.subheader("Run it here", anchor=False)
    if study.alone:
        st.markdown("Its runs are timed, so that nothing may run beside them. The command above sees to that; this "
                    "server, which others use as well, cannot.")
        return
    opened = st.session_state.setdefault("claims_here", set())
    if study.id not in opened:
        where = "beside the recorded ones" if result else "one by one"
        st.markdown("Train the same arms on this machine, now, with as many seeds as you like: your dots appear "
                    f"{where}.")
        st.button("Run it here", type="primary", icon=":material/play_arrow:", key="here_open",
                  on_click=opened.add, args=(study.id,))
        return
    if fault := dispatcher().problem:
        st.error(parts.as_text(fault))
    if problem := st.session_state.pop("here_problem", ""):
        st.error(parts.as_text(problem))
    dispatcher().expect_a_start()
    setting = choose_setting(study)
    found = current(study, setting)
    if found is None or not found.moving:
        choose_seeds(study, setting, here.recorded_seeds(result, setting.name), found.seeds if found else [])
    if found:
        st.fragment(live, run_every=TICK if found.moving else None)(study.id, setting.name, found.id, found.moving)


def choose_setting(study: Study) -> Setting:
    if len(study.settings) == 1:
        return study.settings[0]
    names = [setting.name for setting in study.settings]
    chosen = st.segmented_control("Under which circumstances?", names, default=names[0], required=True,
                                  key=f"here_setting_{study.id}")
    return study.settings[names.index(chosen)]


def choose_seeds(study: Study, setting: Setting, recorded: list[int], tried: list[int]) -> None:
    """Which seeds and how many, how long that takes, and the button."""
    most = min(MOST_SEEDS, max(1, runs.room_in_queue(visitor.me().mark)))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        new = not recorded or st.segmented_control("Seeds", [True, False], default=True, required=True, key="here_new",
                                                   format_func=lambda new: SEEDS[new])
        allowed = most if new else min(most, len(recorded))
        many = st.number_input("How many?", 1, allowed, value=min(2, allowed), step=1, key=f"here_many_{allowed}",
                               width=140)
        seeds = here.seeds_to_try(recorded, tried, new, many)
        st.button(f"Start {count(len(seeds) * len(study.arms), 'run')}", type="primary", icon=":material/play_arrow:",
                  key="here_start", on_click=start, args=(study, setting, seeds))
    st.caption(" ".join([estimate(study, setting, seeds), *cautions(setting, new, many)]))


def estimate(study: Study, setting: Setting, seeds: list[int]) -> str:
    configs = [replace(config, seed=seed) for seed in seeds for config in here.arms_of(study, setting).values()]
    seconds = estimates.seconds_of_all(configs)
    if seconds is None:
        return "The model is too large to try how long that takes here."
    workers = min(runs.max_workers(), len(configs))
    return (f"About **{duration(seconds)}** on this machine, {workers} at a time, if nobody else trains. "
            f"Each run has the study's whole budget: {setting.base.epochs} epochs of "
            f"{setting.base.images_per_epoch:,} images.")


def cautions(setting: Setting, new: bool, many: int) -> list[str]:
    said = []
    if data.needs_download(setting.base.dataset):
        said.append(f"{DATASETS[setting.base.dataset].title} is downloaded first.")
    if many < 2:
        said.append("One seed gives no interval.")
    if not new:
        said.append("On a machine of the same kind these runs give the recorded figures again.")
    return said


def start(study: Study, setting: Setting, seeds: list[int]) -> None:
    """More seeds join the visitor's own runs, so that the dots grow; the same seeds begin anew."""
    topic = here.topic_of(study, setting)
    there = series.read(st.session_state.get(f"here_{topic}", ""))
    joined = there.id if there and not set(there.seeds) & set(seeds) else ""
    try:
        made = series.create(here.arms_of(study, setting), seeds, topic=topic, series_id=joined,
                             owner=visitor.me().mark)
        st.session_state[f"here_{topic}"] = made
    except (runs.RunError, OSError) as error:
        st.session_state.here_problem = str(error)


def current(study: Study, setting: Setting) -> Series | None:
    """The visitor's own runs in this setting, or else the newest that somebody made here."""
    topic = here.topic_of(study, setting)
    own = st.session_state.get(f"here_{topic}")
    if own and (found := series.read(own)):
        return found
    others = series.find(topic)
    return series.read(others[0]) if others else None


# As they train


def live(study_id: str, setting_name: str, series_id: str, ticking: bool) -> None:
    study, found = CATALOGUE[study_id], series.read(series_id)
    if found is None or not isinstance(study, Study):
        st.warning("These runs are not here any more. They may have been deleted.")
        return
    if found.moving != ticking or "here_problem" in st.session_state:
        st.rerun()  # the rest of the page has something else to offer now
    buttons(found)
    own = here.runs_of(setting_name, found)
    ended = here.ended(own)
    show(claim_tables.progress(progress_in_words(found), here.share_done(found)))
    recorded = shelf.result_of(study).result
    theirs = [run for run in recorded.runs if run.setting == setting_name] if recorded else []
    measured = [finding for finding in findings_of(study, ended) if finding.setting == setting_name and finding.values]
    of_all = [finding for finding in (recorded.findings if recorded else findings_of(study, own))
              if finding.setting == setting_name and finding.values]
    shown = [band for band in claims.bands(study, of_all)
             if not own or any(band.measure in {**run.measures, **run.times} for run in own)]
    if not shown:
        st.caption("Dots appear here as soon as the first run has been validated.")
        return
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"**Runs here**{', hollow, below the recorded ones' if theirs else ''}")
        show(claims.every_run(study, shown, theirs, own, dark=is_dark()), f"here_runs_{study.id}")
    with right:
        st.markdown(f"**Differences here**{', in blue' if theirs else ''}")
        show(claims.every_difference(study, shown, claims.bands(study, measured), dark=is_dark()),
             f"here_differences_{study.id}")
    if measured:
        show(claim_tables.findings(study, measured))
    if sentence := here.repeats(theirs, own):
        st.markdown(sentence)


def buttons(found: Series) -> None:
    stopped = series.held_up(found)
    refusal = visitor.refusal(series.unfinished(found) if found.moving else stopped)
    with st.container(horizontal=True, vertical_alignment="center"):
        if found.moving:
            st.button("Stop", icon=":material/stop:", key="here_stop", disabled=bool(refusal),
                      on_click=ask, args=("stop", found.id))
        elif stopped:
            st.button("Go on", icon=":material/play_arrow:", key="here_resume", disabled=bool(refusal),
                      on_click=ask, args=("resume", found.id))
        if refusal:
            st.caption(refusal)


def ask(what: str, series_id: str) -> None:
    try:
        {"stop": series.stop, "resume": series.resume}[what](series_id, by=visitor.me())
    except (runs.RunError, OSError) as error:
        st.session_state.here_problem = str(error)


def progress_in_words(found: Series) -> str:
    states = [run.state for run in found.runs]
    told = [count(len(states), "run")]
    for state, words in (("running", "training"), ("queued", "waiting"), ("done", "done"), ("stopped", "stopped"),
                         ("failed", "failed"), ("interrupted", "interrupted"), ("paused", "paused")):
        if state in states:
            told.append(f"{states.count(state)} {words}")
    reasons = [run.reason for run in found.runs if run.state in ("failed", "interrupted") and run.reason]
    faults = [sentence for _, sentence in found.faults]
    return " ".join([f"{told[0]}: {', '.join(told[1:])}.", *(reasons + faults)[:1]])
