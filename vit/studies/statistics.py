"""Statistics as small samples deserve: paired by seed, with t intervals, and no more certainty than there is."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

CONFIDENCE = 0.95
POWER = 0.8


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % t interval, and how small an effect so many values of such a spread could have shown."""

    n: int
    mean: float
    low: float
    high: float
    visible: float

    @property
    def certain(self) -> bool:
        """Whether there is an interval at all."""
        return self.n > 1


def paired_differences(first: Mapping[int, float], second: Mapping[int, float]) -> dict[int, float]:
    """First minus second, for each seed that both have."""
    return {seed: first[seed] - second[seed] for seed in sorted(first.keys() & second.keys())}


def estimate(values: Sequence[float]) -> Estimate:
    """Of the mean that these values were drawn around; of fewer than two, nothing is sure."""
    n = len(values)
    if n == 0:
        return Estimate(0, 0.0, -math.inf, math.inf, math.inf)
    mean = math.fsum(values) / n
    if n == 1:
        return Estimate(1, mean, -math.inf, math.inf, math.inf)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    error = deviation / math.sqrt(n)
    half = critical_t(n) * error
    return Estimate(n, mean, mean - half, mean + half, visible_in_errors(n) * error)


@lru_cache
def critical_t(n: int) -> float:
    """By how many standard errors the interval of n values reaches to each side."""
    from scipy import stats

    return float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1))


@lru_cache
def visible_in_errors(n: int) -> float:
    """The smallest true effect, in standard errors, that n values show in 8 of 10 cases: by the noncentral t."""
    from scipy import optimize, stats

    limit, freedom = critical_t(n), n - 1

    def lacking(effect: float) -> float:  # an effect that is taken for its opposite is not seen
        return POWER - float(stats.nct.sf(limit, freedom, effect))

    return float(optimize.brentq(lacking, 0.0, limit + 10))
