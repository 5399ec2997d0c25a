"""What ``dagster dev -m orchestration.definitions`` loads."""

from orchestration.build import build_definitions
from orchestration.house import House
from orchestration.settings import load_settings

defs = build_definitions(House(load_settings()))
