"""The trace of the program that records: requests name the span in which they are made, so that the server's own spans belong to it."""

from __future__ import annotations

import sys


def trace_headers() -> dict[str, str]:
    """Returns the header `traceparent` of the current span of OpenTelemetry; none where the program does not use it, or has no span."""
    api = sys.modules.get("opentelemetry.trace")
    if api is None:
        return {}
    span = api.get_current_span().get_span_context()
    if not span.is_valid:
        return {}
    return {"traceparent": f"00-{span.trace_id:032x}-{span.span_id:016x}-{int(span.trace_flags):02x}"}
