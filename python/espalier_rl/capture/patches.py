"""Puts the recording of calls into the HTTP clients of a process, httpx and httpx2, whose classes the clients of models send by: those
that exist already and those that are made later. `undo` takes it out again."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .exchange import Exchange

Begin = Callable[[Any], "Exchange | None"]
MODULES = ("httpx", "httpx2")


def patch(begin: Begin) -> Callable[[], None]:
    """Has each request shown to `begin`, which returns the exchange of one that asks a model. Returns `undo`."""
    undo: list[Callable[[], None]] = []

    def undo_all() -> None:
        for each in undo:
            each()

    try:
        for name in MODULES:
            if find_spec(name) is not None:
                module = import_module(name)
                undo.append(_replace(module.Client, "send", _sync(module, module.Client.send, begin)))
                undo.append(_replace(module.AsyncClient, "send", _async(module, module.AsyncClient.send, begin)))
    except BaseException:
        undo_all()
        raise
    return undo_all


def _replace(owner: Any, name: str, by: Any) -> Callable[[], None]:
    before = getattr(owner, name)
    setattr(owner, name, by)

    def undo() -> None:
        if getattr(owner, name) is by:  # else another tool wraps it, and what it wraps asks an autolog that is off
            setattr(owner, name, before)

    return undo


def _sync(module: Any, send: Any, begin: Begin) -> Any:
    class Recorded(module.SyncByteStream):  # type: ignore[misc]
        """The body of an answer on its way to the program."""

        def __init__(self, exchange: Exchange, chunks: Iterator[bytes], close: Callable[[], None]) -> None:
            self._exchange, self._chunks, self._close = exchange, chunks, close

        def __iter__(self) -> Iterator[bytes]:
            exchange = self._exchange
            try:
                for chunk in self._chunks:
                    yield from exchange.feed(chunk)
                yield from exchange.rest()
            except Exception as error:
                exchange.finish("failed", repr(error))
                raise

        def close(self) -> None:
            try:
                self._close()
            finally:
                self._exchange.finish()

    @functools.wraps(send)
    def recorded_send(self: Any, request: Any, *, stream: bool = False, **options: Any) -> Any:
        exchange = begin(request)
        if exchange is None:
            return send(self, request, stream=stream, **options)
        try:
            while True:
                sent = _request(module, request, exchange)
                response = send(self, sent, stream=True, **options)
                if not exchange.asks_again(response.status_code):
                    break
                response.close()
        except BaseException as error:
            exchange.finish("failed", repr(error))
            raise
        _show(response, sent, request)
        if response.is_closed:  # a hook of the client has read it, with what was asked for besides
            exchange.read(response)
            return response
        body, decoded = _body(module, response, exchange)
        response.stream = Recorded(exchange, decoded.iter_bytes() if decoded else iter(body), (decoded or body).close)
        if not stream:
            try:
                response.read()
            except BaseException:
                response.close()
                raise
        return response

    return recorded_send


def _async(module: Any, send: Any, begin: Begin) -> Any:
    class Recorded(module.AsyncByteStream):  # type: ignore[misc]
        """The body of an answer on its way to the program."""

        def __init__(self, exchange: Exchange, chunks: AsyncIterator[bytes], close: Callable[[], Any]) -> None:
            self._exchange, self._chunks, self._close = exchange, chunks, close

        async def __aiter__(self) -> AsyncIterator[bytes]:
            exchange = self._exchange
            try:
                async for chunk in self._chunks:
                    for out in exchange.feed(chunk):
                        yield out
                for out in exchange.rest():
                    yield out
            except Exception as error:
                exchange.finish("failed", repr(error))
                raise

        async def aclose(self) -> None:
            try:
                await self._close()
            finally:
                self._exchange.finish()

    @functools.wraps(send)
    async def recorded_send(self: Any, request: Any, *, stream: bool = False, **options: Any) -> Any:
        exchange = begin(request)
        if exchange is None:
            return await send(self, request, stream=stream, **options)
        try:
            while True:
                sent = _request(module, request, exchange)
                response = await send(self, sent, stream=True, **options)
                if not exchange.asks_again(response.status_code):
                    break
                await response.aclose()
        except BaseException as error:
            exchange.finish("failed", repr(error))
            raise
        _show(response, sent, request)
        if response.is_closed:  # a hook of the client has read it, with what was asked for besides
            exchange.read(response)
            return response
        body, decoded = _body(module, response, exchange)
        response.stream = Recorded(exchange, decoded.aiter_bytes() if decoded else aiter(body), (decoded or body).aclose)
        if not stream:
            try:
                await response.aread()
            except BaseException:
                await response.aclose()
                raise
        return response

    return recorded_send


def _request(module: Any, request: Any, exchange: Exchange) -> Any:
    """Returns the request of the next try: that of the program, where nothing is asked for besides."""
    body = exchange.next_body()
    if body is exchange.raw:
        return request
    headers = request.headers.copy()
    headers["content-length"] = str(len(body))
    sent = module.Request(request.method, request.url, headers=headers, stream=module.ByteStream(body), extensions=request.extensions)
    sent.read()  # hooks and signatures of the client look at its content
    return sent


def _show(response: Any, sent: Any, request: Any) -> None:
    """Has an answer name the request of the program; one behind a redirection names that of the redirection."""
    for each in (*response.history, response):
        if each.request is sent:
            each.request = request


def _decoded(module: Any, headers: Any, raw: bytes) -> bytes:
    """Decodes a body as far as it came whole."""
    chunks: list[bytes] = []
    try:
        for chunk in module.Response(200, headers=headers, stream=module.ByteStream(raw)).iter_bytes():
            chunks.append(chunk)
    except module.DecodingError:
        pass
    return b"".join(chunks)


def _body(module: Any, response: Any, exchange: Exchange) -> tuple[Any, Any]:
    """Returns the body of an answer as it comes, and an answer that decodes it where it is compressed and something is to be taken out of it."""
    body, headers = response.stream, response.headers.copy()
    cleans = exchange.answered(response, lambda raw: _decoded(module, headers, raw))
    if not cleans or "content-encoding" not in headers:
        return body, None
    decoded = module.Response(response.status_code, headers=headers, stream=body, request=response.request)
    response.headers.pop("content-encoding")
    return body, decoded
