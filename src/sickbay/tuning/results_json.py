"""What a replay or a calibration has shown, as JSON can hold it."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import Any

from sickbay.tuning.board import Tally
from sickbay.tuning.calibration import Calibration
from sickbay.tuning.replay import Ended, Judged, Replay
from sickbay.tuning.threshold_settings import changes


def of_replay(replay: Replay) -> dict[str, Any]:
    """Return a replay: each indicator with every trial that it would have ended."""
    search = replay.search
    return {
        "search": search.name,
        "trials": len(search.trials),
        "seconds": search.seconds,
        "metric": search.metric,
        "direction": "maximize" if search.maximize else "minimize",
        "best_ten_per_cent": search.tenth,
        "indicators": [_judged(each) for each in replay.alone],
        "together": _judged(replay.together),
        "troubles": list(replay.troubles),
    }


def of_calibration(calibration: Calibration) -> dict[str, Any]:
    """Return a calibration: fold by fold, and the settings found."""
    profile = calibration.profile
    return {
        "folds": [
            {
                "left_out": fold.name,
                "trials": fold.trials,
                "before": _tally(fold.before),
                "after": _tally(fold.after),
                "settings": changes(profile, fold.problems),
            }
            for fold in calibration.folds
        ],
        "before": _tally(calibration.before),
        "held_out": _tally(calibration.held_out),
        "after": _tally(calibration.after),
        "settings": changes(profile, calibration.problems),
    }


def _judged(judged: Judged) -> dict[str, Any]:
    return {
        "name": judged.name,
        "saved": judged.saved,
        "lost_of_ten": judged.lost_of_ten,
        "lost_of_best_ten_per_cent": judged.lost_of_tenth,
        "ended": [_ended(each) for each in judged.ended],
    }


def _ended(ended: Ended) -> dict[str, Any]:
    return {
        "trial": ended.trial,
        "epoch": ended.epoch,
        "seconds_saved": ended.saved,
        "place": ended.place,
        "reached": _number(ended.reached),
        "reached_by_then": _number(ended.kept),
        "lost_of_ten": ended.lost_of_ten,
        "lost_of_best_ten_per_cent": ended.lost_of_tenth,
        "benign": ended.benign,
        "problem": ended.finding.problem,
        "message": ended.finding.message,
    }


def _tally(tally: Tally) -> dict[str, Any]:
    told = asdict(tally)
    told["lost_of_best_ten_per_cent"] = told.pop("lost_of_tenth")
    told["best_ten_per_cent"] = told.pop("tenth")
    return told


def _number(value: float) -> float | None:
    return value if isfinite(value) else None
