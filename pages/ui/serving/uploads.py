"""How much a session's uploads may hold: Streamlit keeps every file of a session until the session ends."""

from collections.abc import Callable

from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp
from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

MOST_BYTES = 80_000_000  # two files of the largest size: one is replaced only when the next has arrived
_UPLOAD = "/_stcore/upload_file/"  # followed by the session and the file


class BoundedUploads(BaseHTTPMiddleware):
    """After each upload the session's oldest files give way.

    Nobody misses them: a page reads a file as soon as it is there, and its uploader shows the newest alone.
    """

    def __init__(self, app: ASGIApp, files: "Callable[[], MemoryUploadedFileManager | None] | None" = None) -> None:
        super().__init__(app)
        self._files = files or _streamlits_files

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        response = await call_next(request)
        _, is_upload, rest = request.url.path.partition(_UPLOAD)
        files = self._files() if is_upload and request.method == "PUT" else None
        if files is not None:
            keep_newest(files, rest.partition("/")[0])
        return response


def keep_newest(files: MemoryUploadedFileManager, session_id: str) -> None:
    held = 0
    for file in reversed(list(files.file_storage.get(session_id, {}).values())):
        held += len(file.data)
        if held > MOST_BYTES:
            files.remove_file(session_id, file.file_id)


def _streamlits_files() -> MemoryUploadedFileManager | None:
    files = runtime.get_instance().uploaded_file_mgr
    return files if isinstance(files, MemoryUploadedFileManager) else None
