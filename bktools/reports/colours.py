"""The colours of all pictures: the same meaning has the same colour in every picture and every run.

Each colour is visible on a light and on a dark page, and so is the ink of texts and lines.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from types import MappingProxyType

INK = "#7A7A7A"
# Of the numbers on an axis. Labels that are all dark, or all light, make Jupyter put a white or black page behind a picture.
LIGHT_INK = "#837C8C"
# What needs no attention, and what stands for several meanings.
QUIET = "#9A9A9A"
# Brightness of a colour that black and white are equally readable on.
EVEN = 0.18

# Neighbours differ in lightness, so that they can be told apart without colour.
PALETTE = (
    "#EB6268", "#BD3D1B", "#E56F17", "#9A5F1A", "#BF8B1F", "#836D03", "#9B9C2C", "#5D7B0F",
    "#55AD40", "#0D844C", "#11AE89", "#167F75", "#19A9B0", "#167C8F", "#14A3D5", "#1174B4",
    "#5392FC", "#5560CF", "#967FF5", "#864EBC", "#C26ED5", "#A73F95", "#DF63A4", "#BA3661",
)  # fmt: skip

COLOURS: Mapping[str, str] = MappingProxyType({
    # Whether a category has an account, and why an entry is held back: the first three are the same
    "no account": "#BA3661", "unknown account": "#864EBC", "archived account": "#836D03",
    "to be archived account": "#9B9C2C", "covered": QUIET,
    "no service id": "#167F75", "not a uuid": "#19A9B0", "no company": "#5560CF", "conflicting": "#BD3D1B",
    "changed since export": "#5D7B0F", "lines missing": "#11AE89", "other line not ready": "#55AD40",
    "duplicate": "#E56F17", "other company": "#5392FC", "in doubt": "#EB6268", "not approved": "#BF8B1F",
    "no category": "#DF63A4", "unknown category": "#C26ED5", "category of other company": "#A73F95",
    "archived category": "#9A5F1A", "unknown employee": "#967FF5", "other reasons": QUIET, "others": QUIET,
    # What became of an entry
    "exported": "#0D844C", "ready": "#1174B4",
    # Money without another meaning
    "amount": "#1174B4",
})  # fmt: skip


def colours(names: Iterable[str]) -> dict[str, str]:
    """Return the colour of each name.

    A name without a colour in the table gets one from its letters. Where that colour is taken by another name of the same
    picture, it is the next one of the palette.

    Examples
    --------
    >>> colours(["ready", "exported"])["ready"] == colours(["ready"])["ready"] == COLOURS["ready"]
    True
    """
    wanted = {*names}
    found = {name: COLOURS[name] for name in wanted if name in COLOURS}
    for name in sorted(wanted - {*found}):
        place = zlib.crc32(name.encode("utf-8", "surrogatepass")) % len(PALETTE)
        free = [colour for colour in (*PALETTE[place:], *PALETTE[:place]) if colour not in found.values()]
        found[name] = free[0] if free else PALETTE[place]
    return found


def ink_on(colour: str) -> str:
    """Return black or white: the one that is easier to read on a colour."""
    parts = [(int(colour[place : place + 2], 16) / 255) ** 2.2 for place in (1, 3, 5)]
    brightness = sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))
    return "black" if brightness > EVEN else "white"
