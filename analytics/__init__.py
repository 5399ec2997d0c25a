"""The statistician's room: arrays in, frozen results out.

Holds classical test theory, item response models, agreement, resampling and the studies' statistics as pure
functions. Does not hold any input or output: no files, no database, no settings.
"""
