import gzip
import hashlib
import io
import pickle
import re
import socket
import subprocess
import sys
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assets import make_mnist
from vit import data
from vit.datasets import DATASETS, VALIDATION_IMAGES
from vit.torchvision_import import import_torchvision

datasets = import_torchvision().datasets

LABELS_PER_DIGIT = {
    "train": [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
    "test": [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
}
VALIDATION_INDICES_SHA256 = "3d39b348911e8a5b7b45a3d92bf9e60bd53a23154546d432067600c0a36a4b77"


# The bundled MNIST


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


# Data sets from the network: a server on this computer stands in for their homes


class Home:
    """Serves files by name. What is in `broken_off` arrives only in part; `requests` counts."""

    def __init__(self):
        self.files, self.broken_off, self.requests = {}, set(), 0
        home = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                home.requests += 1
                name = self.path.strip("/")
                content = home.files[name]
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content[: len(content) // 2] if name in home.broken_off else content)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PATCHWISE_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(data, "VALIDATION_IMAGES", 10)
    data._splits_of.cache_clear()
    yield tmp_path / "cache"
    data._splits_of.cache_clear()


@pytest.fixture
def home(cache):
    home = Home()
    yield home
    home.close()


def md5(content):
    return hashlib.md5(content).hexdigest()


def some_images(n, *shape):
    labels = np.arange(n) % 10
    images = np.random.default_rng(n).integers(0, 256, (n, *shape), dtype=np.uint8)
    return images, labels


def idx(array):
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return gzip.compress(header + array.astype(np.uint8).tobytes())


@pytest.fixture(params=["fashion-mnist", "kmnist"])
def like_mnist(request, home, monkeypatch):
    """A data set in MNIST's format, at home: its name, and its images and labels by part."""
    dataset = {"fashion-mnist": datasets.FashionMNIST, "kmnist": datasets.KMNIST}[request.param]
    parts = {"train": some_images(60, 28, 28), "t10k": some_images(20, 28, 28)}
    for part, (images, labels) in parts.items():
        home.files[f"{part}-images-idx3-ubyte.gz"] = idx(images)
        home.files[f"{part}-labels-idx1-ubyte.gz"] = idx(labels)
    monkeypatch.setattr(dataset, "mirrors", [home.url])
    monkeypatch.setattr(dataset, "resources", [(name, md5(content)) for name, content in home.files.items()])
    return request.param, parts


@pytest.fixture
def cifar10(home, monkeypatch):
    """CIFAR-10 in its own format, at home: images and labels by part."""
    train, test = some_images(60, 32, 32, 3), some_images(20, 32, 32, 3)
    batches = {f"data_batch_{i + 1}": [array[12 * i : 12 * (i + 1)] for array in train] for i in range(5)}
    batches["test_batch"] = test
    contents = {}
    for name, (images, labels) in batches.items():
        channels_first = images.transpose(0, 3, 1, 2).reshape(-1, 3072)
        contents[name] = pickle.dumps({"data": channels_first, "labels": labels.tolist()})
    contents["batches.meta"] = pickle.dumps({"label_names": list("abcdefghij")})

    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for name, content in contents.items():
            member = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    home.files["cifar-10-python.tar.gz"] = archive.getvalue()

    sums = [[name, md5(content)] for name, content in contents.items()]
    monkeypatch.setattr(datasets.CIFAR10, "url", home.url + "cifar-10-python.tar.gz")
    monkeypatch.setattr(datasets.CIFAR10, "tgz_md5", md5(archive.getvalue()))
    monkeypatch.setattr(datasets.CIFAR10, "train_list", sums[:5])
    monkeypatch.setattr(datasets.CIFAR10, "test_list", sums[5:6])
    monkeypatch.setattr(datasets.CIFAR10, "meta", datasets.CIFAR10.meta | {"md5": sums[6][1]})
    return {"train": train, "t10k": test}


def assert_loads(name, parts):
    images, labels = parts["train"]
    validation = data.subset(labels, 10, data.VALIDATION_SEED)
    train = np.setdiff1d(np.arange(60), validation)
    for split, expected in {
        "train": (images[train], labels[train]),
        "validation": (images[validation], labels[validation]),
        "test": parts["t10k"],
    }.items():
        loaded = data.load(name, split)
        assert [array.dtype for array in loaded] == [np.uint8, np.int64]
        for array, wanted in zip(loaded, expected, strict=True):
            np.testing.assert_array_equal(array, wanted)


def assert_one_sentence(message):
    assert message.endswith(".")
    assert message.count(". ") == 0
    assert "\n" not in message


def test_sets_like_mnist_are_downloaded_and_read(like_mnist):
    name, parts = like_mnist
    assert data.needs_download(name)
    assert_loads(name, parts)
    assert not data.needs_download(name)


def test_cifar10_is_downloaded_and_read_in_colour(cifar10):
    assert_loads("cifar10", cifar10)
    assert data.load("cifar10", "train")[0].flags.c_contiguous


def test_what_was_downloaded_needs_no_network_again(like_mnist, home):
    name, parts = like_mnist
    data.download(name)
    home.files.clear()
    assert_loads(name, parts)


def test_mnist_itself_needs_no_download(cache):
    assert not data.needs_download("mnist")


def test_a_download_tells_how_far_it_is(cifar10, home):
    reports = []
    data.download("cifar10", progress=lambda *report: reports.append(report))
    size = len(home.files["cifar-10-python.tar.gz"])
    received = [done for done, _ in reports]
    assert {total for _, total in reports} == {size}
    assert len(received) > 1
    assert received == sorted(received)
    assert received[-1] == size


def test_two_who_ask_at_once_cause_one_download(like_mnist, home):
    name, _ = like_mnist
    threads = [threading.Thread(target=data.download, args=(name,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    requests = home.requests
    data.download(name)
    assert home.requests == requests == 2 * len(home.files)  # torchvision asks twice for each file


def test_offline_there_is_one_sentence_and_mnist_goes_on_working(like_mnist, home, cache):
    name, _ = like_mnist
    home.close()
    with pytest.raises(data.DataUnavailable) as caught:
        data.load(name, "train")
    assert str(caught.value).startswith(f"{DATASETS[name].title} could not be downloaded")
    assert_one_sentence(str(caught.value))
    assert list(cache.iterdir()) == []
    assert len(data.load("mnist", "test")[1]) == 10_000


def test_a_server_that_does_not_answer_is_not_waited_for(cifar10, monkeypatch):
    silent = socket.create_server(("127.0.0.1", 0))
    monkeypatch.setattr(datasets.CIFAR10, "url", f"http://127.0.0.1:{silent.getsockname()[1]}/")
    monkeypatch.setattr(data, "SECONDS_WITHOUT_ANSWER", 0.1)
    bar = datasets.utils.tqdm
    with silent, pytest.raises(data.DataUnavailable):
        data.load("cifar10", "train")
    assert socket.getdefaulttimeout() is None
    assert datasets.utils.tqdm is bar


@pytest.mark.parametrize("like_mnist", ["fashion-mnist"], indirect=True)
def test_after_a_download_that_broke_off_the_next_attempt_works(like_mnist, home, cache):
    name, parts = like_mnist
    home.broken_off.add("t10k-images-idx3-ubyte.gz")
    with pytest.raises(data.DataUnavailable) as caught:
        data.load(name, "train")
    assert_one_sentence(str(caught.value))
    assert list(cache.iterdir()) == []
    home.broken_off.clear()
    assert_loads(name, parts)


def test_damaged_files_of_a_set_like_mnist_are_noticed_and_the_next_attempt_works(like_mnist, cache):
    name, parts = like_mnist
    data.download(name)
    (file,) = cache.rglob("train-images-idx3-ubyte")
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(data.DataUnavailable, match="were damaged") as caught:
        data.load(name, "train")
    assert_one_sentence(str(caught.value))
    assert_loads(name, parts)
    assert_set_aside(name, cache, "train-images-idx3-ubyte")


def test_damaged_files_of_cifar10_are_noticed_and_the_next_attempt_works(cifar10, cache):
    data.download("cifar10")
    (file,) = cache.rglob("data_batch_3")
    file.write_bytes(b"not what it was")
    with pytest.raises(data.DataUnavailable, match="were damaged"):
        data.load("cifar10", "test")
    assert_loads("cifar10", cifar10)
    assert_set_aside("cifar10", cache, "data_batch_3")


def assert_set_aside(name, cache, damaged):
    """The damaged files have not gone: they have another name."""
    kept, aside = sorted(cache.iterdir())
    assert kept.name == name
    assert re.fullmatch(name + r"\.damaged-\d{8}-\d{6}", aside.name)
    assert len(list(aside.rglob(damaged))) == 1


@pytest.fixture
def downloaded(request, like_mnist, cifar10, cache):
    """A data set that is here and intact, and what its folder holds."""
    data.download(request.param)
    return request.param, contents(cache)


def contents(folder):
    return {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


of_each_kind = pytest.mark.parametrize(
    ("downloaded", "like_mnist"), [("cifar10", "kmnist"), ("kmnist", "kmnist")], indirect=True
)


@of_each_kind
@pytest.mark.parametrize("error", [MemoryError(), OSError(5, "read error"), EOFError(), RuntimeError("?")], ids=repr)
def test_what_is_intact_stays_whatever_goes_wrong_while_loading(downloaded, error, cache, monkeypatch):
    name, before = downloaded
    dataset = {"cifar10": datasets.CIFAR10, "kmnist": datasets.KMNIST}[name]

    def fail(*_, **__):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(dataset, "__init__", fail)
        with pytest.raises(data.DataUnavailable, match="left as they are") as caught:
            data.load(name, "train")
    assert_one_sentence(str(caught.value))
    assert contents(cache) == before
    assert len(data.load(name, "test")[1]) == 20


@of_each_kind
def test_files_that_cannot_be_read_are_not_called_damaged(downloaded, cache, monkeypatch):
    name, before = downloaded

    def fail(*_, **__):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr("builtins.open", fail)
        patched.setattr("pathlib.Path.open", fail)
        with pytest.raises(data.DataUnavailable, match="left as they are"):
            data.load(name, "train")
    assert contents(cache) == before


@pytest.mark.parametrize("like_mnist", ["kmnist"], indirect=True)
def test_without_its_archive_nothing_proves_a_file_damaged(like_mnist, cache):
    data.download("kmnist")
    (file,) = cache.rglob("train-images-idx3-ubyte")
    file.write_bytes(file.read_bytes()[:-100])
    file.with_suffix(".gz").unlink()
    before = contents(cache)
    with pytest.raises(data.DataUnavailable, match="left as they are"):
        data.load("kmnist", "train")
    assert contents(cache) == before


@pytest.mark.parametrize("like_mnist", ["kmnist"], indirect=True)
def test_a_missing_file_is_damage(like_mnist, cache):
    name, parts = like_mnist
    data.download(name)
    next(cache.rglob("train-images-idx3-ubyte")).unlink()
    with pytest.raises(data.DataUnavailable, match="set aside"):
        data.load(name, "train")
    assert_loads(name, parts)


def test_a_cache_folder_that_cannot_be_made_is_told_in_a_sentence(cache, monkeypatch):
    cache.write_text("a file where the folder should be")
    with pytest.raises(data.DataUnavailable):
        data.load("kmnist", "train")


# What training does with images


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
