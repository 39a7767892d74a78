"""In the loop: take readings, ask the problems, say what was found."""

from sickbay.doctor.admission import watch as watch
from sickbay.doctor.doctor import Doctor as Doctor
