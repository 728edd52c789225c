"""The reference page names every route and every setting."""

from pathlib import Path

from starlette.routing import Route

from headrace.engine.api import application
from headrace.engine.service import LocalEngine
from headrace.engine.settings import PIPELINE_SETTINGS, EngineSettings
from tests.engine.scripted import ScriptedRunner

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "engine-api.md"


def test_every_route_is_documented(tmp_path: Path) -> None:
    text = PAGE.read_text()
    engine = LocalEngine(EngineSettings("127.0.0.1:1", data_dir=str(tmp_path)), ScriptedRunner())
    for route in application(engine).routes:
        assert isinstance(route, Route)
        path = route.path.replace("{action:str}", "pause")
        for method in (route.methods or set()) - {"HEAD"}:
            assert f"`{method} {path}`" in text, f"{method} {path}"


def test_every_setting_is_documented() -> None:
    text = PAGE.read_text()
    for name in PIPELINE_SETTINGS:
        assert f"`{name}`" in text
