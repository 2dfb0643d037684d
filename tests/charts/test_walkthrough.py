import re
from dataclasses import replace

import pytest

from vit.charts import walkthrough
from vit.config import PRESETS
from vit.numbers import in_bytes, many
from vit.ui import markup


def html_of(picture):
    return markup.render(picture.template, alt=picture.alt, **picture.values)


@pytest.mark.parametrize("preset", ["article", "cifar", "base"])
def test_the_table_shows_every_step_and_ends_with_the_whole_model(preset):
    config = PRESETS[preset]
    picture = walkthrough.table(config)
    embedding, block, answer = picture.values["sections"]
    assert [len(section.rows) for section in (embedding, block, answer)] == [4, 11, 3]
    assert block.title == f"Inside each of the {config.depth} blocks"
    assert answer.total.cells[1].text == f"{config.parameters:,}"
    numbers = [int(row.cells[1].text.replace(",", "") or 0) for section in picture.values["sections"]
               for row in section.rows for _ in range(config.depth if section is block else 1)]
    assert sum(numbers) == config.parameters
    for section in picture.values["sections"]:
        assert all(0 <= cell.share <= 1 for row in section.rows for cell in row.cells)
    assert f"{config.parameters:,} weights" in picture.alt
    assert f"<td>{config.parameters:,}</td>" in html_of(picture)


def test_shapes_stand_with_their_letters():
    rows = {row.name: row for section in walkthrough.table(PRESETS["base"]).values["sections"] for row in section.rows}
    assert rows["q, k, v"].cells[0][:2] == ("3 × 12 × 197 × 64", "3 × h × T × d_k")
    assert rows["scores"].cells[0][:2] == ("12 × 197 × 197", "h × T × T")
    assert rows["z₀"].cells[0][:2] == ("197 × 768", "T × D")


def test_the_chosen_model_is_marked_beside_the_others():
    values = walkthrough.side_by_side(replace(PRESETS["base"], variant="eps-1e-12")).values
    assert values["names"][values["own"]] == "ViT-Base"
    values = walkthrough.side_by_side(PRESETS["quick"]).values
    assert (values["names"][0], values["own"]) == ("yours", 0)
    rows = dict(values["rows"])
    assert rows["numbers of a patch, P²C"] == ["49", "16", "16", "48", "768"]
    assert rows["weights"][-1] == "86.6 M"
    assert rows["multiplications"][-1] == "17.6 G"  # as the literature counts ViT-B/16


def test_one_line_says_equal_and_all_others_say_unequal():
    html = html_of(walkthrough.coincidence())
    assert re.findall(r"<td>([=≠])</td>", html).count("=") == 1
    assert "16 · 16 · 3 = 768" in html


@pytest.mark.parametrize(("count", "words", "size"), [
    (0, "0", "0 bytes"), (999, "999", "999 bytes"), (1000, "1,000", "1.00 kB"), (819_200, "819,200", "819 kB"),
    (2_457_600, "2.46 M", "2.46 MB"), (348_585_984, "349 M", "349 MB"), (17_564_160_000, "17.6 G", "17.6 GB"),
    (999_999_999, "1.00 G", "1.00 GB"), (999_999, "999,999", "1.00 MB"),
])  # fmt: skip
def test_long_numbers_are_shown_by_three_digits(count, words, size):
    assert (many(count), in_bytes(count)) == (words, size)
