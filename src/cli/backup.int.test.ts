import { appendFile, chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { prepareEvents } from '../append/prepare-events.ts';
import { sha256Hex } from '../digest/sha256.ts';
import { stampOf } from '../events/envelope.ts';
import type { Platform } from '../platform/open-platform.ts';
import { setPayloadPolicy } from '../postgres/payload-policies.ts';
import { connect } from '../postgres/pool.ts';
import { nodeArguments } from '../testing/bundle-programs.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { createEmptyInstallation, type EmptyInstallation } from '../testing/empty-installation.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { type KillPoint, killEspalierAt } from '../testing/kill-at.ts';
import { longReplyRun } from '../testing/long-reply-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { recordLineage } from '../testing/record-training.ts';
import { killRunning, runEspalier, runInProcess, startProgram } from '../testing/worker-process.ts';
import { encodeTorchCheckpoint, parseTorchCheckpoint } from '../training/backends/torch/torch-checkpoint.ts';
import { torchFolder } from '../training/backends/torch/torch-plan.ts';

const SECRET = 'Ada lives at number nine';

let source: Platform & { readonly home: string };
let root: string;
let folder: string;
let target: EmptyInstallation;
beforeAll(async () => {
  source = await openTestPlatform();
  root = await mkdtemp(join(tmpdir(), 'espalier-backups-'));
  folder = join(root, 'whole');
  await setPayloadPolicy(source.database.db, 'default', { seal: true });
  await append('recorded');
  await espalier('verify');
  await espalier('backup', folder);
});
afterAll(async () => {
  await killRunning();
  await source.close();
  await rm(root, { recursive: true, force: true });
});
beforeEach(async () => {
  target = await createEmptyInstallation();
});
afterEach(() => target.remove());

async function append(name: string): Promise<string> {
  const { events, runId } = longReplyRun(name, SECRET);
  await source.log.append(await prepareEvents(events, source.blobs, stampOf({})));
  return runId;
}

async function espalier(...args: readonly string[]) {
  const ended = await runEspalier(args, environmentOf(source));
  if (ended.code !== 0) throw new Error(`espalier ${args.join(' ')}: ${ended.stderr}`);
  return ended.stdout;
}

const restore = (from: string) => runEspalier(['restore', from], target.env);

/** Counts the records of the target's log. */
async function restoredRecords(): Promise<number> {
  const client = await connect(target.env.DATABASE_URL ?? '', 'test');
  try {
    return (await client.query<{ count: number }>('select count(*)::int as count from log_records')).rows[0]?.count ?? -1;
  } finally {
    await client.end();
  }
}

const blobsOf = async (store: string) => (await filesOf(store)).filter((file) => /\/[0-9a-f]{64}$/.test(file));

async function filesOf(backup: string): Promise<readonly string[]> {
  const entries = await readdir(backup, { recursive: true, withFileTypes: true });
  return entries.flatMap((entry) => (entry.isFile() ? [join(entry.parentPath, entry.name)] : [])).sort();
}

describe('a backup that is not whole', () => {
  test('a changed byte in any of its files is named, and nothing is restored', async () => {
    const files = await filesOf(folder);
    expect(
      new Set(
        files.map((file) =>
          file
            .slice(folder.length + 1)
            .split('/')[0]
            ?.replace(/-.*/, ''),
        ),
      ),
    ).toEqual(new Set(['blobs', 'files', 'log', 'manifest.json', 'tables']));
    for (const file of files.filter((name) => !name.endsWith('manifest.json'))) {
      const bytes = await readFile(file);
      const flipped = Buffer.from(bytes);
      const at = Math.floor(bytes.byteLength / 2);
      flipped[at] = (flipped[at] ?? 0) ^ 1;
      await writeFile(file, flipped);
      const { code, stderr } = await restore(folder);
      await writeFile(file, bytes);
      expect([code, stderr]).toEqual([1, expect.stringContaining(`${file.slice(folder.length + 1)} was changed`)]);
    }
    expect(await restoredRecords()).toBe(0);
  });

  test('a file that is missing is named', async () => {
    const file = (await filesOf(folder)).find((name) => name.includes('/log/')) ?? '';
    const bytes = await readFile(file);
    await rm(file);
    const { code, stderr } = await restore(folder);
    await writeFile(file, bytes);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`${file.slice(folder.length + 1)} is missing`)]);
  });

  test('a manifest of a later format, one that was cut, and a folder without one are refused', async () => {
    const file = join(folder, 'manifest.json');
    const text = await readFile(file, 'utf8');
    const refusals: string[] = [];
    for (const other of [text.replace('espalier-backup/1', 'espalier-backup/2'), text.slice(0, 40), '{}']) {
      await writeFile(file, other);
      refusals.push((await restore(folder)).stderr);
    }
    await writeFile(file, text);
    expect(refusals[0]).toContain('has the format espalier-backup/2 of Espalier 0.1.0, and this version reads espalier-backup/1');
    expect(refusals.slice(1)).toEqual([expect.stringContaining('is damaged'), expect.stringContaining('is damaged')]);
    expect((await restore(root)).stderr).toContain('holds no backup');
  });

  test('other files are not mixed with a backup, and the folder of another installation is refused', async () => {
    const foreign = await mkdtemp(join(root, 'foreign-'));
    await writeFile(join(foreign, 'thesis.tex'), 'hours of work');
    const mixed = await runEspalier(['backup', foreign], environmentOf(source));
    expect([mixed.code, mixed.stderr]).toEqual([
      1,
      expect.stringContaining('holds files that belong to no backup, such as thesis.tex'),
    ]);
    const other = await runEspalier(['backup', folder], target.env);
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('holds a backup of another installation')]);
  });

  test('a folder that no backup began is left as it is, whatever the names in it', async () => {
    const training = await mkdtemp(join(root, 'training-'));
    await mkdir(join(training, 'checkpoints'));
    await writeFile(join(training, 'checkpoints', 'model.safetensors'), 'days of work');
    const refused = await runEspalier(['backup', training], environmentOf(source));
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('holds files that belong to no backup, such as checkpoints'),
    ]);
    expect(await filesOf(training)).toHaveLength(1);
  });

  test('what somebody put into a folder of a backup stays, and only its owner can read the folder', async () => {
    const other = await mkdtemp(join(root, 'kept-'));
    await chmod(other, 0o755);
    await espalier('backup', other);
    expect((await stat(other)).mode & 0o777).toBe(0o700);
    const note = join(other, 'log', 'note.txt');
    await writeFile(note, 'taken before the move');
    await espalier('backup', other);
    expect(await filesOf(other)).toContain(note);
  });
});

describe('keys and payload in a backup', () => {
  test('only the owner can read the keys, and what is forgotten leaves the backup with the next one', async () => {
    const other = join(root, 'forgetful');
    const runId = await append('to be forgotten');
    await espalier('verify');
    const before = JSON.parse(await espalier('--json', 'backup', other)) as { readonly blobs: number };
    const [keys = ''] = (await filesOf(other)).filter((name) => name.includes('/stream_keys-'));
    expect((await stat(keys)).mode & 0o777).toBe(0o600);
    expect((await stat(other)).mode & 0o777).toBe(0o700);
    const hourAgo = new Date(Date.now() - 3_600_000);
    for (const blob of await filesOf(source.config.blobs)) await utimes(blob, hourAgo, hourAgo); // younger ones are kept for a minute
    await espalier('forget', '--run', runId, '--reason', 'asked for', '--yes');
    const after = JSON.parse(await espalier('--json', 'backup', other)) as { readonly blobs: number; readonly lostBlobs: number };
    expect(after.lostBlobs).toBe(0);
    expect(after.blobs).toBeLessThan(before.blobs);
    const files = await filesOf(other);
    expect(files.filter((name) => name.includes('/blobs/'))).toHaveLength(after.blobs);
    expect(files).not.toContain(keys);
  });

  test('a blob that the store lost stays in the backup, which says so, and comes back with it', async () => {
    const other = join(root, 'lossy');
    await espalier('backup', other);
    const [blob = ''] = (await filesOf(other)).filter((name) => name.includes('/blobs/'));
    const lost = join(source.config.blobs, blob.slice(join(other, 'blobs').length));
    const bytes = await readFile(lost);
    await rm(lost);
    const { code, stdout } = await runEspalier(['backup', other], environmentOf(source));
    await writeFile(lost, bytes);
    expect([code, stdout]).toEqual([1, expect.stringContaining('1 blobs are damaged or missing in the store')]);
    expect(await filesOf(other)).toContain(blob);
    const restored = await restore(other);
    expect([restored.code, restored.stdout]).toEqual([0, expect.stringContaining('intact: ')]);
  });
});

describe('a backup of what is not all there', () => {
  test('a first backup whose blobs are gone from the store says how many', async () => {
    const [blob = ''] = await blobsOf(source.config.blobs);
    const bytes = await readFile(blob);
    await rm(blob);
    const { code, stdout } = await runEspalier(['--json', 'backup', join(root, 'unread')], environmentOf(source));
    await writeFile(blob, bytes);
    expect([code, JSON.parse(stdout)]).toEqual([1, expect.objectContaining({ lostBlobs: 1 })]);
  });

  test('checkpoints of a language model that are not on this machine stay in the backup and are named', async () => {
    const other = join(root, 'elsewhere-trained');
    const name = sha256Hex('a checkpoint');
    const manifest = encodeTorchCheckpoint(
      parseTorchCheckpoint({ format: 'espalier-torch/1', checkpoint: name, weights: name, rest: name, steps: 1 }),
    );
    const trained = await openTestPlatform();
    try {
      const env = environmentOf(trained);
      const builder = new EventBuilder('trained');
      const lineageId = recordLineage(builder, 'talker');
      const [checkpointId, weights] = [builder.id('checkpoint', 'talker', 0), '0'.repeat(64)];
      const kept = await trained.blobs.put(manifest, 'application/json');
      const saved = { checkpointId, version: 0, backend: 'torch', weights, kept, covers: null };
      builder.record('CheckpointSaved', { lineageId, policyId: 'talker', ...saved }, lineageId);
      await trained.log.append(await prepareEvents(builder.events, trained.blobs, stampOf({})));
      await mkdir(join(torchFolder(trained.config), name), { recursive: true });
      await writeFile(join(torchFolder(trained.config), name, 'modèle (1).safetensors'), 'weights');
      const first = await runEspalier(['--json', 'backup', other], env);
      expect([first.code, JSON.parse(first.stdout)]).toEqual([
        0,
        expect.objectContaining({ checkpoints: 1, lostCheckpoints: 0 }),
      ]);
      await rm(torchFolder(trained.config), { recursive: true });
      const second = await runEspalier(['backup', other], env);
      expect([second.code, second.stdout]).toEqual([
        1,
        expect.stringContaining('1 checkpoints of language models are not on this machine'),
      ]);
      expect((await filesOf(other)).filter((file) => file.includes('/checkpoints/'))).toHaveLength(1);
      await restore(other);
      const restored = join(target.home, 'checkpoints', name, 'modèle (1).safetensors');
      expect(await readFile(restored, 'utf8')).toBe('weights');
    } finally {
      await trained.close();
    }
  });
});

describe('a backup that is interrupted', () => {
  const file = (name: string, path: string, when: 'before' | 'after', nth = 1): KillPoint => ({
    name,
    file: { call: 'rename', path, when, nth },
  });

  test('killed anywhere, it leaves the earlier backup whole, and the next one continues', async () => {
    const other = join(root, 'killed');
    await espalier('backup', other);
    const manifest = await readFile(join(other, 'manifest.json'), 'utf8');
    await append('added');
    await espalier('verify');
    const points: readonly KillPoint[] = [
      file('no segment is written', '/log/', 'before'),
      file('one segment is written', '/log/', 'after'),
      file('the other one is written', '/log/', 'after'),
      file('a table is not written', '/tables/', 'before'),
      file('the list is written', '/files-', 'after'),
      file('the manifest is not replaced', 'manifest\\.json', 'before'),
    ];
    for (const point of points) {
      await killEspalierAt(['backup', other], environmentOf(source), point);
      expect(await readFile(join(other, 'manifest.json'), 'utf8')).toBe(manifest);
    }
    const segments = (await filesOf(other)).filter((name) => name.includes('/log/'));
    await killEspalierAt(['backup', other], environmentOf(source), file('it is replaced', 'manifest\\.json', 'after'));
    expect(await readFile(join(other, 'manifest.json'), 'utf8')).not.toBe(manifest);
    expect((await filesOf(other)).filter((name) => name.includes('/log/'))).toEqual(expect.arrayContaining([...segments]));
    expect(JSON.parse(await espalier('--json', 'backup', other))).toMatchObject({ added: 0 });
    expect((await filesOf(other)).filter((name) => /\.[0-9a-f]{12}$/.test(name))).toEqual([]); // nor is a draft left
    const { code, stdout } = await restore(other);
    expect([code, stdout]).toEqual([0, expect.stringContaining('intact: ')]);
  });

  test('a full disk is named, and the backup before it is whole', async () => {
    // A limit on file size represents a full disk: the same write fails at the same place, with EFBIG instead of ENOSPC.
    const other = join(root, 'full');
    const shell = `trap '' XFSZ; ulimit -f 8; exec "$@"`;
    const words = [process.execPath, ...nodeArguments('src/cli/main.ts'), 'backup', other];
    const child = startProgram(['bash', '-c', shell, 'espalier', ...words], 'espalier backup', environmentOf(source));
    expect(await child.ended).toBe(1);
    expect(child.stderr()).toMatch(/cannot write the backup: EFBIG at .*make room or give access, and run the command again/s);
    await espalier('backup', other);
    expect((await restore(other)).stdout).toContain('intact: ');
  });
});

describe('a restore that is interrupted', () => {
  const unsent = (name: string, ...messages: RegExp[]): KillPoint => ({ name, statement: { messages, fate: 'unsent' } });
  const unanswered = (name: string, ...messages: RegExp[]): KillPoint => ({ name, statement: { messages, fate: 'unanswered' } });

  test('killed anywhere, nothing but the same restore opens the installation, and that continues to an intact record', async () => {
    const points: readonly KillPoint[] = [
      unanswered('it began', /insert into "restorations"/, /^Q commit/),
      unsent('no record is restored', /with place as/),
      unanswered('one partition is restored, and it does not know', /with place as/),
      unanswered('keys are restored, and it does not know', /insert into "stream_keys"/),
      unsent('it is not finished', /update "restorations"/),
    ];
    for (const point of points) {
      await killEspalierAt(['restore', folder], target.env, point);
      const { code, stderr } = await runInProcess(['status'], target.env);
      expect([point.name, code, stderr]).toEqual([
        point.name,
        1,
        expect.stringContaining('a restore into this installation is not finished'),
      ]);
    }
    const elsewhere = join(root, 'elsewhere');
    await espalier('backup', elsewhere);
    const other = await runInProcess(['restore', elsewhere], target.env);
    expect([other.code, other.stderr]).toEqual([
      1,
      expect.stringContaining('run `espalier restore DIR` again with the same backup'),
    ]);
    await killEspalierAt(
      ['restore', folder],
      target.env,
      unanswered('it is finished, and it does not know', /update "restorations"/),
    );
    const { code, stdout } = await restore(folder);
    expect([code, stdout]).toEqual([0, expect.stringContaining('intact: ')]);
    const again = await restore(folder);
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('intact: ')]);
    expect(again.stdout).toContain('was restored from this backup before; nothing was changed');
    const [blob = ''] = await blobsOf(join(target.home, 'blobs'));
    await rm(blob);
    expect((await restore(folder)).stdout).toContain('before; 1 missing blobs were put back');
    expect(await blobsOf(join(target.home, 'blobs'))).toContain(blob);
  });

  test('a store with blobs is refused: another installation may refer to them, and its collection would delete ours', async () => {
    const shared = { ...target.env, ESPALIER_BLOBS: source.config.blobs };
    const { code, stderr } = await runEspalier(['restore', folder], shared);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/holds blobs, which another installation may refer to;.*another ESPALIER_BLOBS/),
    ]);
  });

  test('records that something else wrote meanwhile are refused', async () => {
    await killEspalierAt(['restore', folder], target.env, unsent('no record is restored', /with place as/));
    const client = await connect(target.env.DATABASE_URL ?? '', 'test');
    await client.query(`
      with one as (update log_partitions set next_offset = 1, received_at = now() where partition_id = (
        select min(partition_id) from log_partitions join log_topics using (topic_id) where topic = 'trees') returning partition_id)
      insert into log_records select partition_id, 0, 'k', '{}', now() from one`);
    await client.end();
    const { code, stderr } = await restore(folder);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/another record than in the backup|something else wrote to it meanwhile/),
    ]);
  });
});

test('a master key that encrypts the keys in a backup is asked for before anything is restored', async () => {
  const other = join(root, 'wrapped');
  const masterKey = join(root, 'master.key');
  await writeFile(masterKey, 'ab'.repeat(32));
  await appendFile(masterKey, '\n');
  const destroyed = join(root, 'destroyed');
  const wrapped = await openTestPlatform();
  const unlocked = await createEmptyInstallation();
  try {
    const env = { ...environmentOf(wrapped), ESPALIER_MASTER_KEY_FILE: masterKey, ESPALIER_SEAL: 'on' };
    const collected = await runInProcess(['collect', '--tasks', '1', '--policy', 'planner:0.4'], env);
    expect([collected.code, collected.code === 0 ? '' : collected.stderr]).toEqual([0, '']);
    const backup = await runInProcess(['--json', 'backup', other], env);
    expect(JSON.parse(backup.stdout)).toMatchObject({ openKeys: 0 });
    const refused = await restore(other);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('name its file in ESPALIER_MASTER_KEY_FILE')]);
    expect(await restoredRecords()).toBe(0);
    const restored = await runInProcess(['restore', other], { ...target.env, ESPALIER_MASTER_KEY_FILE: masterKey });
    expect([restored.code, restored.stdout]).toEqual([0, expect.stringContaining('intact: ')]);
    await wrapped.database.pool.query('update stream_keys set secret = null, destroyed_at = now()');
    await runInProcess(['backup', destroyed], env);
    const withoutKey = await runInProcess(['restore', destroyed], unlocked.env);
    expect([withoutKey.code, withoutKey.code === 0 ? '' : withoutKey.stderr]).toEqual([0, '']); // nothing is left to open
  } finally {
    await wrapped.close();
    await unlocked.remove();
  }
});
