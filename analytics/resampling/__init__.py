"""Resampling: bootstraps, permutation tests, split halves and parameter recovery, always from a stated seed."""
