import { beforeAll, expect, test } from '@jest/globals';
import { prepareEvents } from '../../append/prepare-events.ts';
import { TOPICS } from '../../events/catalogue.ts';
import type { Envelope } from '../../events/envelope.ts';
import { localPrincipal, type Principal } from '../../postgres/principal.ts';
import { describePlace, type LogPlace } from '../../projections/place.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { stepBeforeItsParent } from '../../testing/given-quarantined.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { openRequeue, REQUEUE_LIMIT, type Requeue } from './requeue-events.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
const key = (scopes: Principal['scopes'], project: string): Principal => ({
  principal: `key:${project}`,
  projects: [project],
  project,
  scopes,
  keyId: project,
  name: project,
});
const { early, parent } = stepBeforeItsParent(new EventBuilder('requeue for callers'));

async function append(events: readonly Envelope[]): Promise<void> {
  const stamp = { principal: 'key:collector', project: 'atlas' } as const;
  await platform.log.append(await prepareEvents(events, platform.blobs, stamp));
  await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 20_000 });
}

const waiting = () =>
  platform.database.db
    .selectFrom('quarantine')
    .select(['topic', 'partition', 'offset'])
    .where('requeuedAt', 'is', null)
    .distinct()
    .execute();

let requeue: Requeue;
let place: LogPlace;
beforeAll(async () => {
  await append(early);
  const [first, ...others] = await waiting();
  if (!first || others.length > 0) throw new Error('one record waits');
  place = first;
  requeue = openRequeue(platform);
});
const asked = (places: readonly LogPlace[], reason = '') => ({ places, reason });

test('a key without the scope admin requeues nothing, and reads which scope it lacks', async () => {
  expect(await requeue(asked([place]), key(['read', 'annotate', 'ingest'], 'atlas'))).toMatchObject({
    kind: 'refused',
    code: 'forbidden',
    message: expect.stringMatching(/has the scopes read, annotate, ingest; requeuing from quarantine needs admin/),
  });
  expect(await waiting()).toHaveLength(1);
});

test('an administrator of another project does not learn that something waits at a place', async () => {
  const nowhere = { ...place, offset: place.offset + 1_000 };
  const refusal = (of: LogPlace) => ({
    kind: 'refused',
    code: 'unknown',
    message: `nothing waits in quarantine at ${describePlace(of)}; nothing was requeued`,
  });
  expect(await requeue(asked([place]), key(['admin'], 'other'))).toEqual(refusal(place));
  expect(await requeue(asked([place, nowhere]), localPrincipal())).toEqual(refusal(nowhere));
  expect(await waiting()).toHaveLength(1);
});

test.each([
  ['no place', [], ''],
  ['too many places', Array.from({ length: REQUEUE_LIMIT + 1 }, (_, offset) => ({ topic: 'trees', partition: 0, offset })), ''],
  [
    'a place twice',
    [
      { topic: 'trees', partition: 0, offset: 0 },
      { topic: 'trees', partition: 0, offset: 0 },
    ],
    '',
  ],
  ['a reason that is no text', [{ topic: 'trees', partition: 0, offset: 0 }], 'half \ud800'],
])('a call with %s is refused as invalid', async (_, places, reason) => {
  expect(await requeue(asked(places, reason), localPrincipal())).toMatchObject({ kind: 'refused', code: 'invalid' });
});

test('what would be refused again stays, with the reason; behind its parent it is requeued once by two callers', async () => {
  const admin = key(['admin'], 'atlas');
  expect(await requeue(asked([place]), admin)).toMatchObject({
    kind: 'done',
    outcomes: expect.arrayContaining([
      expect.objectContaining({ place, appended: null, result: { kind: 'refused', reason: expect.any(String) } }),
    ]),
  });
  await append([parent]);
  const [one, other] = await Promise.all([requeue(asked([place], 'its parent is there'), admin), requeue(asked([place]), admin)]);
  expect(one).toMatchObject({ kind: 'done' });
  if (one.kind === 'done') for (const { result } of one.outcomes) expect(result).toEqual({ kind: 'requeued' });
  expect(other).toMatchObject({ kind: 'refused', code: 'unknown' });
  expect(await waiting()).toEqual([]);
});
