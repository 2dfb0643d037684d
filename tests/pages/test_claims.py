"""The Claims page without a browser: with results, without any, with damaged ones, and with a visitor's own runs."""

from dataclasses import replace

import pytest
from markupsafe import escape

from tests.charts.test_article import RECIPE
from tests.pages.test_explorer import SMALL
from tests.support.studies import made_up, shelve
from tests.support.train_page import html, words
from vit import checkpoints, runs
from vit.charts import study_curves
from vit.config import TrainConfig, ViTConfig
from vit.runs import queue, series
from vit.studies import article, shelf
from vit.studies.catalogue import CATALOGUE
from vit.studies.study import Computation, Study
from vit.ui import estimates, models
from vit.ui.panels.claims import listing, opened
from vit.worker import Worker

LITTLE = TrainConfig(model=ViTConfig(patch_size=14, width=8, depth=1, heads=2), train_images=64, epochs=1,
                     batch_size=32, validation_images=50, learning_rate=3e-3)
TITLES = {study.id: study.title for study in CATALOGUE.values()}


@pytest.fixture(autouse=True)
def folder(shipped, tmp_path, monkeypatch):
    shipped(SMALL)
    monkeypatch.setattr(shelf, "FOLDER", tmp_path / "studies")
    monkeypatch.setattr(article, "METRICS", tmp_path / "metrics.json")
    (tmp_path / "studies").mkdir()
    return tmp_path / "studies"


def charts(visitor):
    return [element.proto.spec for element in visitor.get("plotly_chart")]


def shown_title(visitor):
    return visitor.title[0].value


# All claims


def test_without_any_result_the_page_still_tells_what_is_claimed(open_app):
    visitor = open_app("claims")
    assert not visitor.exception
    assert shown_title(visitor) == "Do the articles get it right?"
    assert "**20 not tried yet**" in words(visitor)
    assert "An Image is Worth 16x16 Words" in html(visitor)
    assert "97.39 %" in html(visitor)
    assert "Not recorded yet" in html(visitor)
    assert len(listing.told()) == 20


def test_verdicts_are_counted(open_app, folder):
    shelve(folder, "flips-hurt", "cls-or-mean", "gelu-by-tanh")
    visitor = open_app("claims")
    assert "**3 hold, 17 not tried yet**" in words(visitor)


def test_a_damaged_file_costs_only_its_own_line(open_app, folder):
    shelve(folder, "flips-hurt", "cls-or-mean")
    path = folder / "flips-hurt.json"
    path.write_bytes(path.read_bytes()[:500])
    visitor = open_app("claims")
    assert not visitor.exception
    told = dict(zip(CATALOGUE, listing.told(), strict=True))
    assert "flips-hurt.json is cut off or no JSON" in told["flips-hurt"].sentence
    assert told["cls-or-mean"].verdict == "holds"
    broken = open_app("claims", claim="flips-hurt")
    assert not broken.exception
    assert "cut off" in html(broken)


def test_a_damaged_record_of_the_article_gets_a_sentence(open_app):
    article.METRICS.write_text('{"format": 1, "plain": {')
    visitor = open_app("claims")
    assert not visitor.exception
    assert "metrics.json is cut off or no JSON" in html(visitor)


def test_the_recorded_article_stands_beside_its_own_figures_and_opens_in_the_explorer(open_app, tmp_path, monkeypatch):
    article.write(RECIPE, article.METRICS)
    for name in ("article", "article-flips"):
        monkeypatch.setitem(checkpoints.SHIPPED, name, checkpoints.SHIPPED["explorer"])
        monkeypatch.setitem(models.NAMES, name, models.RECORDED[name])
    visitor = open_app("claims")
    assert not visitor.exception
    assert "89.75 %" in html(visitor)
    assert len(charts(visitor)) == 3
    visitor.button(key="claims_open_article-flips").click().run()
    assert visitor.session_state.model == "article-flips"
    assert not open_app("attention", d="s0", model="article").exception


# One claim


def unfold_curves(visitor, study_id):
    visitor.session_state[f"claims_learned_{study_id}"] = True
    return visitor.run()


@pytest.mark.parametrize("study", CATALOGUE.values(), ids=lambda study: study.id)
def test_every_claim_opens_by_its_link_with_a_result_and_without(open_app, folder, study):
    untried = open_app("claims", claim=study.id)
    assert not untried.exception
    assert shown_title(untried) == study.title
    assert "not tried yet" in html(untried)
    assert f"python -m vit.studies {study.id}" in untried.code[0].value
    assert not charts(untried)
    shelve(folder, study.id)
    tried = open_app("claims", claim=study.id)
    assert not tried.exception
    assert shown_title(tried) == study.title
    assert "code as of 0123456789" in html(tried)
    if isinstance(study, Study):
        assert len(charts(tried)) == 2 + study_curves.by_size(study)  # a claim opens with few charts
        unfold_curves(tried, study.id)
        assert not tried.exception
        readings = len({name for run in made_up(study).runs for name, found in run.readings.items()
                        if isinstance(found, list)})
        assert len(charts(tried)) == 3 + readings + study_curves.by_size(study)
        assert all(f"<th>{escape(setting.name)}</th>" in html(tried) for setting in study.settings)


def test_an_unknown_claim_gets_a_sentence_and_the_list(open_app):
    visitor = open_app("claims", claim="[Sign in](https://evil.example)")
    assert not visitor.exception
    assert shown_title(visitor) == "Do the articles get it right?"
    assert "There is no claim" in words(visitor)
    assert "](https" not in visitor.warning[0].value
    assert "claim" not in visitor.query_params


def test_claims_lead_to_one_another_and_back_to_the_list(open_app):
    visitor = open_app("claims", claim="flips-hurt")
    assert visitor.button(key="claims_previous").disabled
    visitor.button(key="claims_next").click().run()
    assert shown_title(visitor) == TITLES["batch-of-32"]
    assert visitor.query_params["claim"] == "batch-of-32"
    visitor.button(key="claims_all").click().run()
    assert shown_title(visitor) == "Do the articles get it right?"
    last = open_app("claims", claim=list(CATALOGUE)[-1])
    assert last.button(key="claims_next").disabled


def test_the_link_to_share_names_the_claim(open_app):
    visitor = open_app("claims", claim="flips-hurt")
    next(button for button in visitor.button if button.label == "Share").click().run()
    assert "claim=flips-hurt" in visitor.code[-1].value


def test_another_setting_shows_its_own_curves(open_app, folder):
    shelve(folder, "cls-or-mean")
    visitor = unfold_curves(open_app("claims", claim="cls-or-mean"), "cls-or-mean")
    assert "in at 3e-3" in [element.proto.alt for element in visitor.get("plotly_chart")][2]
    visitor.button_group(key="claims_setting_cls-or-mean").set_value("at 1e-3").run()
    assert "in at 1e-3" in [element.proto.alt for element in visitor.get("plotly_chart")][2]


# Run it here


@pytest.fixture
def little(monkeypatch):
    """A study whose runs take no time."""
    study = CATALOGUE["cls-or-mean"]
    settings = tuple(replace(setting, base=LITTLE, seeds=2) for setting in study.settings)
    monkeypatch.setitem(CATALOGUE, study.id, replace(study, settings=settings))
    monkeypatch.setattr(estimates, "seconds_of_all", lambda configs: 30.0 * len(configs))
    monkeypatch.setattr(queue.Dispatcher, "start", lambda *_: None)  # the test trains them itself: no worker wakes up
    return CATALOGUE[study.id]


def trained(study: Study) -> series.Series:
    [name] = series.find(f"{study.id}: at 3e-3")
    for run in series.read(name).runs:
        assert Worker(run.folder).work() == 0
    return series.read(name)


def test_nothing_is_measured_before_it_is_asked_for(open_app, little, monkeypatch):
    monkeypatch.setattr(estimates, "seconds_of_all", lambda configs: pytest.fail("it measured"))
    visitor = open_app("claims", claim=little.id)
    assert visitor.button(key="here_open").label == "Run it here"


def test_a_visitor_runs_the_arms_here_and_sees_their_own_dots(open_app, folder, little):
    shelve(folder, little.id)
    visitor = open_app("claims", claim=little.id)
    visitor.button(key="here_open").click().run()
    assert not visitor.exception
    assert "About **2 min** on this machine" in words(visitor)
    assert visitor.button(key="here_start").label == "Start 4 runs"
    visitor.button(key="here_start").click().run()
    assert not visitor.exception
    found = trained(little)
    assert found.seeds == [2, 3]  # 0 and 1 are recorded
    visitor.run()
    assert "4 runs: 4 done." in html(visitor)
    accuracies = found.values()
    dots = charts(visitor)[2]
    assert all(f"{value:.2f} %" in dots.encode().decode("unicode_escape") for of_arm in accuracies.values()
               for value in of_arm.values())
    assert "here, seed" in dots
    another = open_app("claims", claim=little.id)
    another.button(key="here_open").click().run()
    assert "4 runs: 4 done." in html(another)  # what trains here, all visitors see


def test_runs_that_wait_are_told_and_can_be_stopped_and_resumed(open_app, little, monkeypatch):
    monkeypatch.setattr(queue.Dispatcher, "start", lambda self, *ids: [runs.resume(name, self.server) for name in ids])
    monkeypatch.setattr(queue.Dispatcher, "_start_waiting", lambda self: None)
    visitor = open_app("claims", claim=little.id)
    visitor.button(key="here_open").click().run()
    visitor.button(key="here_start").click().run()
    assert not visitor.exception
    assert "4 runs: 4 waiting." in html(visitor)
    assert "here_start" not in {button.key for button in visitor.button}
    visitor.button(key="here_stop").click().run()
    visitor.run()
    assert "4 runs: 4 stopped." in html(visitor)
    assert visitor.button(key="here_start").label == "Start 4 runs"
    visitor.button(key="here_resume").click().run()
    visitor.run()
    assert "4 runs: 4 waiting." in html(visitor)


def test_recorded_seeds_say_whether_they_come_out_again(open_app, folder, little):
    shelve(folder, little.id)
    visitor = open_app("claims", claim=little.id)
    visitor.button(key="here_open").click().run()
    visitor.button_group(key="here_new").set_value(False).run()
    visitor.button(key="here_start").click().run()
    assert trained(little).seeds == [0, 1]
    visitor.run()
    assert "accuracies come out as recorded, to the last digit; the others are at most" in words(visitor)


def test_what_there_is_no_room_for_is_refused_in_a_sentence(open_app, little, monkeypatch):
    monkeypatch.setenv("PATCHWISE_RUNS_MB", "0")
    visitor = open_app("claims", claim=little.id)
    visitor.button(key="here_open").click().run()
    visitor.button(key="here_start").click().run()
    assert not visitor.exception
    assert "Delete old runs to make room" in words(visitor)
    assert not series.find(f"{little.id}: at 3e-3")


def test_runs_that_are_timed_and_computations_are_left_to_the_command(open_app):
    timed = open_app("claims", claim="compile-halves")
    assert "Its runs are timed" in words(timed)
    assert "here_open" not in {button.key for button in timed.button}
    assert isinstance(CATALOGUE["gelu-by-tanh"], Computation)
    assert "here_open" not in {button.key for button in open_app("claims", claim="gelu-by-tanh").button}


def test_the_claims_of_the_page_are_those_of_the_catalogue():
    assert opened.IDS == [study.id for study in listing.STUDIES] == list(CATALOGUE)
