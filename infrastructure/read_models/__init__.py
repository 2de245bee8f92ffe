"""Tables for people with SQL that follow the log: a projection in a file, which can be thrown away."""

from turnledger.infrastructure.read_models.comparing import Comparison, DifferingRow
from turnledger.infrastructure.read_models.models import Progress, ReadModels, Standing
from turnledger.infrastructure.read_models.searching import Hit, Search
from turnledger.infrastructure.read_models.statistics import Statistics

__all__ = [
    "Comparison",
    "DifferingRow",
    "Hit",
    "Progress",
    "ReadModels",
    "Search",
    "Standing",
    "Statistics",
]
