"""The versions that CONTRIBUTING.md names are those that the package asks for."""

from __future__ import annotations

from packaging.version import Version
from versions import bounds, project, pythons, rows


def test_the_table_of_versions_agrees_with_the_package():
    """Each library of the package has a line, its lowest version is the bound, and Pythons are those of the classifiers."""
    table = rows()
    assert table.pop("Python") == (pythons()[0], pythons()[-1])
    assert project()["requires-python"] == f">={pythons()[0]}"
    assert {name: Version(lowest) for name, (lowest, _) in table.items()} == {
        name: Version(bound) for name, bound in bounds().items()
    }
    assert all(Version(lowest) <= Version(newest) for lowest, newest in table.values())
