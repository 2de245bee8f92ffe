"""Tables for people with SQL that follow the log: a projection in a file, which can be thrown away."""

from turnledger.infrastructure.read_models.comparing import DifferingRow, ReadModelsReport
from turnledger.infrastructure.read_models.file import beside
from turnledger.infrastructure.read_models.models import Progress, ReadModels, Standing
from turnledger.infrastructure.read_models.searching import Search, SearchHit
from turnledger.infrastructure.read_models.statistics import Statistics
from turnledger.infrastructure.read_models.waiting import Waiting

__all__ = [
    "DifferingRow",
    "Progress",
    "ReadModels",
    "ReadModelsReport",
    "Search",
    "SearchHit",
    "Standing",
    "Statistics",
    "Waiting",
    "beside",
]
