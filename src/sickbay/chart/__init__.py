"""The run on disk: a folder of append-only files that survive a kill and can be read meanwhile."""

from sickbay.chart.reader import Chart as Chart
from sickbay.chart.writer import ChartWriter as ChartWriter
