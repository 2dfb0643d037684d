import pytest

from vit.trace import trace_image


@pytest.fixture
def trace(small_model, digit):
    return trace_image(small_model, digit)
