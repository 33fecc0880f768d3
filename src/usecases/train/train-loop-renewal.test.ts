import { describe, expect, test } from '@jest/globals';
import type { LeaseService } from '../../training/leases/lease-service.ts';
import type { Lease } from '../../training/leases/protocol.ts';
import { whileRenewing } from './train-loop.ts';

const lease = { leaseId: 'l', fence: 1 } as Lease; // nothing else of it is read
const never = new AbortController().signal;
const stale = { kind: 'refused', code: 'stale-fence', message: 'the lease is over', remedy: 'lease again' } as const;

/** A lease service of which only renewals matter; `answers` in their order, then always the last. */
function serviceOf(...answers: readonly (() => ReturnType<LeaseService['renew']>)[]) {
  let renewals = 0;
  const renew: LeaseService['renew'] = async () => {
    const answer = answers[Math.min(renewals, answers.length - 1)];
    renewals++;
    return answer ? answer() : { kind: 'renewed', deadline: new Date(0) };
  };
  return { service: { renew } as LeaseService, count: () => renewals };
}
const renewed = async () => ({ kind: 'renewed', deadline: new Date(0) }) as const;
const whenAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));

describe('work under a lease', () => {
  test('a refused renewal stops the work and reports the lost lease', async () => {
    const { service } = serviceOf(renewed, async () => stale);
    const answer = await whileRenewing({ service, lease, ttlMs: 30, signal: never }, whenAborted);
    expect(answer).toEqual({ kind: 'lost', reason: 'the lease is over' });
  });

  test('a renewal that fails by an environment fault does not stop the work, and is repeated', async () => {
    const { service, count } = serviceOf(async () => Promise.reject(new Error('away')), renewed);
    const work = async () => {
      while (count() < 3) await new Promise((resolve) => setImmediate(resolve));
      return 7;
    };
    expect(await whileRenewing({ service, lease, ttlMs: 30, signal: never }, work)).toEqual({ kind: 'done', value: 7 });
  });

  test('failing work throws its own error', async () => {
    const { service } = serviceOf(renewed);
    const failing = async () => Promise.reject(new RangeError('broken'));
    await expect(whileRenewing({ service, lease, ttlMs: 10_000, signal: never }, failing)).rejects.toThrow('broken');
  });
});
