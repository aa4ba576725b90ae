"""The page of results keeps what other benchmarks wrote."""

from __future__ import annotations

from page import write_section


def test_a_section_takes_the_place_of_the_one_before(tmp_path):
    """Writing twice leaves one section, the others as they were and in their order."""
    page = tmp_path / "RESULTS.md"
    page.write_text(
        "# Results\n\n## Loading\n\na\n\n## Reconcile\n\nold\n\n## Serving\n\nb\n", encoding="utf-8"
    )
    for _ in range(2):
        write_section("## Reconcile", "new\n\n| x |", page)
    assert page.read_text(encoding="utf-8") == (
        "# Results\n\n## Loading\n\na\n\n## Reconcile\n\nnew\n\n| x |\n\n## Serving\n\nb\n"
    )
