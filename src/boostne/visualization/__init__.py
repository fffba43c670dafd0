"""Plots, exports for viewers, and HTML pages: reports, and the explorer. Pages open offline, in light and dark mode."""

from boostne.visualization.evaluation_page import write_evaluation_report
from boostne.visualization.explorer import ExplorerServer, write_explorer_page
from boostne.visualization.exports import write_atlas, write_projector
from boostne.visualization.extras import MissingExtraError
from boostne.visualization.tuning_page import write_tuning_report

__all__ = [
    "ExplorerServer",
    "MissingExtraError",
    "write_atlas",
    "write_evaluation_report",
    "write_explorer_page",
    "write_projector",
    "write_tuning_report",
]
