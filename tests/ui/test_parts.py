import re
import string

import pytest

from vit.ui import parts


@pytest.mark.parametrize("words", ["[a](https://b.c)", "![a](b)", "www.b.c", "a@b.c", "$x$ :red[b] `c` *d* <e>"])
def test_words_from_outside_keep_their_letters(words):
    text = parts.as_text(words)
    assert text.replace("\\", "").replace("\u2060", "") == words
    assert not set(string.punctuation) & set(re.sub(r"\\.", "", text))  # each sign is escaped


@pytest.mark.parametrize("address", ["https://b.c", "HTTP://b.c", "www.b.c", "a@b.c"])
def test_no_address_stays_whole(address):
    assert "\u2060" in parts.as_text(address)
