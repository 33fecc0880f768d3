import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { TOPICS } from '../events/catalogue.ts';
import { newId } from '../events/new-id.ts';
import { formatPosition } from '../log/position.ts';
import type { Platform } from '../platform/open-platform.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { killRunning, runInProcess } from '../testing/worker-process.ts';

let platform: Platform & { readonly home: string };
let env: Readonly<Record<string, string>>;
const run = newId();
const SEARCH = ['--search', 'mcts', '--iterations', '3', '--candidates', '3', '--max-depth', '6'];
beforeAll(async () => {
  platform = await openTestPlatform();
  env = environmentOf(platform);
  await done('collect', '--task', '1', '45', '--policy', 'planner:0.5', '--seed', '3', ...SEARCH, '--run', run);
});
afterAll(async () => {
  await killRunning();
  await platform.close();
});

async function done(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runInProcess(args, env);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

const bytes = (name: string) => readFileSync(join(platform.home, name), 'utf8');
const exported = (name: string, ...more: string[]) => done('export', '--out', join(platform.home, name), ...more);
const released = (name: string, ...more: string[]) =>
  done('dataset', 'release', '--name', name, '--out', join(platform.home, `${name}.jsonl`), ...more);

describe('--as-of', () => {
  test('exports and releases hold what the record held then, byte for byte, whatever followed', async () => {
    await done('revise', '--run', run);
    const then = formatPosition(await platform.log.ends(TOPICS));
    await exported('then-parquet', '--format', 'parquet');
    await exported('then-jsonl', '--format', 'jsonl', '--scope', 'trees');
    await exported('then-rows', '--format', 'agent-r');
    await released('then');
    const listed = formatPosition(await platform.log.ends(TOPICS));
    await done('collect', '--tasks', '2', '--policy', 'planner:0.5', '--seed', '4', ...SEARCH);
    await exported('now-jsonl', '--format', 'jsonl', '--scope', 'trees');
    expect(bytes('now-jsonl')).not.toEqual(bytes('then-jsonl'));

    await exported('again-parquet', '--format', 'parquet', '--as-of', then);
    await exported('again-jsonl', '--format', 'jsonl', '--scope', 'trees', '--as-of', then);
    await exported('of-run-parquet', '--format', 'parquet', '--as-of', then, '--run', run);
    await exported('again-rows', '--format', 'agent-r', '--as-of', then);
    await released('again', '--as-of', then);
    const names = async (...more: string[]) =>
      JSON.parse(await done('--json', 'dataset', 'list', ...more)).map(({ name }: { name: string }) => name);
    expect((await names()).sort()).toEqual(['again', 'then']);
    expect(await names('--as-of', listed)).toEqual(['then']);
    expect(await names('--as-of', then)).toEqual([]);
    for (const kind of ['parquet', 'jsonl', 'rows']) {
      expect(bytes(`again-${kind}`)).toEqual(bytes(`then-${kind}`));
      expect(bytes(`_manifests/again-${kind}.manifest`)).toEqual(bytes(`_manifests/then-${kind}.manifest`));
    }
    expect(bytes('of-run-parquet')).toEqual(bytes('then-parquet'));
    expect(bytes('again.jsonl')).toEqual(bytes('then.jsonl'));
  });

  test('--as-of draws a tree as it was at a time, and its search after its first simulations', async () => {
    const { rows } = await sql<{ tree: string; second: Date }>`
      select stream as tree, occurred_at as second from events where type = 'StepTaken' and correlation_id = ${run}
      order by "offset" offset 1 limit 1`.execute(platform.database.db);
    const { tree = '', second = new Date() } = rows[0] ?? {};
    const steps = async (...more: string[]) => JSON.parse(await done('--json', 'tree', tree, ...more)).steps;
    // More than one event may have happened in one millisecond; all that came after it stand outside.
    expect(await steps('--as-of', second.toISOString())).toBeLessThan(await steps());
    const visits = async (...more: string[]) => (await done('tree', tree, ...more)).split('\n')[0];
    expect(await visits('--simulation', '1')).not.toEqual(await visits());
    await expect(done('tree', tree, '--simulation', '999')).rejects.toThrow(
      /--simulation is at most \d+: so many the search of tree/,
    );
    await expect(done('tree', tree, '--as-of', '2020-01-01')).rejects.toThrow(`there was no tree ${tree} then`);
  });

  test('--as-of shows the account of samples as it was, and refuses what is not a moment of the record', async () => {
    expect(await done('ledger', '--as-of', '2020-01-01')).toContain('no policy is trained yet');
    await expect(done('ledger', '--as-of', 'runs.0:1000000')).rejects.toThrow('the position lies beyond what is journalled');
    env = { ...env, ESPALIER_ASOF_LIMIT: '3' };
    await expect(done('ledger', '--as-of', '2100-01-01')).rejects.toThrow(/\d+ events would have to be folded and 3 are allowed/);
  });
});
