"""Calls that Weave's client records, with its log on disk. Its store is a service of Weights & Biases: store.py takes what is sent in its place."""

import json
import os
from urllib.request import urlopen

from program import measure, store

os.environ |= {"WF_TRACE_SERVER_URL": store, "WANDB_BASE_URL": store, "WANDB_ENTITY": "bench", "WANDB_API_KEY": "0" * 40, "WEAVE_ENABLE_WAL": "true"}


def turn_on():
    import weave

    weave.init("bench")


def flush():
    from weave.trace.context.weave_client_context import require_weave_client

    require_weave_client().flush()


def count():
    return json.load(urlopen(f"{store}/count"))


measure(turn_on, flush, count)
