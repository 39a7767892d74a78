"""A run on disk: a folder of append-only files, readable while they are written and after a kill.

chart.json      schema, start time, first setup and column names; written once, and last
events.jsonl    a line per finding, event, newer setup and list of row names
tables.bin      a record per table: header with checksums, then float32 values
scalars.bin     blocks of steps and ends of epochs, in columns
scalars.jsonl   the newest steps and ends of epochs, a line each, until they fill a block

Steps and ends of epochs are the rows of a run. Rows are numbered, and every table names its row.
JSON has no NaN and no infinity, so these are the strings "nan", "inf" and "-inf".
Charts of schema 1 have no blocks: all their steps are lines.

Writing:  ChartWriter (writer) -> FileWriter (files) -> json_lines, tables, blocks -> binary_records
Reading:  Chart (reader) -> stored_run -> json_lines, tables, blocks -> History
"""

from sickbay.chart.reader import Chart as Chart
from sickbay.chart.writer import ChartWriter as ChartWriter
