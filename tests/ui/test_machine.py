from types import SimpleNamespace

import pytest

from tests.support.models import SMALL
from vit.ui import state
from vit.ui.panels import machine


@pytest.mark.parametrize(("asked", "chosen"), [
    ({"layer": 2, "head": 3}, {"layer": 2, "head": 3}), ({"token": 16}, {"token": 16}),
    ({"layer": 3, "head": -1, "token": 17}, {}), ({"layer": "1", "head": 1.5, "model": "untrained"}, {}), (None, {}),
    ([1], {}),
])
def test_only_what_the_model_has_can_be_chosen(monkeypatch, asked, chosen):
    taken = {}
    monkeypatch.setattr(state, "choose", lambda **changes: taken.update(changes))
    machine.choose(SimpleNamespace(config=SMALL), asked)
    assert taken == chosen
