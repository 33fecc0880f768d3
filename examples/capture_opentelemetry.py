"""An agent that OpenInference instruments: its calls of models arrive as spans of OpenTelemetry.

    export OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:4000/v1/traces
    export OTEL_EXPORTER_OTLP_TRACES_HEADERS="authorization=Bearer $(npx espalier token)"
    python examples/capture_opentelemetry.py MODEL http://127.0.0.1:8000/v1
"""

import sys

from openai import OpenAI
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider(resource=Resource.create({"espalier.run": "otel", "espalier.task": "walk"}))
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
OpenAIInstrumentor().instrument(tracer_provider=provider)

model = OpenAI(base_url=sys.argv[2], api_key="unused")
messages = [{"role": "system", "content": "You walk."}, {"role": "user", "content": "Which way?"}]
with trace.get_tracer("agent").start_as_current_span("agent"):
    for seen in ("You see a wall.", "You are there."):
        answer = model.chat.completions.create(model=sys.argv[1], messages=messages, temperature=0.5).choices[0].message
        messages += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": seen}]
provider.shutdown()
print(answer.content)
