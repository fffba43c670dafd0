"""Reports: one self-contained page that opens from disk, in light and dark, without a network."""

from boostne.visualization.evaluation_page import write_evaluation_report
from boostne.visualization.extras import MissingExtraError

__all__ = ["MissingExtraError", "write_evaluation_report"]
