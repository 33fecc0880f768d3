import fc from 'fast-check';
import { type Change, change, changed, damage, damaged, hostileText, RAW_TEXTS, write } from '../hostile-values.ts';
import { outcomeOf, request } from '../request.ts';
import type { Stage } from '../stage.ts';
import { Broken, target } from '../target.ts';

/** The requests of a trainer, in the order of their use. */
const ENDPOINTS = ['policies', 'leases', 'renew', 'ack', 'nack', 'abandon', 'rows'] as const;
interface Asked {
  readonly target: (typeof ENDPOINTS)[number];
  /** What is in the path for the lease; null is the last lease that was given. */
  readonly lease: string | null;
  readonly changes: readonly Change[];
  readonly harm: Parameters<typeof damaged>[1] | null;
  readonly query: string;
}

const sha = 'a'.repeat(64);
const method = { name: 'grpo', revision: '1', mode: {} };
const BODIES = {
  policies: { policyId: 'hostile', backend: 'linear', weights: sha, kept: null },
  leases: { policyId: 'hostile', consumer: 'trainer', ttlMs: 1_000, waitMs: 0, layout: 'step' },
  renew: { fence: 1, ttlMs: 1_000 },
  ack: {
    fence: 1,
    version: 1,
    checkpointId: '00000000-0000-4000-8000-000000000001',
    backend: 'linear',
    weights: sha,
    kept: null,
    estimator: method,
    loss: method,
    metrics: { loss: 1 },
  },
  nack: { fence: 1, reason: 'none' },
  abandon: { fence: 1, reason: 'none' },
  rows: {},
};

let lastLease = '00000000-0000-4000-8000-000000000000';

/** `/v1/training/…`: a request that is refused changes nothing of the lease service and records nothing. */
export const trainingTarget = target<Asked>({
  name: 'training',
  always: [
    ...ENDPOINTS.map((name): Asked => ({ target: name, lease: null, changes: [], harm: null, query: '' })),
    ...RAW_TEXTS.map(
      (text, i): Asked => ({
        target: ENDPOINTS[i % 5] ?? 'ack',
        lease: null,
        harm: null,
        query: '',
        changes: [{ place: i, how: 'replace', value: text, key: '' }],
      }),
    ),
  ],
  cases: fc.record({
    target: fc.constantFrom(...ENDPOINTS),
    lease: fc.oneof(
      { weight: 3, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: hostileText },
      { weight: 1, arbitrary: fc.uuid() },
    ),
    changes: fc.array(change, { maxLength: 2 }),
    harm: fc.option(damage, { freq: 6 }),
    query: fc.oneof(
      fc.constantFrom('', '?layout=verl', '?layout=step&layout=x', '?layout', '?%', '?layout=%ff'),
      hostileText.map((text) => `?layout=${inPath(text)}`),
    ),
  }),
  way: {
    process: 'api',
    async send(stage, { target: name, lease, changes, harm, query }) {
      const before = await serviceOf(stage);
      const at = name === 'policies' || name === 'leases' ? name : `leases/${lease === null ? lastLease : inPath(lease)}/${name}`;
      const url = `${stage.url.api}/v1/training/${at}${name === 'rows' ? query : ''}`;
      const whole = Buffer.from(write(changes.reduce<unknown>(changed, BODIES[name])));
      const body = harm === null ? whole : damaged(whole, harm);
      const answered = await request(
        url,
        name === 'rows' ? { method: 'GET' } : { method: 'POST', body, type: 'application/json' },
      );
      const outcome = outcomeOf(answered);
      const given = answered.json?.leaseId;
      if (typeof given === 'string') lastLease = given;
      const after = await serviceOf(stage);
      if (outcome.kind === 'refused' && after !== before)
        throw new Broken(`refused (${outcome.code}), and the service changed from ${before} to ${after}`);
      return outcome;
    },
  },
});

/** A text as a part of a path that a client would send; what has no UTF-8 is sent as U+FFFD. */
function inPath(text: string): string {
  return encodeURIComponent(text.toWellFormed()).slice(0, 2_000);
}

/** All that the lease service keeps, but that a lease ran out meanwhile: the next request of any kind may record that. */
async function serviceOf({ platform }: Stage): Promise<string> {
  const { rows } = await platform.database.pool.query<{ service: string }>(
    `select concat_ws(' ', (select count(*) from lease_grants), (select count(*) from lease_acks), (select count(*) from lease_abandonments),
       (select sum(next_sequence) from outbox_streams) - (select count(*) from outbox where encode(value, 'escape') like '%"LeaseExpired"%')
       - (select count(*) from log_records r join log_partitions p using (partition_id) join log_topics t using (topic_id)
          where t.topic = 'training' and encode(r.value, 'escape') like '%"LeaseExpired"%'
            and not exists (select from outbox o where o.log_partition = p.partition and o.log_offset = r."offset")),
       (select string_agg(concat_ws('/', policy_id, version, weights, next_ordinal, fence), ',' order by lineage_id) from lease_desk)) as service`,
  );
  return rows[0]?.service ?? '';
}
