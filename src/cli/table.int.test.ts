import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pack } from '../events/packed.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { givenEvents } from '../testing/given-events.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { analysisForTests } from '../testing/python.ts';
import { killRunning, runEspalier } from '../testing/worker-process.ts';

const found = await analysisForTests();
const builder = new EventBuilder('tabled');
const run = builder.run('tabled');
const tree = builder.tree(run, 'planks');
const walks = [builder.walk(tree, 0, 3, 1), builder.walk(tree, 1, 2, 0.25)];
const tokens = { ids: pack('int32', [7, 8]), logProbs: pack('float32', [-0.5, -2]), mask: null };
builder.step(tree, null, tree.rootStepId, 1, { tokens });

let platform: Awaited<ReturnType<typeof openTestPlatform>>;
beforeAll(async () => {
  platform = await openTestPlatform();
  await givenEvents(platform.database.db, builder.events);
});
afterAll(async () => {
  await killRunning();
  await platform.close();
});

const table = (...args: readonly string[]) => runEspalier(['table', ...args], environmentOf(platform));
const path = (name: string) => join(platform.home, name);

/** Reads files by a script of Python; returns what it printed as JSON. @throws Error with what it said. */
function readBy(script: string, ...files: readonly string[]): Promise<unknown> {
  const python = found.kind === 'found' ? found.python : '';
  return new Promise((resolve, reject) => {
    execFile(python, ['-c', script, ...files], { timeout: 120_000 }, (error, stdout, stderr) =>
      error ? reject(new Error(stderr)) : resolve(JSON.parse(stdout)),
    );
  });
}

describe('espalier table', () => {
  test('a table is written whole once, and a file that is there is kept unless it is to be replaced', async () => {
    const out = path('kept.arrows');
    const written = await table('trajectories', '--out', out, '--where', `run=${run}`, '--json');
    expect([written.code, written.stderr]).toEqual([0, '']);
    const before = await readFile(out);
    expect(JSON.parse(written.stdout)).toMatchObject({ table: 'trajectories', out, bytes: before.length });
    const again = await table('trajectories', '--out', out);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining(out)]);
    expect((await readFile(out)).equals(before)).toBe(true);
    expect((await table('trajectories', '--out', out, '--where', 'limit=1', '--force')).code).toBe(0);
    expect((await stat(out)).size).toBeLessThan(before.length);
  });

  test.each([
    [['trees'], 'no table is named "trees"; there are trajectories, steps, rewards, samples, batches'],
    [['steps', '--where', 'sucess=true'], 'sucess'],
    [['trajectories', '--where', 'success'], '--where takes NAME=VALUE, not "success"'],
    [['trajectories', '--where', 'limit=1', '--where', 'limit=2'], '--where names limit twice'],
    [['trajectories', '--where', 'columns=nothing'], '"nothing" is no column of trajectories'],
  ])('%j is refused with what is wrong, and leaves no file', async (args, message) => {
    const { code, stderr } = await table(...args, '--out', path('refused.arrows'));
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    expect(await stat(path('refused.arrows')).catch(() => 'no file')).toBe('no file');
  });

  (found.kind === 'found' ? test : test.skip)(
    `pyarrow, pandas, polars and duckdb read the same rows and types of what it writes (${found.kind === 'found' ? found.versions : found.reason})`,
    async () => {
      const files = [path('trajectories.arrows'), path('steps.arrows')];
      for (const out of files)
        expect((await table(/(\w+)\.arrows$/.exec(out)?.[1] ?? '', '--out', out, '--where', `run=${run}`)).code).toBe(0);
      const read = await readBy(
        `
import json, sys, duckdb, polars, pyarrow as pa
trajectories, steps = (pa.ipc.open_stream(file).read_all() for file in sys.argv[1:])
frame, other = trajectories.to_pandas(), polars.read_ipc_stream(sys.argv[1]).sort("ordinal")
print(json.dumps({
    "pyarrow": [trajectories["rollout_id"].to_pylist(), trajectories["return"].to_pylist()],
    "pandas": [frame.sort_values("ordinal")["rollout_id"].tolist(), frame.sort_values("ordinal")["return"].tolist()],
    "polars": [other["rollout_id"].to_list(), other["return"].to_list()],
    "duckdb": [list(each) for each in zip(*duckdb.sql('select rollout_id, "return" from trajectories order by ordinal').fetchall())],
    "types": {name: str(trajectories.schema.field(name).type) for name in ("rollout_id", "return", "success", "finished_at")},
    "tokens": [ids for ids in polars.read_ipc_stream(sys.argv[2])["token_ids"].to_list() if ids],
    "steps": duckdb.sql("select count(*) from steps where depth > 0").fetchall()[0][0],
}))`,
        ...files,
      );
      const rows = [walks.map(({ rolloutId }) => rolloutId), [1, 0.25]];
      expect(read).toEqual({
        pyarrow: rows,
        pandas: rows,
        polars: rows,
        duckdb: rows,
        tokens: [[7, 8]],
        steps: 6,
        types: { rollout_id: 'string', return: 'double', success: 'bool', finished_at: 'timestamp[us, tz=UTC]' },
      });
    },
  );
});
