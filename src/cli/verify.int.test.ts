import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Platform } from '../platform/open-platform.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { killRunning, runEspalier } from '../testing/worker-process.ts';
import { manifestPath } from '../usecases/datasets/export/manifest.ts';

const RUN = '11111111-1111-4111-8111-111111111111';

let platform: Platform & { readonly home: string };
let env: Readonly<Record<string, string>>;
let checkpoint: { readonly id: string; readonly blob: string };
beforeAll(async () => {
  platform = await openTestPlatform();
  env = environmentOf(platform);
  const search = ['--search', 'mcts', '--iterations', '2', '--candidates', '3', '--max-depth', '6'];
  const train = ['train', '--policy', 'learner', '--environment', 'search-qa', '--updates', '2', '--groups', '2', '--group', '2'];
  for (const args of [
    ['collect', '--task', '1', '45', '--policy', 'planner:0.5', '--seed', '3', ...search, '--run', RUN],
    ['revise', '--run', RUN],
    [...train, '--keep-zero-variance', '--test-tasks', '0', '--max-steps', '4'],
  ]) {
    const { code, stderr } = await runEspalier(args, env);
    if (code !== 0) throw new Error(stderr);
  }
  const { checkpointId: id, kept } = await platform.database.db
    .selectFrom('checkpoints')
    .select(['checkpointId', 'kept'])
    .where('version', '=', 1)
    .executeTakeFirstOrThrow();
  checkpoint = { id, blob: kept?.blob ?? '' };
});
afterAll(async () => {
  await killRunning();
  await platform.close();
});

/** Flips one bit of a file; returns what restores it. */
async function flip(file: string, at: number): Promise<() => Promise<void>> {
  const bytes = await readFile(file);
  const flipped = Buffer.from(bytes);
  flipped[at] = (flipped[at] ?? 0) ^ 1;
  await writeFile(file, flipped);
  return () => writeFile(file, bytes);
}

async function verify(...files: readonly string[]) {
  const { code, stdout, stderr } = await runEspalier(['verify', ...files], env);
  return { code, stdout, stderr };
}

/** The third event of the fullest partition: where something is done to it, its neighbours are whole. */
async function someEvent() {
  const { rows } = await sql<{ id: string; place: string; body: string }>`
    select event_id as id, topic || '.' || partition || '@' || "offset" as place, body from events
    where topic = 'trees' order by partition, "offset" offset 2 limit 1`.execute(platform.database.db);
  return rows[0] as (typeof rows)[0]; // a run has more events than that
}

describe('espalier verify', () => {
  test('verify finds an untouched record intact', async () => {
    const { code, stdout } = await verify();
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^intact: [1-9][0-9]+ events, 3 blobs, 2 batches, 3 checkpoints\n$/),
    ]);
    const kept = await platform.database.db.selectFrom('verifications').selectAll().executeTakeFirstOrThrow();
    expect(kept).toMatchObject({ faulty: 0, report: { events: expect.any(Number), blobs: 3, faults: [] } });
  });

  test('verify names only the event of which one byte was changed', async () => {
    const { id, place, body } = await someEvent();
    const write = (to: string) =>
      sql`update journal_v1.events set body = ${to} where event_id = ${id}`.execute(platform.database.db);
    await write(body.replace('"producer"', '"producex"'));
    const { code, stdout } = await verify();
    await write(body);
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(new RegExp(`^1 faults in .*\nevent changed: ${place} event ${id}\n$`)),
    ]);
  });

  test('verify names an event that was removed', async () => {
    const { id, place } = await someEvent();
    await sql`create table public.kept as select * from journal_v1.events where event_id = ${id}`.execute(platform.database.db);
    await sql`delete from journal_v1.events where event_id = ${id}`.execute(platform.database.db);
    const { code, stdout } = await verify();
    await sql`insert into journal_v1.events select * from public.kept`.execute(platform.database.db);
    expect([code, stdout]).toEqual([1, expect.stringContaining(`event missing: ${place} event ${id}\n`)]);
  });

  test('verify names both of two events that changed places', async () => {
    const { place } = await someEvent();
    const [partition = '', offset = ''] = place.slice('trees.'.length).split('@');
    const swap = (a: number, b: number) =>
      sql`update journal_v1.events set "offset" = ${b} where topic = 'trees' and partition = ${Number(partition)} and "offset" = ${a}`.execute(
        platform.database.db,
      );
    const [first, second, aside] = [Number(offset), Number(offset) + 1, 9_000_000];
    const exchange = async () => {
      await swap(first, aside);
      await swap(second, first);
      await swap(aside, second);
    };
    await exchange();
    const { code, stdout } = await verify();
    await exchange();
    expect(code).toBe(1);
    expect(stdout).toContain(`event renumbered: trees.${partition}@${first}`);
    expect(stdout).toContain(`event renumbered: trees.${partition}@${second}`);
  });

  test('verify names an event that was moved behind the end of its partition, with its old and its new place', async () => {
    const { id, place } = await someEvent();
    const [partition = '', offset = ''] = place.slice('trees.'.length).split('@');
    const move = (to: number) =>
      sql`update journal_v1.events set "offset" = ${to} where event_id = ${id}`.execute(platform.database.db);
    await move(1_000_000);
    const { code, stdout } = await verify();
    await move(Number(offset));
    expect(code).toBe(1);
    expect(stdout).toContain(`event missing: ${place} event ${id}\n`);
    expect(stdout).toContain(`event inserted: trees.${partition}@1000000 event ${id}\n`);
  });

  test('verify names the column of an event that contradicts its record, so that searches by type miss nothing unnoticed', async () => {
    const rename = (from: string, to: string) =>
      sql`update journal_v1.events set type = ${to} where type = ${from}`.execute(platform.database.db);
    await rename('BatchPlanned', 'Nothing');
    const { code, stdout } = await verify();
    await rename('Nothing', 'BatchPlanned');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^2 faults in .* 0 batches/);
    expect(stdout).toMatch(/(event changed: \S+ event \S+, column type\n){2}/);
  });

  test('verify names a blob of which one byte was flipped, and the version whose checkpoint it is', async () => {
    const { id, blob } = checkpoint;
    const restore = await flip(join(platform.config.blobs, blob.slice(0, 2), blob.slice(2, 4), blob), 3);
    const { code, stdout } = await verify();
    await restore();
    expect(code).toBe(1);
    expect(stdout).toContain(`blob changed: ${blob}\n`);
    expect(stdout).toContain(`checkpoint changed: learner version 1: checkpoint ${id} of version 1 (blob ${blob})`);
  });

  test('verify names a missing checkpoint', async () => {
    const { id, blob } = checkpoint;
    const file = join(platform.config.blobs, blob.slice(0, 2), blob.slice(2, 4), blob);
    await rename(file, `${file}.away`);
    const { code, stdout } = await verify();
    await rename(`${file}.away`, file);
    expect([code, stdout]).toEqual([1, expect.stringContaining(`checkpoint missing: learner version 1: checkpoint ${id} `)]);
  });

  test('verify names the batch whose manifest was changed', async () => {
    const { rows } = await sql<{ id: string; batch: string; body: string }>`
      select event_id as id, body::jsonb #>> '{data,batchId}' as batch, body from events where type = 'BatchPlanned' limit 1`.execute(
      platform.database.db,
    );
    const [planned] = rows;
    if (!planned) throw new Error('the training planned no batch');
    const write = (body: string) =>
      sql`update journal_v1.events set body = ${body} where event_id = ${planned.id}`.execute(platform.database.db);
    await write(planned.body.replace(/"tokens":(\d)/, (_, digit) => `"tokens":${(Number(digit) % 9) + 1}`));
    const { code, stdout } = await verify();
    await write(planned.body);
    expect(code).toBe(1);
    expect(stdout).toContain(`event ${planned.id}\n`);
    expect(stdout).toContain(`batch changed: ${planned.batch}`);
  });

  test('verify names a released file of which one byte was flipped, and its release', async () => {
    const file = join(platform.home, 'released.jsonl');
    const released = await runEspalier(['dataset', 'release', '--name', 'lessons', '--run', RUN, '--out', file], env);
    expect(released).toMatchObject({ code: 0 });
    expect(await verify(file)).toMatchObject({ code: 0, stdout: expect.stringContaining(', 1 files') });
    const restore = await flip(file, 20);
    const { code, stdout } = await verify(file);
    await restore();
    expect([code, stdout]).toEqual([1, expect.stringMatching(/dataset changed: .*released\.jsonl .*lessons version 1\)/)]);
  });

  test('verify names the changed field of a manifest by the name of the released file', async () => {
    const file = join(platform.home, 'released.jsonl');
    const manifest = manifestPath(file);
    const released = await runEspalier(['dataset', 'release', '--name', 'released', '--run', RUN, '--out', file], env);
    expect(released).toMatchObject({ code: 0 });
    expect(await verify(file, manifest)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^intact: .*, 1 files\n$/) });
    const text = await readFile(manifest, 'utf8');
    const restore = await flip(manifest, text.search(/(?<="bytes": \d+)\d,/));
    const { code, stdout } = await verify(file);
    await restore();
    expect(code).toBe(1);
    expect(stdout).toContain(`dataset changed: ${manifest} (not as `); // this content has two names
    expect(stdout).toContain(' version 1 was released: bytes)\n');
    await rename(manifest, `${manifest}.away`);
    expect(await verify(file)).toMatchObject({ code: 0 });
    expect(await verify(manifest)).toMatchObject({ code: 1, stdout: expect.stringContaining(`dataset missing: ${manifest}\n`) });
    await rename(`${manifest}.away`, manifest);
    await rename(file, `${file}.away`);
    expect(await verify(manifest)).toMatchObject({ code: 1, stdout: expect.stringContaining(`dataset missing: ${file}\n`) });
  });

  test('verify names a file that no release has', async () => {
    const file = join(platform.home, 'dataset.jsonl');
    await writeFile(file, '{}\n');
    const { code, stdout } = await verify(file);
    expect([code, stdout]).toEqual([1, expect.stringContaining(`dataset unknown: ${file} (sha256 `)]);
  });
});
