import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { PYTHON_PACKAGE } from '../runtime/python-server.ts';
import { until } from '../testing/until.ts';
import { trainers, useRecordedJobs } from './recorded-jobs-testing.ts';

const GUIDE = new URL('../../docs/guides/train-with-trl.md', import.meta.url);

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

(trainers.kind === 'found' ? describe : describe.skip)(
  `a training job of others (${trainers.kind === 'found' ? trainers.versions : `skipped: ${trainers.reason}`})`,
  () => {
    const jobs = useRecordedJobs();

    test('the job of the guide to TRL is on record: groups, tokens, rewards, advantages and weights', async () => {
      const home = jobs.home();
      await jobs.python(PYTHON_PACKAGE, '-m', 'tests_consumers.tiny_model', join(home, 'talker'));
      const blocks = [...(await readFile(GUIDE, 'utf8')).matchAll(/^```python[^\n]*\n([\s\S]*?)^```$/gm)].map(
        ([, block = '']) => block,
      );
      await jobs.python(
        home,
        '-c',
        blocks.find((block) => block.includes('EspalierCallback(trainer, run)')) ?? 'raise SystemExit(1)',
      );
      const recorded = async (): Promise<Recorded | undefined> =>
        (
          await jobs.ask(`{ runs(first: 1) { nodes { name outcome totals { trees closedTrees rollouts steps } metrics(name: "epoch", last: 10) { at weights }
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
  },
);
