"""The article's recipe: recorded from two runs, as far as they came, and read back strictly."""

import json
from dataclasses import replace

import pytest

from vit import checkpoints, data, runs
from vit.config import TRAINING_PRESETS, ViTConfig
from vit.studies import article
from vit.studies.article import AT_ITS_END, EARLY, NOT_YET, REPORTED, main, read
from vit.studies.results import BadStudy
from vit.worker import Worker

LITTLE = replace(TRAINING_PRESETS["article"], model=ViTConfig(patch_size=14, width=8, depth=1, heads=2),
                 train_images=96, epochs=2, validate_every=2, validation_images=50)


@pytest.fixture(scope="module", autouse=True)
def little_article():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(TRAINING_PRESETS, "article", LITTLE)
        yield


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("article")
    made = []
    for name, flips in (("plain", False), ("with-flips", True)):
        runs.create(replace(LITTLE, flips=flips), folder=root / name, pair_id=name, threads=1)
        assert Worker(root / name).work() == 0
        made.append(root / name)
    return made


@pytest.fixture(scope="module")
def recorded(folders, tmp_path_factory):
    output = tmp_path_factory.mktemp("recorded")
    assert main([*map(str, folders), "--output", str(output)]) == 0
    return output


def test_what_is_recorded_is_what_the_runs_tell(recorded, folders):
    recipe = read(recorded / "metrics.json")
    for run, folder in ((recipe.plain, folders[0]), (recipe.flips, folders[1])):
        last = runs.last_verdict(folder)
        assert [epoch.epoch for epoch in run.epochs] == [1, 2]
        assert run.last.validation_accuracy == pytest.approx(100 * last.accuracy, abs=1e-5)
        assert run.last.training_loss == pytest.approx(last.train_loss, abs=1e-5)
        assert (run.stopped, run.most_epochs, run.weights_after) == (AT_ITS_END, 2, 2)
    assert recipe.made.seconds == pytest.approx(recipe.plain.last.seconds + recipe.flips.last.seconds, abs=0.1)


def test_digits_are_judged_as_they_are_and_mirrored(recorded, folders):
    model = checkpoints.load(folders[0] / "checkpoints" / "epoch-0002.safetensors")
    images, labels = data.load("mnist", "test")
    run = read(recorded / "metrics.json").plain
    for by_digit, seen in ((run.by_digit, images), (run.by_digit_mirrored, images[:, :, ::-1])):
        fives = seen[labels == 5]
        answers = model(data.normalise(fives)).argmax(1).numpy()
        assert by_digit[5] == pytest.approx(100 * (answers == 5).mean(), abs=1e-5)
    weighted = sum(share * (labels == digit).sum() for digit, share in enumerate(run.by_digit)) / len(labels)
    assert run.test_accuracy == pytest.approx(weighted, abs=1e-4)


def test_weights_are_kept_in_half_precision_and_open(recorded, folders):
    kept = recorded / "flips.safetensors"
    assert kept.stat().st_size < 0.8 * (folders[1] / "checkpoints" / "epoch-0002.safetensors").stat().st_size
    assert checkpoints.load(kept).config == LITTLE.model
    details = checkpoints.details(kept)
    assert (details.epoch, details.flips) == (2, True)


def test_the_figures_stand_beside_the_article_s(recorded):
    recipe = read(recorded / "metrics.json")
    ours = {line.name: line.ours(recipe.plain) for line in REPORTED}
    best = max(epoch.validation_accuracy for epoch in recipe.plain.epochs)
    assert ours["Best validation accuracy"] == f"{best:.2f} %"
    assert ours["Epochs trained"] == "2"
    assert ours["Accuracy in epoch 2"] == f"{recipe.plain.epochs[1].training_accuracy:.2f} %"
    young = replace(recipe.plain, epochs=recipe.plain.epochs[:1])
    assert {line.name: line.ours(young) for line in REPORTED}["Accuracy in epoch 2"] == "not reached yet"


def test_how_a_run_ended_is_told(folders, tmp_path, monkeypatch):
    monkeypatch.setitem(TRAINING_PRESETS, "article", LITTLE)
    real = runs.read_run
    for state, epochs, told in (("done", 2, AT_ITS_END), ("done", 50, EARLY), ("interrupted", 50, NOT_YET)):
        monkeypatch.setattr(runs, "read_run", lambda folder, state=state, epochs=epochs: replace(
            run := real(folder), state=state, config=replace(run.config, epochs=epochs)))
        recipe = article.record(*folders, tmp_path)
        assert {recipe.plain.stopped, recipe.flips.stopped} == {told}


def test_what_is_no_run_of_the_recipe_is_refused_in_a_sentence(folders, tmp_path, capsys):
    plain, flips = map(str, folders)
    output = ["--output", str(tmp_path / "out")]
    assert main([flips, plain, *output]) == 1
    assert "with-flips is not the run without flips" in capsys.readouterr().err
    assert main([str(tmp_path / "nothing"), flips, *output]) == 1
    assert "holds no run that can be recorded" in capsys.readouterr().err
    for name, config, words in (("other", replace(LITTLE, batch_size=64), "its batch size is 64, and 32 is asked for"),
                                ("young", LITTLE, "has not come to the end of its first epoch yet")):
        runs.create(config, folder=tmp_path / name, pair_id=name, threads=1)
        assert main([str(tmp_path / name), flips, *output]) == 1
        assert words in capsys.readouterr().err
    assert not (tmp_path / "out" / "metrics.json").exists()


DAMAGES = {
    "format": lambda content: content.update(format=9),
    "no twin": lambda content: content.pop("flips"),
    "no epochs": lambda content: content["plain"].update(epochs=[]),
    "an epoch missing": lambda content: content["plain"]["epochs"].pop(0),
    "nine digits": lambda content: content["plain"]["by_digit"].pop(),
    "word for number": lambda content: content["plain"].update(test_accuracy="high"),
    "strange end": lambda content: content["plain"].update(stopped="by magic"),
    "made of nothing": lambda content: content.update(made=None),
    "no dictionary": lambda content: content.update(plain=[1, 2]),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_strange_file_is_refused_in_a_sentence(damage, recorded, tmp_path):
    content = json.loads((recorded / "metrics.json").read_bytes())
    DAMAGES[damage](content)
    path = tmp_path / "metrics.json"
    path.write_text(json.dumps(content))
    with pytest.raises(BadStudy, match=r"^metrics.json ") as refusal:
        read(path)
    assert "\n" not in str(refusal.value)


def test_a_file_that_is_cut_off_is_refused_and_none_is_none(recorded, tmp_path):
    path = tmp_path / "metrics.json"
    assert read(path) is None
    whole = (recorded / "metrics.json").read_bytes()
    for length in (0, 1, len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:length])
        with pytest.raises(BadStudy, match="cut off or no JSON"):
            read(path)
