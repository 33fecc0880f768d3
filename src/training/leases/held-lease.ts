import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { checkHolding, checkTtl, invalid, staleFence, unknownLease } from './check-request.ts';
import { type Change, type Decision, decide } from './decide.ts';
import { expired, type LeaseNames, returned } from './lease-events.ts';
import type { Holding, LeaseServiceOptions, NackRequest, Refused, Renewed, RenewRequest, Returned } from './protocol.ts';
import {
  type DecisionInput,
  type LeaseOfRow,
  type ReadRow,
  readExpired,
  readGranted,
  readService,
  type ServiceRow,
  withoutLease,
} from './service-row.ts';

/** A lease as it was given. */
export interface Grant {
  readonly names: LeaseNames;
  readonly ordinal: number;
}

/** A lease that holds, by the database's clock. */
interface HeldLease {
  readonly grant: Grant;
  readonly service: ReadRow;
  readonly held: LeaseOfRow;
  readonly now: Date;
}

/**
 * Decides about a lease that holds. One that is over is refused unless `before` finds what was answered to it; one whose deadline
 * passed and that is still at the lease service ends with that.
 */
export async function decideOnLease<Answer>(
  options: LeaseServiceOptions,
  holding: Holding,
  decision: (lease: HeldLease) => Decision<Answer | Refused> | Promise<Decision<Answer | Refused>>,
  before: (grant: Grant) => Promise<Answer | Refused | undefined> = async () => undefined,
): Promise<Answer | Refused> {
  const { db } = options;
  return decide<Answer | Refused>(
    options,
    (prepared, producer) => readGranted(prepared, holding.leaseId, producer),
    async (seen) => {
      const found = await judge(db, holding, seen);
      if (found.kind === 'refused') return { answer: found };
      if (found.kind === 'held') return decision(found);
      const change = found.ranOut ? expiry(found.service) : undefined;
      return { answer: (await before(found.grant)) ?? found.refusal, ...(change && { change }) };
    },
  );
}

type Judged =
  | ({ readonly kind: 'held' } & HeldLease)
  /** `ranOut`: it is still at the lease service, its deadline has passed, and whoever finds this ends it. */
  | {
      readonly kind: 'over';
      readonly grant: Grant;
      readonly service: ServiceRow;
      readonly ranOut: boolean;
      readonly refusal: Refused;
    }
  | Refused;

async function judge(db: Db, { leaseId, fence }: Holding, { service, grant: given, now }: DecisionInput): Promise<Judged> {
  if (!service || !given) return unknownLease(leaseId); // a foreign key holds the row of a lease's policy
  const { held, lineageId, policyId } = service;
  const grant: Grant = {
    names: { lineageId, policyId, batchId: given.batchId, leaseId, fence: given.fence },
    ordinal: given.ordinal,
  };
  const over = (ranOut: boolean, why: string): Judged => ({ kind: 'over', grant, service, ranOut, refusal: staleFence(why) });
  if (fence !== grant.names.fence) return over(false, `lease ${leaseId} has the fence ${grant.names.fence}, not ${fence}`);
  if (held?.leaseId !== leaseId) return over(false, await whyOver(db, grant, service));
  if (held.deadline <= now)
    return over(true, `lease ${leaseId} ended at its deadline ${held.deadline.toISOString()}; it is ${now.toISOString()}`);
  return { kind: 'held', grant, service, held, now };
}

async function whyOver(db: Db, { names, ordinal }: Grant, service: ServiceRow): Promise<string> {
  const lease = `lease ${names.leaseId} (fence ${names.fence}) is over`;
  if (ordinal < service.nextOrdinal) {
    const abandoned = await rowsWhere(db, 'leaseAbandonments', { batchId: names.batchId }, ['ordinal']);
    return `${lease}: batch ${ordinal} was ${abandoned.length > 0 ? 'abandoned' : 'acknowledged'}`;
  }
  if (service.held) return `${lease}: batch ${ordinal} is leased under fence ${service.fence}`;
  return `${lease}: it expired or was given back`;
}

/** Moves a deadline in one transaction; no event: a lease is a right, and only its beginning and its end are facts. */
export async function renewLease(options: LeaseServiceOptions, request: RenewRequest): Promise<Renewed | Refused> {
  const wrong = checkHolding(request) ?? checkTtl(request.ttlMs);
  if (wrong) return wrong;
  return decideOnLease(options, request, ({ held, service, now }) => {
    const deadline = new Date(now.getTime() + request.ttlMs);
    return { answer: { kind: 'renewed', deadline }, change: { after: { ...service, held: { ...held, deadline } }, events: [] } };
  });
}

const REASON_LIMIT = 10_000;

/** Returns a batch in one transaction; the next lease has the next fence. */
export async function nackBatch(options: LeaseServiceOptions, request: NackRequest): Promise<Returned | Refused> {
  const wrong = checkHolding(request);
  if (wrong) return wrong;
  if (request.reason.length > REASON_LIMIT) return invalid('reason', `must have at most ${REASON_LIMIT} characters`);
  return decideOnLease(options, request, ({ grant: { names }, service }) => ({
    answer: { kind: 'returned', batchId: names.batchId },
    change: { after: withoutLease(service), events: [returned(names, request.reason)] },
  }));
}

const SLICE = 100; // policies of one look

/** Ends the leases whose deadline has passed by the database's clock, each with its LeaseExpired. Returns how many. */
export async function expireLeases(options: LeaseServiceOptions): Promise<number> {
  let ended = 0;
  for (;;) {
    const ranOut = await readExpired(options.db, SLICE); // every second, mostly none: the one statement of it
    for (const lineageId of ranOut) if (await expireLease(options, lineageId)) ended++;
    if (ranOut.length < SLICE) return ended;
  }
}

function expireLease(options: LeaseServiceOptions, lineageId: string): Promise<boolean> {
  return decide(
    options,
    (db, producer) => readService(db, lineageId, producer),
    ({ service, now }) => {
      const change = service?.held && service.held.deadline <= now ? expiry(service) : undefined;
      return change ? { answer: true, change } : { answer: false };
    },
  );
}

/** What the end of a lease changes whose deadline has passed; nothing where none is held. */
function expiry(service: ServiceRow): Change | undefined {
  const { lineageId, policyId, held, fence } = service;
  if (!held) return undefined;
  const { leaseId, batchId } = held;
  return { after: withoutLease(service), events: [expired({ lineageId, policyId, batchId, leaseId, fence })] };
}
