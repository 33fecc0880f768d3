import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { closestName } from '../../domain/text/closest-name.ts';
import { method } from '../../events/schemas/training.ts';
import { id, name, policyId, sha256 } from '../../events/schemas/values.ts';
import type { Db } from '../../postgres/database.ts';
import type { Principal } from '../../postgres/principal.ts';
import { readPolicyNames } from '../../projections/training-pool/read-waiting.ts';
import { visibleTo } from '../../projections/visible-to.ts';
import { unknownPolicy } from '../../training/leases/check-request.ts';
import type { Leased, Nothing, Refused } from '../../training/leases/protocol.ts';
import { LAYOUTS } from '../../training/rows/layout.ts';
import { WAITING_FOR, type WaitingReason, whyWaiting } from '../../usecases/train/waiting/why-waiting.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { json, type Reply } from '../reply.ts';
import { whileConnected } from '../while-connected.ts';
import { decided, head, NEEDS, serviceName, type TrainingWorld, trainingRefusals, ttlMs } from './training-endpoint.ts';

/** The longest that a request may wait for a batch, ms. */
const WAIT_LIMIT_MS = 30_000;
const LOOK_MS = 500; // nobody announces leases that run out, and notices can be lost

const request = z.strictObject({
  policyId,
  consumer: serviceName.describe('Name of the trainer.'),
  ttlMs,
  baseVersion: z
    .int()
    .min(0)
    .optional()
    .describe('The version whose weights the trainer holds: a batch is leased only if that is the newest.'),
  waitMs: z.int().min(0).max(WAIT_LIMIT_MS).default(0).describe('How long to wait for a batch when there is none, ms.'),
  layout: z.enum(LAYOUTS).default('step').describe('The layout of the rows that `rows` in the answer points at.'),
  advantages: z
    .boolean()
    .default(false)
    .describe('Whether those rows have the advantages and returns of each token, by the estimator of the batch.'),
});
type LeaseBody = z.infer<typeof request>;

const lease = z.object({
  state: z.literal('leased'),
  leaseId: id,
  fence: z.int().describe('Grows with every lease of the batch; what comes with an older one is refused.'),
  lineageId: id,
  policyId,
  consumer: name,
  batchId: id,
  ordinal: z.int().describe('Place of the batch among those of the policy, from 0.'),
  deadline: z.iso.datetime().describe('When the lease ends unless renewed, by the clock of the database.'),
  base: head.describe('What to train from; `ack` names its version + 1.'),
  estimator: method,
  rules: z.record(z.string(), z.unknown()).describe('Rules by which batches are planned.'),
  seed: z.number(),
  samples: z.int(),
  tokens: z.int(),
  manifestHash: sha256,
  trainer: z.unknown().describe('What the declaration of the policy says to trainers; null where it was not declared.'),
  rows: z.string().describe('Path of the rows.'),
});

const waiting = z.object({
  state: z.literal('waiting'),
  waitingFor: z
    .enum(WAITING_FOR)
    .describe(
      'What there is none for: a declaration, a first version, the lease of another consumer, runs that feed the policy, a planner, scores of closed groups, greedy rollouts, members of open groups, further groups; `tasks`: every run is over.',
    ),
  groups: z.object({
    open: z.int().describe('Groups whose members have not all ended.'),
    closed: z.int().describe('Groups whose members have, or whose run is over.'),
    ready: z.int().describe('Closed groups that are fit for the next batch.'),
    rejected: z.record(z.string(), z.int()).describe('Closed groups of which no member is trained on, by reason.'),
  }),
  next: z.string().describe('What has to come next, in words.'),
});

export function leaseBatch(world: TrainingWorld): Endpoint {
  const { packed, asking, bodies, db } = world;
  const waitingOn = shareInFlight((policyId: string, busyUntil: Date | null) => whyWaiting(db, policyId, busyUntil));
  return endpoint({
    method: 'POST',
    path: '/v1/training/leases',
    needs: NEEDS,
    summary: 'Leases the next batch of a policy; 202 when there is none, with the reason.',
    body: bodies(request),
    answers: {
      200: {
        description: 'What to train, from what, until when, and where the rows are.',
        content: { 'application/json': lease },
      },
      202: {
        description: 'No batch is planned, or another consumer holds it: what it waits for.',
        content: { 'application/json': waiting },
        headers: { 'retry-after': 'Seconds until the lease of the other ends, at most 60.' },
      },
      ...trainingRefusals({
        404: 'No such policy was declared or registered (`unknown-policy`); the remedy names the nearest one.',
        409: '`baseVersion` is not the newest (`stale-base`).',
      }),
    },
    async handle({ req, body, principal }) {
      const answer = await leaseWaiting(world, body, req);
      if (answer === undefined) return undefined;
      if (answer.kind === 'nothing') return nothing(await waitingOn(body.policyId, answer.busyUntil), answer.busyUntil);
      if (answer.kind === 'refused') return refusedLease(world, body.policyId, answer, principal);
      const wanted = { layout: body.layout, advantages: body.advantages ? 'with' : 'without' } as const;
      asking.leased(body.policyId, wanted);
      // Its rows are asked for next, and compared with the rewards then; who asks meets a fault.
      const { batchId } = answer.lease;
      if (!packed.holds(batchId, wanted)) void packed.get(batchId, wanted.layout, wanted.advantages).catch(() => undefined);
      const asked = `layout=${body.layout}${body.advantages ? '&advantages=with' : ''}`;
      const rows = `/v1/training/leases/${answer.lease.leaseId}/rows?${asked}`;
      return json(200, { state: 'leased', ...answer.lease, deadline: answer.lease.deadline.toISOString(), rows });
    },
  });
}

/**
 * Leases a batch, waiting up to `waitMs` for one to be planned or given back. Returns undefined when the client went away
 * meanwhile: what is not asked for any more is not leased.
 */
function leaseWaiting(
  { service, notices }: Pick<TrainingWorld, 'service' | 'notices'>,
  { waitMs, layout: _layout, advantages: _advantages, baseVersion, ...asked }: LeaseBody,
  req: IncomingMessage,
): Promise<Leased | Nothing | Refused | undefined> {
  const until = performance.now() + waitMs;
  const wanted = { ...asked, ...(baseVersion === undefined ? {} : { baseVersion }) };
  return whileConnected(req, async (signal) => {
    for (;;) {
      const seen = notices?.count ?? 0;
      const answer = await service.lease(wanted);
      const left = until - performance.now();
      if (answer.kind !== 'nothing' || left <= 0) return answer;
      await pause(notices, seen, Math.min(left, LOOK_MS), signal);
      if (signal.aborted) return undefined;
    }
  });
}

/** Waits for a sign that something was folded, or for the limit. */
async function pause(notices: TrainingWorld['notices'], seen: number, limitMs: number, signal: AbortSignal): Promise<void> {
  if (notices) return notices.beyond(seen, limitMs, signal);
  await delay(limitMs, undefined, { signal }).catch(() => undefined);
}

/**
 * Answers what a trainer waits for. 202, and not 200: who knows a batch by 200 alone goes on to know it so. `Retry-After` says
 * when the lease of another ends, if one blocks.
 */
function nothing(waiting: WaitingReason | null, busyUntil: Date | null): Reply {
  const seconds = busyUntil === null ? 1 : Math.min(60, Math.max(1, Math.ceil((busyUntil.getTime() - Date.now()) / 1_000)));
  return json(202, waiting ?? PLANNED_MEANWHILE, { 'retry-after': String(seconds) });
}

/** Lets those that ask about one policy at once share an answer: it looks at every sample that waits. */
function shareInFlight(ask: (policyId: string, busyUntil: Date | null) => Promise<WaitingReason | null>): typeof ask {
  const asked = new Map<string, Promise<WaitingReason | null>>();
  return (policyId, busyUntil) => {
    const key = `${busyUntil?.getTime() ?? ''} ${policyId}`;
    const answer = asked.get(key) ?? ask(policyId, busyUntil).finally(() => asked.delete(key));
    asked.set(key, answer);
    return answer;
  };
}

const PLANNED_MEANWHILE: WaitingReason = {
  state: 'waiting',
  waitingFor: 'planner',
  groups: { open: 0, closed: 0, ready: 0, rejected: {} },
  next: 'a batch was planned a moment ago: ask again',
};

/** A policy that was declared and has no version waits for it; one that nobody knows is refused with the name nearest to it. */
async function refusedLease({ db }: TrainingWorld, policyId: string, refused: Refused, principal: Principal): Promise<Reply> {
  if (refused.code !== 'unknown-policy') return decided(refused);
  const names = await readPolicyNames(visibleTo(db, principal));
  if (names.includes(policyId)) return nothing(await whyWaiting(db, policyId), null);
  return unknownPolicyReply(db, policyId, principal);
}

/** Refuses a name that no policy has which the principal sees, with the nearest of those that it sees. */
export async function unknownPolicyReply(db: Db, policyId: string, principal: Principal): Promise<Reply> {
  const near = closestName(policyId, await readPolicyNames(visibleTo(db, principal)));
  const declare = 'declare it and register its first version with PUT /v1/training/policies/{id}';
  return decided({
    ...unknownPolicy(policyId),
    remedy: near === null ? declare : `did you mean ${near}? Otherwise ${declare}`,
  });
}
