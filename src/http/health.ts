import { TOPICS } from '../events/catalogue.ts';
import type { EventLog, Offsets } from '../log/event-log.ts';
import type { Db } from '../postgres/database.ts';
import { ping } from '../postgres/ping.ts';
import type { Principal } from '../postgres/principal.ts';
import { topicsOf } from '../projections/concerns.ts';
import { reasonOf } from '../projections/fault.ts';
import type { Projection } from '../projections/projection.ts';
import { lagOf, type ProjectionStatus, readProjectionStatuses } from '../projections/projection-statuses.ts';
import { PROJECTORS } from '../projections/runner.ts';
import { isDraining } from '../runtime/draining.ts';
import { json, type Reply } from './reply.ts';
import type { StallWatch } from './stalled-projections.ts';
import type { UnreadWatch } from './unread-partitions.ts';

export interface HealthWorld {
  readonly db: Db;
  readonly log: EventLog;
  readonly projections: readonly Projection[];
}

const LIMIT_MS = 2_000; // supervisors give a probe some seconds
const LOOK_MS = 500;

/**
 * Makes what answers `GET /readyz`: 200 when this process can do its work: the database and the log answer, and it does not stop. A load balancer
 * and an orchestrator ask, without a key: what is wrong elsewhere says `GET /v1/health`.
 */
export function createReadiness({ db, log }: Pick<HealthWorld, 'db' | 'log'>): () => Promise<Reply> {
  let looked: { readonly at: number; readonly reasons: Promise<readonly string[]> } | undefined; // whoever can connect may ask: seldom is enough
  const look = async (): Promise<readonly string[]> => {
    const reasons: string[] = [];
    const ask = (name: string, question: Promise<unknown>) =>
      within(question, LIMIT_MS).catch(() => void reasons.push(`${name} does not answer`));
    await Promise.all([ask('the database', ping(db)), ask('the log', log.ends(TOPICS))]);
    return reasons;
  };
  return async () => {
    if (!looked || performance.now() - looked.at > LOOK_MS) looked = { at: performance.now(), reasons: look() };
    const reasons = [...(isDraining() ? ['this process is stopping'] : []), ...(await looked.reasons)];
    return json(reasons.length === 0 ? 200 : 503, { ready: reasons.length === 0, reasons });
  };
}

/**
 * Answers `GET /v1/health`: 200 when the database and the log answer, every projection runs and moves and every partition has a
 * reader, else 503 with every reason. That one does not move, or has none, shows only by a second look: a supervisor looks
 * every few seconds.
 */
export async function systemHealth(
  { db, log, projections }: HealthWorld,
  watches: { readonly stalls: StallWatch; readonly unread: UnreadWatch },
  { projects }: Pick<Principal, 'projects'>,
): Promise<Reply> {
  const reasons: string[] = [];
  const ask = async <T>(name: string, question: Promise<T>): Promise<T | undefined> => {
    try {
      return await within(question, LIMIT_MS);
    } catch (error) {
      reasons.push(`${name} does not answer: ${reasonOf(error)}`);
      return undefined;
    }
  };
  const topics = topicsRead(projections);
  const [, statuses, ends, unread] = await Promise.all([
    ask('the database', ping(db)),
    ask('the projections table', readProjectionStatuses(db)),
    ask('the log', log.ends(topics)),
    ask('the log', log.unread(PROJECTORS, topics)),
  ]);
  for (const { name, state, reason } of statuses ?? [])
    if (state === 'stopped')
      reasons.push(`projection ${name} is stopped: ${shownReason(reason, projects)}; correct the cause and restart it`);
  if (statuses) {
    const missing = projections.filter(({ name }) => !statuses.some((status) => status.name === name));
    for (const { name } of missing) reasons.push(`projection ${name} is not installed; start a projection worker once`);
  }
  if (statuses && ends) for (const each of watches.stalls.look(projections, statuses, ends)) reasons.push(each);
  if (unread) for (const each of watches.unread.look(unread)) reasons.push(each);
  const lag = statuses && ends ? lagByProjection(projections, statuses, ends) : null;
  const distinct = [...new Set(reasons)];
  return json(reasons.length === 0 ? 200 : 503, { healthy: reasons.length === 0, reasons: distinct, lag });
}

/** Why a projection stopped may quote an event, which belongs to a project. */
function shownReason(reason: string | null, projects: Principal['projects']): string {
  return projects === 'all' ? (reason ?? 'no reason given') : 'a key of all projects is shown why';
}

/** Lists the topics that any of the projections reads. */
export function topicsRead(projections: readonly Projection[]): readonly string[] {
  const read = new Set(projections.flatMap(topicsOf));
  return TOPICS.filter((topic) => read.has(topic));
}

/** Returns for each installed projection how many records it has still to read. */
export function lagByProjection(
  projections: readonly Projection[],
  statuses: readonly ProjectionStatus[],
  ends: Offsets,
): Readonly<Record<string, number>> {
  const lags: Record<string, number> = {};
  for (const projection of projections) {
    const status = statuses.find(({ name }) => name === projection.name);
    if (status) lags[projection.name] = lagOf(status, ends, topicsOf(projection));
  }
  return lags;
}

async function within<T>(question: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms / 1_000} s`)), ms);
  });
  try {
    return await Promise.race([question, late]);
  } finally {
    clearTimeout(timer);
  }
}
