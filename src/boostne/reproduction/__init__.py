"""Reproduction of the paper's tables and figures, with the paper's own values for comparison.

:func:`reproduce` runs the experiments listed by :mod:`boostne.reproduction.plan`, caches every result, and writes CSV
files; the reports are generated from these files.
"""

from boostne.reproduction.figures import write_figures
from boostne.reproduction.html_report import write_reproduction_report
from boostne.reproduction.markdown_report import write_results_page
from boostne.reproduction.plan import Protocol, choose_methods
from boostne.reproduction.reproduce import Reproduction, reproduce

__all__ = [
    "Protocol",
    "Reproduction",
    "choose_methods",
    "reproduce",
    "write_figures",
    "write_reproduction_report",
    "write_results_page",
]
