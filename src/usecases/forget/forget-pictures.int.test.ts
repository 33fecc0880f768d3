import { beforeEach, expect, test } from '@jest/globals';
import { prepareEvents } from '../../append/prepare-events.ts';
import { sha256Hex } from '../../digest/sha256.ts';
import { stampOf } from '../../events/envelope.ts';
import { positionAfter } from '../../log/position.ts';
import { setPayloadPolicy } from '../../postgres/payload-policies.ts';
import { findPicture, openPicture } from '../../projections/pictures/read-pictures.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { testPictures } from '../../testing/painted-world.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { verifyRecord } from '../verify/verify-record.ts';
import { collectBlobs } from './collect-blobs.ts';
import { forget, planForgetting } from './forget.ts';

const platform = useTestPlatform({ opened: 'before-each', projector: 'running' });
const signal = new AbortController().signal;
const options = { by: 'tester', reason: 'asked for', signal, limitMs: 60_000, progress: () => undefined, blobGraceMs: 0 };
const { dot, noise, red } = await testPictures();
const blobOf = ({ base64 }: { readonly base64: string }) => sha256Hex(Buffer.from(base64, 'base64'));

/** A tree that shows a dot, which another tree shows too, and noise, which has a blob, to itself. */
async function given(): Promise<{ readonly gone: string; readonly kept: string }> {
  const builder = new EventBuilder('painted');
  const runId = builder.run();
  const gone = builder.tree(runId, 'gone', { pictures: [dot.data] });
  const kept = builder.tree(runId, 'kept', { pictures: [dot.data, red.data] });
  builder.step(gone, builder.rollout(gone), gone.rootStepId, 1, { pictures: [noise.data] });
  builder.finishRun(runId);
  const receipts = await platform.log.append(
    await prepareEvents(builder.events, platform.blobs, stampOf({ principal: 'local', project: 'default' })),
  );
  await waitUntilProjected(platform.database.db, positionAfter(receipts), { timeoutMs: 60_000 });
  return { gone: gone.treeId, kept: kept.treeId };
}

const read = (sha256: string) => platform.blobs.get(sha256);
async function opened(imageId: string) {
  const picture = await findPicture(platform.database.db, imageId);
  return picture && { treeId: picture.treeId, kind: (await openPicture(picture, read)).kind };
}

beforeEach(() => setPayloadPolicy(platform.database.db, 'default', { seal: true }));

test('a forgotten picture has no bytes left in any read model or blob, and one that another tree shows is read there', async () => {
  const { gone, kept } = await given();
  expect([(await opened(dot.id))?.kind, (await opened(noise.id))?.kind]).toEqual(['picture', 'picture']);
  await forget(platform, await planForgetting(platform, { kind: 'trees', ids: [gone] }), options);
  expect(await opened(dot.id)).toEqual({ treeId: kept, kind: 'picture' });
  expect(await opened(noise.id)).toEqual({ treeId: gone, kind: 'forgotten' });
  const rows = await platform.database.db.selectFrom('pictures').select('png').where('treeId', '=', gone).execute();
  expect(rows.map(({ png }) => png.bytes)).toEqual(['', '']);
  await expect(read(blobOf(noise))).rejects.toThrow();
  expect((await verifyRecord(platform, { files: [], signal })).faults).toEqual([]);
});

test('the blob of a picture is not collected while its record is there', async () => {
  await given();
  const { unreferenced } = await collectBlobs(platform, { graceMs: 0, mode: 'delete', signal });
  expect(unreferenced.blobs).toBe(0);
  expect(Buffer.from(await read(blobOf(noise))).toString('base64')).toBe(noise.base64);
});
