"""Pictures of studies, by their values."""

import pytest

from tests.support.studies import made_up, run_of
from vit.charts import claim_tables, study_curves
from vit.charts.claims import BADGES, asked, bands, every_difference, every_run
from vit.studies.catalogue import CATALOGUE
from vit.studies.results import findings_of
from vit.studies.study import VERDICTS, Computation, Study
from vit.studies.words import NOT_TRIED, finding_in_words
from vit.ui import markup

STUDIES = [study for study in CATALOGUE.values() if isinstance(study, Study)]
FLIPS, CLS = CATALOGUE["flips-hurt"], CATALOGUE["cls-or-mean"]


def traces(picture, mode, **wanted):
    return [trace for trace in picture.figure.data if trace.mode == mode
            and all(getattr(trace, name) == value for name, value in wanted.items())]


# Every run


def test_every_run_is_a_dot_at_its_value_joined_to_its_twins():
    result = made_up(CLS)
    picture = every_run(CLS, bands(CLS, result.findings), result.runs, dark=False)
    dots = traces(picture, "markers")
    shown = sorted(value for trace in dots for value in trace.x)
    assert shown == sorted(run.measures["accuracy"] for run in result.runs)
    by_seed = {run.seed: run.measures["accuracy"] for run in result.runs
               if (run.setting, run.arm) == ("at 3e-3", "CLS")}
    assert dict(zip([seed for seed, _ in dots[0].customdata], dots[0].x, strict=True)) == by_seed
    joined = traces(picture, "lines", xaxis="x")[0]
    first, second, gap = joined.x[:3]
    assert gap is None
    twins = [run.measures["accuracy"] for run in result.runs if run.setting == "at 3e-3" and run.seed == 0]
    assert [first, second] == twins
    assert list(joined.y[:2]) == [0, -1]


def test_a_diverged_run_is_shown_as_one():
    runs = [run_of("at 3e-3", "CLS", 0, 90), run_of("at 3e-3", "mean of the patches", 0, 11, ended="diverged")]
    picture = every_run(CLS, bands(CLS, findings_of(CLS, runs))[:1], runs, dark=False)
    lost = traces(picture, "markers")[1]
    assert list(lost.marker.symbol) == ["x"]
    assert lost.customdata[0][1] == ", diverged"


def test_own_runs_stand_below_the_recorded_ones_and_do_not_stretch_the_axis_while_they_train():
    result = made_up(CLS)
    own = [run_of("at 3e-3", "CLS", 9, 40.0, ended="still training")]
    shown = bands(CLS, result.findings)[:1]
    before = every_run(CLS, shown, result.runs, dark=False)
    after = every_run(CLS, shown, result.runs, own, dark=False)
    mine = traces(after, "markers")[-1]
    assert list(mine.x) == [40.0]
    assert -1 < mine.y[0] < 0
    assert list(mine.marker.symbol) == ["circle-open"]
    assert "here, seed" in mine.hovertemplate
    assert after.figure.layout.xaxis.range == before.figure.layout.xaxis.range


# Every difference


def test_the_bar_is_the_interval_and_the_mark_the_mean():
    result = made_up(CLS)
    shown = bands(CLS, result.findings)
    picture = every_difference(CLS, shown, dark=True)
    finding = shown[0].findings[0]
    bar = traces(picture, "lines", xaxis="x")[0]
    assert list(bar.x) == [finding.low, finding.high]
    seeds, mean = traces(picture, "markers", xaxis="x")
    assert list(seeds.x) == finding.values
    assert list(seeds.customdata) == finding.seeds
    assert list(mean.x) == [finding.mean]
    zero, margin = [shape for shape in picture.figure.layout.shapes if shape.xref == "x"]
    assert (zero.x0, margin.x0) == (0, CLS.rules[0].margin)
    low, high = picture.figure.layout.xaxis.range
    assert low < 0 < high
    assert high > finding.high


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.id)
def test_every_rule_of_every_study_has_its_place_in_the_pictures(study):
    result = made_up(study)
    shown = bands(study, result.findings)
    assert sum(len(band.findings) for band in shown) == len(result.findings)
    assert [band.setting for band in shown] == sorted((band.setting for band in shown), key=[
        setting.name for setting in study.settings].index)
    picture = every_difference(study, shown, dark=False)
    for finding in result.findings:
        assert finding_in_words(study.rules[finding.rule], finding).rstrip(".") in picture.alt
    for number, band in enumerate(shown):
        axis = picture.figure.layout[f"xaxis{number + 1 if number else ''}"]
        for place in (place for finding in band.findings for place in asked(study.rules[finding.rule])):
            assert axis.range[0] <= place <= axis.range[1]
    assert every_run(study, shown, result.runs, dark=True).figure.layout.height == picture.figure.layout.height


def test_a_rule_without_runs_is_shown_as_empty():
    picture = every_difference(CLS, bands(CLS, findings_of(CLS, [])), dark=False)
    assert not [trace for trace in picture.figure.data if trace.x]
    assert every_run(CLS, [], [], dark=False).figure.layout.height > 10


# Curves and readings


def test_curves_are_those_of_the_runs_and_their_mean():
    result = made_up(CLS)
    picture = study_curves.curves(CLS, "at 1e-3", result.runs, "accuracy")
    runs = [run for run in result.runs if (run.setting, run.arm) == ("at 1e-3", "CLS")]
    single = traces(picture, "lines")[1]
    assert [y for y in single.y if y is not None] == [row[2] for run in runs for row in run.validation]
    mean = traces(picture, "lines+markers")[0]
    assert mean.y[-1] == pytest.approx(sum(run.measures["accuracy"] for run in runs) / len(runs))
    assert mean.name == "CLS"


def test_readings_are_shown_by_block_and_by_class():
    result = made_up(FLIPS)
    assert study_curves.names_of_readings(result.runs, "MNIST") == [
        "accuracy by class, as they are", "accuracy by class, mirrored"]
    picture = study_curves.reading(FLIPS, "MNIST", result.runs, "accuracy by class, mirrored", tuple("0123456789"))
    mean = traces(picture, "lines+markers")[0]
    assert list(mean.x) == list("0123456789")
    assert list(mean.y) == [50.0] * 10
    residuals = CATALOGUE["residuals"]
    by_block = study_curves.reading(residuals, "3 blocks", made_up(residuals).runs, "gradients by block", ())
    assert list(traces(by_block, "lines+markers")[0].x) == ["1", "2"]
    assert by_block.figure.layout.yaxis.type == "log"


def test_what_is_reached_with_so_many_images_has_its_interval():
    study = CATALOGUE["small-data"]
    assert [one.id for one in STUDIES if study_curves.by_size(one)] == ["small-data", "global-from-the-first-layer"]
    runs = [run_of("100 images", "ViT", seed, 60.0 + seed) for seed in range(3)]
    runs += [run_of("300 images", "ViT", 0, 70.0)]
    vit, cnn = study_curves.over_sizes(study, runs).figure.data
    assert list(vit.x) == [100, 300]
    assert list(vit.y) == [61.0, 70.0]
    assert vit.error_y.array[0] == pytest.approx(4.303 / 3**0.5, abs=1e-3)  # t of two degrees of freedom
    assert vit.error_y.array[1] == 0
    assert not cnn.x


# Words and tables


def rendered(picture):
    return markup.render(picture.template, alt=picture.alt, **picture.values)


def test_the_list_has_every_claim_with_its_verdict_and_can_be_filtered():
    studies = list(CATALOGUE.values())
    told = [claim_tables.tell(study, made_up(study) if study.number < 4 else None) for study in studies]
    picture = claim_tables.all_claims(studies, told)
    rows, filters = picture.values["rows"], picture.values["filters"]
    assert [row.number for row in rows] == list(range(1, 21))
    assert rows[0].verdict == "holds"
    assert rows[0].words == "holds text-000"
    assert rows[-1].verdict == NOT_TRIED
    assert {one.word: one.many for one in filters}["untried"] == 17
    assert sum(one.many for one in filters if one.name in (*VERDICTS, NOT_TRIED)) == 20
    assert "?claim=flips-hurt" in rendered(picture)


def test_verdicts_have_badges_of_their_own():
    assert len(set(BADGES.values())) == len(BADGES) == len(VERDICTS) + 1


@pytest.mark.parametrize("study", CATALOGUE.values(), ids=lambda study: study.id)
def test_all_words_about_a_claim_can_be_shown_with_a_result_and_without(study):
    result = made_up(study)
    for found in (result, None):
        told = claim_tables.tell(study, found)
        assert told.sentence in rendered(claim_tables.head(study, told)).replace("&#39;", "'")
        assert study.caution in rendered(claim_tables.in_words(study, found)).replace("&#39;", "'")
    if isinstance(study, Computation):
        assert "0.250" in rendered(claim_tables.figures(study, result.figures))
    else:
        page = rendered(claim_tables.findings(study, result.findings))
        assert page.count("pw-verdict-") == len(result.findings)
        assert str(study.settings[0].seeds) in rendered(claim_tables.planned(study))


def test_what_a_damaged_file_says_is_escaped():
    told = claim_tables.tell(FLIPS, None, "<img src=x onerror=alert(1)>")
    assert "<img" not in rendered(claim_tables.head(FLIPS, told))
    assert "<img" not in rendered(claim_tables.article_table(None, "<img src=x>"))


def test_how_a_result_was_made_is_told_in_full():
    told = claim_tables.how_made(made_up(FLIPS).made)
    assert told == ("60 min of training in all, on a processor with 2 cores; python 3.11, torch 2.13; "
                    "code as of 0123456789.")
