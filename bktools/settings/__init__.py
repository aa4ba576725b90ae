"""Settings: what is in force, where each value comes from, and which address a credential is sent to."""

from bktools.settings.credentials import Secret as Secret
from bktools.settings.credentials import TokenSource as TokenSource
from bktools.settings.load import company_names_path as company_names_path
from bktools.settings.load import config_path as config_path
from bktools.settings.load import configured_language as configured_language
from bktools.settings.load import kept_company_names as kept_company_names
from bktools.settings.load import load_settings as load_settings
from bktools.settings.values import COMPANIES as COMPANIES
from bktools.settings.values import SANDBOX as SANDBOX
from bktools.settings.values import SETTINGS as SETTINGS
from bktools.settings.values import Settings as Settings
from bktools.settings.values import environment_name as environment_name
from bktools.settings.values import folder_name_of as folder_name_of
from bktools.settings.values import hidden as hidden
from bktools.settings.values import listed_settings as listed_settings
from bktools.settings.values import require_writable as require_writable
from bktools.settings.values import source_in_words as source_in_words
