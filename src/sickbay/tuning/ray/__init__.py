"""Ending the trials of Ray Tune by diagnosis."""

from importlib.util import find_spec

if find_spec("ray") is None or find_spec("pyarrow") is None:
    raise ImportError("sickbay.tuning.ray needs Ray Tune: pip install 'sickbay[ray]'.")

from sickbay.tuning.ray.stopper import DiagnosisStopper as DiagnosisStopper
from sickbay.tuning.ray.watch_trial import RayDoctor as RayDoctor
from sickbay.tuning.ray.watch_trial import watch as watch
