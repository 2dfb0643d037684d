import pytest

from vit.environment import whole_number


@pytest.mark.parametrize(("told", "taken"), [
    (None, 5), ("", 5), ("12", 12), ("0", 0), ("-3", 5), ("many", 5), ("²", 5), ("٣", 5), ("1e3", 5), ("9" * 400, 5),
])  # fmt: skip
def test_what_is_no_number_counts_as_not_set(monkeypatch, told, taken):
    monkeypatch.delenv("PATCHWISE_QUEUE", raising=False)
    if told is not None:
        monkeypatch.setenv("PATCHWISE_QUEUE", told)
    assert whole_number("PATCHWISE_QUEUE", otherwise=5) == taken
