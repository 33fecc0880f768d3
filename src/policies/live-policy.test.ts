import { expect, test } from '@jest/globals';
import { anActRequest } from '../testing/act-request.ts';
import { type LinearWeights, zeroWeights } from './linear/weights.ts';
import { livePolicy } from './live-policy.ts';

const never = new AbortController().signal;
const request = anActRequest();

/** A source whose newest version is set by the test. */
function source() {
  let newest: LinearWeights = zeroWeights();
  const closed: string[] = [];
  return {
    set: (version: number) => {
      newest = { ...zeroWeights(), version };
    },
    closed,
    newest: async () => newest,
    close: async () => void closed.push('closed'),
  };
}

test('every act is stamped with the version that drew it, and a newer version takes over between two steps', async () => {
  const versions = source();
  const policy = await livePolicy(versions, { policyId: 'p' }, never);
  const stamps = async () => (await policy.act({ ...request, n: 2 }, never)).map((act) => act.policy);
  expect(await stamps()).toEqual([
    { policyId: 'p', version: 0 },
    { policyId: 'p', version: 0 },
  ]);
  versions.set(3);
  expect((await stamps())[0]).toEqual({ policyId: 'p', version: 3 });
  expect(policy.ref).toEqual({ policyId: 'p', version: 3 });
});

test('a pinned policy keeps its version, an older version never returns, and close closes the source', async () => {
  const versions = source();
  const policy = await livePolicy(versions, { policyId: 'p' }, never);
  versions.set(2);
  const pinned = await policy.pin(never);
  versions.set(1);
  await policy.act(request, never);
  expect(policy.ref.version).toBe(2);
  versions.set(5);
  await policy.act(request, never);
  expect([pinned.ref.version, policy.ref.version]).toEqual([2, 5]);
  await policy.close();
  expect(versions.closed).toEqual(['closed']);
});
