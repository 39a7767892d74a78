"""In the loop: take readings, ask the problems, say what was found."""

from sickbay.doctor.doctor import Doctor as Doctor
from sickbay.doctor.watch_model import watch as watch
