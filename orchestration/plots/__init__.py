"""Pictures of what is published, for the command line, for Dagster's pages and for documents.

Holds charts, their looks and the list of them. Does not hold statistics, and reads nothing but the published file.
"""

from orchestration.plots.catalogue import PLOTS, NothingToDrawError, draw
from orchestration.plots.style import SUFFIXES, check_suffix, png, png_markdown, save

__all__ = ["PLOTS", "SUFFIXES", "NothingToDrawError", "check_suffix", "draw", "png", "png_markdown", "save"]
