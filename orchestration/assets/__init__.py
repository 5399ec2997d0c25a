"""Dagster's assets, one module per origin: raw, dbt, psychometrics, published.

An asset body reads, calls one function and writes. Holds no SQL, no statistics and no prompts.
"""
