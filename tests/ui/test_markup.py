import re
from pathlib import Path

import streamlit

from vit.ui import markup


def test_a_script_brings_all_that_it_imports_once_and_what_is_needed_first():
    script = markup.script("machine.js")
    assert not re.search(r"^import ", script, re.MULTILINE)
    assert re.findall(r"^export .*", script, re.MULTILINE) == [
        "export default function ({ data, parentElement, setTriggerValue }) {"
    ]
    assert script.count("function unpack(") == 1
    assert script.index("function number(") < script.index("class Player") < script.index("class Machine")


def test_no_two_of_the_machine_s_scripts_call_different_things_by_one_name():
    script = markup.script("machine.js")
    names = re.findall(r"^(?:const|let|function|class) (\w+)", script, re.MULTILINE)
    assert len(names) == len(set(names))


def test_the_page_names_files_of_streamlit_s_that_hold_plotly_and_the_colours_of_code():
    scripts = Path(streamlit.__file__).parent / "static" / "static" / "js"
    plotly, code = markup.scripts_of_claims()
    assert "newPlot" in (scripts / plotly).read_text(encoding="utf-8")
    assert "bash" in (scripts / code).read_text(encoding="utf-8")
    assert f'data-of-claims="{plotly} {code}"' in markup.around_pages()
