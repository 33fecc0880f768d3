import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TOPICS } from '../../../events/catalogue.ts';
import { newId } from '../../../events/new-id.ts';
import { readDrift } from '../../../projections/prompts/read-drift.ts';
import { waitUntilProjected } from '../../../projections/wait-until.ts';
import { type OpenAiServer, startOpenAiServer, templatedIds } from '../../../testing/openai-server.ts';
import { useTestPlatform } from '../../../testing/use-test-platform.ts';
import { collect } from '../../collect/collect.ts';
import { exportTrajectories } from './export-trajectories.ts';
import { parseTrajectoryQuery } from './parse-trajectory-query.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
const STEPS = 4;
const servers: OpenAiServer[] = [];
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-collected-'));
});
afterAll(async () => {
  for (const server of servers) await server.close();
  await rm(folder, { recursive: true });
});

type PromptIds = NonNullable<Parameters<typeof startOpenAiServer>[0]['promptIds']>;

/** Collects one rollout from a server that returns token ids, and exports it. */
async function collected(promptIds: PromptIds) {
  const server = await startOpenAiServer({
    tokenIds: 'token_ids',
    promptIds,
    reply: ({ messages }) => `Thought: turn ${messages.length}, é🌳\nAction: get ${messages.length} stick`,
  });
  servers.push(server);
  const runId = newId();
  await collect(platform, {
    runId,
    name: 'tokens',
    seed: 1,
    concurrency: 1,
    signal: new AbortController().signal,
    mode: 'new',
    plan: {
      environment: 'textcraft',
      tasks: [{ alias: '0', rollouts: 1, branching: 'root' as const }],
      taskSeed: 0,
      temperature: 1,
      maxSteps: STEPS,
      search: null,
      policy: JSON.stringify({ kind: 'openai', baseUrl: server.url, model: 'stand-in' }),
    },
  });
  const { db } = platform.database;
  await waitUntilProjected(db, await platform.log.ends(TOPICS), { timeoutMs: 20_000 });
  const out = join(folder, runId);
  await exportTrajectories({
    db,
    blobs: platform.blobs,
    query: parseTrajectoryQuery({ runs: runId }),
    format: { kind: 'verl', layout: 'trajectory' },
    out,
    existing: 'refuse',
    empty: 'refuse',
    codeVersion: 'test',
    waitMs: 5_000,
    signal: new AbortController().signal,
    onProgress: () => undefined,
  });
  const asked = server.requests.map(({ text }) => promptIds(JSON.parse(text).messages));
  return { rows: await rowsOf(out), asked, drift: await readDrift(db, [runId]) };
}

interface Row {
  readonly prompts: number[];
  readonly responses: number[];
  readonly response_mask: number[];
  readonly rollout_log_probs: number[];
  readonly first_step: number;
  readonly __num_turns__: number;
  readonly tokenised: string;
}

async function rowsOf(file: string): Promise<readonly Row[]> {
  const duckdb = await DuckDBInstance.create(':memory:');
  const connection = await duckdb.connect();
  try {
    const found = await connection.runAndReadAll(`select * from read_parquet('${file}') order by cut_index`);
    return found.getRowObjectsJson() as unknown as Row[]; // the columns of the file
  } finally {
    connection.closeSync();
    duckdb.closeSync();
  }
}

test('a collected rollout of several steps is one row: the first prompt, and all that its server was asked and returned after it', async () => {
  const { rows, asked, drift } = await collected(templatedIds);
  expect(rows).toHaveLength(1);
  const [row] = rows as [Row];
  expect(row).toMatchObject({ prompts: asked[0], first_step: 0, __num_turns__: STEPS, tokenised: 'recorded' });
  const last = asked.at(-1) ?? [];
  expect([...row.prompts, ...row.responses].slice(0, last.length)).toEqual(last);
  expect(row.response_mask.lastIndexOf(1)).toBe(row.responses.length - 1);
  expect(row.rollout_log_probs.every((value, t) => (row.response_mask[t] === 1 ? value < 0 : value === 0))).toBe(true);
  expect(drift).toEqual([]);
});

test('a server that tokenises a reply in another way yields a row per cut, as many as its counted drift', async () => {
  const { rows, asked, drift } = await collected((messages) => {
    const ids = templatedIds(messages);
    return messages.length > 4 ? ids.map((id, i) => (i === 20 ? id + 1 : id)) : ids;
  });
  expect(rows.map(({ first_step, __num_turns__ }) => [first_step, __num_turns__])).toEqual([
    [0, 2],
    [2, 2],
  ]);
  expect(rows.map(({ prompts }) => prompts)).toEqual([asked[0], asked[2]]);
  expect(drift).toMatchObject([{ steps: rows.length - 1 }]);
});
