"""The process that reads drawings: right, one answer for each who asks, and no harm when it is gone."""

import contextlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.support.runs import wait_for
from vit import checkpoints, data
from vit.reader import CannotRead, Reader
from vit.trace import trace_image

EXPLORER = checkpoints.SHIPPED["explorer"]


def awake(reader: Reader, image: np.ndarray) -> bool:
    with contextlib.suppress(CannotRead):
        return len(reader.logits(EXPLORER, "1", image)) == 10
    return False


@pytest.fixture(scope="module")
def images():
    return data.load("mnist", "test")[0][:12]


@pytest.fixture(scope="module")
def reader(images):
    found = Reader()
    found.start()
    wait_for(lambda: awake(found, images[0]))
    yield found
    found.close()


def test_it_answers_what_the_trace_says_to_the_last_bit(reader, images):
    model = checkpoints.load("explorer")
    for image in images[:3]:
        np.testing.assert_array_equal(reader.logits(EXPLORER, "1", image), trace_image(model, image).logits)


def test_many_who_ask_at_once_each_get_their_own_answer(reader, images):
    alone = [reader.logits(EXPLORER, "1", image) for image in images]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(lambda number: reader.logits(EXPLORER, "1", images[number % 12]), range(48)))
    for number, answer in enumerate(together):
        np.testing.assert_array_equal(answer, alone[number % 12])


def test_what_it_cannot_read_is_told_and_the_next_question_answered(reader, images, tmp_path):
    with pytest.raises(CannotRead, match="There is no checkpoint"):
        reader.logits(tmp_path / "gone.safetensors", "1", images[0])
    with pytest.raises(CannotRead):
        reader.logits(EXPLORER, "1", images[0][:5, :5])
    assert awake(reader, images[0])


def test_another_version_of_a_file_is_read_anew(reader, images, tmp_path):
    path = tmp_path / "weights.safetensors"
    path.write_bytes(EXPLORER.read_bytes())
    first = reader.logits(path, "1", images[0])
    model = checkpoints.load(path)
    model.head.bias += 1
    checkpoints.save(model, path)
    np.testing.assert_array_equal(reader.logits(path, "1", images[0]), first)
    np.testing.assert_allclose(reader.logits(path, "2", images[0]), first + 1, atol=0.01)


def test_one_that_was_killed_says_so_and_can_be_started_again(images):
    reader = Reader()
    with pytest.raises(CannotRead, match="not awake"):
        reader.logits(EXPLORER, "1", images[0])
    reader.start()
    wait_for(lambda: awake(reader, images[0]))
    reader._process.kill()
    with pytest.raises(CannotRead, match="has ended"):
        reader.logits(EXPLORER, "1", images[0])
    reader.start()
    wait_for(lambda: awake(reader, images[0]))
    reader.close()
