"""`python -m sickbay` is `sickbay`."""

import sys

from sickbay.cli import main

sys.exit(main())
