import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runAll } from '../../app/run-all.ts';
import { sha256Hex } from '../../digest/sha256.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import { unpack } from '../../events/packed.ts';
import type { Packed } from '../../events/schemas/values.ts';
import { tokensAsJson } from '../../projections/step-tree/token-bytes.ts';
import { readLedgers } from '../../projections/training-pool/read-ledger.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { SILENT } from '../../runtime/logger.ts';
import { PYTHON_PACKAGE } from '../../runtime/python-server.ts';
import { LOCAL, LOCAL_TOKEN } from '../../testing/local-token.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { consumersForTests } from '../../testing/python.ts';
import { type StartedServer, serveModel } from '../../training/backends/torch/serve-model.ts';
import { collect } from '../../usecases/collect/collect.ts';
import { exportTrajectories } from '../../usecases/datasets/export/export-trajectories.ts';
import { parseTrajectoryQuery } from '../../usecases/datasets/export/parse-trajectory-query.ts';

const found = await consumersForTests();
const python = found.kind === 'found' ? found.python : '';
const { signal } = new AbortController();
const GROUPS = 2;
const MEMBERS = 4;

/** A tiny Qwen2 of random weights plays three turns, and the examples train it with the packages of others. */
(found.kind === 'found' ? describe : describe.skip)(
  `training elsewhere (${found.kind === 'found' ? found.versions : `skipped: ${found.reason}`})`,
  () => {
    let platform: Awaited<ReturnType<typeof openTestPlatform>>;
    let server: Awaited<ReturnType<typeof runAll>>;
    let model: StartedServer;
    let folder: string;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'espalier-elsewhere-'));
      await run('-m', 'tests_consumers.tiny_model', join(folder, 'first'));
      platform = await openTestPlatform();
      server = await runAll(platform, SILENT);
      model = await serveModel({ python, folder, checkpoint: 'first', name: 'talker' });
    });
    afterAll(async () => {
      await model?.close();
      await server?.close();
      await platform?.close();
      await rm(folder, { recursive: true, force: true });
    });

    test.each([
      ['verl', 'train_with_verl.py', ['2']],
      ['TRL', 'train_with_trl.py', ['2', `${GROUPS}`, `${MEMBERS}`]],
    ])(
      '%s trains every sampled token of rollouts of three turns, and its versions are on record',
      async (name, example, more) => {
        await declare(name);
        const runId = await play(name, 2 * GROUPS);
        const out = join(folder, name);
        const said = await run(example, server.url, name, join(folder, 'first'), out, ...more);
        const sampled = await sampledTokens(runId);
        expect(sampled).toBeGreaterThan(2 * GROUPS * MEMBERS * 3);
        const counted = [...said.matchAll(/ (\d+) sampled tokens/g)].reduce((sum, [, count]) => sum + Number(count), 0);
        expect({ said, counted }).toEqual({ said, counted: sampled });
        await settle();
        const samples = 2 * GROUPS * MEMBERS;
        expect(await readLedgers(platform.database.db, [name])).toMatchObject([
          { produced: samples, trained: samples, difference: 0 },
        ]);
        const versions = await platform.database.db
          .selectFrom('policyVersions')
          .select(['version', 'weights', 'metrics'])
          .where('policyId', '=', name)
          .orderBy('version')
          .execute();
        expect(versions.map(({ version, weights }) => ({ version, weights }))).toEqual(
          await Promise.all(['../first', '1', '2'].map((place, version) => weightsOf(version, join(out, place)))),
        );
        const tokens = versions.map(({ metrics }) => metrics.own_tokens ?? 0);
        expect(tokens.reduce((sum, count) => sum + count, 0)).toBe(sampled);
        // before the first update the weights are those that sampled: so are the log-probs
        if (name === 'verl') expect(Math.abs(versions[1]?.metrics['actor/ppo_kl'] ?? 1)).toBeLessThan(1e-4);
        expect(new Set(versions.map(({ weights }) => weights)).size).toBe(3);
      },
      600_000,
    );

    test('the trainer of the tutorial trains a model, and killed before it acknowledges it has its batch back and trains it once', async () => {
      const { database } = platform;
      expect(
        await put('qwen', { estimator: { name: 'grpo' }, rules: { groupsPerBatch: GROUPS, maxStaleness: 1 } }),
      ).toMatchObject({
        kind: 'declared',
      });
      const home = join(folder, 'tutorial');
      await cp(join(folder, 'first'), join(home, 'versions/0'), { recursive: true });
      await play('qwen', 2 * GROUPS);
      const page = await readFile(
        fileURLToPath(new URL('../../../docs/tutorials/bring-your-own-trainer.md', import.meta.url)),
        'utf8',
      );
      const [, trainer = ''] = /^```python run\n([\s\S]*?)^```$/m.exec(page) ?? [];
      const train = (text: string) => runTrainer(home, text, server.url);
      const once = trainer.replace('updates=2', 'updates=1');
      expect(await train(once)).toEqual({ signal: null, stderr: '' });
      const killed = once.replace('    batch.ack(', '    import os; os.kill(os.getpid(), 9)\n    batch.ack(');
      expect((await train(killed)).signal).toBe('SIGKILL');
      const newest = () => database.db.selectFrom('policyVersions').select('version').where('policyId', '=', 'qwen').execute();
      await settle();
      expect(await newest()).toHaveLength(2);
      expect(await train(once)).toEqual({ signal: null, stderr: '' });
      await settle();
      const query =
        '{ policy(id: "qwen") { versions(first: 10) { edges { node { version weights metrics batch { ordinal } } } } } }';
      const asked = await fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...LOCAL },
        body: JSON.stringify({ query }),
      });
      const { data } = (await asked.json()) as GraphqlVersions;
      const versions = data.policy.versions.edges.map(({ node }) => node).sort((a, b) => a.version - b.version);
      expect(versions.map(({ version, batch }) => [version, batch?.ordinal ?? null])).toEqual([
        [0, null],
        [1, 0],
        [2, 1],
      ]);
      expect(new Set(versions.map(({ weights }) => weights)).size).toBe(3);
      for (const { version, weights, metrics } of versions) {
        expect(weights).toBe(sha256Hex(await readFile(join(home, `versions/${version}/model.safetensors`))));
        // of a first step that is on-policy every ratio is 1: the loss is the mean advantage of a token
        if (version > 0) expect(Math.abs(metrics.loss ?? Number.NaN)).toBeLessThan(1);
      }
      expect(await readLedgers(database.db, ['qwen'])).toMatchObject([
        { produced: 2 * GROUPS * MEMBERS, trained: 2 * GROUPS * MEMBERS, difference: 0 },
      ]);
    }, 600_000);

    test('TRL reads exported chats: of the format trl it trains the replies alone, of openai every token', async () => {
      await declare('exported');
      const runId = await play('exported', GROUPS);
      const { db } = platform.database;
      const own = { weights: 'own', metadata: 'omit' } as const;
      for (const kind of ['trl', 'openai'] as const)
        await exportTrajectories({
          db,
          blobs: platform.blobs,
          query: parseTrajectoryQuery({ runs: runId }),
          format: { kind, ...own },
          out: join(folder, `${kind}.jsonl`),
          existing: 'refuse',
          empty: 'refuse',
          codeVersion: 'test',
          waitMs: 60_000,
          signal,
          onProgress: () => undefined,
        });
      const said = await run('-m', 'tests_consumers.read_exports', folder, join(folder, 'first'));
      const found = JSON.parse(/^found (.*)$/m.exec(said)?.[1] ?? 'null');
      const steps = await stepsOf(runId);
      const replies = steps.reduce((sum, { response }) => sum + response.length + 1, 0); // a token for each sign, and the end
      expect(found.trl).toEqual({ rows: steps.length, tokens: replies });
      expect(found.openai.rows).toBe(GROUPS * MEMBERS);
      expect(found.openai.tokens).toBeGreaterThan(replies);
    }, 600_000);

    async function put(policyId: string, declaration: object): Promise<unknown> {
      const response = await fetch(`${server.url}/v1/training/policies/${policyId}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json', ...LOCAL },
        body: JSON.stringify(declaration),
      });
      return response.json();
    }

    /** Declares as the examples do, before there is anything to train on: the declaration that they repeat changes nothing. */
    async function declare(policyId: string): Promise<void> {
      const { weights } = await weightsOf(0, join(folder, 'first'));
      const response = await fetch(`${server.url}/v1/training/policies/${policyId}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json', ...LOCAL },
        body: JSON.stringify({ backend: policyId.toLowerCase(), weights, rules: { groupsPerBatch: GROUPS, maxStaleness: 1 } }),
      });
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('registered')]);
      await settle();
    }

    async function play(policyId: string, groups: number): Promise<string> {
      const runId = newId();
      await collect(platform, {
        runId,
        name: policyId,
        seed: 1,
        concurrency: 2,
        mode: 'new',
        signal,
        plan: {
          environment: `module:${fileURLToPath(new URL('../../testing/say-digits.ts', import.meta.url))}`,
          tasks: Array.from({ length: groups }, (_, i) => ({ alias: `${i + 1}`, rollouts: MEMBERS, branching: 'root' as const })),
          policy: JSON.stringify({
            kind: 'openai',
            baseUrl: model.url,
            model: 'talker',
            policyId,
            policyVersion: 0,
            maxTokens: 8,
          }),
          taskSeed: 0,
          temperature: 1,
          maxSteps: 3,
          search: null,
          training: { policyId, channel: 'train', mode: 'bounded', maxStaleness: 3, untilVersion: null },
        },
      });
      await settle();
      return runId;
    }

    async function settle(): Promise<void> {
      await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 60_000 });
    }

    /** Counts the tokens that the steps of a run recorded as sampled. */
    async function sampledTokens(runId: string): Promise<number> {
      // as the event's schema let them in
      return (await stepsOf(runId)).reduce(
        (sum, { tokens }) => sum + sampledOf(tokens as { readonly ids: Packed; readonly mask: Packed | null }),
        0,
      );
    }

    function stepsOf(runId: string) {
      return platform.database.db
        .selectFrom('steps')
        .innerJoin('trees', 'trees.treeId', 'steps.treeId')
        .select(['steps.response', tokensAsJson('steps').as('tokens')])
        .where('trees.runId', '=', runId)
        .where('steps.depth', '>', 0)
        .execute();
    }
  },
);

interface GraphqlVersions {
  readonly data: {
    readonly policy: {
      readonly versions: {
        readonly edges: readonly {
          readonly node: {
            readonly version: number;
            readonly weights: string;
            readonly metrics: Readonly<Record<string, number>>;
            readonly batch: { readonly ordinal: number } | null;
          };
        }[];
      };
    };
  };
}

/** Runs a trainer as a reader of the tutorial does: a file in a folder, with the server and its token in the environment. */
async function runTrainer(home: string, text: string, url: string): Promise<{ signal: string | null; stderr: string }> {
  await writeFile(join(home, 'train.py'), text);
  const env = { ...process.env, ESPALIER_URL: url, ESPALIER_TOKEN: LOCAL_TOKEN, PYTHONPATH: PYTHON_PACKAGE, HF_HUB_OFFLINE: '1' };
  const quiet = { CUDA_VISIBLE_DEVICES: '', TRANSFORMERS_VERBOSITY: 'error', HF_HUB_DISABLE_PROGRESS_BARS: '1' };
  return new Promise((resolve) => {
    execFile(
      python,
      ['-W', 'ignore', 'train.py'],
      { cwd: home, env: { ...env, ...quiet }, timeout: 300_000 },
      (error, _out, stderr) => {
        const failed = error && error.signal == null ? stderr.slice(-3_000) : '';
        resolve({ signal: error?.signal ?? null, stderr: failed });
      },
    );
  });
}

/** Without a mask all are the policy's own. */
function sampledOf({ ids, mask }: { readonly ids: Packed; readonly mask: Packed | null }): number {
  return mask === null ? ids.length : [...unpack(mask)].filter((m) => m === 1).length;
}

async function weightsOf(version: number, folder: string): Promise<{ readonly version: number; readonly weights: string }> {
  return { version, weights: sha256Hex(await readFile(join(folder, 'model.safetensors'))) };
}

/** Runs an example, or a module of the Python package, and returns what it says. @throws Error with its stderr tail. */
async function run(...args: readonly string[]): Promise<string> {
  const [first = ''] = args;
  const file = first === '-m' ? [] : [fileURLToPath(new URL(`../../../examples/${first}`, import.meta.url))];
  const env = {
    ...process.env,
    ESPALIER_TOKEN: LOCAL_TOKEN,
    PYTHONPATH: PYTHON_PACKAGE,
    HF_HUB_OFFLINE: '1',
    TRL_EXPERIMENTAL_SILENCE: '1',
    CUDA_VISIBLE_DEVICES: '',
  };
  return new Promise((resolve, reject) => {
    const command = ['-W', 'ignore', ...file, ...args.slice(file.length)];
    execFile(
      python,
      command,
      { cwd: PYTHON_PACKAGE, env, timeout: 500_000, maxBuffer: 16 * 2 ** 20 },
      (error, stdout, stderr) => {
        if (error) reject(new Error(`${args.join(' ')}: ${error.message}\n${stderr.slice(-3_000)}`));
        else resolve(stdout);
      },
    );
  });
}
