"""Records the work by Phoenix's own OpenTelemetry set-up: a trace for each episode, a span for each step, BATCH spans to a request. Its server
answers before it writes, so that what is durable is what is queryable."""

import os

from work import batch, fetched, measure, steps, url, work

os.environ["OTEL_BSP_MAX_EXPORT_BATCH_SIZE"] = str(batch)
os.environ["OTEL_BSP_MAX_QUEUE_SIZE"] = "100000"  # a full queue drops spans

import httpx  # noqa: E402
from phoenix.client import Client  # noqa: E402
from phoenix.otel import register  # noqa: E402 - it reads the settings when it is imported

PROJECT = "side-by-side"
provider = register(endpoint=f"{url}/v1/traces", project_name=PROJECT, batch=True, protocol="http/protobuf", verbose=False)
tracer = provider.get_tracer("bench")
client = Client(base_url=url)
COUNT = "{ projects { edges { node { name recordCount } } } }"


def record():
    for number, episode in enumerate(work):
        with tracer.start_as_current_span("episode", attributes={"openinference.span.kind": "AGENT", "input.value": f"task {number}"}):
            for reply, observation in episode:
                given = {"openinference.span.kind": "LLM", "input.value": observation, "output.value": reply}
                with tracer.start_as_current_span("step", attributes=given):
                    pass
    provider.force_flush(600_000)


def is_queryable():
    answer = httpx.post(f"{url}/graphql", json={"query": COUNT}, timeout=60).json()
    counts = {edge["node"]["name"]: edge["node"]["recordCount"] for edge in answer["data"]["projects"]["edges"]}
    return counts.get(PROJECT, 0) >= steps + len(work)


def fetch():
    return len(client.spans.get_spans(project_identifier=PROJECT, name="step", limit=fetched, timeout=600))


measure(record, is_queryable, fetch, durable="queryable")
