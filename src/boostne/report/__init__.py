"""Reports: one self-contained page that opens from disk, in light and dark, without a network."""

from boostne.report.evaluation import write_evaluation_report
from boostne.report.extras import MissingExtraError
from boostne.report.markdown import write_results_page
from boostne.report.reproduction import write_reproduction_report

__all__ = ["MissingExtraError", "write_evaluation_report", "write_reproduction_report", "write_results_page"]
