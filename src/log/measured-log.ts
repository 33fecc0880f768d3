import { DEFAULT_STAMP } from '../events/envelope.ts';
import { boundedLabel, type Metrics } from '../runtime/metrics.ts';
import { inSpan, isTracing } from '../runtime/tracing.ts';
import { type EventLog, LogError, type LogRecord, type Receipt } from './event-log.ts';
import { formatPosition, positionAfter } from './position.ts';

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30];

/**
 * Measures and traces what is appended to a log: how long until it is durable, how many records of which project, what failed. Records
 * keep the header of the span that appended them, so that whoever folds them links to it.
 */
export function measuredLog(log: EventLog, metrics: Metrics): EventLog {
  const seconds = metrics.histogram('log_append_seconds', 'Time until the records of an append were durable', SECONDS);
  const appended = metrics.counter('log_appended_records_total', 'Records appended to the log', ['topic', 'project']);
  const failures = metrics.counter('log_append_failures_total', 'Appends that failed', ['code']);
  const label = boundedLabel();
  return {
    ...log,
    async append(records) {
      const began = performance.now();
      try {
        const receipts = await (isTracing() ? appendInSpan(log, records) : log.append(records));
        seconds.observe((performance.now() - began) / 1_000, {});
        const counts = new Map<string, Map<string, number>>();
        for (const { topic, event } of records) {
          const project = label(event?.project ?? DEFAULT_STAMP.project);
          const ofTopic = counts.get(topic) ?? new Map<string, number>();
          counts.set(topic, ofTopic.set(project, (ofTopic.get(project) ?? 0) + 1));
        }
        for (const [topic, ofTopic] of counts) for (const [project, count] of ofTopic) appended.add(count, { topic, project });
        return receipts;
      } catch (error) {
        failures.add(1, { code: error instanceof LogError ? error.code : 'unknown' });
        throw error;
      }
    },
  };
}

async function appendInSpan(log: EventLog, records: readonly LogRecord[]): Promise<readonly Receipt[]> {
  const topics = [...new Set(records.map(({ topic }) => topic))].join(' ');
  const attributes = { 'messaging.destination.name': topics, 'messaging.batch.message_count': records.length };
  return inSpan(`append ${topics}`, { kind: 'producer', attributes }, async (span) => {
    const { traceparent } = span;
    const receipts = await log.append(traceparent === null ? records : records.map((record) => ({ ...record, traceparent })));
    span.set({ 'espalier.position': formatPosition(positionAfter(receipts)) });
    return receipts;
  });
}
