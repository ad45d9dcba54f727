"""Every package says which names are its own."""

import importlib
import inspect

import pytest

PACKAGES = (
    "adapters",
    "algorithms",
    "estimators",
    "operators",
    "problems",
    "applications.attack",
    "testing",
    "updates",
)


@pytest.mark.parametrize("name", PACKAGES)
def test_all_lists_what_the_package_imports(name):
    package = importlib.import_module(f"szoht.{name}")
    imported = {
        key
        for key, value in vars(package).items()
        if not key.startswith("_") and not inspect.ismodule(value)
    }
    assert set(package.__all__) == imported
