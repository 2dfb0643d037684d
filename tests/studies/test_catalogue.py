"""Every study is well formed, and says before its runs how it will be decided."""

import re
import sys
from subprocess import run

import pytest

from vit.config import TrainConfig
from vit.studies import computations
from vit.studies.catalogue import CATALOGUE
from vit.studies.results import DIGITS, path_of, read, result_of_computation
from vit.studies.running import PROJECT, made, plan
from vit.studies.study import DOES_NOT, HOLDS, IN_PART, TEXTS, VERDICTS, Computation, Near, Study, differences

SEED_TEXTS = {"000_03ae29e2e3956238.txt", "001_afa67c7606a89c20.txt", "002_6b96f0a8865642bc.txt",
              "003_6df5cc3bbf287394.txt", "004_8c9ed0a9d89c17d0.txt"}
STUDIES = [study for study in CATALOGUE.values() if isinstance(study, Study)]
COMPUTATIONS = [study for study in CATALOGUE.values() if isinstance(study, Computation)]
MEASURES = {"accuracy", "gap", "training accuracy", "training accuracy of epoch 1", "training accuracy of epoch 2",
            "log2 of seconds an image"}
READ = {"scores": {"variance of scores at the start", "variance of scores at the end"},
        "gradients": {"log10 of gradients, first block over last"},
        "attention": {"distance in the first block", "distance of the widest head in the first block"},
        "mirrored": set()}


def test_all_twenty_claims_are_there_under_names_of_their_own():
    assert [study.number for study in CATALOGUE.values()] == list(range(1, 21))
    assert all(name == study.id and re.fullmatch("[a-z0-9-]+", name) for name, study in CATALOGUE.items())
    assert {study.number for study in COMPUTATIONS} == {2, 3, 10, 12, 14}


def test_the_texts_are_named_as_their_files():
    assert {text.file for text in TEXTS.values()} == SEED_TEXTS
    assert all(text.file.startswith(f"{key}_") for key, text in TEXTS.items())


@pytest.mark.parametrize("study", CATALOGUE.values(), ids=lambda study: study.id)
def test_a_study_says_what_is_claimed_and_where(study):
    assert study.title.endswith("?")
    assert study.claim.endswith(".")
    assert study.places
    assert all(place.text in TEXTS and place.section for place in study.places)


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.id)
def test_arms_differ_in_exactly_one_setting(study):
    for setting in study.settings:
        told_apart = differences(study.arms, setting.base)
        assert len(told_apart) == (1 if len(study.arms) > 1 else 0)
        configs = [arm.of(setting.base) for arm in study.arms]
        assert len(set(configs)) == len(configs)
    assert all(len(arm.changes) <= 1 for arm in study.arms)


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.id)
def test_rules_speak_of_arms_settings_and_measures_that_there_are(study):
    arms, settings = {arm.name for arm in study.arms}, {setting.name for setting in study.settings}
    assert len(arms) == len(study.arms)
    assert len(settings) == len(study.settings)
    known = MEASURES.union(*(READ[name] for name in study.readings))
    for rule in study.rules:
        assert set(rule.arms) <= arms
        assert set(rule.settings) <= settings
        assert rule.measure in known
        assert rule.in_words().endswith(".")
    assert any(rule.decides for rule in study.rules)
    assert all(study.rules_in(name) for name in settings)
    assert study.search == any(isinstance(rule, Near) for rule in study.rules)


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.id)
def test_budgets_are_what_was_promised(study):
    for setting in study.settings:
        assert isinstance(setting.base, TrainConfig)
        assert setting.base.seed == 0
        assert not setting.base.flips
        assert setting.seeds >= (5 if setting.seconds < 120 else 3)
    if study.number == 1:
        assert study.settings[0].seeds == 10


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.id)
def test_every_run_has_a_folder_of_its_own(study, tmp_path):
    planned = plan(study, tmp_path)
    assert len({one.folder for one in planned}) == len(planned)
    assert len(planned) == sum(setting.seeds for setting in study.settings) * len(study.arms)
    assert len(planned) == len({(one.setting, one.arm, one.seed) for one in planned})
    assert len(plan(study, tmp_path, seeds=2)) == 2 * len(study.settings) * len(study.arms)


def test_the_catalogue_can_be_read_without_torch():
    code = ("import sys, vit.studies.catalogue, vit.studies.results; "
            "sys.exit('torch' in sys.modules or 'scipy' in sys.modules)")
    assert run([sys.executable, "-c", code], cwd=PROJECT, check=False).returncode == 0


# What is computed


def test_the_article_has_nearly_two_million_weights():
    computed = computations.number_of_weights()
    assert computed.figures["weights of the article's shape"] == 1_992_970
    assert computed.verdict == DOES_NOT


def test_the_mlps_have_twice_the_weights_of_attention():
    computed = computations.where_the_weights_are()
    assert computed.figures["percent of the weights in the blocks"] > 98
    assert computed.figures["MLP over attention"] == pytest.approx(2, abs=0.01)
    assert computed.verdict == IN_PART


def test_luck_gives_either_batch_to_either_model():
    one, other = computations.chances_of_batches().values()
    assert one == pytest.approx(100 * 0.9547**32)
    p = 0.9739
    assert other == pytest.approx(100 * (1 - p**32 - 32 * p**31 * (1 - p)))
    assert max(one, other) > computations.OFTEN


def test_gelu_by_tanh_and_the_conv2d_trick_on_a_few_digits(monkeypatch):
    monkeypatch.setattr(computations, "DIGITS", 2)
    gelu, conv = computations.gelu_by_tanh(), computations.conv2d_trick()
    assert 0 < gelu.figures["largest difference of an activation"] < 5e-4  # the approximation's known bound
    assert gelu.verdict in VERDICTS
    assert conv.figures["largest difference of an embedding"] < 1e-4
    assert conv.verdict == HOLDS


# What is stored


@pytest.mark.parametrize("name", ["number-of-weights", "where-the-weights-are"])
def test_a_computation_is_kept_and_read_back(name, tmp_path):
    from vit.studies.results import write

    study = CATALOGUE[name]
    result = result_of_computation(study, study.compute(), made(0.0))
    write(result, path_of(name, tmp_path))
    assert read(study, path_of(name, tmp_path)) == result
    assert all(value == round(value, DIGITS) for value in result.figures.values())
