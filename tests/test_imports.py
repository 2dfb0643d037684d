"""Who may import whom: pages → vit.ui → the rest of vit, downward and never in circles."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def python_files():
    """The product's files: tests may import what they like."""
    folders = [
        folder for folder in ROOT.iterdir()
        if folder.is_dir() and not folder.name.startswith(".") and folder.name != "tests"
        and not (folder / "pyvenv.cfg").exists()
    ]
    return sorted([*ROOT.glob("*.py"), *(file for folder in folders for file in folder.rglob("*.py"))])


def module_name(file):
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_in(source, module, is_package=False):
    """Full names of all that a source imports, at its top or inside functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            climbed = node.level - is_package
            base = module.split(".")[: -climbed or None] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            yield origin
            yield from (f"{origin}.{alias.name}" for alias in node.names)


FILES = {module_name(file): file for file in python_files()}
IMPORTS = {
    name: set(imports_in(file.read_text(encoding="utf-8"), name, file.name == "__init__.py"))
    for name, file in FILES.items()
}


def within(name, *packages):
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def importers_of(*packages, among):
    return {name for name in among if any(within(imported, *packages) for imported in IMPORTS[name])}


VIT = [name for name in IMPORTS if within(name, "vit")]
NEEDS = {name: IMPORTS[name] & set(VIT) - {name, "vit"} for name in VIT}
COMPUTING = [name for name in VIT if not within(name, "vit.ui")]


def test_the_walk_sees_every_way_to_import():
    source = (
        "import a.b\nfrom c import d\nfrom . import e\nfrom .f import g\nfrom ..h import i\n"
        "def late():\n    import j\n"
    )
    assert set(imports_in(source, "x.y.z")) == {
        "a.b", "c", "c.d", "x.y", "x.y.e", "x.y.f", "x.y.f.g", "x.h", "x.h.i", "j"
    }
    assert set(imports_in("from . import e", "x.y", is_package=True)) == {"x.y", "x.y.e"}
    assert {"vit.config", "vit.model", "vit.trace", "benchmarks.peers"} <= IMPORTS.keys()
    assert "vit.model" in IMPORTS["vit.trace"]


FROM_OUTSIDE = ("streamlit.testing", "streamlit.proto")


def test_only_app_pages_and_ui_import_streamlit():
    others = [name for name in IMPORTS if not within(name, "app", "pages", "vit.ui")]

    def shows(imported):
        # A benchmark may drive the app from outside, as tests do.
        return imported.startswith("streamlit") and not within(imported, *FROM_OUTSIDE)

    assert [name for name in others if any(map(shows, IMPORTS[name]))] == []
    assert importers_of(*FROM_OUTSIDE, among=VIT) == {"vit.ui.remedies"}


def test_the_package_knows_no_page_and_no_benchmark():
    assert importers_of("app", "pages", "benchmarks", "tests", among=VIT) == set()


def test_what_computes_knows_nothing_of_what_shows():
    assert importers_of("vit.ui", among=COMPUTING) == set()


def test_what_analyses_knows_nothing_of_pictures():
    below = [name for name in COMPUTING if not within(name, "vit.charts")]
    assert importers_of("vit.charts", among=below) == set()


def test_imports_inside_the_package_run_in_no_circles():
    TopologicalSorter(NEEDS).prepare()  # raises CycleError, which names the circle


def test_config_needs_only_facts_and_the_model_only_config():
    assert NEEDS["vit.datasets"] == set()
    assert NEEDS["vit.config"] == {"vit.datasets"}
    assert NEEDS["vit.model"] == {"vit.config"}


@pytest.mark.parametrize("name", VIT)
def test_no_pickle_anywhere(name):
    assert importers_of("pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", among=[name]) == set()
    for node in ast.walk(ast.parse(FILES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            assert (node.value.id, node.attr) not in {("torch", "load"), ("torch", "save")}
        if isinstance(node, ast.keyword):
            assert node.arg != "allow_pickle"
            assert node.arg != "weights_only" or (isinstance(node.value, ast.Constant) and node.value.value is True)
