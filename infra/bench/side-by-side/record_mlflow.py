"""Records the work by MLflow's tracing: a trace for each episode, a span for each step, exported in the background, BATCH spans at a time."""

import os

from work import batch, episodes, fetched, measure, steps, url, work

os.environ["MLFLOW_ENABLE_ASYNC_TRACE_LOGGING"] = "true"
os.environ["MLFLOW_ASYNC_TRACE_LOGGING_MAX_SPAN_BATCH_SIZE"] = str(batch)
os.environ["MLFLOW_ASYNC_TRACE_LOGGING_MAX_QUEUE_SIZE"] = "100000"  # a full queue drops traces

import mlflow  # noqa: E402 - it reads the settings when it is imported
from mlflow.tracing.processor import base_mlflow  # noqa: E402

# Its queue of spans has no setting and drops those of a full one: on a quiet machine it lost some of this work.
base_mlflow._DEFAULT_OTEL_MAX_QUEUE_SIZE = 100_000

mlflow.set_tracking_uri(url)
experiment = mlflow.set_experiment("side by side").experiment_id
client = mlflow.MlflowClient()


def record():
    for number, episode in enumerate(work):
        with mlflow.start_span(name="episode", span_type="AGENT") as root:
            root.set_inputs({"task": f"task {number}"})
            for reply, observation in episode:
                with mlflow.start_span(name="step", span_type="LLM") as span:
                    span.set_inputs({"observation": observation})
                    span.set_outputs({"reply": reply})
    mlflow.flush_trace_async_logging(terminate=False)


def pages(**options):
    """Yields the traces, page by page."""
    token = None
    while True:
        found = client.search_traces(locations=[experiment], max_results=100, page_token=token, **options)
        yield found
        token = found.token
        if not token:
            return


def is_queryable():
    return sum(map(len, pages(include_spans=False))) >= episodes


def count():
    return sum(span.name == "step" for page in pages() for trace in page for span in trace.data.spans)


def fetch():
    traces = client.search_traces(locations=[experiment], max_results=-(-fetched * episodes // steps))
    return sum(span.name == "step" for trace in traces for span in trace.data.spans)


measure(record, is_queryable, fetch, durable="sent", count=count)
