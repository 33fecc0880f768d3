import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { limitOf } from '../../runtime/limit.ts';
import { type DerivedDraft, encodeEvents } from '../outbox/encode-events.ts';
import { OUTBOX_CHANNEL } from '../outbox/relay.ts';
import { ensureSyncedWithLog } from './ensure-synced-with-log.ts';
import { type LeaseServiceOptions, RELAY_WAIT_MS } from './protocol.ts';
import { checkSynced, columnsOf, type DecisionInput, IS_SYNCED, type ServiceRow } from './service-row.ts';

/** What is noted of a batch for ever, as the columns of its row. */
export type Note = {
  readonly of: 'grant' | 'ack' | 'abandonment';
  readonly row: Readonly<Record<string, string | number>>;
};

/** What a decision changes of a policy. */
export interface Change {
  /** Its row from now on. */
  readonly after: ServiceRow;
  readonly note?: Note;
  /** What is recorded of it. */
  readonly events: readonly DerivedDraft[];
}

export interface Decision<Answer> {
  readonly answer: Answer;
  readonly change?: Change;
}

const TOPIC = 'training';
const TRIES = 1_000; // each one that fails is a decision of somebody else that was carried out
const AT_ONCE = 6; // decisions of this process: more of them at once wait for each other, and for sessions that are opened for them
const SERIALIZATION_FAILURE = '40001';

/**
 * Decides about a policy from its row, and carries out what was decided in one statement, which is one transaction: nobody waits
 * for a lock while this process thinks or is stopped. Where the row has changed meanwhile the decision is made again.
 */
export async function decide<Answer>(
  options: LeaseServiceOptions,
  read: (db: Db, producer: string) => Promise<DecisionInput>,
  decision: (seen: DecisionInput) => Decision<Answer> | Promise<Decision<Answer>>,
): Promise<Answer> {
  return inTurnOf(options.db)(() =>
    ensureSyncedWithLog(options, async () => {
      for (let i = 0; i < TRIES; i++) {
        const seen = await read(options.db, options.producer.name);
        const { answer, change } = await decision(seen);
        if (!change || (await carryOut(options, seen, change))) return answer;
      }
      throw new Error(`the row of a policy changed ${TRIES} times while a decision was made from it`);
    }),
  );
}

const IN_TURN = new WeakMap<Db, ReturnType<typeof limitOf>>();

function inTurnOf(db: Db): ReturnType<typeof limitOf> {
  const inTurn = IN_TURN.get(db) ?? limitOf(AT_ONCE);
  IN_TURN.set(db, inTurn);
  return inTurn;
}

/** Returns false where the row is another by now. */
async function carryOut(options: LeaseServiceOptions, seen: DecisionInput, change: Change): Promise<boolean> {
  const { lineageId } = change.after;
  const encoded = await encodeEvents(lineageId, change.events, seen.numbering, seen.now, options);
  const send = (partition: number | undefined) => sendChange(options, seen, change, { ...encoded, partition });
  const { whilePlaced } = options;
  const outcome = await (whilePlaced && change.events.length > 0
    ? whilePlaced({ topic: TOPIC, key: lineageId }, send)
    : send(undefined));
  if (outcome === 'appended' || outcome === 'silent') options.onRecorded?.();
  if (outcome === 'waiting' && !options.relay) await sql`select pg_notify(${OUTBOX_CHANNEL}, '')`.execute(options.db);
  return outcome !== 'changed';
}

type Outcome = 'changed' | 'silent' | 'appended' | 'waiting';
type Encoded = Awaited<ReturnType<typeof encodeEvents>> & { readonly partition: number | undefined };

/** The statement is `lease_service_decide` in migrations/0004-leases.sql. @throws LeaseStateStale. */
async function sendChange(
  { db, producer, relayWaitMs = RELAY_WAIT_MS, leftMs = () => relayWaitMs }: LeaseServiceOptions,
  { service, numbering }: DecisionInput,
  { after, note }: Change,
  { ids, starts, lengths, bodies, partition }: Encoded,
): Promise<Outcome> {
  const noted = (of: Note['of']) => (note?.of === of ? JSON.stringify(note.row) : null);
  try {
    const { rows } = await sql<{ compared: boolean | null; outcome: Outcome | null }>`
      select compared, case when compared then lease_service_decide(
        ${after.lineageId}::uuid, ${service?.seen ?? null}::xid,
        ${noted('grant')}::jsonb, ${noted('ack')}::jsonb, ${noted('abandonment')}::jsonb, ${JSON.stringify(columnsOf(after))}::jsonb,
        ${producer.name}, ${numbering.sequence}, ${TOPIC}, ${ids}::uuid[], ${starts}::integer[], ${lengths}::integer[], ${bodies}::bytea,
        ${partition ?? null}::integer, ${Math.max(1, Math.round(leftMs()))}::integer) end as outcome
      from (select ${IS_SYNCED} as compared) asked`.execute(db);
    const [row] = rows;
    checkSynced(row);
    return row?.outcome ?? 'changed';
  } catch (error) {
    if ((error as { code?: string } | undefined)?.code === SERIALIZATION_FAILURE) return 'changed';
    throw error;
  }
}
