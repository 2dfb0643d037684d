"""What training does with images."""


import numpy as np
import pytest
import torch

from tests.support.images import some_images
from vit import data


def test_normalised_training_images_have_mean_0_and_deviation_1():
    pixels = data.normalise(data.load("mnist", "train")[0][:10_000])
    assert pixels.dtype == torch.float32
    assert pixels.shape == (10_000, 1, 28, 28)
    assert abs(pixels.mean()) < 0.01
    assert abs(pixels.std() - 1) < 0.01


@pytest.mark.parametrize(
    ("shape", "mean", "deviation"),
    [
        ((28, 28), [0.1307], [0.3081]),
        ((32, 32, 3), [0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616]),
    ],
)
def test_normalising_is_torchvisions_with_the_usual_constants(shape, mean, deviation):
    from torchvision.transforms import v2

    images, _ = some_images(7, *shape)
    channels_first = torch.tensor(images).view(7, shape[0], shape[1], -1).permute(0, 3, 1, 2)
    scaled = v2.functional.to_dtype(channels_first, torch.float32, scale=True)
    expected = v2.functional.normalize(scaled, mean, deviation)
    torch.testing.assert_close(data.normalise(images), expected)


@pytest.mark.parametrize("shape", [(28, 28), (32, 32, 3)])
def test_pictures_come_back_from_what_a_model_wants(shape):
    images, _ = some_images(7, *shape)
    np.testing.assert_array_equal(data.as_pictures(data.normalise(images)), images)


def test_a_typical_image_is_the_nearest_to_the_mean_of_its_class():
    images = np.array([0, 10, 90, 200, 100, 210], np.uint8)[:, None, None]
    assert data.typical(images, np.array([0, 0, 0, 1, 1, 1])).ravel().tolist() == [10, 200]


def test_images_with_two_channels_are_refused():
    with pytest.raises(ValueError, match=r"1 channel \(grey\) or 3 \(colour\), not 2"):
        data.normalise(np.zeros((1, 28, 28, 2), np.uint8))


def test_a_flip_is_torchvisions_and_the_others_stay_as_they_are():
    from torchvision.transforms.v2.functional import horizontal_flip

    images = torch.rand(4, 3, 8, 8)
    flipped = data.flip(images, torch.tensor([True, False, True, False]))
    assert torch.equal(flipped[0::2], horizontal_flip(images[0::2]))
    assert torch.equal(flipped[1::2], images[1::2])


def test_flips_are_drawn_fairly_by_the_generator():
    draws = [data.draw_flips(10_000, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)]
    assert draws[0].dtype == torch.bool
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])
    assert abs(draws[0].float().mean() - 0.5) < 0.02


def test_an_epoch_holds_every_index_once_and_keeps_the_last_batch():
    batches = list(data.batch_indices(10, 4, torch.Generator().manual_seed(0)))
    assert [len(batch) for batch in batches] == [4, 4, 2]
    assert sorted(torch.cat(batches).tolist()) == list(range(10))


def test_the_generator_decides_the_order_and_each_epoch_has_its_own():
    def two_epochs():
        generator = torch.Generator().manual_seed(0)
        return [torch.cat(data.batch_indices(100, 32, generator)) for _ in range(2)]

    first, second = two_epochs()
    assert not torch.equal(first, second)
    assert torch.equal(torch.stack(two_epochs()), torch.stack([first, second]))
