"""HTML reports: self-contained pages that open offline, in light and dark mode."""

from boostne.visualization.evaluation_page import write_evaluation_report
from boostne.visualization.extras import MissingExtraError
from boostne.visualization.tuning_page import write_tuning_report

__all__ = ["MissingExtraError", "write_evaluation_report", "write_tuning_report"]
