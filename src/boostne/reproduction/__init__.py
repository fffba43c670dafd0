"""The paper's tables and figures, computed anew and set beside the paper's own figures.

``reproduce`` runs what :mod:`plan` lists, keeps every piece in a cache, and writes CSV files; :mod:`boostne.report`
makes pages and figures of them.
"""

from boostne.reproduction.plan import Protocol, choose_methods
from boostne.reproduction.reproduce import Reproduction, reproduce

__all__ = ["Protocol", "Reproduction", "choose_methods", "reproduce"]
