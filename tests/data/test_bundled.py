"""The MNIST that is bundled, its splits and its subsets."""

import gzip
import hashlib
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets import make_mnist
from vit import data
from vit.datasets import VALIDATION_IMAGES

LABELS_PER_DIGIT = {
    "train": [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
    "test": [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
}
VALIDATION_INDICES_SHA256 = "3d39b348911e8a5b7b45a3d92bf9e60bd53a23154546d432067600c0a36a4b77"


def whole_training_set():
    images, labels = zip(data.load("mnist", "train"), data.load("mnist", "validation"), strict=True)
    return np.concatenate(images), np.concatenate(labels)


def test_bundled_files_are_mnist_byte_for_byte():
    for name, expected in make_mnist.SHA256_OF_RAW_FILES.items():
        raw = gzip.decompress((data.BUNDLED_MNIST / f"{name}.gz").read_bytes())
        assert hashlib.sha256(raw).hexdigest() == expected


def test_bundled_files_stay_small():
    assert sum(file.stat().st_size for file in data.BUNDLED_MNIST.iterdir()) < 11.5e6


def test_files_that_are_not_mnist_are_not_bundled(tmp_path):
    for name in make_mnist.SHA256_OF_RAW_FILES:
        (tmp_path / name).write_bytes(b"something else")
    with pytest.raises(SystemExit, match="is not MNIST's file of that name"):
        make_mnist.main(tmp_path, bundle=tmp_path / "bundle")
    assert list((tmp_path / "bundle").iterdir()) == []


@pytest.mark.parametrize(("split", "size"), [("train", 55_000), ("validation", 5_000), ("test", 10_000)])
def test_splits_have_their_sizes_and_types(split, size):
    images, labels = data.load("mnist", split)
    assert images.shape == (size, 28, 28)
    assert images.dtype == np.uint8
    assert labels.shape == (size,)
    assert labels.dtype == np.int64


def test_no_digit_is_lost_and_the_test_set_is_untouched():
    assert np.bincount(whole_training_set()[1]).tolist() == LABELS_PER_DIGIT["train"]
    images, labels = data.load("mnist", "test")
    assert np.bincount(labels).tolist() == LABELS_PER_DIGIT["test"]
    raw = gzip.decompress((data.BUNDLED_MNIST / "t10k-images-idx3-ubyte.gz").read_bytes())
    assert images.tobytes() == raw[16:]


def test_train_and_validation_share_no_image():
    raw = gzip.decompress((data.BUNDLED_MNIST / "train-images-idx3-ubyte.gz").read_bytes())[16:]
    every_image = {raw[start : start + 784] for start in range(0, len(raw), 784)}
    assert len(every_image) == 60_000  # MNIST repeats no training image
    assert {image.tobytes() for image in whole_training_set()[0]} == every_image


def test_validation_split_is_the_same_everywhere_and_for_ever():
    raw = gzip.decompress((data.BUNDLED_MNIST / "train-labels-idx1-ubyte.gz").read_bytes())
    labels = np.frombuffer(raw, np.uint8, offset=8)
    indices = data.subset(labels, VALIDATION_IMAGES, data.VALIDATION_SEED)
    assert hashlib.sha256(indices.astype("<i8").tobytes()).hexdigest() == VALIDATION_INDICES_SHA256
    np.testing.assert_array_equal(data.load("mnist", "validation")[1], labels[indices])


def test_labels_belong_to_their_images():
    """The mean image of each digit in one split is nearest to that digit's mean image in another."""
    train, test = (
        np.stack([images[labels == digit].mean(axis=0) for digit in range(10)])
        for images, labels in (data.load("mnist", "train"), data.load("mnist", "test"))
    )
    distances = ((train[:, None] - test[None]) ** 2).sum(axis=(2, 3))
    assert distances.argmin(axis=1).tolist() == list(range(10))


def test_loading_again_costs_nothing_and_nobody_can_change_what_others_see():
    images, labels = data.load("mnist", "train")
    assert data.load("mnist", "train")[0] is images
    for array in (images, labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_mnist_loads_without_torch():
    code = "import sys; from vit import data; data.load('mnist', 'test'); print('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], cwd=data.PROJECT, capture_output=True, text=True)
    assert result.stdout == "False\n", result.stderr


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="no data set 'svhn'; there are mnist, fashion-mnist, kmnist"):
        data.load("svhn", "train")
    with pytest.raises(ValueError, match="no split 'dev'; there are train, validation, test"):
        data.load("mnist", "dev")


@pytest.mark.parametrize(
    "content",
    [
        None,
        b"",
        b"a text",
        gzip.compress(b"", mtime=0),
        gzip.compress(bytes(99), mtime=0)[:-5],
        gzip.compress(b"\0\0\x08\x03" + bytes(99), mtime=0),
    ],
)
def test_a_damaged_bundle_is_told_in_a_sentence(content, tmp_path, monkeypatch):
    monkeypatch.setattr(data, "BUNDLED_MNIST", tmp_path)
    monkeypatch.setattr(data, "_splits_of", data._splits_of.__wrapped__)
    if content is not None:
        (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(content)
    with pytest.raises(data.DataUnavailable, match="missing or damaged"):
        data.load("mnist", "train")


# Subsets


@settings(deadline=None)  # on a busy machine time says nothing
@given(
    labels=st.lists(st.integers(0, 9), min_size=1, max_size=200).map(np.array),
    share=st.floats(0, 1),
    seed=st.integers(0, 2**32),
)
def test_a_subset_has_its_size_and_every_class_keeps_its_share(labels, share, seed):
    size = max(1, int(share * len(labels)))
    indices = data.subset(labels, size, seed)
    assert len(set(indices.tolist())) == size
    fair = np.bincount(labels) * size / len(labels)
    assert np.abs(np.bincount(labels[indices], minlength=len(fair)) - fair).max() < 1


def test_the_seed_alone_decides_who_is_in_a_subset():
    labels = np.arange(1000) % 10
    np.testing.assert_array_equal(data.subset(labels, 100, seed=1), data.subset(labels, 100, seed=1))
    assert (data.subset(labels, 100, seed=1) != data.subset(labels, 100, seed=2)).any()


@pytest.mark.parametrize("size", [0, 11])
def test_impossible_subsets_are_refused(size):
    with pytest.raises(ValueError, match=f"between 1 and 10, not {size}"):
        data.subset(np.zeros(10), size, seed=0)
