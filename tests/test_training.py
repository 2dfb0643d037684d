"""The engine without processes: the same run every time, stopped and resumed or not."""

import json
import math
from dataclasses import asdict, replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from vit import checkpoints, config, data, training
from vit.config import TRAINING_PRESETS, TrainConfig, ViTConfig
from vit.reports import End, StepReport, Validating, Validation, of_kind
from vit.training import Diverged, Examples, Training, initial_model, load_examples, train

MODEL = ViTConfig(patch_size=14, width=8, depth=1, heads=2)
CONFIG = TrainConfig(
    model=MODEL, epochs=3, batch_size=16, learning_rate=3e-3, warmup_steps=4, validate_every=3
)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def stand_in(train_count=72, validation_count=250) -> Examples:
    """Noise with a bright bar whose place tells the class: small, and it can be learned."""
    random = np.random.default_rng(0)

    def draw(count):
        labels = np.arange(count) % 10
        images = random.integers(0, 60, (count, 28, 28), dtype=np.uint8)
        for image, label in zip(images, labels, strict=True):
            image[2 * label : 2 * label + 8, 4:12] = 255
        return images, labels

    return Examples(*draw(train_count), *draw(validation_count), glance=np.arange(0, validation_count, 5))


def reports(config, start=None):
    return list(train(config, stand_in(), start))


def told(run):
    return [report for report in run if not isinstance(report, Validating)]


def test_the_same_config_and_seed_give_bit_identical_metrics():
    assert reports(CONFIG) == reports(CONFIG)


def test_another_seed_gives_other_metrics():
    assert reports(CONFIG) != reports(replace(CONFIG, seed=1))


@pytest.mark.parametrize("change", [
    {},
    {"optimizer": "rmsprop", "schedule": "plateau", "warmup_steps": 0, "learning_rate": 1e-3},
    {"flips": True, "model": replace(MODEL, dropout=0.3)},
])
@pytest.mark.parametrize("stop_after", [0, 1, 4, 9, 20])
def test_a_run_resumed_from_a_snapshot_goes_on_bit_for_bit(tmp_path, change, stop_after):
    config = replace(CONFIG, **change)
    undisturbed = reports(config)
    first = Training(config, stand_in())
    generator = train(config, None, first)
    before = [next(generator) for _ in range(stop_after)]
    checkpoints.write_tensors(tmp_path / "state.safetensors", *first.snapshot())
    torch.manual_seed(99)  # the process that resumes has drawn other numbers
    second = Training(config, stand_in())
    second.restore(*checkpoints.read_tensors(tmp_path / "state.safetensors"))
    after = list(train(config, None, second))
    assert told(before + after) == told(undisturbed)


def test_twins_share_initial_weights_batch_order_and_flip_draws():
    plain, flipping = Training(CONFIG, stand_in()), Training(replace(CONFIG, flips=True), stand_in())
    for ours, theirs in zip(plain.model.parameters(), flipping.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    for _ in range(7):
        plain.take_step()
        flipping.take_step()
        assert (plain.batch.labels == flipping.batch.labels).all()
        mirrored = flipping.batch.mirrored
        assert not plain.batch.mirrored.any()
        assert (plain.batch.images[~mirrored] == flipping.batch.images[~mirrored]).all()
        assert (plain.batch.images[mirrored] == flipping.batch.images[mirrored, :, ::-1]).all()
        assert mirrored.any()
        assert not mirrored.all()


def test_each_epoch_sees_every_image_once_in_a_new_order():
    run = Training(CONFIG, stand_in())
    first, second = (
        np.concatenate([run._draw(epoch, batch)[0] for batch in range(run.steps_per_epoch)]).tolist()
        for epoch in (0, 1)
    )
    assert sorted(first) == sorted(second) == list(range(72))
    assert first != second


def test_the_validation_report_adds_up():
    whole = [report for report in of_kind(reports(CONFIG), Validation) if report.whole]
    assert [report.step for report in whole] == [5, 10, 15]
    labels = stand_in().validation_labels
    for report in whole:
        predictions = np.array(list(report.predictions), int)
        assert report.images == len(labels) == len(predictions)
        assert report.accuracy == pytest.approx((predictions == labels).mean())
        assert np.trace(report.confusion) == (predictions == labels).sum()
        assert np.sum(report.confusion, axis=1).tolist() == np.bincount(labels).tolist()
        assert 0 <= report.train_accuracy <= 1


def test_a_glance_takes_the_same_images_each_time_and_comes_before_the_first_step():
    glances = [report for report in of_kind(reports(CONFIG), Validation) if not report.whole]
    assert [report.step for report in glances] == [0, 3, 6, 9, 12]
    assert {report.images for report in glances} == {50}


def test_it_learns_far_beyond_guessing():
    run = reports(replace(CONFIG, epochs=30, learning_rate=1e-2, initialisation="pytorch"))
    assert of_kind(run, Validation)[-1].accuracy > 0.5


def test_warm_up_grows_and_cosine_falls_to_nothing():
    rates = [report.learning_rate for report in of_kind(reports(CONFIG), StepReport)]
    assert rates[:4] == pytest.approx([3e-3 * part for part in (0.25, 0.5, 0.75, 1.0)])
    assert rates[4] == pytest.approx(3e-3)
    assert all(later < earlier for earlier, later in pairwise(rates[4:]))
    assert rates[-1] < 3e-4


def test_the_article_s_recipe_halves_its_rate_on_a_plateau_and_stops_early(monkeypatch):
    config = replace(CONFIG, optimizer="rmsprop", schedule="plateau", warmup_steps=0, epochs=60,
                     learning_rate=1e-12, stop_patience=9, validate_every=1000)
    losses = iter([1.0] + [2.0] * 60)
    monkeypatch.setattr(training.F, "cross_entropy", worse_validation(training.F.cross_entropy, losses))
    run = reports(config)
    rates = [report.learning_rate for report in of_kind(run, StepReport)]
    assert rates[0] == 1e-12
    assert rates[-1] == pytest.approx(0.5e-12)
    assert run[-1] == End(step=50, reason="The validation loss has not improved for 9 epochs.")


def worse_validation(original, losses):
    def cross_entropy(logits, labels):
        whole = not logits.requires_grad and len(labels) == 250
        return torch.tensor(next(losses)) if whole else original(logits, labels)

    return cross_entropy


def test_a_loss_that_is_no_number_ends_in_a_sentence():
    run = Training(CONFIG, stand_in())
    with torch.no_grad():
        run.model.head.bias.fill_(math.nan)
    with pytest.raises(Diverged, match="smaller learning rate"):
        list(train(CONFIG, None, run))


def test_a_validation_loss_that_is_no_number_ends_in_a_sentence_too():
    run = Training(CONFIG, stand_in())
    with torch.no_grad():
        run.model.head.weight.fill_(math.inf)
    with pytest.raises(Diverged, match=r"validation loss is no longer a number after step 0: .*smaller learning rate"):
        list(run.validate())


def test_mirror_images_are_judged_whenever_weights_are_kept():
    examples = stand_in()
    run = Training(CONFIG, examples)
    verdicts = of_kind(list(train(CONFIG, None, run)), Validation)
    assert [report.step for report in verdicts if report.mirrored_accuracy is not None] == [0, 5, 10, 15]
    mirrored = data.normalise(examples.validation_images[examples.glance][:, :, ::-1])
    with torch.inference_mode():
        answers = run.model.eval()(mirrored).argmax(1).numpy()
    seen = examples.validation_labels[examples.glance]
    hits = answers == seen
    assert verdicts[-1].mirrored_accuracy == pytest.approx(hits.mean())
    by_class = [hits[seen == label].mean() if (seen == label).any() else 0.0 for label in range(10)]
    assert verdicts[-1].mirrored_by_class == pytest.approx(by_class, abs=1e-4)


def test_no_chunk_is_larger_than_the_model_allows(monkeypatch):
    monkeypatch.setattr(TrainConfig, "validation_chunk", 7)
    run = Training(CONFIG, stand_in())
    seen = []
    monkeypatch.setattr(run.model, "forward", lambda pixels: seen.append(len(pixels)) or torch.zeros(len(pixels), 10))
    list(run.validate())
    assert max(seen) == 7
    assert sum(seen) == 2 * 50  # upright and mirrored


def test_a_step_prepares_no_picture(monkeypatch):
    run = Training(replace(CONFIG, flips=True), stand_in())
    assert run.batch is None
    monkeypatch.setattr(training, "Batch", lambda *_: pytest.fail("nobody looks"))
    run.take_step()


def test_initialisations_differ_as_they_say():
    def spread(name):
        shape = ViTConfig(width=64, depth=1, heads=4)
        model = initial_model(replace(CONFIG, model=shape, initialisation=name))
        weights = model.blocks[0].attention.W_q.weight, model.embedding.position_embeddings
        return tuple(weight.std().item() for weight in weights)

    assert spread("trunc-normal") == pytest.approx((0.02, 0.02), rel=0.1)
    assert spread("pytorch") == pytest.approx((1 / math.sqrt(3 * 64), 0.02), rel=0.1)
    assert spread("pytorch-randn") == pytest.approx((1 / math.sqrt(3 * 64), 1.0), rel=0.1)


def test_training_leaves_the_random_numbers_of_others_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    reports(CONFIG)
    reports(replace(CONFIG, model=replace(MODEL, dropout=0.3)))
    assert torch.equal(torch.rand(3), expected)


def test_without_a_compiler_training_goes_on_and_says_so(monkeypatch):
    def no_compiler(model):
        def fail(images):
            raise RuntimeError("No working C++ compiler found")

        return fail

    monkeypatch.setattr(torch, "compile", no_compiler)
    run = reports(replace(CONFIG, compile=True))
    assert "goes on without it" in run[0].message
    assert run[1:] == reports(CONFIG)


def test_a_subset_keeps_the_share_of_each_digit():
    examples = load_examples(replace(CONFIG, train_images=1000, validation_images=500))
    assert len(examples.train_labels) == 1000
    assert len(examples.glance) == 500
    shares = np.bincount(examples.train_labels) / 1000
    everything = np.bincount(load_examples(CONFIG).train_labels) / 55_000
    assert shares == pytest.approx(everything, abs=0.002)


@pytest.mark.parametrize("preset", TRAINING_PRESETS)
def test_presets_survive_json(preset):
    config = TRAINING_PRESETS[preset]
    assert TrainConfig.from_dict(json.loads(json.dumps(asdict(config)))) == config


@pytest.mark.parametrize(("change", "words"), [
    ({"epochs": 0}, "epochs must be a whole number of at least 1"),
    ({"learning_rate": 0}, "learning_rate must be above 0"),
    ({"optimizer": "sgd"}, "one of adamw, rmsprop"),
    ({"dataset": "cifar10"}, "32 pixels a side and 3 channels"),
    ({"train_images": 3}, "at least 10"),
    ({"clip_norm": -1.0}, "None for no clipping"),
])
def test_a_config_that_cannot_work_says_what_would(change, words):
    with pytest.raises(ValueError, match=words):
        replace(CONFIG, **change)


def mirrored_in(config, epoch):
    """Which images a run mirrors in an epoch, by their number."""
    training = Training(config, stand_in())
    found = np.zeros(72, bool)
    for batch in range(training.steps_per_epoch):
        chosen, mirrored = training._draw(epoch, batch)
        found[chosen] = mirrored
    return found


def test_alternating_flips_mirror_each_image_in_every_second_epoch():
    first, second, third = (mirrored_in(replace(CONFIG, augmentation="alternating-flips"), n) for n in range(3))
    assert 20 < first.sum() < 52
    np.testing.assert_array_equal(second, ~first)
    np.testing.assert_array_equal(third, first)
    other = mirrored_in(replace(CONFIG, augmentation="alternating-flips", seed=1), 0)
    assert (other != first).any()


def test_flips_as_an_augmentation_are_the_flips_of_old():
    assert reports(replace(CONFIG, augmentation="flips")) == reports(replace(CONFIG, flips=True))
    assert not mirrored_in(CONFIG, 0).any()


def test_who_asks_for_flips_twice_is_told():
    with pytest.raises(ValueError, match="ask for flips, or for alternating-flips, not for both"):
        replace(CONFIG, flips=True, augmentation="alternating-flips")
    with pytest.raises(ValueError, match="augmentation must be one of none, flips"):
        replace(CONFIG, augmentation="mixup")


def test_every_augmentation_keeps_the_initial_weights_and_the_order_of_the_images():
    runs = [Training(replace(CONFIG, augmentation=name), stand_in()) for name in config.AUGMENTATIONS]
    orders = [run._draw(1, 2)[0].tolist() for run in runs]
    assert all(order == orders[0] for order in orders)
    assert len({run.take_step().loss for run in runs}) == len(runs)


def test_small_shifts_and_turns_are_small_and_drawn():
    generator = torch.Generator().manual_seed(0)
    image = torch.zeros(200, 1, 28, 28)
    image[..., 14, 14] = 1
    moved = data.shift_and_turn(image, generator)
    places = moved.flatten(1).argmax(1)
    assert ((places // 28 - 14).abs() <= 3).all()
    assert len(places.unique()) > 15
    still = data.shift_and_turn(image, generator, pixels=0, degrees=0)
    torch.testing.assert_close(still, image, rtol=0, atol=1e-5)
    whole = data.shift_and_turn(image[:1], generator, pixels=0, degrees=10)
    assert whole.sum() == pytest.approx(1, abs=0.3)


def test_the_batch_is_shown_as_the_model_saw_it_shifted_and_turned():
    run = Training(replace(CONFIG, augmentation="shifts-and-turns"), stand_in())
    run.take_step()
    chosen, _ = run._learned_from
    assert run.batch.images.dtype == np.uint8
    assert run.batch.images.shape == run.examples.train_images[chosen].shape
    assert (run.batch.images != run.examples.train_images[chosen]).any()
    np.testing.assert_allclose(data.normalise(run.batch.images), run._moved, atol=0.01)


def test_the_unit_normal_is_one():
    model = initial_model(replace(CONFIG, model=ViTConfig(depth=2), initialisation="unit-normal"))
    for name in ("blocks.1.expand.weight", "embedding.position_embeddings", "head.weight"):
        assert model.get_parameter(name).std().item() == pytest.approx(1, abs=0.06)
    assert not model.get_parameter("blocks.0.expand.bias").any()
