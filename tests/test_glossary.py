"""One meaning for each word, in one place."""

import pytest

from vit.glossary import TERMS

ASKED_FOR = ("N", "D", "P", "h", "d_k", "L", "z", "CLS", "logit", "softmax", "GELU", "residual stream", "LayerNorm",
             "epoch", "validation", "label smoothing", "calibration", "warm-up", "augmentation", "seed", "interval")


@pytest.mark.parametrize("name", ASKED_FOR)
def test_words_that_newcomers_ask_for_are_explained(name):
    assert name in {term.name for term in TERMS}


def test_no_spelling_has_two_meanings():
    written = [(term, spelling) for term in TERMS for spelling in (term.name, *term.also)]
    found = [spelling if term.symbol else spelling.lower() for term, spelling in written]
    assert len(found) == len(set(found))


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_a_meaning_is_one_or_a_few_short_sentences(term):
    assert term.meaning[0].isupper() or term.meaning[0].isdigit()
    assert term.meaning.endswith(".")
    assert len(term.meaning) < 220
