"""The paper's tables and figures, computed anew and set beside the paper's own figures.

``reproduce`` runs what :mod:`plan` lists, keeps every piece in a cache, and writes CSV files,
and pages and figures made of them.
"""

from boostne.reproduction.markdown import write_results_page
from boostne.reproduction.plan import Protocol, choose_methods
from boostne.reproduction.report_page import write_reproduction_report
from boostne.reproduction.reproduce import Reproduction, reproduce

__all__ = [
    "Protocol",
    "Reproduction",
    "choose_methods",
    "reproduce",
    "write_reproduction_report",
    "write_results_page",
]
