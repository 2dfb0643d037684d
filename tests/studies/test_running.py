"""One small study from its declaration to its file, undisturbed and interrupted."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from vit import runs
from vit.config import TrainConfig, ViTConfig
from vit.reports import End, StepReport, Validation
from vit.runs.work import Worker
from vit.studies import __main__ as command
from vit.studies import catalogue, readings, results, running
from vit.studies.results import BadStudy, computed_again, how_far_apart, read, without_times, write
from vit.studies.study import VERDICTS, Above, Arm, Place, Setting, Study

MINUTE = TrainConfig(model=ViTConfig(patch_size=14, width=8, depth=2, heads=2), train_images=96, batch_size=16,
                     epochs=2, validation_images=50, learning_rate=3e-3, validate_every=4, warmup_steps=0)
STUDY = Study(
    number=1, id="little", title="Does it work?", claim="It works.", places=(Place("000", "Introduction"),),
    settings=(Setting("here", MINUTE, 1, 2),),
    arms=(Arm("one"), Arm("other", {"augmentation": "flips"})),
    rules=(Above(first="one", second="other", margin=0.5, visible=1.0),
           Above(first="one", second="other", measure="gap", margin=0.5, visible=1.0, decides=False)),
    readings=("scores", "gradients", "attention", "mirrored"),
)


@pytest.fixture(scope="module", autouse=True)
def few_digits():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readings, "DIGITS", 2)
        yield


def train_here(folder: Path) -> None:
    with runs.locked(folder):
        Worker(folder).work()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return running.run(STUDY, tmp_path_factory.mktemp("runs"), launch=train_here)


def test_a_study_holds_every_run_and_a_verdict(undisturbed):
    assert [(run.arm, run.seed) for run in undisturbed.runs] == [("one", 0), ("other", 0), ("one", 1), ("other", 1)]
    assert undisturbed.verdict in VERDICTS
    assert [finding.rule for finding in undisturbed.findings] == [0, 1]
    first, twin = undisturbed.runs[:2]
    assert first.ended == "done"
    assert first.step == 12
    assert len(first.by_class) == 10
    assert first.validation[0] == twin.validation[0]  # the same weights, before the first step
    assert first.validation[-1][2] == pytest.approx(first.measures["accuracy"], abs=0.01)
    assert first.measures["gap"] == pytest.approx(
        first.measures["training accuracy"] - first.measures["accuracy"], abs=1e-5)
    assert undisturbed.findings[0].values[0] == pytest.approx(first.measures["accuracy"] - twin.measures["accuracy"])
    assert len(first.readings["gradients by block"]) == len(first.readings["distance by block"]) == 2
    assert len(first.readings["accuracy by class, mirrored"]) == 10
    assert undisturbed.made.versions.keys() == {"python", "torch", "numpy", "scipy"}
    assert undisturbed.made.seconds > 0


def test_a_result_comes_back_from_its_file_and_its_figures_from_its_runs(undisturbed, tmp_path):
    path = tmp_path / "new" / "little.json"
    write(undisturbed, path)
    assert read(STUDY, path) == undisturbed
    assert computed_again(STUDY, read(STUDY, path)) == undisturbed
    assert path.stat().st_size < 4 * 5_000


class Interrupted(Exception):
    pass


class BreaksOff(Worker):
    """Is asked to end in the middle of the second epoch, as by Ctrl-C."""

    def _keep(self, report):
        super()._keep(report)
        self.asked_to_end = report.step >= 8


def test_an_interrupted_study_goes_on_to_the_same_result(undisturbed, tmp_path):
    launched = []

    def breaks_off(folder):
        launched.append(folder.name)
        if len(launched) == 2:
            BreaksOff(folder).work()
            assert runs.read_status(folder).state == "interrupted"
            raise Interrupted
        train_here(folder)

    with pytest.raises(Interrupted):
        running.run(STUDY, tmp_path, launch=breaks_off)
    again = []

    def goes_on(folder):
        again.append(folder.name)
        train_here(folder)

    result = running.run(STUDY, tmp_path, launch=goes_on)
    assert launched[0] not in again
    assert launched[1] in again
    assert without_times(result) == without_times(undisturbed)
    assert how_far_apart(undisturbed, result) == "All 4 runs repeat what is stored, to the last digit."


def test_a_study_that_is_done_trains_nothing_more(tmp_path):
    one_seed = replace(STUDY, readings=())
    first = running.run(one_seed, tmp_path, seeds=1, launch=train_here)
    told = []
    again = running.run(one_seed, tmp_path, seeds=1, launch=lambda folder: pytest.fail("it trained"),
                        tell=lambda what, steps: told.append(steps))
    assert again == first
    assert sum(told) == 2 * 12


def test_studies_that_ask_for_the_same_run_share_it(tmp_path):
    running.run(STUDY, tmp_path, launch=train_here)
    other = replace(STUDY, id="other", settings=(replace(STUDY.settings[0], name="elsewhere"),), arms=STUDY.arms[:1],
                    rules=(), readings=())
    shared = running.run(other, tmp_path, launch=lambda folder: pytest.fail("it trained"))
    assert {one.folder for one in running.plan(other, tmp_path)} < {one.folder for one in running.plan(STUDY, tmp_path)}
    assert len(shared.runs) == STUDY.settings[0].seeds


def test_a_worker_of_its_own_trains_a_run(tmp_path):
    planned = running.plan(STUDY, tmp_path, seeds=1)[0]
    running.prepare(planned)
    running.in_a_process(planned.folder)
    assert planned.ended == "done"


def test_a_diverged_run_is_a_result(tmp_path):
    wild = replace(MINUTE, learning_rate=1.0, warmup_steps=0, clip_norm=None, epochs=6)
    study = replace(STUDY, settings=(Setting("wild", wild, 1, 2),), readings=())

    def diverge(folder):
        train_here(folder)
        runs.write_status(folder, "failed", "The loss is no longer a number after step 7: try a smaller learning rate.")

    result = running.run(study, tmp_path, launch=diverge)
    assert [run.ended for run in result.runs] == ["diverged"] * 4
    assert all("accuracy" in run.measures for run in result.runs)


def test_a_run_that_fails_otherwise_is_no_result_and_the_sentence_says_why(tmp_path):
    def fails(folder):
        runs.write_status(folder, "failed", "The disk is full.")

    with pytest.raises(BadStudy, match=r"\(here, one, seed 0\) is not done: failed. The disk is full."):
        running.run(STUDY, tmp_path, launch=fails)


def test_a_folder_with_another_run_is_left_alone(tmp_path):
    planned = running.plan(STUDY, tmp_path)[0]
    runs.create(replace(planned.config, epochs=7), folder=planned.folder, threads=1)
    with pytest.raises(BadStudy, match="holds a run with other settings than its name says"):
        running.run(STUDY, tmp_path, launch=train_here)
    (planned.folder / "config.json").write_text("{")
    with pytest.raises(BadStudy, match="cannot be used"):
        running.run(STUDY, tmp_path, launch=train_here)


# What is measured


def verdict(step, accuracy, whole=False, seconds=0.0, trained=None):
    return Validation(step=step, epoch=step / 10, images=2, loss=1.0, accuracy=accuracy, confusion=[[1, 0], [0, 1]],
                      predictions="01", whole=whole, train_accuracy=trained, seconds=seconds)


def test_measures_and_times_by_hand():
    reports = [verdict(0, 0.1), verdict(5, 0.5), verdict(10, 0.8, True, 30.0, 0.6),
               verdict(15, 0.92), verdict(20, 0.95, True, 40.0, 0.97), verdict(30, 0.94, True, 52.0, 0.99),
               *(StepReport(step=step, epoch=step / 10, loss=1.0, accuracy=0.5, learning_rate=1.0,
                            images_per_second=speed)
                 for step, speed in ((5, 1.0), (15, 8.0), (20, 0.5), (25, 9.0))),
               End(step=30, reason="Done.", seconds=52.5)]
    found = running.measures(reports)
    assert found["accuracy"] == 94
    assert found["best accuracy"] == 95
    assert found["gap"] == pytest.approx(5)
    assert found["epochs to 90 %"] == 1.5
    assert found["training accuracy of epoch 1"] == 60
    assert found["training accuracy of epoch 2"] == 97
    times = running.times(reports)
    assert times["seconds of the first epoch"] == 30
    assert times["seconds an epoch"] == 11
    assert times["seconds an image"] == 0.125
    assert times["log2 of seconds an image"] == -3


def test_a_run_that_never_gets_there_counts_with_all_its_epochs():
    reports = [verdict(0, 0.1), StepReport(step=3, epoch=0.3, loss=9.0, accuracy=0.2, learning_rate=1.0),
               verdict(5, 0.2)]
    found = running.measures(reports)
    assert found["epochs to 90 %"] == 0.5
    assert found["reached 90 %"] == 0
    assert found["gap"] == 0


@pytest.mark.parametrize("count", [1, 23, 24, 25, 100, 1000])
def test_a_thinned_curve_is_short_and_ends_where_it_ended(count):
    rows = [(step, 0.123456, 97.123) for step in range(count)]
    kept = running.thinned(rows)
    assert len(kept) <= running.POINTS_OF_A_CURVE
    assert kept[-1] == (count - 1, 0.1235, 97.12)
    assert kept == sorted(kept)


# Damaged files


DAMAGES = {
    "verdict": lambda content: content.update(verdict="surely"),
    "format": lambda content: content.update(format=2),
    "another study": lambda content: content.update(study="flips-hurt"),
    "no runs": lambda content: content.update(runs=[]),
    "runs no list": lambda content: content.update(runs={"a": 1}),
    "run twice": lambda content: content["runs"].append(content["runs"][0]),
    "unknown arm": lambda content: content["runs"][0].update(arm="third"),
    "no accuracy": lambda content: content["runs"][0]["measures"].pop("accuracy"),
    "word for number": lambda content: content["runs"][0]["measures"].update(accuracy="high"),
    "not finite": lambda content: content["runs"][0]["measures"].update(accuracy=float("nan")),
    "half a row": lambda content: content["runs"][0]["validation"].append([3, 1.0]),
    "negative seed": lambda content: content["runs"][0].update(seed=-1),
    "strange end": lambda content: content["runs"][0].update(ended="won"),
    "missing part": lambda content: content.pop("made"),
    "made of nothing": lambda content: content.update(made=None),
    "finding of no rule": lambda content: content["findings"][0].update(rule=9),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_strange_file_is_refused_in_a_sentence(damage, undisturbed, tmp_path):
    path = tmp_path / "little.json"
    write(undisturbed, path)
    content = json.loads(path.read_text())
    DAMAGES[damage](content)
    path.write_text(json.dumps(content))
    with pytest.raises(BadStudy, match=r"^little.json ") as refusal:
        read(STUDY, path)
    assert "\n" not in str(refusal.value)


def test_a_file_that_is_cut_off_anywhere_is_refused_in_a_sentence(undisturbed, tmp_path):
    path = tmp_path / "little.json"
    write(undisturbed, path)
    whole = path.read_bytes()
    for length in [0, 1, *range(5, len(whole) - 3, len(whole) // 40)]:
        path.write_bytes(whole[:length])
        with pytest.raises(BadStudy, match=r"little.json is cut off or no JSON"):
            read(STUDY, path)
    for content in (b"\xff\xfe", b"[" * 100_000, b"[]", b"3", b'"word"', b"null"):
        path.write_bytes(content)
        with pytest.raises(BadStudy, match=r"little.json"):
            read(STUDY, path)
    path.unlink()
    with pytest.raises(BadStudy, match="has not been run yet"):
        read(STUDY, path)


# The command


@pytest.fixture
def at_the_command_line(tmp_path, monkeypatch):
    monkeypatch.setenv("PATCHWISE_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(command, "CATALOGUE", {
        "little": replace(STUDY, readings=()), "number-of-weights": catalogue.CATALOGUE["number-of-weights"]})
    monkeypatch.setattr(running, "in_a_process", train_here)
    return tmp_path / "results"


def test_the_command_runs_what_is_missing_and_lists_it(at_the_command_line, capsys):
    output = ["--output", str(at_the_command_line)]
    assert command.main([*output, "--list"]) == 0
    assert "not run" in capsys.readouterr().out
    assert command.main([*output, "--workers", "1"]) == 0
    made = {path.name for path in at_the_command_line.iterdir()}
    assert made == {"little.json", "number-of-weights.json"}
    assert command.main([*output, "--list"]) == 0
    assert "not run" not in capsys.readouterr().out
    assert command.missing(at_the_command_line) == []
    assert command.main([*output, "little", "--again", "--workers", "1"]) == 0
    assert "All 4 runs repeat what is stored" in capsys.readouterr().out


def test_other_seeds_than_declared_do_not_replace_the_recorded_result(at_the_command_line):
    assert command.main(["--output", str(at_the_command_line), "little", "--seeds", "1", "--workers", "1"]) == 0
    assert not at_the_command_line.exists()
    kept = runs.root() / "studies" / "little.json"
    assert len(read(command.CATALOGUE["little"], kept).runs) == 2


@pytest.mark.parametrize(("words", "sentence"), [
    (["flops-hurt"], "There is no study 'flops-hurt'; there are little, number-of-weights."),
    (["little", "--workers", "0"], "--workers and --seeds are at least 1."),
    (["little", "--seeds", "0"], "--workers and --seeds are at least 1."),
])
def test_the_command_refuses_in_a_sentence(at_the_command_line, capsys, words, sentence):
    with pytest.raises(SystemExit):
        command.main(words)
    assert sentence in capsys.readouterr().err


def test_a_study_that_fails_does_not_hold_up_the_others(at_the_command_line, monkeypatch, capsys):
    monkeypatch.setattr(running, "in_a_process", lambda folder: runs.write_status(folder, "failed", "No data."))
    assert command.main(["--output", str(at_the_command_line), "--workers", "1"]) == 1
    assert "No data." in capsys.readouterr().err
    assert results.path_of("number-of-weights", at_the_command_line).exists()
