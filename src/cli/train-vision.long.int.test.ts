import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { serveApi } from '../app/serve-api.ts';
import { sha256Hex } from '../digest/sha256.ts';
import type { HttpServer } from '../http/server.ts';
import type { Platform } from '../platform/open-platform.ts';
import { readLedgers } from '../projections/training-pool/read-ledger.ts';
import { SILENT } from '../runtime/logger.ts';
import { PYTHON_PACKAGE } from '../runtime/python-server.ts';
import { countEvents, environmentOf } from '../testing/crashing-run.ts';
import { LOCAL } from '../testing/local-token.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { consumersForTests, pythonForTests } from '../testing/python.ts';
import { until } from '../testing/until.ts';
import { type ChildProcess, killRunning, runInProcess, startProcess } from '../testing/worker-process.ts';
import { writeTinyVision } from '../training/backends/torch/write-tiny-vision.ts';

const run = promisify(execFile);
type Home = Platform & { readonly home: string };

/** A text, or a picture by the SHA-256 of its PNG. */
type ShownPart = string | { readonly png: string };
interface Message {
  readonly role: string;
  readonly parts: readonly ShownPart[];
}
/** A step as the record has it. */
interface Shown {
  readonly stepId: string;
  readonly prompt: readonly Message[];
  readonly reply: string;
  readonly promptIds: readonly number[];
  readonly sampledIds: readonly number[];
}
/** A row of an exported file, as its consumer reads it. */
interface Read {
  readonly prompt: readonly Message[];
  readonly reply?: string;
  readonly step_ids?: readonly string[];
  readonly ids?: readonly number[];
  readonly prompts?: readonly number[];
  readonly responses?: readonly number[];
  readonly response_mask?: readonly number[];
  readonly tokenised?: string;
}

/** What `QUERY` returns, of a policy whose server returns token ids. */
interface Answered {
  readonly run: { readonly trees: { readonly nodes: readonly { readonly steps: readonly AnsweredStep[] }[] } };
}
interface AnsweredStep {
  readonly id: string;
  readonly response: string;
  readonly prompt: {
    readonly messages: readonly {
      readonly role: string;
      readonly parts: readonly { readonly text: string | null; readonly image: { readonly url: string } | null }[];
    }[];
    readonly tokens: { readonly ids: { readonly base64: string } };
    readonly answer: { readonly tokens: { readonly ids: { readonly base64: string } } };
  } | null;
}

const QUERY = `query ($id: ID!) { run(id: $id) { trees(first: 20) { nodes { steps(first: 20) { id response prompt {
  messages { role parts { text image { id url } } } tokens { ids { base64 } } answer { tokens { ids { base64 } } } } } } } } }`;

const torch = await pythonForTests();
const consumers = await consumersForTests();

const missing = [torch, consumers].flatMap((python) => (python.kind === 'none' ? [python.reason] : []));
if (torch.kind === 'found' && consumers.kind === 'found') {
  const pythons = { torch: torch.python, consumers: consumers.python };
  describe('a vision-language model that is trained on history images', () => testVisionTraining(pythons));
} else
  describe.skip(`a vision-language model (skipped: ${missing.join('; ')})`, () =>
    test('torch, verl and TRL are required', () => undefined));

/** @param pythons the interpreter of the torch backend, and the one that has verl and TRL. */
function testVisionTraining(pythons: { readonly torch: string; readonly consumers: string }): void {
  let platform: Home;
  let server: HttpServer | undefined;
  let env: Readonly<Record<string, string>>;
  let model: string;
  beforeAll(async () => {
    platform = await openTestPlatform();
    env = { ...environmentOf(platform), ESPALIER_PYTHON: pythons.torch };
    model = join(platform.home, 'tiny-vision');
    await writeTinyVision(pythons.torch, model);
  });
  afterAll(async () => {
    await killRunning();
    await server?.close();
    await platform?.close();
  });

  test('a training whose trainer, then whose model server is killed with -9 goes on, and trains every sample once', async () => {
    const command = [
      ...['train', '--policy', 'sees', '--backend', 'torch', '--model', model, '--environment', 'search-qa', '--prompt', 'image'],
      ...['--updates', '3', '--groups', '2', '--group', '2', '--max-steps', '3', '--max-tokens', '8', '--test-tasks', '0'],
      ...['--keep-zero-variance', '--entropy', '0.01', '--learning-rate', '0.001'],
    ];
    const trainer = startProcess('src/cli/main.ts', command, env);
    await trainer.saying(/version 1 of 3/, 300_000);
    trainer.kill('SIGKILL'); // with it its training process and its model server
    await trainer.ended;
    const again = startProcess('src/cli/main.ts', [...command, '--resume'], env);
    const first = await serverOf(again, []);
    const recorded = await countEvents(platform);
    await until(async () => (await countEvents(platform)) > recorded + 12); // more than groups open with: it answers
    process.kill(first, 'SIGKILL');
    await serverOf(again, [first]);
    expect([await again.ended, again.stderr()]).toEqual([0, expect.not.stringContaining('espalier:')]);
    expect(again.stdout()).toContain('policy sees is at version 3');
    const [ledger] = await readLedgers(platform.database.db, ['sees']);
    expect(ledger).toMatchObject({ produced: 12, trained: 12, difference: 0 });
  }, 600_000);

  test('the trained version is evaluated on the prompts that it was trained on', async () => {
    const asked = ['--prompt', 'image', '--environment', 'search-qa', '--tasks', '2', '--max-steps', '3'];
    const { code, stdout, stderr } = await runInProcess(['--json', 'evaluate', '--policy', 'live:sees', ...asked], env);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('espalier:')]);
    expect(JSON.parse(stdout)).toMatchObject({ policy: { policyId: 'sees', version: 3 }, episodes: 2 });
  });

  test('every row that verl, OpenAI and TRL read from the exports holds the prompt that was shown, pictures byte for byte', async () => {
    const { db } = platform.database;
    const runs = (await db.selectFrom('runs').select('runId').execute()).map(({ runId }) => runId);
    expect(runs).toHaveLength(2); // trained on, and evaluated
    const files = [
      ['verl.parquet', ['--format', 'verl']],
      ['steps.parquet', ['--format', 'verl', '--layout', 'step']],
      ['openai.jsonl', ['--format', 'openai', '--context', 'keep']],
      ['trl.jsonl', ['--format', 'trl']],
    ] as const;
    for (const [file, format] of files) {
      const command = ['export', '--run', runs.join(','), ...format, '--out', join(platform.home, file)];
      const { code, stderr } = await runInProcess(command, env);
      expect([file, code, stderr]).toEqual([file, 0, expect.not.stringContaining('espalier:')]);
    }
    server = await serveApi(platform, SILENT);
    const shown = (await Promise.all(runs.map((id) => shownIn(server?.url ?? '', id)))).flat();
    const pictured = shown.filter(({ prompt }) => prompt.some(({ parts }) => parts.some((part) => typeof part !== 'string')));
    expect(pictured.length).toBeGreaterThan(12);
    const read = await readBy(pythons.consumers, platform.home, model);

    const byId = new Map(shown.map((step) => [step.stepId, step]));
    const stepsIn = (rows: readonly Read[]) => rows.flatMap(({ step_ids }) => step_ids ?? []).sort();
    const everyStep = shown.map(({ stepId }) => stepId).sort();
    expect([stepsIn(read.steps), stepsIn(read.verl)]).toEqual([everyStep, everyStep]);
    for (const row of [...read.steps, ...read.verl])
      expect(chatOf(row.prompt)).toEqual(byId.get(row.step_ids?.[0] ?? '')?.prompt);
    for (const { step_ids: [stepId = ''] = [], ids, reply } of read.steps)
      expect({ ids, reply }).toEqual({ ids: byId.get(stepId)?.promptIds, reply: byId.get(stepId)?.reply });
    for (const { step_ids = [], prompts, responses = [], response_mask = [], tokenised } of read.verl) {
      const sampled = step_ids.flatMap((stepId) => byId.get(stepId)?.sampledIds ?? []);
      expect([prompts, tokenised]).toEqual([byId.get(step_ids[0] ?? '')?.promptIds, 'recorded']);
      expect(responses.filter((_, i) => response_mask[i] === 1)).toEqual(sampled);
    }
    // each prompt shows another picture than the one before: a row for every step
    const chats = inOrder(shown.map(({ prompt, reply }) => ({ prompt, reply })));
    for (const rows of [read.openai, read.trl])
      expect(inOrder(rows.map(({ prompt, reply }) => ({ prompt: chatOf(prompt), reply })))).toEqual(chats);
    const asked = inOrder(shown.map(({ prompt, promptIds }) => ({ prompt, promptIds })));
    expect(inOrder(read.trl.map(({ prompt, ids }) => ({ prompt: chatOf(prompt), promptIds: ids })))).toEqual(asked);
  }, 400_000);
}

/** Waits until a training has started a model server other than those. Returns its process id. */
async function serverOf({ pid }: ChildProcess, others: readonly number[]): Promise<number> {
  let found: number | undefined;
  await until(async () => {
    const { stdout } = await run('ps', ['-eo', 'pid=,ppid=,args=']);
    const lines = stdout.split('\n').map((line) => line.trim().split(/\s+/));
    const servers = lines.filter(([, parent, ...args]) => Number(parent) === pid && args.includes('espalier_rl.trainer.serve'));
    found = servers.map(([id]) => Number(id)).find((id) => !others.includes(id));
    return found !== undefined;
  });
  return found ?? 0;
}

/** Reads over HTTP what each step of a run was shown, pictures as they are served. */
async function shownIn(url: string, runId: string): Promise<readonly Shown[]> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...LOCAL },
    body: JSON.stringify({ query: QUERY, variables: { id: runId } }),
  });
  const { data, errors } = (await response.json()) as { readonly data: Answered; readonly errors?: unknown };
  expect(errors).toBeUndefined();
  const pictures = new Map<string, Promise<string>>();
  const pictureOf = async (image: { readonly url: string }): Promise<ShownPart> => {
    const { pathname } = new URL(image.url, url);
    const known = pictures.get(pathname) ?? fetchPicture(`${url}${pathname}`);
    pictures.set(pathname, known);
    return { png: await known };
  };
  const shown: Shown[] = [];
  for (const { steps } of data.run.trees.nodes)
    for (const { id, response: reply, prompt } of steps) {
      if (prompt === null) continue; // the root: nobody was asked
      const messages: Message[] = [];
      for (const { role, parts } of prompt.messages)
        messages.push({
          role,
          parts: await Promise.all(parts.map(({ text, image }) => (image ? pictureOf(image) : (text ?? '')))),
        });
      const [promptIds, sampledIds] = [idsIn(prompt.tokens.ids), idsIn(prompt.answer.tokens.ids)];
      shown.push({ stepId: id, prompt: chatOf(messages), reply, promptIds, sampledIds });
    }
  return shown;
}

function idsIn({ base64 }: { readonly base64: string }): readonly number[] {
  const bytes = Buffer.from(base64, 'base64');
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readInt32LE(4 * i));
}

async function fetchPicture(url: string): Promise<string> {
  const response = await fetch(url, { headers: LOCAL });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png']);
  return sha256Hex(Buffer.from(await response.arrayBuffer()));
}

/** Two texts side by side are one: formats part them where they please. */
function chatOf(messages: readonly Message[]): readonly Message[] {
  return messages.map(({ role, parts }) => {
    const joined: ShownPart[] = [];
    for (const part of parts) {
      const last = joined.at(-1);
      if (typeof part === 'string' && typeof last === 'string') joined[joined.length - 1] = last + part;
      else joined.push(part);
    }
    return { role, parts: joined };
  });
}

function inOrder<T>(rows: readonly T[]): readonly T[] {
  const key = (row: T) => JSON.stringify(row);
  return [...rows].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** Reads the files of a folder with the packages that are to read them. */
async function readBy(python: string, folder: string, model: string) {
  const own = { PYTHONPATH: PYTHON_PACKAGE, HF_HUB_OFFLINE: '1', HF_HOME: join(folder, 'huggingface'), CUDA_VISIBLE_DEVICES: '' };
  const command = ['-W', 'ignore', '-m', 'tests_consumers.read_shown', folder, model];
  const options = { cwd: PYTHON_PACKAGE, env: { ...process.env, ...own }, timeout: 300_000, maxBuffer: 64 * 2 ** 20 };
  const { stdout } = await run(python, command, options);
  const found = /^found (.*)$/m.exec(stdout)?.[1] ?? 'null';
  return JSON.parse(found) as Readonly<Record<'verl' | 'steps' | 'openai' | 'trl', readonly Read[]>>;
}
