"""The explorer: an interactive map of an embedding, as a self-contained page or from a local server."""

from boostne.visualization.explorer.page import MAX_PAGE_NODES, write_explorer_page
from boostne.visualization.explorer.server import ExplorerServer

__all__ = ["MAX_PAGE_NODES", "ExplorerServer", "write_explorer_page"]
