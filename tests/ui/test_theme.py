from streamlit import config
from streamlit.proto.NewSession_pb2 import NewSession
from streamlit.runtime import app_session
from streamlit.web import bootstrap

from vit.ui import theme

SECTIONS = [f"theme.{section.value}" for section in config.CustomThemeCategories]


def theme_told() -> NewSession:
    message = NewSession()
    app_session._populate_theme_msg(message.custom_theme)
    for section in SECTIONS:
        part = message.custom_theme
        for name in section.split(".")[1:]:
            part = getattr(part, name)
        app_session._populate_theme_msg(part, section)
    return message


def test_the_kept_theme_is_the_one_that_streamlit_makes(monkeypatch):
    monkeypatch.setattr(app_session, "_populate_theme_msg", theme._populate)
    bootstrap.load_config_options({})
    made = theme_told()
    theme.keep()
    assert app_session._populate_theme_msg is not theme._populate
    for _ in range(2):
        assert theme_told() == made
    assert made.custom_theme.light.primary_color
    assert not made.custom_theme.HasField("sidebar")
