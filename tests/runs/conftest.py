import pytest


@pytest.fixture(autouse=True)
def root(root):
    """No test of runs sees those of this machine, also one that asks for no folder."""
    return root
