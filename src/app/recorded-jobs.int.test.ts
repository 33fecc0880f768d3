import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { SILENT } from '../runtime/logger.ts';
import { PYTHON_PACKAGE } from '../runtime/python-server.ts';
import { LOCAL } from '../testing/local-token.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { consumersForTests } from '../testing/python.ts';
import { until } from '../testing/until.ts';
import { runAll } from './run-all.ts';

const found = await consumersForTests();
const GUIDE = fileURLToPath(new URL('../../docs/guides/train-with-trl.md', import.meta.url));

interface Recorded {
  readonly totals: { readonly closedTrees: number };
  readonly metrics: readonly { readonly at: number; readonly weights: string | null }[];
  readonly trees: {
    readonly nodes: readonly {
      readonly plannedRollouts: number;
      readonly rollouts: readonly {
        readonly policy: { readonly id: string; readonly version: number };
        readonly rewards: readonly { readonly component: string }[];
        readonly annotations: readonly { readonly label: string | null; readonly score: number | null }[];
      }[];
    }[];
  };
}

(found.kind === 'found' ? describe : describe.skip)(
  `a training job of others (${found.kind === 'found' ? found.versions : `skipped: ${found.reason}`})`,
  () => {
    let platform: Awaited<ReturnType<typeof openTestPlatform>>;
    let server: Awaited<ReturnType<typeof runAll>>;
    beforeAll(async () => {
      platform = await openTestPlatform();
      server = await runAll(platform, SILENT);
    });
    afterAll(async () => {
      await server.close();
      await platform.close();
    });

    test('the job of the guide to TRL is on record: groups, tokens, rewards, advantages and weights', async () => {
      const { home } = platform;
      await python(PYTHON_PACKAGE, '-m', 'tests_consumers.tiny_model', join(home, 'talker'));
      const blocks = [...(await readFile(GUIDE, 'utf8')).matchAll(/^```python\n([\s\S]*?)^```$/gm)].map(
        ([, block = '']) => block,
      );
      await python(home, '-c', blocks.find((block) => block.includes('EspalierCallback(trainer, run)')) ?? 'raise SystemExit(1)');
      const recorded = async (): Promise<Recorded | undefined> =>
        (
          await ask(`{ runs(first: 1) { nodes { name outcome totals { trees closedTrees rollouts steps } metrics(name: "epoch", last: 10) { at weights }
            trees(first: 4) { nodes { plannedRollouts rollouts { policy { id version } rewards { component } annotations { label score } } } } } } }`)
        ).runs.nodes[0];
      await until(async () => (await recorded())?.totals.closedTrees === 4); // the server closes a group when its members have ended
      const run = await recorded();
      expect(run).toMatchObject({ name: 'digits', outcome: 'completed', totals: { trees: 4, rollouts: 16, steps: 16 } });
      expect(run?.metrics.map(({ at }) => at)).toEqual([0, 1, 2]);
      expect(new Set(run?.metrics.map(({ weights }) => weights)).size).toBe(3);
      const trees = run?.trees.nodes ?? [];
      const rollouts = trees.flatMap((tree) => tree.rollouts);
      expect(trees.map(({ plannedRollouts }) => plannedRollouts)).toEqual([4, 4, 4, 4]);
      expect(rollouts.map(({ policy }) => `${policy.id}@${policy.version}`).sort()).toEqual([
        ...Array<string>(8).fill('talker@0'),
        ...Array<string>(8).fill('talker@1'),
      ]);
      for (const { rewards, annotations } of rollouts) {
        expect(rewards.map(({ component }) => component).sort()).toEqual(['digits', 'letters']);
        expect(annotations).toEqual([{ label: 'advantage', score: expect.any(Number) }]);
      }
    }, 240_000);

    async function python(cwd: string, ...args: readonly string[]): Promise<void> {
      const env = {
        ...process.env,
        ...{ ESPALIER_HOME: platform.home, ESPALIER_URL: server.url, ESPALIER_SPOOL: join(platform.home, 'spool') },
        ...{ PYTHONPATH: PYTHON_PACKAGE, HF_HUB_OFFLINE: '1', TRL_EXPERIMENTAL_SILENCE: '1' },
      };
      const interpreter = found.kind === 'found' ? found.python : '';
      const said = await new Promise<string>((resolve) => {
        execFile(interpreter, ['-W', 'ignore', ...args], { cwd, env, maxBuffer: 16 * 2 ** 20 }, (error, _, stderr) =>
          resolve(error === null ? '' : stderr.slice(-4_000)),
        );
      });
      expect(said).toBe('');
    }

    async function ask(query: string) {
      const answer = await fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...LOCAL },
        body: JSON.stringify({ query }),
      });
      const { data, errors } = await answer.json();
      expect(errors).toBeUndefined();
      return data;
    }
  },
);
