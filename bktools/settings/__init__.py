"""Settings: what is in force, where each value comes from, and which address a credential is sent to."""

from bktools.settings.credentials import Secret as Secret
from bktools.settings.credentials import TokenSource as TokenSource
from bktools.settings.load import config_path as config_path
from bktools.settings.load import load_settings as load_settings
from bktools.settings.values import SANDBOX as SANDBOX
from bktools.settings.values import SETTINGS as SETTINGS
from bktools.settings.values import Settings as Settings
from bktools.settings.values import require_writable as require_writable
