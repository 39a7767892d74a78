"""What `events.jsonl` holds."""

from __future__ import annotations

from dataclasses import dataclass, field

from sickbay.arguments import check_int
from sickbay.chart.format import Line, Names
from sickbay.errors import UsageError
from sickbay.findings import Event, Finding
from sickbay.json_dataclasses import dataclass_from_json
from sickbay.vitals import Setup


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """Names of the rows of tables, and the id that tables give for them."""

    id: int
    names: Names


@dataclass
class Events:
    """Findings, events, setups and names of rows, each oldest first."""

    findings: list[Finding] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    setups: list[Setup] = field(default_factory=list)
    names: dict[int, Names] = field(default_factory=dict)

    def add(self, line: Line) -> bool:
        """Add a line and return True; a `UsageError` if it is damaged.

        Types of a newer sickbay are left out.
        """
        kind = line.get("type")
        if kind == "finding":
            self.findings.append(dataclass_from_json(Finding, line))
        elif kind == "event":
            self.events.append(dataclass_from_json(Event, line))
        elif kind == "setup":
            self.setups.append(dataclass_from_json(Setup, line))
        elif kind == "rows":
            rows = dataclass_from_json(_Rows, line)
            self.names[check_int("id", rows.id, least=0)] = rows.names
        elif not isinstance(kind, str):
            raise UsageError("type is missing.")
        return True
