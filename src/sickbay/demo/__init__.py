"""Small sick networks: one to watch, and one for each problem, found, repaired and retrained."""

from sickbay.demo.show_repair import Result as Result
from sickbay.demo.show_repair import run as run
from sickbay.demo.sick_models import PATIENTS as PATIENTS
