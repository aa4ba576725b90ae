"""Settings: what is in force, where each value comes from, and which address a credential is sent to."""

from bktools.settings.credentials import Secret, TokenSource
from bktools.settings.load import (
    company_names_path,
    config_path,
    kept_company_names,
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
    "company_names_path",
    "config_path",
    "folder_name_of",
    "hidden",
    "kept_company_names",
    "load_settings",
    "name_of",
    "require_writable",
]
