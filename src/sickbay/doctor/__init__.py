"""Watch a training loop: read statistics, check for problems, report findings."""

from sickbay.doctor.doctor import Doctor as Doctor
from sickbay.doctor.watch_model import watch as watch
