import type { Topic } from '../../events/catalogue.ts';
import type { Envelope } from '../../events/envelope.ts';
import { stampOf } from '../../events/envelope.ts';
import type { StoredRecord } from '../../log/event-log.ts';
import type { Db } from '../../postgres/database.ts';
import { readKeysOfPrincipals } from '../../postgres/keys.ts';
import { owns, principalOf } from '../../postgres/principal.ts';
import { type Owner, readOwners } from '../../projections/owners/read-owners.ts';
import { scopeOfOthers } from '../../projections/owners/scope-of-others.ts';
import type { Fault } from './verification.ts';

const BY_KEY = '"principal":"key:';
// Segments are named by their content, and who leases batches of a lineage need not be who declared it.
const UNOWNED: ReadonlySet<string> = new Set(['images', 'training']);

/**
 * Returns, as faults, the events of records that a key appended to a stream of another owner, as the endpoints accept none: those
 * that are no judgement, of keys without the scope `admin` that replace no owner, and those of another project.
 */
export async function foreignEvents(
  db: Db,
  topic: string,
  partition: number,
  records: readonly StoredRecord[],
): Promise<readonly Fault[]> {
  if (UNOWNED.has(topic)) return [];
  const byKeys = records.flatMap((record) => eventByKey(record) ?? []);
  if (byKeys.length === 0) return [];
  const streams = byKeys.map(({ event }) => event.stream);
  const owners = await readOwners(db, topic as Topic, streams); // the log is subscribed to topics of the catalogue
  const suspects = byKeys.flatMap(({ offset, event }) => {
    const owner = owners.get(event.stream);
    return owner && isOfAnother(event, owner) ? [{ offset, event, owner, by: stampOf(event) }] : [];
  });
  if (suspects.length === 0) return [];
  const keys = await readKeysOfPrincipals(db, [...new Set(suspects.map(({ by }) => by.principal))]);
  return suspects.flatMap(({ offset, event, owner, by }): readonly Fault[] => {
    const key = keys.get(by.principal);
    const may = key && (key.scopes.includes('admin') || owns(principalOf(key), owner.principal));
    if (owner.project === by.project && may) return [];
    const whose = `of ${owner.principal} in project ${owner.project}`;
    const place = `${topic}.${partition}@${offset} event ${event.id}: ${event.type} by ${by.principal} in project ${by.project}`;
    return [{ what: 'event', kind: 'foreign', place: `${place}, in the stream ${event.stream} ${whose}` }];
  });
}

type Head = Pick<Envelope, 'id' | 'type' | 'stream' | 'principal' | 'project'> & {
  readonly data: object;
};

/** Reads the event of a record that a key appended; what is no event is named elsewhere. */
function eventByKey({ offset, value }: StoredRecord): { readonly offset: number; readonly event: Head } | null {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (!bytes.includes(BY_KEY)) return null; // nearly all records of an installation of one user
  try {
    const event = JSON.parse(bytes.toString('utf8')) as Partial<Head> | null;
    const { id, stream, type, data, principal } = event ?? {};
    if (typeof id !== 'string' || typeof stream !== 'string' || typeof type !== 'string' || !data) return null;
    return principal?.startsWith('key:') ? { offset, event: { ...event, id, stream, type, data } as Head } : null;
  } catch {
    return null;
  }
}

function isOfAnother(event: Head, owner: Owner): boolean {
  const by = stampOf(event);
  if (owner.project !== by.project) return true;
  return owner.principal !== by.principal && scopeOfOthers(event) === null;
}
