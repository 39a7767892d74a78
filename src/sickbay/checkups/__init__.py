"""Tests of a model before its first training step."""

from sickbay.checkups.base import Inapplicable as Inapplicable
from sickbay.checkups.base import Statement as Statement
from sickbay.checkups.model_setup import ModelSetup as ModelSetup
from sickbay.checkups.run_checkup import checkup as checkup
from sickbay.reports.checkup_report import Report as Report
from sickbay.reports.checkup_report import Result as Result
