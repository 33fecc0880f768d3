import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import type { BlobStore } from '../../blobs/blob-store.ts';
import type { BlobRef } from '../../events/schemas/values.ts';
import type { Db } from '../../postgres/database.ts';
import type { Notices } from '../../postgres/notices.ts';
import type { LeaseService } from '../../training/leases/lease-service.ts';
import type { Refused } from '../../training/leases/protocol.ts';
import { createBodyBudget } from '../ingest/body-budget.ts';
import { createGate } from '../ingest/gate.ts';
import { busy } from '../ingest/read-body.ts';
import { json, type Reply, refuse } from '../reply.ts';
import type { Route } from '../route.ts';
import { leaseReply, nothingReply, refusalReply } from './answers.ts';
import { leaseWaiting } from './lease-endpoint.ts';
import { createPackedRows } from './packed-rows.ts';
import { readRequest } from './read-request.ts';
import {
  abandonLeasedRequest,
  abandonRequest,
  ackRequest,
  leaseRequest,
  nackRequest,
  registerRequest,
  renewRequest,
} from './requests.ts';
import { createRowsEndpoint } from './rows-endpoint.ts';

export interface TrainingLeases {
  readonly service: LeaseService;
  /** Counts what the projections fold, so that a waiting lease request looks at once. */
  readonly notices?: Notices;
}

const NEEDS = ['train'] as const;
const IN_FLIGHT = 256; // requests; most of them wait for a batch and hold nothing
const BODIES_BYTES = 16 * 1_048_576; // of all together

/** Returns the endpoints of trainers elsewhere: `/v1/training/…`, scope train. */
export function trainingRoutes(
  { service, notices }: TrainingLeases,
  { db, blobs }: { readonly db: Db; readonly blobs: BlobStore },
): readonly Route[] {
  const gate = createGate(IN_FLIGHT);
  const budget = createBodyBudget(BODIES_BYTES);
  const packed = createPackedRows({ db, blobs });

  /** Reads the request, lets `answer` decide, and holds the number of requests in flight. */
  async function answered<T extends z.ZodType>(
    req: IncomingMessage,
    schema: T,
    answer: (request: z.infer<T>) => Promise<Reply | undefined>,
  ): Promise<Reply | undefined> {
    const share = budget.open();
    const asked = await readRequest(req, schema, share).finally(() => share.close());
    if (asked.kind === 'gone') return undefined;
    if (asked.kind === 'refused') return asked.reply;
    const ticket = gate.enter();
    if (!ticket) return busy('too many requests of trainers are in progress');
    try {
      return await answer(asked.request);
    } finally {
      ticket.leave();
    }
  }

  async function missingBlob(kept: BlobRef | null): Promise<Reply | undefined> {
    if (kept === null || (await blobs.has(kept.blob))) return undefined;
    return refuse(
      422,
      `kept.blob: the blob store does not hold ${kept.blob}`,
      'keep the weights there first, or send kept: null',
    );
  }

  const register = (req: IncomingMessage) =>
    answered(req, registerRequest, async (request) => {
      const missing = await missingBlob(request.kept);
      return missing ?? reply(await service.registerPolicy(request));
    });
  const lease = (req: IncomingMessage) =>
    answered(req, leaseRequest, async (request) => {
      const answer = await leaseWaiting(service, notices, request, req);
      if (answer === undefined) return undefined;
      if (answer.kind === 'leased') {
        // Its rows are asked for next; a fault is met by who asks.
        void packed.get(answer.lease.batchId, request.layout).catch(() => undefined);
        return leaseReply(answer.lease, request.layout);
      }
      return answer.kind === 'nothing' ? nothingReply(answer.busyUntil, Date.now()) : refusalReply(answer);
    });
  const renew = (req: IncomingMessage, leaseId: string) =>
    answered(req, renewRequest, async (request) => reply(await service.renew({ leaseId, ...request })));
  const ack = (req: IncomingMessage, leaseId: string) =>
    answered(req, ackRequest, async ({ estimator, rewardsAt, ...request }) => {
      const missing = await missingBlob(request.kept);
      const said = { ...(estimator === undefined ? {} : { estimator }), ...(rewardsAt === undefined ? {} : { rewardsAt }) };
      return missing ?? reply(await service.ack({ leaseId, ...request, ...said }));
    });
  const nack = (req: IncomingMessage, leaseId: string) =>
    answered(req, nackRequest, async (request) => reply(await service.nack({ leaseId, ...request })));
  const abandonLeased = (req: IncomingMessage, leaseId: string) =>
    answered(req, abandonLeasedRequest, async (request) => reply(await service.abandon({ leaseId, ...request })));
  const abandon = (req: IncomingMessage, batchId: string) =>
    answered(req, abandonRequest, async ({ reason }) => reply(await service.abandon({ batchId, reason })));

  return [
    { kind: 'endpoint', method: 'POST', path: '/v1/training/policies', needs: NEEDS, handle: register },
    { kind: 'endpoint', method: 'POST', path: '/v1/training/leases', needs: NEEDS, handle: lease },
    { ...ofLease('rows'), method: 'GET', handle: createRowsEndpoint({ db, packed }) },
    { ...ofLease('renew'), method: 'POST', handle: renew },
    { ...ofLease('ack'), method: 'POST', handle: ack },
    { ...ofLease('nack'), method: 'POST', handle: nack },
    { ...ofLease('abandon'), method: 'POST', handle: abandonLeased },
    { ...each('batches', 'abandon'), method: 'POST', handle: abandon },
  ];
}

function ofLease(part: string) {
  return each('leases', part);
}

function each(what: 'leases' | 'batches', part: string) {
  const pattern = new RegExp(`^/v1/training/${what}/([^/]{1,200})/${part}$`);
  return { kind: 'each', path: `/v1/training/${what}/{id}/${part}`, pattern, needs: NEEDS } as const;
}

function reply(answer: Refused | { readonly kind: string }): Reply {
  return 'code' in answer ? refusalReply(answer) : json(200, answer);
}
