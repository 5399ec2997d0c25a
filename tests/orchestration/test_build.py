"""What the house changes about dbt as Dagster starts it."""

from importlib.metadata import version

from dagster_dbt import DbtCliResource

from orchestration.build import DbtProcess, dbt_resource
from orchestration.house import House
from orchestration.settings import load_settings


def test_dbt_is_asked_neither_for_its_version_nor_for_an_adapter() -> None:
    # private members of the library: an upgrade that renames them would only make every step slower
    for name in ("_cli_version", "_initialize_dbt_core_adapter"):
        assert name in vars(DbtCliResource)
        assert name in vars(DbtProcess)
    dbt = dbt_resource(House(load_settings({})))
    assert str(dbt._cli_version) == version("dbt-core")
    assert dbt._initialize_dbt_core_adapter([]) is None
