"""Settings: what is in force, where each value comes from, and which address a credential is sent to."""

from bktools.settings.credentials import Secret, TokenSource
from bktools.settings.load import (
    config_path,
    load_settings,
)
from bktools.settings.values import (
    COMPANIES,
    SANDBOX,
    SETTINGS,
    Settings,
    folder_name_of,
    hidden,
    name_of,
    require_writable,
)

__all__ = [
    "COMPANIES",
    "SANDBOX",
    "SETTINGS",
    "Secret",
    "Settings",
    "TokenSource",
    "config_path",
    "folder_name_of",
    "hidden",
    "load_settings",
    "name_of",
    "require_writable",
]
