"""Which errors are the user's to mend: they are shown as one line, without a traceback."""

import errno
from typing import TypeGuard

NO_ROOM = ("No space left on device", "File too large", "database or disk is full", "disk I/O error")
"""How libraries say that a file could not be written; SQLite says the last where it cannot even begin."""


def is_out_of_room(error: BaseException) -> bool:
    """Tell whether an error, or one that led to it, is a disk without room."""
    cause: BaseException | None = error
    while cause is not None:
        is_system = isinstance(cause, OSError) and cause.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
        if is_system or any(sign in str(cause) for sign in NO_ROOM):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def is_forbidden(error: BaseException) -> TypeGuard[OSError]:
    """Tell whether the system allowed no access to a file or folder that the error names."""
    codes = {errno.EACCES, errno.EPERM, errno.EROFS}
    return isinstance(error, OSError) and error.errno in codes and error.filename is not None


def is_in_the_way(error: BaseException) -> TypeGuard[OSError]:
    """Tell whether a file that the error names stands where a folder should be."""
    return isinstance(error, FileExistsError | NotADirectoryError) and error.filename is not None


def is_user_error(error: Exception) -> bool:
    """Tell whether an error names a thing, a value and a remedy for the person who typed the command."""
    from inference.landing import ChunkError
    from inference.prompts import TemplateError
    from inference.raters import RaterConflictError
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
