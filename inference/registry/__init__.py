"""The registry: label sets, banks, models, recorded responses and studies, as YAML that people edit.

This folder holds the entries shipped with the project and the code that reads them; ``README.md`` says how to write
one. An installation may add entries in a folder of its own with the same layout.
"""

from inference.registry.bank_specs import BankSpec, DatasetSpec, LabelSetSpec
from inference.registry.base import RegistryError
from inference.registry.loading import Registry, Unavailable, load_registry
from inference.registry.model_specs import ConditionSetSpec, ConditionSpec, ModelSpec, StudySpec
from inference.registry.recorded_specs import RecordedSpec

__all__ = [
    "BankSpec",
    "ConditionSetSpec",
    "ConditionSpec",
    "DatasetSpec",
    "LabelSetSpec",
    "ModelSpec",
    "RecordedSpec",
    "Registry",
    "RegistryError",
    "StudySpec",
    "Unavailable",
    "load_registry",
]
