"""Whatever a link says, the page opens, says what it does not understand, and shows no error box."""

from itertools import product

import pytest

from tests.pages.conftest import PATH
from tests.pages.test_explorer import SMALL

HOSTILE = [
    "", " ", "0", "-1", "99", "1e9", "9" * 400, "NaN", "None", "٣", "½", "../../etc/passwd", "%00", "\x00", "a\nb",
    "<script>alert(1)</script>", "[x](https://evil.example)", "' OR 1=1 --", "{{7*7}}", "${7*7}", "🙂" * 50, "s",
    "s10000", "s-1", "p", "p0", "p" + "z" * 2500, "i", "i" + "A" * 1999, "iAAAA", "run:", "run:/", "run:x/epoch-0001",
    "run:../x/epoch-0001", "explorer/../x", "sidebar,tour,share,stepper,try,quiz,maths,unknown", ",,,",
    "patch1,patch1,head0.0", "mlp99999", "positions,causal,shuffle,scaling",
]  # fmt: skip
PARAMETERS = ("d", "model", "layer", "head", "token", "off", "hide", "run", "claim", "unknown")
PAGES = (*PATH, "what_if", "train", "claims")


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_whatever_a_parameter_says_the_page_opens(shipped, open_app, parameter):
    shipped(SMALL)
    first = PARAMETERS.index(parameter)
    for number, value in enumerate(HOSTILE[first % 3 :: 3]):  # each value for three parameters
        page = PAGES[(first + number) % len(PAGES)]
        visitor = open_app(page, **{"d": "s0", parameter: value})
        assert not visitor.exception, (page, value)
        assert visitor.title, (page, value)


@pytest.mark.parametrize("page", PAGES)
def test_pages_open_with_several_wrong_values_at_once(shipped, open_app, page):
    shipped(SMALL)
    for model, layer in product(("run:x/y", "nothing"), ("99", "x")):
        wrong = {"d": "broken", "head": "", "token": "50", "off": "?", "run": "../x", "hide": "?", "claim": "../x"}
        visitor = open_app(page, model=model, layer=layer, **wrong)
        assert not visitor.exception
        assert visitor.title
