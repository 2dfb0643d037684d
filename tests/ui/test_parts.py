import pytest

from vit.ui import parts


@pytest.mark.parametrize("words", ["[a](https://b.c)", "![a](b)", "www.b.c", "a@b.c", "$x$ :red[b] `c` *d* <e>"])
def test_words_from_outside_keep_their_letters(words):
    assert parts.as_text(words).replace("\\", "").replace("\u2060", "") == words
