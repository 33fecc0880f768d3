"""Serves an index by Search-R1's protocol: POST /retrieve {"queries", "topk", "return_scores"} answers {"result": [[…], …]}."""

from __future__ import annotations

import threading
from http.server import ThreadingHTTPServer
from typing import Any

from ..json_server import Refused, json_server, text_of, texts_of

MOST = 1_000  # documents of one query
QUERIES = 10_000  # of one request


def make_index_server(index: Any, *, host: str = "127.0.0.1", port: int = 0, topk: int = 3) -> ThreadingHTTPServer:
    """Returns an HTTP server of an index, bound and not running yet. Its answers carry the fingerprint of the index as a header: the body is
    that of Search-R1."""
    turn = threading.Lock()  # an encoder has one pass at a time

    def retrieve(asked: dict[str, Any]) -> dict[str, Any]:
        # one query, as AgentOCR and verl-agent ask, or a list of them, as Search-R1 does
        queries = [text_of(asked, "query")] if "queries" not in asked and "query" in asked else texts_of(asked, "queries")
        count = asked.get("topk") or topk
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST:
            raise Refused(422, "invalid", f"topk must be a whole number from 1 to {MOST}")
        if len(queries) > QUERIES:
            raise Refused(422, "invalid", f"a request has at most {QUERIES} queries")
        with turn:
            found = index.search(queries, count) if queries else []
        if asked.get("return_scores", False):
            return {"result": [[{"document": document, "score": score} for document, score in hits] for hits in found]}
        return {"result": [[document for document, _ in hits] for hits in found]}

    headers = {"x-espalier-index": index.fingerprint}
    described = {"/": {"documents": len(index), "fingerprint": index.fingerprint}}
    return json_server(described, {"/retrieve": retrieve}, name="the index", host=host, port=port, headers=headers)
