"""A cache that knows how many bytes it holds: what visitors ask for may be of any size."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class SizedCache(Generic[Value]):
    """The values that were asked for last, as many as fit. Each is made once, however many ask for it at a time, unless
    that fails: then who comes next tries again."""

    def __init__(self, most_bytes: int, size_of: Callable[[Value], int]):
        self.most_bytes, self.size_of = most_bytes, size_of
        self.held_bytes = 0
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._being_made: dict[Hashable, Lock] = {}
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """`make` is called if the value is not here; if it raises, nothing is kept. What is too large is not kept."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
            making = self._being_made.setdefault(key, Lock())
        with making:
            with self._lock:
                if key in self._values:  # somebody else has made it while we waited
                    return self._values[key]
            try:
                value = make()
                self._keep(key, value)
            finally:
                with self._lock:
                    self._being_made.pop(key, None)
        return value

    def _keep(self, key: Hashable, value: Value) -> None:
        with self._lock:
            self._values[key] = value
            self.held_bytes += self.size_of(value)
            while self.held_bytes > self.most_bytes and self._values:
                _, oldest = self._values.popitem(last=False)
                self.held_bytes -= self.size_of(oldest)

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
            self.held_bytes = 0

    def __len__(self) -> int:
        return len(self._values)
