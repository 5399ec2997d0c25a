"""Commands that take in and give out: ``import-responses``, ``export``."""
