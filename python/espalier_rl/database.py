"""What `connect` returns: an installation that a program records into, reads from and trains by."""

from __future__ import annotations

from types import TracebackType

from .connection import Connection


def connect(url: str | None = None, *, token: str | None = None, timeout_s: float = 60, retry_s: float = 60) -> Database:
    """Connects to an installation. `url` and `token` are found as Connection finds them: ESPALIER_URL and ESPALIER_TOKEN, else the
    server and the token of this machine. No request is sent: a server that is away is met by the first thing that needs it."""
    return Database(Connection(url, token=token, timeout_s=timeout_s, retry_s=retry_s))


class Database:
    """An installation. Each method imports what it needs when it is called, so that an extra is missed only by who uses it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @property
    def url(self) -> str:
        return self.connection.url

    def close(self) -> None:
        """Closes the connections that are kept."""
        self.connection.close()

    async def aclose(self) -> None:
        """Closes the connections of this event loop too."""
        await self.connection.aclose()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    async def __aenter__(self) -> Database:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"Database({self.url!r})"
