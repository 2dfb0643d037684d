"""One claim: what it says and where, what came out, every run behind it, and what that means."""

import streamlit as st

from vit.charts import claim_tables, claims, study_curves
from vit.datasets import DATASETS
from vit.studies import shelf
from vit.studies.catalogue import CATALOGUE
from vit.studies.results import Result
from vit.studies.shelf import Shelved
from vit.studies.study import Computation, Study
from vit.ui import parts
from vit.ui.panels.claims.listing import open_claim
from vit.ui.show import show
from vit.ui.view import is_dark

IDS = list(CATALOGUE)


def asked_for() -> Study | Computation | None:
    """The claim that the address names; a name that there is not gets a sentence."""
    name = st.query_params.get("claim")
    if name and name not in CATALOGUE:
        st.warning(f"There is no claim “{parts.as_text(name[:60])}”. Here are all that there are.")
        open_claim(None)
    return CATALOGUE.get(name or "")


def head(study: Study | Computation, found: Shelved) -> None:
    """The way to the others, the verdict, and where the claim stands."""
    place = IDS.index(study.id)
    with st.container(horizontal=True):
        st.button("All claims", icon=":material/list:", key="claims_all", on_click=open_claim, args=(None,))
        st.button("Previous claim", icon=":material/arrow_back:", key="claims_previous", disabled=place == 0,
                  on_click=open_claim, args=(IDS[max(place - 1, 0)],))
        st.button("Next claim", icon=":material/arrow_forward:", key="claims_next", disabled=place == len(IDS) - 1,
                  on_click=open_claim, args=(IDS[min(place + 1, len(IDS) - 1)],))
    show(claim_tables.head(study, claim_tables.tell(study, found.result, found.problem)))


def evidence(study: Study | Computation, result: Result | None) -> None:
    """Dots and differences; figures of a computation; without a result, what would be run."""
    if isinstance(study, Computation):
        if result:
            show(claim_tables.figures(study, result.figures))
        else:
            st.markdown(f"**How it will be decided**, written down before it was computed: {study.rule}")
    elif result:
        shown = claims.bands(study, result.findings)
        runs, differences = st.columns(2, gap="large")
        with runs:
            st.markdown("**Every run**, joined to its twins of the same seed")
            show(claims.every_run(study, shown, result.runs, dark=is_dark()), f"claims_runs_{study.id}")
        with differences:
            st.markdown("**What the rules look at**, with 95 % intervals")
            show(claims.every_difference(study, shown, dark=is_dark()), f"claims_differences_{study.id}")
        st.caption("A run that diverged is a cross. Of rules: a ring for each seed, and a bar for the interval of "
                   "their mean, in the colour of the verdict; grey is no difference, and blue, dotted or shaded, what "
                   "the rule asks for.")
    else:
        show(claim_tables.planned(study))


def meaning(study: Study | Computation, result: Result | None) -> None:
    show(claim_tables.in_words(study, result))


def command(study: Study | Computation, result: Result | None) -> None:
    st.caption(f"To {'try it again' if result else 'record it'}, from the project's folder:")
    again = " --again" if result and isinstance(study, Study) else ""
    st.code(f"python -m vit.studies {study.id}{again}", language="bash")


def rule_by_rule(study: Study | Computation, result: Result | None) -> None:
    if isinstance(study, Study) and result:
        st.subheader("Rule by rule", anchor=False)
        show(claim_tables.findings(study, result.findings))
        st.caption("Could have seen: the smallest difference that so many seeds of such a spread show in 8 of 10 "
                   "cases.")


def behind(study: Study | Computation, result: Result | None) -> None:
    """What many charts tell, drawn once somebody asks for them: a claim with all of them opens four times as slowly."""
    if isinstance(study, Study) and result:
        if study_curves.by_size(study):
            st.subheader("The more images, the better?", anchor=False)
            show(study_curves.over_sizes(study, result.runs), f"claims_sizes_{study.id}")
        st.fragment(how_they_learned)(study.id)


def how_they_learned(study_id: str) -> None:
    study = CATALOGUE[study_id]
    result = shelf.result_of(study).result
    if not isinstance(study, Study) or result is None:
        return
    closer = st.expander("How they learned: the curves of every run", key=f"claims_learned_{study.id}",
                         icon=":material/show_chart:", on_change="rerun")
    if closer.open:
        with closer:
            learning(study, result)


def learning(study: Study, result: Result) -> None:
    """Curves, and what was read off the weights, in one setting at a time."""
    settings = [setting.name for setting in study.settings]
    with st.container(horizontal=True):
        setting = settings[0] if len(settings) == 1 else st.segmented_control(
            "Setting", settings, default=settings[0], required=True, key=f"claims_setting_{study.id}",
            label_visibility="collapsed")
        quantity = st.segmented_control("Quantity", ["accuracy", "loss"], default="accuracy", required=True,
                                        key="claims_quantity", label_visibility="collapsed")
    show(study_curves.curves(study, setting, result.runs, quantity), f"claims_curves_{study.id}")
    st.caption("Strong: the mean of an arm on validation images. Thin: single runs; dotted: in training.")
    names = study_curves.names_of_readings(result.runs, setting)
    dataset = next(one.base.dataset for one in study.settings if one.name == setting)
    for name, column in zip(names, st.columns(max(len(names), 1), gap="large"), strict=False):
        with column:
            st.markdown(f"**{name.capitalize()}**")
            show(study_curves.reading(study, setting, result.runs, name, DATASETS[dataset].classes),
                 f"claims_{name}_{study.id}")
