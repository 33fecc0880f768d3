import type { LeaseService } from '../../src/training/leases/lease-service.ts';
import { fillBatches } from './fill-batches.ts';
import type { StageDatabase } from './stage.ts';

export interface Claimed {
  /** Milliseconds of each claim: from asking for a batch until it is leased and the log says so. */
  readonly claims: readonly number[];
  /** Milliseconds of each plain UPDATE of a row, by as many at once, while nothing else happens. */
  readonly updates: readonly number[];
  /** The same of one behind each claim, which meets what a claim meets: the events of those before are folded meanwhile. */
  readonly between: readonly number[];
}
const CONSUMER = 'bench';
const [SAMPLES, TOKENS] = [8, 16]; // of a batch that nobody reads

/**
 * Times claims of so many trainers at once, each of a policy of its own (a policy has one lease at a time), compared with as many
 * clients that each update a row of their own, behind each claim and afterwards. Claimed batches are given back outside the
 * clock.
 */
export async function timeClaims(
  service: LeaseService,
  { db, pool }: StageDatabase,
  { trainers, rounds }: { readonly trainers: number; readonly rounds: number },
): Promise<Claimed> {
  const policies = Array.from({ length: trainers }, (_, i) => `claimed ${trainers} ${i}`);
  for (const policyId of policies) {
    await fillBatches(db, { policyId, batches: 1, samples: SAMPLES, tokens: TOKENS });
    const answer = await service.registerPolicy({ policyId, backend: 'bench', weights: 'a'.repeat(64), kept: null });
    if (answer.kind === 'refused') throw new Error(answer.message);
  }
  await pool.query('create table if not exists bench_update (name text primary key, n integer not null)');
  await pool.query('insert into bench_update select name, 0 from unnest($1::text[]) as of(name)', [policies]);
  const update = async (name: string) => {
    const began = performance.now();
    await pool.query('update bench_update set n = n + 1 where name = $1', [name]);
    return performance.now() - began;
  };
  const between: number[] = [];
  const claims = await allOf(policies, rounds, async (policyId) => {
    const began = performance.now();
    const answer = await service.lease({ policyId, consumer: CONSUMER, ttlMs: 600_000 });
    const ms = performance.now() - began;
    if (answer.kind !== 'leased') throw new Error(`no batch of ${policyId}: ${JSON.stringify(answer)}`);
    const { leaseId, fence } = answer.lease;
    await service.nack({ leaseId, fence, reason: 'bench' });
    between.push(await update(policyId));
    return ms;
  });
  const updates = await allOf(policies, rounds, update);
  return { claims, updates, between };
}

/** Does something in rounds for each name, all names at once. */
async function allOf(
  names: readonly string[],
  rounds: number,
  once: (name: string) => Promise<number>,
): Promise<readonly number[]> {
  const each = names.map(async (name) => {
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) times.push(await once(name));
    return times;
  });
  return (await Promise.all(each)).flat();
}
