"""The pipelines of the demo: the files of `examples/emergency/`, which is a folder of the repository and part of the installed package."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.streams import App

NAMES = ("posts", "seismic", "bursts", "roads", "alerts", "situation", "trending", "sessions")
"""In the order in which they are started: what leads to an alert comes first."""


@dataclass(frozen=True)
class Pipeline:
    """An app and the settings that its file gives it."""

    app: App
    settings: Mapping[str, Any] = field(default_factory=dict)


def folder() -> Path:
    """Where the files are."""
    installed = Path(__file__).parent / "emergency"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "examples" / "emergency"


def load(name: str) -> ModuleType:
    """A file of the folder as a module. They share the records of `emergency.py`, which they import by that name."""
    here = str(folder())
    if here not in sys.path:
        sys.path.insert(0, here)
    spec = importlib.util.spec_from_file_location(f"headrace_demo_{name}", Path(here) / f"{name}.py")
    if spec is None or spec.loader is None:
        raise FileNotFoundError(f"there is no pipeline {name!r} in {here}")
    module = importlib.util.module_from_spec(spec)
    # Functions are read again by their module's name while they are traced.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def pipelines() -> dict[str, Pipeline]:
    """All of them by the names of their files."""
    found = {}
    for name in NAMES:
        module = load(name)
        found[name] = Pipeline(module.app, dict(getattr(module, "SETTINGS", {})))
    return found
