import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { TOPICS } from '../events/catalogue.ts';
import { newId } from '../events/new-id.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { type OpenAiServer, startOpenAiServer } from '../testing/openai-server.ts';
import { tablesWith } from '../testing/secret-run.ts';
import { useTestPlatform } from '../testing/use-test-platform.ts';
import { killRunning, runEspalier } from '../testing/worker-process.ts';

const KEY = 'sk-known-to-the-server-alone';
const platform = useTestPlatform({ opened: 'once', projector: 'running' });
let server: OpenAiServer;
beforeAll(async () => {
  server = await startOpenAiServer({ apiKey: KEY, reply: () => 'Thought: I look.\nAction: inventory' });
});
afterAll(async () => {
  await server.close();
  await killRunning();
});

const collecting = (...more: string[]) => ['collect', '--tasks', '1', '--rollouts', '2', '--max-steps', '2', ...more];
const addressed = () => `openai:stand-in@${server.url.replace('//', '//secret:MODEL@')}`;

test('a key that is given by name reaches the server, and neither the record, nor the database, the folder or the output', async () => {
  const env = { ...environmentOf(platform), ESPALIER_SECRET_MODEL: KEY };
  const runId = newId();
  server.fail({ kind: 'body', body: `no JSON, and the key: ${KEY}` });
  const collected = await runEspalier(collecting('--policy', addressed(), '--run', runId, '--concurrency', '1'), env);
  expect(collected.stderr).not.toContain('espalier: ');
  await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 60_000 });
  const { db } = platform.database;
  const { rows } = await sql<{ reason: string | null }>`select reason from rollouts where run_id = ${runId}`.execute(db);
  expect(rows.map(({ reason }) => reason?.includes('the key: secret:MODEL')).filter((named) => named)).toEqual([true]);
  expect(server.requests.filter(({ headers }) => headers.authorization !== `Bearer ${KEY}`)).toEqual([]);
  const steps = await sql<{ count: number }>`
    select count(*)::int as count from steps join trees using (tree_id) where run_id = ${runId} and depth > 0`.execute(db);
  expect(steps.rows).toEqual([{ count: 2 }]);

  // a server that repeats the key in what it refuses ends a run
  server.fail({ kind: 'status', status: 403, body: JSON.stringify({ error: { message: `no access for ${KEY}` } }) });
  const refused = await runEspalier(collecting('--policy', addressed()), env);
  expect(refused.stderr).toContain('no access for secret:MODEL');

  const status = await runEspalier(['status', '--json'], env);
  expect(status.stdout).toContain(runId);
  for (const said of [collected, refused, status]) expect(said.stdout + said.stderr).not.toContain(KEY);
  expect(await tablesWith(platform.database.db, KEY)).toEqual([]);
  const inLog = expect.stringMatching(/^public\.log_records$/);
  expect(await tablesWith(platform.database.db, 'secret:MODEL@')).toEqual(expect.arrayContaining([inLog]));
  expect(await filesWith(KEY)).toEqual([]);
});

test('a key by name in the field apiKey comes before OPENAI_API_KEY, which that server does not see', async () => {
  const env = { ...environmentOf(platform), ESPALIER_SECRET_MODEL: KEY, OPENAI_API_KEY: 'sk-of-another-server' };
  const policy = JSON.stringify({ kind: 'openai', model: 'stand-in', baseUrl: server.url, apiKey: 'secret:MODEL' });
  const before = server.requests.length;
  expect(await runEspalier(collecting('--policy', policy), env)).toMatchObject({ code: 0 });
  const keys = new Set(server.requests.slice(before).map(({ headers }) => headers.authorization));
  expect([...keys]).toEqual([`Bearer ${KEY}`]);
});

test('a secret that is missing is one error with the remedy, before anything is recorded', async () => {
  const ends = JSON.stringify(await platform.log.ends(TOPICS));
  const { code, stdout, stderr } = await runEspalier(collecting('--policy', addressed()), environmentOf(platform));
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toBe(
    'espalier: the secret MODEL is missing; set ESPALIER_SECRET_MODEL, or write it to the file secrets/MODEL in ESPALIER_HOME with mode 600\n',
  );
  expect(JSON.stringify(await platform.log.ends(TOPICS))).toBe(ends);
});

async function filesWith(text: string): Promise<readonly string[]> {
  const entries = await readdir(platform.home, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const held = await Promise.all(files.map(async (file) => (await readFile(file)).includes(text)));
  return files.filter((_, i) => held[i]);
}
