"""Which errors are the user's to mend: they are shown as one line, without a traceback."""


def is_user_error(error: Exception) -> bool:
    """Tell whether an error names a thing, a value and a remedy for the person who typed the command."""
    from inference.landing import ChunkError
    from inference.planning import RaterConflictError
    from inference.prompts import TemplateError
    from inference.registry import RegistryError
    from inference.sources import SourceError
    from orchestration.control_room import PortTakenError
    from orchestration.generations import MixedGenerationsError
    from orchestration.house import UnknownNameError
    from orchestration.locks import LockHeldError
    from orchestration.reading import NotPublishedError, QueryError
    from orchestration.warehouse import WarehouseBusyError, WarehouseDamagedError

    return isinstance(
        error,
        RegistryError
        | SourceError
        | ChunkError
        | TemplateError
        | RaterConflictError
        | MixedGenerationsError
        | LockHeldError
        | WarehouseBusyError
        | WarehouseDamagedError
        | NotPublishedError
        | UnknownNameError
        | PortTakenError
        | QueryError
        | NotADirectoryError,
    )
