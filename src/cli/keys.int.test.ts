import { afterAll, expect, test } from '@jest/globals';
import { prepareEvents } from '../append/prepare-events.ts';
import { readOwners } from '../projections/owners/read-owners.ts';
import { environmentOf, settle } from '../testing/crashing-run.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { useTestPlatform } from '../testing/use-test-platform.ts';
import { killRunning, runEspalier } from '../testing/worker-process.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
afterAll(killRunning);

const espalier = (...words: string[]) => runEspalier(words, environmentOf(platform));

async function keyOf(...words: string[]): Promise<Key> {
  const { code, stdout } = await espalier('--json', 'keys', ...words);
  expect(code).toBe(0);
  return JSON.parse(stdout);
}
interface Key {
  readonly keyId: string;
  readonly key: string;
  readonly replaces: readonly string[];
  readonly scopes: readonly string[];
  readonly projects: readonly string[];
  readonly predecessor?: { readonly keyId: string; readonly revokedAt: string | null; readonly expiresAt: string | null };
}

test('keys replace makes a successor with the rights of a key, which is revoked, and names the successor to who replaces it again', async () => {
  const made = await keyOf('create', '--name', 'recorder', '--scopes', 'ingest,read', '--project', 'atlas,lab', '--rate', '90');
  const builder = new EventBuilder('of the key');
  const runId = builder.run();
  const stamp = { principal: `key:${made.keyId}`, project: 'atlas' };
  await platform.log.append(await prepareEvents(builder.events, platform.blobs, stamp));
  await settle(platform);
  expect((await readOwners(platform.database.db, 'runs', [runId])).get(runId)).toMatchObject(stamp);

  const successor = await keyOf('replace', made.keyId);
  expect(successor).toMatchObject({
    name: 'recorder',
    scopes: ['ingest', 'read'],
    projects: ['atlas', 'lab'],
    project: 'atlas',
    replaces: [made.keyId],
    quota: { requestsPerMinute: 90 },
    predecessor: { keyId: made.keyId, revokedAt: expect.any(String) },
  });
  expect(successor.key).not.toBe(made.key);
  const again = await espalier('keys', 'replace', made.keyId);
  expect([again.code, again.stderr]).toEqual([
    1,
    expect.stringContaining(
      `the key ${made.keyId} is replaced already; replace its successor: espalier keys replace ${successor.keyId}`,
    ),
  ]);

  const third = await espalier('keys', 'replace', successor.keyId, '--until', '1h', '--expires', '30d');
  expect(third.code).toBe(0);
  expect(third.stdout).toContain(`It goes on with what ${successor.keyId} opened, which is accepted until `);
  const listed: readonly (Key & { revokedAt: string | null; expiresAt: string | null })[] = JSON.parse(
    (await espalier('--json', 'keys', 'list')).stdout,
  );
  expect(listed.map(({ replaces }) => replaces).sort((a, b) => a.length - b.length)).toEqual([
    ...[[], [made.keyId], [made.keyId, successor.keyId]],
  ]);
  const second = listed.find(({ keyId }) => keyId === successor.keyId);
  expect([second?.revokedAt, typeof second?.expiresAt]).toEqual([null, 'string']);
});

test.each([
  [
    'b54ff4b5-0a57-4c4d-8f0b-8c6a1e8f2b11',
    'no key has the id b54ff4b5-0a57-4c4d-8f0b-8c6a1e8f2b11; `espalier keys list` shows them',
  ],
  ['nonsense', 'no key has the id nonsense; `espalier keys list` shows them'],
])('keys replace refuses %s, which is the id of no key', async (id, reason) => {
  const { code, stderr } = await espalier('keys', 'replace', id);
  expect([code, stderr]).toEqual([1, expect.stringContaining(reason)]);
});

test('a key without a name is refused', async () => {
  const { code, stderr } = await espalier('keys', 'create', '--name', ' ', '--scopes', 'read');
  expect([code, stderr]).toEqual([1, 'espalier: --name is empty: name who or what will use the key\n']);
});
