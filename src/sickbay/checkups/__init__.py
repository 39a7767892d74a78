"""Tests of a model before its first step."""

from sickbay.checkups.base import Inapplicable as Inapplicable
from sickbay.checkups.base import Statement as Statement
from sickbay.checkups.report import Report as Report
from sickbay.checkups.report import Result as Result
from sickbay.checkups.run_checkup import checkup as checkup
