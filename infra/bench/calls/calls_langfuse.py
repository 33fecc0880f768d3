"""Calls that Langfuse's client records. Its server needs ClickHouse, Redis and an object store: store.py takes what is sent in its place."""

import json
import os
import sys
from urllib.request import urlopen

from program import measure, store

os.environ |= {"LANGFUSE_BASE_URL": store, "LANGFUSE_HOST": store, "LANGFUSE_PUBLIC_KEY": "pk-lf-unused", "LANGFUSE_SECRET_KEY": "sk-lf-unused"}


def turn_on():
    import langfuse.openai


def flush():
    sys.modules["langfuse"].get_client().flush()


def count():
    return json.load(urlopen(f"{store}/count"))


measure(turn_on, flush, count)
