import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vit.caches import SizedCache


def never():
    raise AssertionError("This should have been in the cache.")


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 60)), max_size=40))
def test_it_never_holds_more_than_it_may_and_keeps_what_was_asked_for_last(requests):
    cache = SizedCache(100, len)
    sizes = {}
    for key, size in requests:
        sizes.setdefault(key, size)
        assert len(cache.get(key, lambda key=key: bytes(sizes[key]))) == sizes[key]
        assert cache.held_bytes <= 100
        assert len(cache.get(key, never)) == sizes[key]


def test_what_was_not_asked_for_longest_goes_first():
    cache = SizedCache(3, len)
    for key in "abc":
        cache.get(key, lambda: b"1")
    cache.get("a", never)
    cache.get("d", lambda: b"1")
    made = []
    cache.get("b", lambda: made.append("b") or b"1")
    assert made == ["b"]


def test_what_is_too_large_is_made_but_not_kept():
    cache = SizedCache(3, len)
    assert cache.get("large", lambda: bytes(4)) == bytes(4)
    assert (len(cache), cache.held_bytes) == (0, 0)


def test_what_could_not_be_made_is_tried_again():
    cache = SizedCache(3, len)
    with pytest.raises(ZeroDivisionError):
        cache.get("a", lambda: 1 / 0)
    assert cache.get("a", lambda: b"1") == b"1"


def test_many_who_ask_at_once_get_the_same_and_it_is_made_once():
    cache, made, all_ask = SizedCache(100, len), [], threading.Barrier(8)

    def make():
        made.append(1)
        return bytes(10)

    def ask(_):
        all_ask.wait()
        return cache.get("a", make)

    with ThreadPoolExecutor(8) as visitors:
        found = list(visitors.map(ask, range(8)))
    assert len(made) == 1
    assert all(value is found[0] for value in found)
