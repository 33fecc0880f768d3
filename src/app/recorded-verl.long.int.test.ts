import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { PYTHON_PACKAGE } from '../runtime/python-server.ts';
import { trainers, useRecordedJobs } from './recorded-jobs-testing.ts';

const GUIDE = new URL('../../docs/guides/train-with-verl.md', import.meta.url);

/** Each starts ray, whose workers import torch: minutes on two cores. */
(trainers.kind === 'found' ? describe : describe.skip)(
  `a job of verl (${trainers.kind === 'found' ? trainers.versions : `skipped: ${trainers.reason}`})`,
  () => {
    const jobs = useRecordedJobs();

    test('the line of the guide to verl has a job on record: an export has its tokens, masks, log-probs and rewards', async () => {
      const [, manager = ''] = /agent_loop_manager_class=(\S+)/.exec(await readFile(GUIDE, 'utf8')) ?? [];
      await jobs.python(PYTHON_PACKAGE, '-m', 'tests_consumers.verl_job', join(jobs.home(), 'verl'), manager); // compares the export
      const { nodes } = (
        await jobs.ask(`{ runs(first: 1) { nodes { name outcome totals { rollouts steps } metrics(name: "actor/pg_loss", last: 9) { at value }
          trees(first: 9) { nodes { task { split } plannedRollouts rollouts { policy { id version } rewards { component } } } } } } }`)
      ).runs;
      expect(nodes[0]).toMatchObject({ name: 'talks', outcome: 'completed', totals: { rollouts: 10, steps: 14 } });
      expect(nodes[0].metrics).toEqual([
        { at: 1, value: 0.5 },
        { at: 2, value: 0.25 },
      ]);
      const trees: { task: { split: string }; plannedRollouts: number; rollouts: { policy: object; rewards: object[] }[] }[] =
        nodes[0].trees.nodes;
      expect(trees.map(({ task }) => task.split).sort()).toEqual(['train', 'train', 'train', 'train', 'validation']);
      for (const { plannedRollouts, rollouts } of trees) {
        expect(rollouts).toEqual(
          Array(plannedRollouts).fill({ policy: { id: 'talks', version: 6 }, rewards: [{ component: 'score' }] }),
        );
      }
    }, 900_000);

    test("what is on record of verl's agent loops is what its batch has", async () => {
      await jobs.python(PYTHON_PACKAGE, '-m', 'unittest', 'tests_consumers.long_verl_recording');
    }, 900_000);
  },
);
