"""Data sets from the network: a server on this computer stands in for their homes."""

import gzip
import hashlib
import io
import pickle
import re
import socket
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from tests.support.images import some_images
from vit import data
from vit.datasets import DATASETS
from vit.torchvision_import import import_torchvision

datasets = import_torchvision().datasets


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
