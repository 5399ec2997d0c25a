"""Sources: item banks and recorded responses, read and validated from files.

Holds readers. Does not hold: prompts, raters' identity, or anything that writes.
"""

from inference.sources.banks import BankFrames, bank_fingerprint, read_bank
from inference.sources.labels import label_rows
from inference.sources.tables import SourceError

__all__ = ["BankFrames", "SourceError", "bank_fingerprint", "label_rows", "read_bank"]
