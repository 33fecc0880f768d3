import { openEmbeddedLog } from './embedded-log.ts';
import type { EventLog } from './event-log.ts';
import { prefixedLog } from './prefixed-log.ts';

/** Where a log lies, for a thread that opens it for itself. */
export type LogSource =
  | { readonly kind: 'embedded'; readonly url: string; readonly directUrl: string }
  | { readonly kind: 'kafka'; readonly brokers: readonly string[]; readonly prefix: string; readonly sessionMs: number };

/** Opens a log to read records of partitions that the caller knows. Who opens closes. */
export async function openLogSource(source: LogSource, name: string): Promise<EventLog> {
  if (source.kind === 'embedded') return openEmbeddedLog(source);
  const { openKafkaLog } = await import('./kafka-log.ts');
  const { brokers, prefix, sessionMs } = source;
  return prefixedLog(await openKafkaLog({ brokers, clientId: `espalier-${name}`, sessionMs }), prefix);
}
