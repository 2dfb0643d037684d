import numpy as np
import pytest
import torch

from tests.support.models import SMALL, make_lively

torch.set_num_threads(1)  # small matrices gain nothing from more, and busy machines lose much


@pytest.fixture(scope="session")
def lively():
    return make_lively


@pytest.fixture
def small_model():
    return make_lively(SMALL)


@pytest.fixture
def digit():
    return np.random.default_rng(0).integers(0, 256, (28, 28), dtype=np.uint8)
