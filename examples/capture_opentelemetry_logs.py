"""An agent that OpenTelemetry's own instrumentation of openai covers: its messages arrive as log records beside the spans.

    export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4000
    export OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer $(npx espalier token)"
    export OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=EVENT_ONLY
    python examples/capture_opentelemetry_logs.py MODEL http://127.0.0.1:8000/v1
"""

import sys

from openai import OpenAI
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

resource = Resource.create({"espalier.run": "otel", "espalier.task": "walk"})
provider, logs = TracerProvider(resource=resource), LoggerProvider(resource=resource)
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
trace.set_tracer_provider(provider)
OpenAIInstrumentor().instrument(tracer_provider=provider, logger_provider=logs)

model = OpenAI(base_url=sys.argv[2], api_key="unused")
messages = [{"role": "system", "content": "You walk."}, {"role": "user", "content": "Which way?"}]
with trace.get_tracer("agent").start_as_current_span("agent"):
    for seen in ("You see a wall.", "You are there."):
        answer = model.chat.completions.create(model=sys.argv[1], messages=messages, temperature=0.5).choices[0].message
        messages += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": seen}]
logs.shutdown()
provider.shutdown()
print(answer.content)
