import type { BlobStore } from '../blobs/blob-store.ts';
import { cutText } from '../domain/text/cut-text.ts';
import { catalogue } from '../events/catalogue.ts';
import { encode, parseEnvelope } from '../events/codec.ts';
import { type Envelope, type Stamp, stampOf } from '../events/envelope.ts';
import { mayDifferRecorded, recordedForm } from '../events/recorded-form.ts';
import { type LogRecord, RECORD_LIMIT, RecordTooLarge } from '../log/event-log.ts';

/** A record with the event that it encodes. */
export type PreparedRecord = LogRecord & { readonly event: Envelope };

const REPAIRS_LISTED = 1_000; // as the envelope's schema lets in; what is beyond is repaired and not listed
const PATH_LIMIT = 500; // characters, likewise

/**
 * Makes events ready for the log: stamped with who appends them (whatever they said of it before), checked against their schema,
 * text made well-formed (the event lists where), payloads over 64 KiB put into the blob store (free-form JSON stays whole). Blobs
 * are durable before the events that name them are appended. @param stamp `as-stamped` for events that an appender of this program
 * has stamped itself, perhaps for several projects.
 * @throws EventRefused for an event that does not fit its schema.
 */
export async function prepareEvents(
  events: readonly Envelope[],
  blobs: BlobStore,
  stamp: Stamp | 'as-stamped',
): Promise<readonly PreparedRecord[]> {
  const records: PreparedRecord[] = [];
  for (const event of events) {
    const { principal, project } = stamp === 'as-stamped' ? stampOf(event) : stamp;
    records.push(await prepareParsed(parsed({ ...event, principal, project }), blobs));
  }
  return records;
}

/** Makes a stamped event ready that `parseEnvelope` returned. @throws EventRefused where its repaired data do not fit its schema. */
export async function prepareParsed(event: Envelope, blobs: BlobStore): Promise<PreparedRecord> {
  const value = encode(event);
  if (!mayDifferRecorded(value)) return recordOf(event, value);
  const ready = await repairAndOffload(event, blobs);
  return recordOf(ready, encode(ready));
}

export class EventRefused extends Error {
  override readonly name = 'EventRefused';
  readonly path: string;
  constructor(type: string, path: string, message: string) {
    super(`${type}: ${path === '' ? 'the event' : path} ${message}`);
    this.path = path;
  }
}

const MORE_BYTES = 1_200_000; // sixteen pictures of the observation, texts below the limit of those that leave an event, the envelope

/** Returns why no record takes a step, wherever it is, when its observation is known; null where one does. */
export function refusalOf({ type, data }: Pick<Envelope, 'type' | 'data'>): EventRefused | RecordTooLarge | null {
  const recorded = recordedForm(type, data).data;
  const parsed = catalogue[type].data.safeParse(recorded);
  const [issue] = parsed.error?.issues ?? [];
  if (issue) return new EventRefused(type, ['data', ...issue.path].join('.'), issue.message);
  const bytes = Buffer.byteLength(JSON.stringify(recorded));
  if (bytes <= RECORD_LIMIT - MORE_BYTES) return null;
  return new RecordTooLarge(`a ${type} has ${bytes} bytes before its observation`, { limit: RECORD_LIMIT });
}

function parsed(event: Envelope): Envelope {
  const decoded = parseEnvelope(event);
  if (decoded.kind === 'refused') throw new EventRefused(event.type, decoded.refusal.path, decoded.refusal.message);
  return decoded.event;
}

async function repairAndOffload(event: Envelope, blobs: BlobStore): Promise<Envelope> {
  const { data, repaired, blobs: long } = recordedForm(event.type, event.data);
  await Promise.all(long.map(({ bytes, mediaType }) => blobs.put(bytes, mediaType)));
  const paths = [...(event.repaired ?? []), ...repaired.map((path) => cutText(`data.${path}`, PATH_LIMIT))];
  return parsed({ ...event, data, ...(paths.length > 0 && { repaired: paths.slice(0, REPAIRS_LISTED) }) } as Envelope);
}

function recordOf(event: Envelope, value: Buffer): PreparedRecord {
  const { epoch, correlationId: runId } = event;
  const { topic } = catalogue[event.type];
  const record = { topic, key: event.stream, value, event };
  return epoch === undefined ? record : { ...record, fence: { runId, epoch } };
}
