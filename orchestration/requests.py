"""Which runs the installation needs now: one per model that lacks something, then a refresh, then its pictures.

Compares plan with landed, never partition colours. Sensor and schedule turn the answer into Dagster's runs.
"""

from collections.abc import Iterator

from dagster import RunRequest

from inference.identity import hash_of
from orchestration import freshness
from orchestration.house import House, load_catalogue, raters_by_model, requests_to_ask

ASK_JOB = "ask_model"
REFRESH_JOB = "refresh"
PICTURES_JOB = "draw_pictures"
MODEL_TAG = "thetahouse/model"


def ask_configuration(rater_ids: list[str]) -> dict[str, object]:
    """Return the run configuration of ``ask_model`` for some raters."""
    return {"ops": {"ask": {"config": {"rater_ids": rater_ids}}}}


def ask_runs(house: House, *, key: str = "") -> Iterator[RunRequest]:
    """Yield one run per model that lacks something.

    The run key is made of what is lacking and where it is asked: what has failed for good is not asked again and
    again, but once more when its entry or its items change, or under another `key`.
    """
    requests = requests_to_ask(house)
    catalogue = load_catalogue(house.settings)
    for model, rater_ids in raters_by_model(requests, catalogue.raters).items():
        lacking = sorted(requests.filter(requests["rater_id"].is_in(rater_ids))["request_id"])
        entry = catalogue.registry.models.get(model)
        yield RunRequest(
            run_key=hash_of([key, model, entry.runtime if entry else None, lacking]),
            job_name=ASK_JOB,
            run_config=ask_configuration(rater_ids),
            tags={MODEL_TAG: model.replace(" ", "_")[:60]},
        )


def refresh_run(house: House) -> RunRequest | None:
    """Return the refresh that is due, or None where the published files hold everything that has landed."""
    fingerprint = freshness.journal_fingerprint(load_catalogue(house.settings).registry, house.settings)
    last = freshness.last_refresh(house.settings)
    if last is not None and last.fingerprint == fingerprint:
        return None
    return RunRequest(run_key=fingerprint, job_name=REFRESH_JOB)


def pictures_run(house: House) -> RunRequest | None:
    """Return the run that draws the last refresh, or None where nothing is published; its key names the refresh."""
    last = freshness.last_refresh(house.settings)
    if last is None:
        return None
    return RunRequest(run_key=hash_of([PICTURES_JOB, last.generation, last.fingerprint]), job_name=PICTURES_JOB)
