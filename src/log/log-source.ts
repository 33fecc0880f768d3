import { openEmbeddedLog } from './embedded-log.ts';
import type { EventLog } from './event-log.ts';
import type { KafkaLogOptions } from './kafka-log.ts';
import { prefixedLog } from './prefixed-log.ts';

/** Where a log is stored, for every process and thread that opens it for itself. */
export type LogSource =
  | { readonly kind: 'embedded'; readonly url: string; readonly directUrl: string }
  | { readonly kind: 'kafka'; readonly prefix: string; readonly options: Omit<KafkaLogOptions, 'clientId' | 'note'> };

/**
 * Opens a log for `name`, as the brokers show it. Who opens closes. @param note hears what is to be told of its topics. @throws
 * LogError `unreachable`.
 */
export async function openLogSource(source: LogSource, name: string, note?: (text: string) => void): Promise<EventLog> {
  if (source.kind === 'embedded') return openEmbeddedLog(source);
  const { openKafkaLog } = await import('./kafka-log.ts'); // its client takes a fifth of a short command's time to load
  return prefixedLog(await openKafkaLog({ ...source.options, clientId: `espalier-${name}`, note }), source.prefix);
}
