import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '../events/new-id.ts';
import type { Platform } from '../platform/open-platform.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { holdAppends } from '../testing/hold-appends.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { killRunning, runEspalier, startProcess } from '../testing/worker-process.ts';
import { manifestPath } from '../usecases/datasets/export/manifest.ts';

let platform: Platform & { readonly home: string };
let env: Readonly<Record<string, string>>;
let runId: string;
beforeAll(async () => {
  platform = await openTestPlatform();
  env = environmentOf(platform);
  runId = newId();
  const search = ['--search', 'mcts', '--iterations', '2', '--candidates', '3', '--max-depth', '6'];
  await done('collect', '--task', '1', '45', '--policy', 'planner:0.5', '--seed', '3', ...search, '--run', runId);
  await done('revise', '--run', runId);
});
afterAll(async () => {
  await killRunning();
  await platform.close();
});

const file = (name: string) => join(platform.home, name);

async function done(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runEspalier(args, env);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

interface Released {
  readonly kind: string;
  readonly dataset: {
    readonly name: string;
    readonly version: number;
    readonly sha256: string;
    readonly runs: readonly string[];
  };
}
async function release(name: string, out: string): Promise<Released> {
  return JSON.parse(await done('--json', 'dataset', 'release', '--name', name, '--run', runId, '--out', file(out)));
}

async function faults(): Promise<readonly unknown[]> {
  const { db } = platform.database;
  const anomalies = await db.selectFrom('anomalies').selectAll().execute();
  return [...anomalies, ...(await db.selectFrom('quarantine').selectAll().execute())];
}

describe('espalier dataset', () => {
  test('a release killed with -9 before its event is durable becomes one release of the same digest when repeated', async () => {
    const whole = await release('whole', 'whole.jsonl');
    expect(whole).toMatchObject({ kind: 'released', dataset: { version: 1, runs: [runId] } });
    // The run has a task of the test split; no line of the release is of it.
    const splits = await platform.database.db.selectFrom('trees').select('split').where('runId', '=', runId).execute();
    expect(splits.map(({ split }) => split).sort()).toEqual(['test', 'train']);
    const lines = readFileSync(file('whole.jsonl'), 'utf8').trimEnd().split('\n');
    expect(new Set(lines.map((line) => JSON.parse(line).metadata.task.split))).toEqual(new Set(['train']));
    const { rows } = await platform.database.pool.query<{ count: number }>('select count(*) from log_records');
    const appends = await holdAppends(platform, Number(rows[0]?.count));
    const args = ['dataset', 'release', '--name', 'killed', '--run', runId, '--out', file('killed.jsonl')];
    const child = startProcess('src/cli/main.ts', args, env);
    await appends.held();
    child.kill('SIGKILL');
    expect(await child.ended).toBe('SIGKILL');
    await appends.release();
    const again = await release('killed', 'killed.jsonl');
    expect(again.dataset).toMatchObject({ name: 'killed', version: 1, sha256: whole.dataset.sha256 });
    expect(readFileSync(file('killed.jsonl'))).toEqual(readFileSync(file('whole.jsonl')));
    const listed: Released['dataset'][] = JSON.parse(await done('--json', 'dataset', 'list'));
    expect(listed.map(({ name, version }) => `${name}@${version}`)).toEqual(['killed@1', 'whole@1']);
    expect(await faults()).toEqual([]);
  });

  test('a dataset is withdrawn by its name, and the same content is refused from then on', async () => {
    await release('stale', 'stale.jsonl');
    expect(await done('dataset', 'withdraw', 'stale@1', '--reason', 'a leak')).toContain('stale@1 is withdrawn: a leak');
    const refused = await runEspalier(
      ['dataset', 'release', '--name', 'stale', '--run', runId, '--out', file('again.jsonl')],
      env,
    );
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('was withdrawn: a leak');
  });
});

describe('espalier export of mined examples', () => {
  test.each([
    [
      'agent-r',
      'both',
      ['metadata', 'high_log', 'low_log', 'revise', 'revise_feedback', 'revise_log', 'task_description', 'task_num'],
    ],
    ['dpo', 'pairs', ['chosen', 'metadata', 'prompt', 'rejected']],
  ])('a %s export of %s writes its rows', async (format, data, keys) => {
    const out = file(`${format}.jsonl`);
    await done('export', '--format', format, '--data', data, '--run', runId, '--out', out);
    const lines = readFileSync(out, 'utf8').trimEnd().split('\n');
    expect(Object.keys(JSON.parse(lines.at(-1) ?? '')).sort()).toEqual([...keys].sort());
    expect(JSON.parse(readFileSync(manifestPath(out), 'utf8'))).toMatchObject({
      format: { kind: format },
      counts: { lines: lines.length },
    });
  });

  test('data that a format cannot express is refused in one line, and no file is created', async () => {
    const { code, stderr } = await runEspalier(
      ['export', '--format', 'dpo', '--data', 'both', '--out', file('never.jsonl')],
      env,
    );
    expect(code).toBe(1);
    expect(stderr.trimEnd()).toBe(
      'espalier: dpo compares a good with a bad trajectory; take the data pairs or revisions, not both',
    );
    expect(existsSync(file('never.jsonl'))).toBe(false);
  });
});

test('espalier import reads a search tree of the published program, and pairs are mined from it', async () => {
  const source = file('search_results_7.json');
  copyFileSync(new URL('../usecases/datasets/import/fixtures/search_results_7.json', import.meta.url), source);
  const report = JSON.parse(await done('--json', 'import', source, '--environment', 'textcraft')) as {
    runs: string[];
    trees: number;
  };
  expect(report).toMatchObject({ source: 'agent-r', trees: 1, rollouts: 7, steps: 12 });
  await done('export', '--format', 'dpo', '--run', report.runs[0] ?? '', '--out', file('pairs.jsonl'));
  const rows = readFileSync(file('pairs.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(rows.map(({ chosen, rejected }) => [chosen[0].content, rejected[0].content])).toEqual([
    ['Thought: r\nAction: y', 'Thought: s\nAction: w'],
    ['Thought: p\nAction: x', 'Thought: q\nAction: z'],
  ]);
});

test('an import of a file of others names, on stderr and in --json, what it does not keep, and one of events names nothing', async () => {
  const [chat, events] = [file('chat.json'), file('events.jsonl')];
  writeFileSync(chat, '{"messages":[{"role":"user","content":"1+1?"},{"role":"assistant","content":"2"}]}\n');
  const imported = await runEspalier(['import', chat], env);
  expect(imported.stdout).toContain('1 trees, 1 rollouts, 1 steps');
  expect(imported.stderr).toContain('note: not kept, where the file was made of a record: token ids, rewards of single steps');
  expect((await runEspalier(['export', '--run', runId, '--format', 'jsonl', '--out', events], env)).code).toBe(0);
  const noted = file('noted.jsonl');
  const messages = [
    { role: 'user', content: '1+2?' },
    { role: 'assistant', content: '3' },
  ];
  writeFileSync(noted, `${JSON.stringify({ messages, source: 'a forum' })}\n`);
  const { code, stderr } = await runEspalier(['import', noted], env);
  expect([code, stderr]).toEqual([0, expect.stringContaining('note: 1 row (line 1): source is not read and not kept')]);
  const { notes } = JSON.parse(await done('--json', 'import', noted));
  expect(notes).toMatchObject([{ kind: 'field-not-read', field: 'source', rows: 1, firstLine: 1 }]);
  expect((await runEspalier(['import', events], env)).stderr).not.toContain('not kept');
});

test('an export for OpenAI names once, on stderr, the trainers that ignore its weights, and no other format does', async () => {
  const exported = (format: string) =>
    runEspalier(['export', '--run', runId, '--format', format, '--context', 'keep', '--out', file(`hint.${format}`)], env);
  const openai = await exported('openai');
  expect(openai.code).toBe(0);
  expect(openai.stderr.match(/TRL, verl, LLaMA-Factory and torchtune ignore it/g)).toHaveLength(1);
  expect(openai.stdout).not.toContain('ignore it');
  expect((await exported('trl')).stderr).not.toContain('ignore it');
});
