import { expect, test } from '@jest/globals';
import { anActRequest } from '../testing/act-request.ts';
import { type LinearWeights, zeroWeights } from './linear/weights.ts';
import { linearPolicy } from './linear-policy.ts';
import { livePolicy, versionPolicy } from './live-policy.ts';
import { parsePolicyText } from './policy-spec.ts';

const never = new AbortController().signal;
const request = anActRequest();

const versionOf = (weights: LinearWeights) => linearPolicy(weights, { policyId: 'p' });

/** A source whose newest version is set by the test. */
function source() {
  let newest: LinearWeights = zeroWeights();
  const closed: string[] = [];
  return {
    set: (version: number) => {
      newest = { ...zeroWeights(), version };
    },
    closed,
    newest: async () => versionOf(newest),
    atLeast: async (version: number) => versionOf({ ...newest, version: Math.max(version, newest.version) }),
    exactly: async (version: number) => versionOf({ ...newest, version }),
    close: async () => void closed.push('closed'),
  };
}

test('every act is stamped with the version that drew it, and a newer version takes over between two steps', async () => {
  const versions = source();
  const policy = await livePolicy(versions, never);
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
  const policy = await livePolicy(versions, never);
  versions.set(2);
  const pinned = await policy.pin(2, never);
  versions.set(1);
  await policy.act(request, never);
  expect(policy.ref.version).toBe(2);
  versions.set(5);
  await policy.act(request, never);
  expect([pinned.ref.version, policy.ref.version]).toEqual([2, 5]);
  await policy.close();
  expect(versions.closed).toEqual(['closed']);
});

test('a policy of one version keeps it when newer ones are made', async () => {
  const versions = source();
  versions.set(4);
  const policy = await versionPolicy(versions, 2, never);
  expect((await policy.act(request, never)).map((act) => act.policy ?? policy.ref)).toEqual([{ policyId: 'p', version: 2 }]);
  await policy.close();
  expect(versions.closed).toEqual(['closed']);
});

test('the short form names a policy, and one of its versions behind an @', () => {
  expect(parsePolicyText('live:my policy')).toEqual({ kind: 'live', policyId: 'my policy' });
  expect(parsePolicyText('live:me@home@12')).toEqual({ kind: 'live', policyId: 'me@home', version: 12 });
  expect(parsePolicyText('live:me@home')).toEqual({ kind: 'live', policyId: 'me@home' });
});
