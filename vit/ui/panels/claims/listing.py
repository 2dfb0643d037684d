"""All claims, the texts that they stand in, and the article's own figures beside ours."""

from collections import Counter

import streamlit as st

from vit.charts import article as article_charts
from vit.charts import claim_tables
from vit.charts.claim_tables import Told
from vit.studies import article, shelf
from vit.studies.catalogue import CATALOGUE
from vit.studies.results import BadStudy
from vit.studies.study import CANNOT_TELL, DOES_NOT, HOLDS, IN_PART, VERDICTS
from vit.studies.words import NOT_TRIED
from vit.ui import frame, models, state
from vit.ui.show import show

STUDIES = list(CATALOGUE.values())
OF_MANY = {HOLDS: "hold", IN_PART: "hold in part", DOES_NOT: "do not hold here", CANNOT_TELL: CANNOT_TELL,
           NOT_TRIED: NOT_TRIED}


def told() -> list[Told]:
    shelved = [shelf.result_of(study) for study in STUDIES]
    return [claim_tables.tell(study, found.result, found.problem)
            for study, found in zip(STUDIES, shelved, strict=True)]


def sentence() -> str:
    """How the claims fare, in numbers."""
    counted = Counter(verdict for verdict, _ in told())
    fare = [f"{many} {verdict if many == 1 else OF_MANY[verdict]}" for verdict in (*VERDICTS, NOT_TRIED)
            if (many := counted[verdict])]
    return (f"You need not believe what you read. Here are {len(STUDIES)} claims about Vision Transformers, tried, "
            f"with every run to see: **{', '.join(fare)}**.")


def texts_and_table() -> None:
    texts, table = st.columns(2, gap="large")
    with texts:
        show(claim_tables.bibliography(STUDIES))
    with table:
        try:
            show(claim_tables.article_table(article.read()))
        except BadStudy as error:
            show(claim_tables.article_table(None, str(error)))


def article_in_full() -> None:
    """How the article's two models learned here, what they read, and a door to each."""
    try:
        recipe = article.read()
    except BadStudy:  # the table says so
        return
    if recipe is None:
        return
    st.subheader("The article in full", anchor=False)
    st.markdown("Its recipe, followed on all training images. Dotted: the best accuracies that it reports.")
    pictures = {"claims_article_epochs": article_charts.by_epoch(recipe),
                "claims_article_digits": article_charts.by_digit(recipe, mirrored=False),
                "claims_article_mirrored": article_charts.by_digit(recipe, mirrored=True)}
    names = ("**After each epoch**: validation strong, training thin", "**Test digits**", "**Mirrored test digits**")
    for column, words, (key, picture) in zip(st.columns(3), names, pictures.items(), strict=True):
        with column:
            st.markdown(words)
            show(picture, key)
    st.caption("A mirrored 0, 1 or 8 is still about the same digit; the others are not what the label says.")
    with st.container(horizontal=True):
        for model_id, name in models.RECORDED.items():
            if model_id in models.NAMES and st.button(f"Look into {name}", icon=":material/open_in_new:",
                                                      key=f"claims_open_{model_id}"):
                state.choose(model=model_id)
                frame.go_to("draw" if state.get().drawing is None else "attention")


def claims() -> None:
    """The list; a click opens one."""
    show(claim_tables.all_claims(STUDIES, told()), "claims_list", lambda place: open_claim(STUDIES[place].id))


def open_claim(study_id: str | None) -> None:
    """The address tells which claim is open, so that it can be shared and the browser's Back leads out again."""
    if study_id:
        st.query_params["claim"] = study_id
    elif "claim" in st.query_params:
        del st.query_params["claim"]
