"""Records the work into Agent Lightning's store by its client and its OTLP exporter: a rollout for each episode, a span for each step, BATCH
spans to a request (a request holds spans of one rollout), eight rollouts at a time, as its runners would. The store keeps them in memory."""

import asyncio

from agentlightning.store.client_server import LightningStoreClient
from agentlightning.utils.otlp import LightningStoreOTLPExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from work import STEPS, batch, fetched, measure, steps, url, work

AT_ONCE = 8
rollouts = []


async def record_episode(client, exporter, episode, number):
    attempted = await client.start_rollout(input={"task": f"task {number}"}, mode="train")
    rollouts.append(attempted.rollout_id)
    memory = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracer = provider.get_tracer("bench")
    for reply, observation in episode:
        with tracer.start_as_current_span("step", attributes={"input.value": observation, "output.value": reply}):
            pass
    spans = memory.get_finished_spans()
    exporter.enable_store_otlp(client.otlp_traces_endpoint(), attempted.rollout_id, attempted.attempt.attempt_id)
    for at in range(0, len(spans), batch):
        await asyncio.to_thread(exporter.export, spans[at : at + batch])
    await client.update_attempt(attempted.rollout_id, attempted.attempt.attempt_id, status="succeeded")


async def record():
    client = LightningStoreClient(url)
    exporters: asyncio.Queue = asyncio.Queue()
    for _ in range(AT_ONCE):
        # named here as well: exporters of OpenTelemetry 1.45 do not see an address that is set afterwards
        exporters.put_nowait(LightningStoreOTLPExporter(endpoint=client.otlp_traces_endpoint()))

    async def one(number, episode):
        exporter = await exporters.get()
        try:
            await record_episode(client, exporter, episode, number)
        finally:
            exporters.put_nowait(exporter)

    await asyncio.gather(*(one(number, episode) for number, episode in enumerate(work)))
    await client.close()


async def counted():
    client = LightningStoreClient(url)
    try:
        return (await client.statistics()).get("total_spans", 0)
    finally:
        await client.close()


async def fetch():
    client = LightningStoreClient(url)
    chosen = rollouts[: -(-fetched // STEPS)]
    found = await asyncio.gather(*(client.query_spans(each, limit=-1) for each in chosen))
    await client.close()
    return sum(len(each) for each in found)


measure(lambda: asyncio.run(record()), lambda: asyncio.run(counted()) >= steps, lambda: asyncio.run(fetch()), durable=None)
