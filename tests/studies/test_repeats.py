"""The same comparison with several seeds: sentences that follow from the numbers, and numbers from the files."""

import json

import pytest
from scipy import stats

from tests.support.recorded import MIRROR_SAFE, write_flips
from vit.numbers import with_sign
from vit.studies import repeats, results
from vit.studies.catalogue import CATALOGUE
from vit.studies.questions import QUESTIONS, own
from vit.studies.repeats import Mirrors, Repeats, record_of
from vit.studies.results import BadStudy

FLIPS = CATALOGUE["flips-hurt"]


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A file in the place of the recorded one."""
    path = tmp_path / "flips-hurt.json"
    write_flips(FLIPS, path)
    monkeypatch.setattr(results, "path_of", lambda study_id, folder=tmp_path: folder / f"{study_id}.json")
    return path


def test_a_clear_lead_is_no_luck_and_its_interval_is_scipy_s():
    found = Repeats(("with flips", "CNN"), {0: 95.0, 1: 96.0, 2: 95.5}, {0: 90.0, 1: 90.5, 2: 91.0, 7: 1.0})
    low, high = stats.t.interval(0.95, 2, 5.0, stats.sem([5.0, 5.5, 4.5]))
    words = found.in_words()
    assert "Over 3 seeds the twin with flips is ahead by +5.0 points on average" in words
    assert f"between {with_sign(low, 1)} and {with_sign(high, 1)}" in words
    assert "not luck" in words
    other_way_round = Repeats(("with flips", "CNN"), found.second, found.first).in_words()
    assert "the CNN is ahead by +5.0 points" in other_way_round
    assert f"between {with_sign(low, 1)} and {with_sign(high, 1)}" in other_way_round


def test_what_may_be_luck_is_called_so_with_what_could_have_been_seen():
    found = Repeats(("a b", "c d"), {0: 95.0, 1: 96.0}, {0: 96.0, 1: 94.0})
    assert "takes in 0: it may be luck" in found.in_words()
    assert f"An effect of {found.found.visible:.1f} points" in found.in_words()


def test_one_pair_is_no_sample_and_none_is_nothing():
    assert "One pair is no sample" in Repeats(("a b", "c d"), {3: 95.0}, {3: 94.0}).in_words()
    assert "With one seed neither twin is ahead." in Repeats(("a b", "c d"), {3: 95.0}, {3: 95.0}).in_words()
    assert "No pair" in Repeats(("a b", "c d"), {3: 95.0}, {4: 94.0}).in_words()


def test_digits_whose_mirror_image_is_read_all_the_same_are_named_with_what_was_measured():
    plain = [95.0 if digit in MIRROR_SAFE else 20.0 for digit in range(10)]
    found = Mirrors([98.0] * 10, plain, [97.5 if digit in MIRROR_SAFE else 90.0 for digit in range(10)], [80.0] * 10)
    assert found.same == list(MIRROR_SAFE)
    words = found.in_words("0123456789")
    assert "Mirrored, 0, 1 and 8 are still the same" in words
    assert "reads 95 % of theirs rightly, and 20 % of the others'" in words
    assert "they change by −0.5 points on average, the others by −8.0" in words
    assert "no class stands out" in Mirrors([98.0] * 10, [5.0] * 10, [97.0] * 10, [5.0] * 10).in_words("0123456789")


def test_the_record_of_flips_holds_all_seeds_curves_classes_and_mirrors(stored):
    found = record_of(QUESTIONS["flips"])
    assert found.setting.name == "MNIST"
    assert found.repeats.names == ("without flips", "with flips")
    assert found.repeats.found.n == 10
    assert found.repeats.found.mean == pytest.approx(5.45)
    assert found.curves[0] == [(0, 10.0), (100, pytest.approx(95.45))]
    assert found.by_class[1] == [pytest.approx(90.0)] * 10
    assert found.mirrors.same == list(MIRROR_SAFE)


def test_another_question_of_the_same_study_takes_its_own_arms(stored):
    found = record_of(QUESTIONS["alternating-flips"])
    assert found.repeats.names == ("random flips", "alternating flips")
    assert found.repeats.found.mean == pytest.approx(-0.5)
    assert found.mirrors is None


def damaged(path, change):
    content = json.loads(path.read_text())
    for run in content["runs"]:
        change(run)
    path.write_text(json.dumps(content))


@pytest.mark.parametrize("change", [
    lambda run: run.update(by_class=[1.0]), lambda run: run["readings"].update({repeats.BY_CLASS[1]: [1.0]}),
])
def test_lists_of_other_classes_are_refused_in_a_sentence(stored, change):
    damaged(stored, change)
    with pytest.raises(BadStudy, match="10 classes"):
        record_of(QUESTIONS["flips"])


def test_without_readings_there_is_a_record_all_the_same(stored):
    damaged(stored, lambda run: run.update(readings={}))
    assert record_of(QUESTIONS["flips"]).mirrors is None


def test_what_was_not_recorded_gets_a_sentence(stored):
    stored.write_text("{")
    with pytest.raises(BadStudy, match="cut off"):
        record_of(QUESTIONS["flips"])
    stored.unlink()
    with pytest.raises(BadStudy, match="has not been run yet"):
        record_of(QUESTIONS["flips"])
    with pytest.raises(BadStudy, match="first to ask"):
        record_of(own("depth", 1, 2, of_model=True))
