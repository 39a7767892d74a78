"""Small sick networks: one to watch, and one for each problem, found, repaired and retrained."""

from sickbay.demo.patients import PATIENTS as PATIENTS
from sickbay.demo.repaired import Result as Result
from sickbay.demo.repaired import run as run
