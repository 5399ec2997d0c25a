"""Wires: settings, warehouse, locks, Dagster definitions and the command line.

Holds what connects the other rooms. Does not hold statistics, SQL models, prompts or parsing; nothing imports it but
``settings``, which is a leaf.
"""
