import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { prepareEvents } from '../append/prepare-events.ts';
import { openPlatform, type Platform } from '../platform/open-platform.ts';
import { findActiveKeys } from '../postgres/keys.ts';
import { setPayloadPolicy } from '../postgres/payload-policies.ts';
import { readRecordedTrees } from '../projections/trajectories/read-recorded-trees.ts';
import { readConfig } from '../runtime/config.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { createEmptyInstallation, type EmptyInstallation } from '../testing/empty-installation.ts';
import { longReplyRun } from '../testing/long-reply-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { until } from '../testing/until.ts';
import { killRunning, runInProcess, startProcess } from '../testing/worker-process.ts';
import { digestOf } from '../usecases/datasets/digest-trees.ts';

const RUN = '11111111-1111-4111-8111-111111111111';
const SECOND_RUN = '22222222-2222-4222-8222-222222222222';
const SECRET = 'Ada lives at number nine';
const TRAIN = [
  ...['train', '--policy', 'learner', '--environment', 'search-qa', '--updates', '12', '--groups', '2', '--group', '2'],
  ...['--keep-zero-variance', '--test-tasks', '0', '--max-steps', '4'],
];

/**
 * Describes the drill: an installation is backed up while it works, works on, is backed up again, and is restored elsewhere, where
 * everything is as it was and work goes on. @param brokersOf starts or finds the brokers of both logs; none for the log in Postgres.
 */
export function describeDrill(name: string, brokersOf: () => Promise<readonly string[] | undefined>): void {
  describe(`a backup and its restore, ${name}`, () => {
    let source: Platform & { readonly home: string };
    let target: EmptyInstallation;
    let restored: Platform;
    let folder: string;
    let key: string;
    let secretTree: string;
    const said: Record<string, { readonly code: unknown; readonly stdout: string; readonly stderr: string }> = {};

    beforeAll(async () => {
      const brokers = await brokersOf();
      source = await openTestPlatform(brokers);
      target = await createEmptyInstallation(brokers);
      folder = join(await mkdtemp(join(tmpdir(), 'espalier-backup-')), 'drill');
      const env = environmentOf(source);
      const here = async (...args: readonly string[]) => {
        const ended = await runInProcess(args, env);
        if (ended.code !== 0) throw new Error(`${args[0]}: ${ended.stderr}`);
        return ended;
      };
      await here('collect', '--tasks', '2', '--rollouts', '2', '--policy', 'planner:0.4', '--prompt', 'image', '--run', RUN);
      key = (
        JSON.parse((await here('--json', 'keys', 'create', '--name', 'trainer', '--scopes', 'train')).stdout) as { key: string }
      ).key;
      await setPayloadPolicy(source.database.db, 'sealed', { seal: true });
      const { events, treeId } = longReplyRun('secret', SECRET);
      secretTree = treeId;
      await source.log.append(await prepareEvents(events, source.blobs, { principal: 'local', project: 'sealed' }));
      const trainer = startProcess('src/cli/main.ts', TRAIN, env);
      await until(async () => (await versionsOf(source)) > 1);
      said.first = await here('--json', 'backup', folder);
      await until(async () => (await versionsOf(source)) > 3 || (await Promise.race([trainer.ended, false])) !== false);
      trainer.kill('SIGKILL');
      await trainer.ended;
      await here('collect', '--tasks', '1', '--rollouts', '2', '--policy', 'planner:0.4', '--run', SECOND_RUN);
      said.firstFiles = { code: 0, stdout: (await segmentsIn(folder)).join('\n'), stderr: '' };
      said.second = await here('--json', 'backup', folder);
      said.verified = await here('--json', 'verify');
      said.restored = await runInProcess(['--json', 'restore', folder], target.env);
      if (said.restored.code !== 0) throw new Error(`${said.restored.stderr}${said.restored.stdout}`);
      restored = await openPlatform(readConfig(target.env), 'test');
    });
    afterAll(async () => {
      await killRunning();
      await restored?.close();
      await target?.remove();
      await source?.close();
      await rm(join(folder, '..'), { recursive: true, force: true });
    });

    test('the second backup adds what is new and leaves the files of the first', async () => {
      const [first, second] = [said.first, said.second].map((each) => JSON.parse(each?.stdout ?? ''));
      expect(second.records).toBeGreaterThan(first.records);
      expect(second.added).toBe(second.records - first.records);
      expect(second).toMatchObject({ lostBlobs: 0, streamKeys: expect.any(Number) });
      expect(second.streamKeys).toBeGreaterThan(0);
      expect(await segmentsIn(folder)).toEqual(expect.arrayContaining(said.firstFiles?.stdout.split('\n') ?? []));
      const files = await readdir(folder);
      expect(files.filter((file) => file.startsWith('files-'))).toHaveLength(1); // the list of the first is gone
    });

    test('the restored record is intact and counts what the source counts', () => {
      const { verification } = JSON.parse(said.restored?.stdout ?? '');
      const { records, events, blobs, batches, checkpoints, prompts } = JSON.parse(said.verified?.stdout ?? '');
      expect(verification).toMatchObject({ faulty: 0, records, events, blobs, batches, checkpoints, prompts });
    });

    test('every event is at its offset, with its bytes and its time', async () => {
      const rows = async ({ database }: Platform) =>
        (
          await sql`
            select topic, partition, "offset", position, md5(body) as body, received_at from events
            order by topic, partition, "offset"`.execute(database.db)
        ).rows;
      expect(await rows(restored)).toEqual(await rows(source));
    });

    test('trees have the digests that they had', async () => {
      const digests = async ({ database, blobs }: Platform) => {
        const ids = (await database.db.selectFrom('trees').select('treeId').orderBy('treeId').execute()).map(
          ({ treeId }) => treeId,
        );
        const trees = await readRecordedTrees(database.db, ids);
        return (await Promise.all([...trees.values()].map((tree) => digestOf(tree, blobs)))).sort();
      };
      const before = await digests(source);
      expect(before.length).toBeGreaterThan(5);
      expect(await digests(restored)).toEqual(before);
    });

    test('keys are valid, and sealed payload can be read', async () => {
      expect((await findActiveKeys(restored.database.db, [key])).size).toBe(1);
      const tree = await runInProcess(['tree', secretTree], target.env);
      expect([tree.code, tree.stdout]).toEqual([0, expect.stringContaining(SECRET)]);
    });

    test.each([['environment'], ['images']])('replay %s of the restored run is equal', async (mode) => {
      const { code, stdout } = await runInProcess(['replay', mode, '--run', RUN], target.env);
      expect([code, stdout]).toEqual([0, expect.stringMatching(/^equal: /)]);
    });

    test('training goes on where the backup ends, and trains no sample twice', async () => {
      const version = await versionsOf(restored);
      const { code, stderr } = await runInProcess([...TRAIN, '--resume'], target.env);
      expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
      expect(await versionsOf(restored)).toBeGreaterThan(version);
      const ledger = await runInProcess(['--json', 'ledger'], target.env);
      expect(ledger.code).toBe(0);
      expect(JSON.parse(ledger.stdout)).toMatchObject([{ difference: 0, ahead: 0 }]);
      const equal = await runInProcess(['replay', 'training', '--policy', 'learner'], target.env);
      expect([equal.code, equal.stdout]).toEqual([0, expect.stringMatching(/^equal: training/)]);
    });

    test('backups go on in the same folder from the restored installation, and no more from the other one', async () => {
      const next = await runInProcess(['--json', 'backup', folder], target.env);
      expect([next.code, next.code === 0 ? '' : next.stderr]).toEqual([0, '']);
      expect(JSON.parse(next.stdout).added).toBeGreaterThan(0);
      const manifest = await readFile(join(folder, 'manifest.json'), 'utf8');
      const stale = await runInProcess(['backup', folder], environmentOf(source));
      expect([stale.code, stale.stderr]).toEqual([1, expect.stringContaining('the log is not the one that')]);
      expect(await readFile(join(folder, 'manifest.json'), 'utf8')).toBe(manifest);
    });

    test('an installation that holds records is refused', async () => {
      const { code, stderr } = await runInProcess(['restore', folder], environmentOf(source));
      expect([code, stderr]).toEqual([1, expect.stringMatching(/holds [1-9]\d* records; restore into an empty installation/)]);
    });
  });
}

async function versionsOf({ database }: Platform): Promise<number> {
  return (await database.db.selectFrom('policyVersions').select('version').execute()).length;
}

async function segmentsIn(folder: string): Promise<readonly string[]> {
  return (await readdir(join(folder, 'log'), { recursive: true })).filter((name) => name.endsWith('.gz')).sort();
}
