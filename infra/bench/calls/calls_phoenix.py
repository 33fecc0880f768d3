"""Calls that Phoenix records by OpenInference, in batches."""

import os

from program import measure, store

os.environ["PHOENIX_COLLECTOR_ENDPOINT"] = store
COUNT = "{ projects { edges { node { recordCount } } } }"


def turn_on():
    from phoenix.otel import register

    register(auto_instrument=True, batch=True)


def flush():
    from opentelemetry import trace

    trace.get_tracer_provider().force_flush(120_000)


def count():
    import httpx

    answer = httpx.post(f"{store}/graphql", json={"query": COUNT}, timeout=60).json()
    return sum(edge["node"]["recordCount"] for edge in answer["data"]["projects"]["edges"])


measure(turn_on, flush, count)
