"""Whether an installation is well: one finding per thing looked at, each with a remedy where one is needed.

Holds the list of examinations. They look and change nothing; what is wrong with the environment is in ``environment``,
with the installation's files in ``state``.
"""

from orchestration.doctor import environment, state
from orchestration.doctor.findings import Finding
from orchestration.settings import Settings

__all__ = ["Finding", "examine", "is_well"]


def examine(settings: Settings) -> tuple[Finding, ...]:
    """Look at everything, the environment first."""
    findings = [
        environment.python_version(),
        *environment.requirements(),
        environment.gpu(),
        environment.vllm(),
        *environment.offline_models(),
        environment.dbt(),
        state.disk(settings),
        *state.locks(settings),
        state.warehouse_holder(settings),
        state.publication(settings),
        *state.registry_and_staleness(settings),
    ]
    return tuple(findings)


def is_well(findings: tuple[Finding, ...]) -> bool:
    """Tell whether nothing is wrong; notes are no faults."""
    return all(finding.level != "wrong" for finding in findings)
