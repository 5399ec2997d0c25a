"""Text in, text out: registry, item banks, prompts, engines and the journal of raw responses.

Holds everything up to the moment a response lies safely in the journal. Does not hold: SQL, statistics, Dagster, or
anything that opens the warehouse.
"""
