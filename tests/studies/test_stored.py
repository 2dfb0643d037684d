"""What is shipped in assets/studies is what its runs say."""

import pytest

from vit.studies.catalogue import CATALOGUE
from vit.studies.results import DIGITS, FOLDER, computed_again, path_of, read
from vit.studies.study import Computation, Study

STORED = [study for study in CATALOGUE.values() if path_of(study.id).exists()]
MOST_BYTES = 5_000_000
QUICKLY_COMPUTED = ("number-of-weights", "where-the-weights-are", "conv2d-trick")


def test_results_belong_to_studies_and_are_small_together():
    files = list(FOLDER.glob("*")) if FOLDER.exists() else []
    assert {path.stem for path in files} <= CATALOGUE.keys()
    assert sum(path.stat().st_size for path in files) < MOST_BYTES


@pytest.mark.parametrize("study", [study for study in STORED if isinstance(study, Study)], ids=lambda study: study.id)
def test_figures_and_verdict_follow_from_the_stored_runs(study):
    result = read(study)
    assert computed_again(study, result) == result
    told = {(run.setting, run.arm, run.seed) for run in result.runs}
    assert told == {(setting.name, arm.name, seed) for setting in study.settings for arm in study.arms
                    for seed in range(setting.seeds)}


@pytest.mark.parametrize("study", [study for study in STORED if isinstance(study, Computation)],
                         ids=lambda study: study.id)
def test_stored_computations_come_out_again(study):
    result = read(study)
    assert result.figures
    if study.id in QUICKLY_COMPUTED:
        again = study.compute()
        assert again.verdict == result.verdict
        assert result.figures == pytest.approx(again.figures, abs=10**-DIGITS)
