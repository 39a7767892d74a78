"""A pool of recorded trials in one small file; `sickbay replay` reads it too."""

from sickbay.tuning.pool import KINDS as KINDS
from sickbay.tuning.pool import Pool as Pool
from sickbay.tuning.pool import load as load
from sickbay.tuning.pool import save as save
