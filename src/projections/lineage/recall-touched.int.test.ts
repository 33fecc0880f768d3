import { describe, expect, test } from '@jest/globals';
import type { Envelope } from '../../events/envelope.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { recordWeb, WEB_SCORERS } from '../../testing/record-web.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { type RecallRequest, seedOf } from './recall-seeds.ts';
import { readTouched } from './recall-touched.ts';

/** A label is recalled by annotations alone, which the scan does not read. */
type Scanned = Exclude<RecallRequest, { kind: 'label' }>;

const database = useTestDatabase({ emptied: 'before-each' });

describe('recall compared with a scan of the journal', () => {
  test.each([1, 2, 3, 4, 5, 6])('the recall of random record %j lists what a scan of the journal finds', async (seed) => {
    const { db } = database;
    const builder = new EventBuilder(`web ${seed}`);
    const { trees, runs } = recordWeb(builder, seed);
    await givenEvents(db, builder.events);
    const journal = await db.selectFrom('events').select('body').execute();
    const events = journal.map(({ body }) => JSON.parse(body) as Envelope); // what the journal holds was decoded once
    expect(events).toHaveLength(builder.events.length); // no event was quarantined

    const asked: Scanned[] = [
      ...WEB_SCORERS.map(({ name, revision }) => ({ kind: 'scorer', name, revision }) as const),
      { kind: 'scorer', name: 'judge', revision: null },
      ...trees.flatMap(({ rolloutIds }) => rolloutIds.map((rolloutId) => ({ kind: 'trajectory', rolloutId }) as const)),
      ...runs.map((runId) => ({ kind: 'run', runId }) as const),
      ...events.flatMap((event, i) =>
        event.type === 'StepTaken' && i % 7 === 0 ? [{ kind: 'step', stepId: event.data.stepId } as const] : [],
      ),
      ...['w', 'x', 'y', 'z'].map((name) => ({ kind: 'task', taskId: builder.id('task', name) }) as const),
    ];
    const sizes = new Set<number>();
    for (const each of asked) {
      const { datasets, batches, versions, evaluations, rollouts } = await readTouched(db, await seedOf(db, each));
      const found = {
        rollouts,
        datasets: datasets.map(({ datasetId, examples }) => `${datasetId} ${examples ?? 'not recorded'}`).sort(),
        batches: batches.map(({ batchId, samples }) => `${batchId} ${samples}`).sort(),
        versions: versions.map(({ policyId, version }) => `${policyId}@${version}`).sort(),
        evaluations: evaluations.map(({ runId }) => runId).sort(),
      };
      expect({ each, found }).toEqual({ each, found: scan(events, each) });
      sizes.add(batches.length + versions.length);
    }
    expect(sizes.size).toBeGreaterThan(2); // what is touched depends on what is asked
  });
});

test('an unknown id is refused by name', async () => {
  const { db } = database;
  const builder = new EventBuilder('refused');
  recordWeb(builder, 1);
  await givenEvents(db, builder.events);
  await expect(seedOf(db, { kind: 'scorer', name: 'judge', revision: '3' })).rejects.toThrow(
    'no reward was given by judge@3; those on record are by environment@1, judge@1, judge@2',
  );
  const nobody = '00000000-0000-4000-8000-000000000000';
  await expect(seedOf(db, { kind: 'trajectory', rolloutId: nobody })).rejects.toThrow(`there is no rollout ${nobody}`);
});

/** The same question, answered by reading every event and nothing else. */
function scan(events: readonly Envelope[], asked: Scanned) {
  const of = <T extends Envelope['type']>(type: T) =>
    events.filter((event): event is Envelope<T> & Envelope => event.type === type).map(({ data }) => data as Envelope<T>['data']);
  const parents = new Map(of('StepTaken').map(({ stepId, parentStepId }) => [stepId, parentStepId]));
  const taker = new Map(of('StepTaken').map(({ stepId, rolloutId }) => [stepId, rolloutId]));
  const paths = new Map<string, Set<string>>();
  for (const { rolloutId, leafStepId } of of('RolloutFinished')) {
    const path = new Set<string>();
    for (let id: string | undefined = leafStepId; id !== undefined; id = parents.get(id)) path.add(id);
    paths.set(rolloutId, path);
  }
  const taskOf = new Map(of('TreeOpened').map(({ treeId, task }) => [treeId, task.taskId]));
  const runOf = new Map(of('TreeOpened').map(({ treeId, runId }) => [treeId, runId]));
  const treeOf = new Map(of('RolloutStarted').map(({ rolloutId, treeId }) => [rolloutId, treeId]));
  const runOfRollout = (rolloutId: string) => runOf.get(treeOf.get(rolloutId) ?? '') ?? '';
  const judgements = [...of('RewardAssigned'), ...of('RewardRevised')];
  const placeOf = new Map(of('RewardAssigned').map(({ rewardId, stepId, rolloutId }) => [rewardId, { stepId, rolloutId }]));

  const isSeed = (rolloutId: string, path: ReadonlySet<string>): boolean => {
    switch (asked.kind) {
      case 'run':
        return runOfRollout(rolloutId) === asked.runId;
      case 'task':
        return taskOf.get(treeOf.get(rolloutId) ?? '') === asked.taskId;
      case 'step':
        return path.has(asked.stepId) || taker.get(asked.stepId) === rolloutId;
      case 'trajectory':
        return rolloutId === asked.rolloutId || [...path].some((step) => taker.get(step) === asked.rolloutId);
      case 'scorer':
        return judgements.some(({ rewardId, scorer }) => {
          if (scorer.name !== asked.name || (asked.revision !== null && scorer.revision !== asked.revision)) return false;
          const place = placeOf.get(rewardId);
          return place?.stepId ? path.has(place.stepId) || taker.get(place.stepId) === rolloutId : place?.rolloutId === rolloutId;
        });
      default:
        return asked satisfies never;
    }
  };
  /** What was done in runs that were forked at a recalled step or below it, or in a fork of those. */
  function forked(): string[] {
    if (asked.kind === 'scorer') return []; // no fork repeats a judgement
    const treeOfStep = new Map(of('StepTaken').map(({ stepId, treeId }) => [stepId, treeId]));
    for (const { rootStepId, treeId } of of('TreeOpened')) treeOfStep.set(rootStepId, treeId);
    const isRecalled = (stepId: string): boolean => {
      const treeId = treeOfStep.get(stepId) ?? '';
      if (asked.kind === 'run') return runOf.get(treeId) === asked.runId;
      if (asked.kind === 'task') return taskOf.get(treeId) === asked.taskId;
      if (asked.kind === 'step') return stepId === asked.stepId;
      if (taker.get(stepId)) return taker.get(stepId) === asked.rolloutId;
      // taken by nobody: a part of every trajectory through it
      return parents.has(stepId) && paths.get(asked.rolloutId)?.has(stepId) === true;
    };
    const forks = new Set<string>();
    for (let size = -1; size !== forks.size; ) {
      size = forks.size;
      for (const { runId, config } of of('RunStarted')) {
        const { fork } = config as { readonly fork?: { readonly stepId: string } };
        for (let id = fork?.stepId; id !== undefined; id = parents.get(id))
          if (isRecalled(id) || forks.has(runOf.get(treeOfStep.get(id) ?? '') ?? '')) forks.add(runId);
      }
    }
    return [...paths.keys()].filter((rolloutId) => forks.has(runOfRollout(rolloutId)));
  }
  const rollouts = new Set([...paths].filter(([rolloutId, path]) => isSeed(rolloutId, path)).map(([rolloutId]) => rolloutId));
  for (const rolloutId of forked()) rollouts.add(rolloutId);
  const runs = new Set([...rollouts].map(runOfRollout));

  const examples = new Map<string, number>();
  const sourced = new Set(of('DatasetSourced').map(({ datasetId }) => datasetId));
  for (const { datasetId, examples: lines } of of('DatasetSourced')) {
    const mine = lines.filter((e) => rollouts.has(e.goodRolloutId) || (e.badRolloutId !== null && rollouts.has(e.badRolloutId)));
    if (mine.length > 0) examples.set(datasetId, (examples.get(datasetId) ?? 0) + mine.length);
  }
  const unrecorded = of('DatasetReleased').filter((d) => !sourced.has(d.datasetId) && d.runs.some((run) => runs.has(run)));
  const datasets = new Set([...examples.keys(), ...unrecorded.map(({ datasetId }) => datasetId)]);
  const samples = new Map<string, number>();
  for (const { batchId, groups } of of('BatchPlanned')) {
    const mine = groups.flatMap(({ rolloutIds }) => rolloutIds).filter((rolloutId) => rollouts.has(rolloutId));
    if (mine.length > 0) samples.set(batchId, mine.length);
  }
  const versions = new Set<string>();
  for (const { policy, trained } of of('EvaluationFinished')) {
    const named = trained?.datasetIds ?? [];
    const touched = named.length > 0 ? named.some((id) => datasets.has(id)) : trained?.runIds.some((id) => runs.has(id));
    if (touched) versions.add(`${policy.policyId}@${policy.version}`);
  }
  for (let size = -1; size !== versions.size; ) {
    size = versions.size;
    for (const { policyId, version, parentVersion, batchId } of of('PolicyUpdated'))
      if ((batchId !== null && samples.has(batchId)) || versions.has(`${policyId}@${parentVersion}`))
        versions.add(`${policyId}@${version}`);
  }
  const evaluations = of('EvaluationFinished').filter(
    ({ runId, policy, recovery }) =>
      versions.has(`${policy.policyId}@${policy.version}`) ||
      runs.has(runId) ||
      (recovery !== null && runs.has(recovery.fromRunId)),
  );
  return {
    rollouts: rollouts.size,
    datasets: [
      ...[...examples].map(([datasetId, count]) => `${datasetId} ${count}`),
      ...unrecorded.map(({ datasetId }) => `${datasetId} not recorded`),
    ].sort(),
    batches: [...samples].map(([batchId, count]) => `${batchId} ${count}`).sort(),
    versions: [...versions].sort(),
    evaluations: evaluations.map(({ runId }) => runId).sort(),
  };
}
