"""Calls that MLflow records. Its traces are exported in the background, as its guide to production advises."""

import os
import sys

from program import measure, store

os.environ["MLFLOW_ENABLE_ASYNC_TRACE_LOGGING"] = "true"
os.environ["MLFLOW_TRACKING_URI"] = store


def turn_on():
    import mlflow

    mlflow.openai.autolog()


def flush():
    sys.modules["mlflow"].flush_trace_async_logging(terminate=False)


def count():
    import mlflow

    client, token, found = mlflow.MlflowClient(), None, 0
    while True:
        page = client.search_traces(locations=["0"], max_results=500, page_token=token, include_spans=False)
        found, token = found + len(page), page.token
        if not token:
            return found


measure(turn_on, flush, count)
