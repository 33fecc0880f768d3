import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '../events/new-id.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { holdAppends } from '../testing/hold-appends.ts';
import { useTestPlatform } from '../testing/use-test-platform.ts';
import { killRunning, runInProcess, startProcess } from '../testing/worker-process.ts';

afterEach(killRunning);
const platform = useTestPlatform({ opened: 'before-each', projector: 'none' });
let env: Readonly<Record<string, string>>;
beforeEach(() => {
  env = environmentOf(platform);
});

const SEARCH = ['--search', 'mcts', '--iterations', '2', '--candidates', '3', '--max-depth', '6'];
const COLLECT = ['collect', '--task', '1', '45', '--policy', 'planner:0.5', '--seed', '3', ...SEARCH];

interface Printed {
  readonly run: string;
  readonly state: string;
  readonly asked: number;
  readonly revisions: number;
}

async function collected(...more: readonly string[]): Promise<string> {
  const runId = newId();
  const { code, stderr } = await runInProcess([...COLLECT, ...more, '--run', runId], env);
  if (code !== 0) throw new Error(stderr);
  return runId;
}

/** How much of the mining of a run is durable in the log. */
async function recorded(runId: string): Promise<number> {
  const { rows } = await platform.database.pool.query<{ count: number }>(
    "select count(*) from log_records where convert_from(value, 'UTF8')::jsonb -> 'correlationId' = to_jsonb($1::text) and value::text ~ $2",
    [runId, Buffer.from('"reviser"').toString('hex')],
  );
  return Number(rows[0]?.count);
}

async function faults(): Promise<readonly unknown[]> {
  const { db } = platform.database;
  return [
    ...(await db.selectFrom('anomalies').selectAll().execute()),
    ...(await db.selectFrom('quarantine').selectAll().execute()),
  ];
}

describe('espalier revise', () => {
  test('a revise command killed with -9 is repeated and reaches the result of an undisturbed one', async () => {
    const whole = await runInProcess(['--json', 'revise', '--run', await collected()], env);
    const { run: _, ...expected } = JSON.parse(whole.stdout) as Printed; // as the command prints it
    expect(expected).toMatchObject({ state: 'completed', trees: 2 });
    const runId = await collected();
    const { db } = platform.database;
    const composed = async () =>
      (await db.selectFrom('revisions').select('revisionId').where('runId', '=', runId).execute()).length;
    const progressed: number[] = [];
    for (const after of [9, 60]) {
      const { rows } = await platform.database.pool.query<{ count: number }>('select count(*) from log_records');
      const appends = await holdAppends(platform, Number(rows[0]?.count) + after);
      const child = startProcess('src/cli/main.ts', ['revise', '--run', runId], env);
      await appends.held();
      progressed.push(await recorded(runId));
      child.kill('SIGKILL');
      expect(await child.ended).toBe('SIGKILL');
      await appends.release();
    }
    expect(progressed[0]).toBeGreaterThan(0);
    expect(progressed[1]).toBeGreaterThan(progressed[0] ?? 0);
    const again = await runInProcess(['--json', 'revise', '--run', runId], env);
    const revised = JSON.parse(again.stdout) as Printed; // as the command prints it
    expect(revised).toEqual({ ...expected, run: runId, asked: 0 }); // the other run asked the same things
    expect(await composed()).toBe(expected.revisions);
    expect(await faults()).toEqual([]);
  });

  test('a faithful revise killed with -9 leaves no file, and the same command writes the file of an undisturbed one', async () => {
    const runId = await collected('--compat', 'agent-r');
    const out = join(platform.home, 'rows.jsonl');
    const command = ['revise', '--run', runId, '--mode', 'faithful', '--judge', 'planner', '--out', out];
    const { rows } = await platform.database.pool.query<{ count: number }>('select count(*) from log_records');
    const appends = await holdAppends(platform, Number(rows[0]?.count) + 5);
    const child = startProcess('src/cli/main.ts', command, env);
    await appends.held();
    child.kill('SIGKILL');
    expect(await child.ended).toBe('SIGKILL');
    await appends.release();
    expect([existsSync(out), (await recorded(runId)) > 0]).toEqual([false, true]);
    const { code, stdout } = await runInProcess(command, env);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^run \S+ revised as published, completed: 2 of 2 trees, /)]);
    const first = readFileSync(out, 'utf8');
    const { revise, revise_log: log } = JSON.parse(first.split('\n')[0] ?? '');
    expect([revise, log[0], log[2].content]).toEqual([true, { role: 'system', content: 'You are a helpful assistant.' }, 'Ok.']);
    const again = await runInProcess(['--json', ...command, '--force'], env);
    expect(JSON.parse(again.stdout)).toMatchObject({ asked: 0, rows: first.trimEnd().split('\n').length });
    expect(readFileSync(out, 'utf8')).toBe(first);
    expect(await platform.database.db.selectFrom('revisions').selectAll().execute()).toEqual([]);
    expect(await faults()).toEqual([]);
  });

  test('revise prints its results, one subject per line', async () => {
    const { stdout, code } = await runInProcess(['revise', '--run', await collected(), '--judge', 'direct', '--no-verify'], env);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^run \S+ revised, completed: 2 of 2 trees\n {2}pairs {6}\d+ of \d+ good and \d+ bad trajectories\n/);
    expect(stdout).toContain('judged     0 steps (0 asked now): none\n');
    expect(stdout).toContain('verified   0; rejected: none\n');
  });

  test('revise refuses impossible thresholds and runs in one line with the remedy', async () => {
    const runId = await collected();
    await refuses([
      [
        ['--run', runId, '--alpha', '50'],
        /^espalier: alpha is 50; rewards are normalised, so it must be above 0 and at most 1\n$/,
      ],
      [['--run', runId, '--beta', 'much'], /^espalier: --beta takes a number from .*, not "much"\n$/],
      [['--run', newId()], /^espalier: there is no run [0-9a-f-]+; `espalier status` lists the runs\n$/],
      [['--run', 'it'], /^espalier: --run takes a run id, a UUID in lower case, not "it"\n$/],
    ]);
  });

  test('revise refuses unknown judges and environments in one line with the remedy', async () => {
    const runId = await collected();
    const gone = '{"kind":"openai","model":"m","baseUrl":"http://127.0.0.1:1/v1","attempts":1}';
    await refuses([
      [
        ['--run', runId, '--judge', 'self'],
        /^espalier: judge: the run's policy planner:0\.5 is no model that can be asked; .*\n$/,
      ],
      [
        ['--run', runId, '--judge', gone, '--no-verify'],
        /(^|\n)espalier: the model server at \S+ gave no answer .*; see that it runs.*\n$/,
      ],
      [['--run', runId, '--environment', 'chess'], /^espalier: there is no environment "chess"; name .*\n$/],
    ]);
  });
});

async function refuses(cases: readonly (readonly [readonly string[], RegExp])[]): Promise<void> {
  for (const [args, message] of cases) {
    const refused = await runInProcess(['revise', ...args], env);
    expect([args, refused.stderr]).toEqual([args, expect.stringMatching(message)]);
    expect(refused.code).toBe(1);
  }
  expect(await platform.database.db.selectFrom('revisions').selectAll().execute()).toEqual([]);
  expect(await faults()).toEqual([]);
}
