"""Item response models, one per module; each result names its model, its method and its identification."""
