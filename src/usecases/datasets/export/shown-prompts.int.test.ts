import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TOPICS } from '../../../events/catalogue.ts';
import { newId } from '../../../events/new-id.ts';
import { waitUntilProjected } from '../../../projections/wait-until.ts';
import { type OpenAiServer, startOpenAiServer } from '../../../testing/openai-server.ts';
import { useTestPlatform } from '../../../testing/use-test-platform.ts';
import { collect } from '../../collect/collect.ts';
import type { PromptPlan } from '../../collect/prompting/prompt-plan.ts';
import { exportTrajectories } from './export-trajectories.ts';
import type { ExportFormat } from './formats.ts';
import { parseTrajectoryQuery } from './parse-trajectory-query.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
const STEPS = 4;
let folder: string;
let server: OpenAiServer;
/** A rollout whose prompts show its history as images. */
let pictured: Collected;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-shown-'));
  server = await startOpenAiServer({
    reply: ({ messages }) => {
      const factor = String(messages.at(-1)?.content).includes('<compression>') ? '<compression>1.5</compression>\n' : '';
      return `${factor}Thought: é🌳 ${messages.length}\nAction: inventory`;
    },
  });
  pictured = await collected(inImages);
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

interface SentPart {
  readonly type: 'text' | 'image_url';
  readonly text?: string;
  readonly image_url?: { readonly url: string };
}
interface Sent {
  readonly messages: readonly { readonly role: string; readonly content: string | readonly SentPart[] }[];
}

interface Collected {
  readonly runId: string;
  /** The requests that the server was sent, step by step. */
  readonly sent: readonly Sent[];
}

/** Collects one rollout. */
async function collected(prompt: PromptPlan | null): Promise<Collected> {
  const before = server.requests.length;
  const runId = newId();
  await collect(platform, {
    runId,
    name: 'shown',
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
      ...(prompt ? { prompt } : {}),
      policy: JSON.stringify({ kind: 'openai', baseUrl: server.url, model: 'stand-in' }),
    },
  });
  await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 20_000 });
  const sent: readonly Sent[] = server.requests.slice(before).map(({ text }) => JSON.parse(text));
  expect(sent).toHaveLength(STEPS);
  return { runId, sent };
}

const inImages: PromptPlan = {
  template: { name: 'textcraft', version: 1 },
  mode: 'image',
  historyLength: 50,
  image: { profile: 'crisp', vision: 'qwen2.5-vl', emptyHistory: 'no-image' },
  compression: { candidateFactor: 1.5, reward: 'factor', lambda: 0.01, mu: 0, every: 5, iteration: 1 },
  invalidPenalty: 0.1,
};
const inText: PromptPlan = { ...inImages, mode: 'text', image: null, compression: null };

async function exportTo(runId: string, format: ExportFormat): Promise<string> {
  const out = join(folder, `${newId()}.${format.kind}`);
  await exportTrajectories({
    db: platform.database.db,
    blobs: platform.blobs,
    query: parseTrajectoryQuery({ runs: runId }),
    format,
    out,
    existing: 'refuse',
    empty: 'refuse',
    codeVersion: 'test',
    waitMs: 5_000,
    signal: new AbortController().signal,
    onProgress: () => undefined,
  });
  return out;
}

// biome-ignore lint/suspicious/noExplicitAny: rows of files, read field by field
async function rows(runId: string, format: ExportFormat): Promise<readonly any[]> {
  const text = await readFile(await exportTo(runId, format), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

const partsOf = ({ messages }: Sent): readonly SentPart[] =>
  messages.flatMap(({ content }) => (typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content));
const textIn = (sent: Sent) =>
  partsOf(sent)
    .map(({ text = '' }) => text)
    .join('');
const pngIn = (sent: Sent) =>
  partsOf(sent).flatMap(({ image_url }) => (image_url ? [Buffer.from(image_url.url.split(',')[1] ?? '', 'base64')] : []));

test('chats for OpenAI hold the request of every step in parts, pictures inside, a row where no prompt goes on', async () => {
  const { runId, sent } = pictured;
  const lines = await rows(runId, { kind: 'openai', weights: 'own', metadata: 'include' });
  const inParts = (content: unknown) => (typeof content === 'string' ? [{ type: 'text', text: content }] : content);
  expect(lines.map(({ messages }) => messages.slice(0, -1))).toEqual(
    sent.map(({ messages }) => messages.map((message) => ({ ...message, content: inParts(message.content) }))),
  );
  for (const [i, { messages, metadata }] of lines.entries()) {
    const content = [{ type: 'text', text: expect.stringContaining('Thought: é🌳') }];
    expect(messages.at(-1)).toMatchObject({ role: 'assistant', weight: 1, content });
    expect(metadata).toMatchObject({ prompt: 'recorded', part: { index: i, of: STEPS, from: i, to: i + 1 } });
    expect(metadata.images?.map(({ factor }: { factor: number }) => factor)).toEqual(i === 0 ? [] : [1.5]);
  }
});

test.each(['trl', 'trl-grpo'] as const)(
  'rows of %s name each picture in a column, and the files next to them are the bytes that the model was sent',
  async (kind) => {
    const { runId, sent } = pictured;
    const out = await exportTo(
      runId,
      kind === 'trl' ? { kind, weights: 'own', metadata: 'omit' } : { kind, metadata: 'include' },
    );
    const lines = (await readFile(out, 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toHaveLength(STEPS);
    for (const [i, { prompt, completion, images, ...rest }] of lines.entries()) {
      const request = sent[i] as Sent;
      expect(prompt).toEqual([
        {
          role: 'user',
          content: partsOf(request).map(({ text }) => (text === undefined ? { type: 'image' } : { type: 'text', text })),
        },
      ]);
      expect(completion).toEqual([
        { role: 'assistant', content: [{ type: 'text', text: expect.stringContaining('Thought: é🌳') }] },
      ]);
      const files = await Promise.all(images.map((name: string) => readFile(join(folder, name))));
      expect(files.map((png) => png.toString('base64'))).toEqual(pngIn(request).map((png) => png.toString('base64')));
      expect(files).toHaveLength(i === 0 ? 0 : 1);
      if (kind === 'trl-grpo')
        expect(rest).toMatchObject({ trajectory: rest.metadata.trajectory, part: { index: i, of: STEPS } });
    }
  },
);

test('AgentTraj items mark each picture in the text and name its file', async () => {
  const { runId, sent } = pictured;
  const lines = await rows(runId, { kind: 'sharegpt', weights: 'own' });
  expect(lines.map(({ conversations }) => conversations[0])).toEqual(
    sent.map((request, i) => ({ from: 'human', loss: null, value: `${i === 0 ? '' : '<image>'}${textIn(request)}` })),
  );
  const files = await Promise.all(lines.flatMap(({ images }) => images).map((name: string) => readFile(join(folder, name))));
  expect(files.map((png) => png.toString('base64'))).toEqual(sent.flatMap(pngIn).map((png) => png.toString('base64')));
});

test('steps for verl and trajectories in Parquet hold texts, factors and the bytes of the pictures', async () => {
  const { runId, sent } = pictured;
  const pngs = sent.flatMap(pngIn).map((png) => png.toString('base64'));
  const steps = await parquet(
    await exportTo(runId, { kind: 'verl', layout: 'step' }),
    'select raw_prompt, prompt_source, image_factors, list_transform(images, x -> base64(x.bytes)) as images from FILE order by step_indices',
  );
  expect(steps).toEqual(
    sent.map((request, i) => ({
      raw_prompt: [{ role: 'user', content: `${i === 0 ? '' : '<image>'}${textIn(request)}` }],
      prompt_source: 'recorded',
      image_factors: i === 0 ? [] : [1.5],
      images: pngIn(request).map((png) => png.toString('base64')),
    })),
  );
  const [trajectory] = await parquet(
    await exportTo(runId, { kind: 'parquet', weights: 'own' }),
    'select list_transform(images, x -> base64(x.png)) as images, list_transform(steps, x -> x.prompt) as prompts from FILE',
  );
  expect(trajectory?.images).toEqual(pngs);
  expect(
    (trajectory!.prompts as { messages: { parts: { text: string | null }[] }[] }[]).map(
      ({ messages }) => messages.at(-1)?.parts.at(-1)?.text,
    ),
  ).toEqual(sent.map(textIn));
});

test('a templated prompt in text is the prompt of its rows, and xtuner holds it too', async () => {
  const { runId, sent } = await collected(inText);
  const lines = await rows(runId, { kind: 'openai', weights: 'own', metadata: 'omit' });
  expect(lines.map(({ messages }) => messages[0].content)).toEqual(sent.map(textIn));
  const turns = await rows(runId, { kind: 'xtuner', weights: 'own', metadata: 'omit' });
  expect(turns.map(({ conversation }) => conversation.map(({ input }: { input: string }) => input))).toEqual(
    sent.map((request) => [textIn(request)]),
  );
});

test('the chat of an environment stays one row, which says that its prompts are recorded', async () => {
  const { runId, sent } = await collected(null);
  const [line, ...others] = await rows(runId, { kind: 'openai', weights: 'own', metadata: 'include' });
  expect(others).toEqual([]);
  expect(line.messages.slice(0, -1).map(({ weight: _, ...message }: { weight?: number }) => message)).toEqual(
    sent.at(-1)?.messages,
  );
  expect(line.metadata).toMatchObject({ prompt: 'recorded', steps: STEPS });
  expect(line.metadata.part).toEqual({ index: 0, of: 1, from: 0, to: STEPS });
});

test('a format without a place for pictures refuses them and names one that has, and leaves no file', async () => {
  const { runId } = pictured;
  const before = await readdir(folder);
  await expect(exportTo(runId, { kind: 'xtuner', weights: 'own', metadata: 'omit' })).rejects.toThrow('export --format trl');
  expect(await readdir(folder)).toEqual(before);
});

test('a run that worded its prompts and does not hold them says so in its rows, and is refused where they cannot', async () => {
  const { runId } = await collected(inText);
  const { db } = platform.database;
  await db.deleteFrom('prompts').where('runId', '=', runId).execute();
  const [line] = await rows(runId, { kind: 'openai', weights: 'own', metadata: 'include' });
  expect(line.metadata.prompt).toBe('composed');
  await expect(rows(runId, { kind: 'openai', weights: 'own', metadata: 'omit' })).rejects.toThrow('export it with its metadata');
});

test('a prompt that differs from its digest ends the export with the step named', async () => {
  const { runId } = await collected(inText);
  const { db } = platform.database;
  const step = await db.selectFrom('prompts').select('stepId').where('runId', '=', runId).executeTakeFirstOrThrow();
  await db
    .updateTable('prompts')
    .set({ sha256: 'f'.repeat(64) })
    .where('stepId', '=', step.stepId)
    .execute();
  await expect(rows(runId, { kind: 'trl', weights: 'own', metadata: 'include' })).rejects.toThrow(step.stepId);
});

async function parquet(file: string, query: string): Promise<readonly Record<string, unknown>[]> {
  const duckdb = await DuckDBInstance.create(':memory:');
  const connection = await duckdb.connect();
  try {
    return (await connection.runAndReadAll(query.replace('FILE', `read_parquet('${file}')`))).getRowObjectsJson();
  } finally {
    connection.closeSync();
    duckdb.closeSync();
  }
}
