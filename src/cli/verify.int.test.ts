import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Platform } from '../platform/open-platform.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { killRunning, runEspalier } from '../testing/worker-process.ts';

let platform: Platform & { readonly home: string };
let env: Readonly<Record<string, string>>;
let blob: string;
beforeAll(async () => {
  platform = await openTestPlatform();
  env = environmentOf(platform);
  const collected = await runEspalier(['collect', '--policy', 'planner', '--tasks', '3', '--rollouts', '2'], env);
  if (collected.code !== 0) throw new Error(collected.stderr);
  blob = (await platform.blobs.put(new TextEncoder().encode('a checkpoint'), 'application/octet-stream')).blob;
});
afterAll(async () => {
  await killRunning();
  await platform.close();
});

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
  test('finds a record intact that nobody touched', async () => {
    const { code, stdout } = await verify();
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^intact: [1-9][0-9]+ events, 1 blobs, 0 batches\n$/)]);
  });

  test('names the event of which one byte was changed, and only it', async () => {
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

  test('names an event that was taken away', async () => {
    const { id, place } = await someEvent();
    await sql`create table public.kept as select * from journal_v1.events where event_id = ${id}`.execute(platform.database.db);
    await sql`delete from journal_v1.events where event_id = ${id}`.execute(platform.database.db);
    const { code, stdout } = await verify();
    await sql`insert into journal_v1.events select * from public.kept`.execute(platform.database.db);
    expect([code, stdout]).toEqual([1, expect.stringContaining(`event missing: ${place} event ${id}\n`)]);
  });

  test('names both of two events that changed places', async () => {
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

  test('names a blob of which one byte was flipped', async () => {
    const file = join(platform.config.blobs, blob.slice(0, 2), blob.slice(2, 4), blob);
    const bytes = await readFile(file);
    const flipped = Buffer.from(bytes);
    flipped[3] = (flipped[3] as number) ^ 1;
    await writeFile(file, flipped);
    const { code, stdout } = await verify();
    await writeFile(file, bytes);
    expect([code, stdout]).toEqual([1, expect.stringContaining(`blob changed: ${blob}\n`)]);
  });

  test('names a file that no release has', async () => {
    const file = join(platform.home, 'dataset.jsonl');
    await writeFile(file, '{}\n');
    const { code, stdout } = await verify(file);
    expect([code, stdout]).toEqual([1, expect.stringContaining(`dataset unknown: ${file} (sha256 `)]);
  });
});
