import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { DataOf } from '../src/events/catalogue.ts';
import { readExperimentPlans } from '../src/projections/experiment-stages/read-stages.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { declaredOf } from '../src/usecases/experiment/record-experiment.ts';
import { reportOf } from '../src/usecases/experiment/report.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

const builder = new EventBuilder('experiments');
const [first, rerun, plain, unreadable] = ['first', 'rerun', 'plain', 'unreadable'].map((name) => builder.id(name));
const declaration = {
  name: 'planners',
  environment: 'textcraft',
  seeds: [1, 2],
  stages: { evaluate: { policy: 'planner', tasks: 2 } },
  arms: { base: { evaluate: { policy: 'random' } }, planner: {} },
  order: { stages: ['evaluate'], arms: ['base', 'planner'] },
};
const keyOf = (text: string) => Buffer.from(text).toString('hex').padEnd(64, '0').slice(0, 64);

let api: TestGraphql;
beforeAll(async () => {
  declare(first, { declaration });
  declare(rerun, { declaration, rerunOf: first });
  declare(plain, {});
  declare(unreadable, { declaration: { name: 'old', stages: { dance: {} } } });
  finish(first, 'base', 1, [0, 1]);
  finish(first, 'planner', 1, [1, 1]);
  finish(first, 'base', 2, null);
  finish(rerun, 'planner', 1, [1, 0]);
  finish(unreadable, 'main', 1, [1]);
  api = await openTestGraphql();
  await givenEvents(api.database.db, builder.events);
});
afterAll(() => api.close());

function declare(experimentId = '', data: Partial<DataOf<'ExperimentDeclared'>>) {
  builder.record('ExperimentDeclared', { experimentId, name: 'planners', question: 'Who wins?', ...data }, experimentId);
}

/** Records an evaluation of as many tasks as there are rewards; null for one that failed. */
function finish(experimentId = '', arm: string, seed: number, rewards: readonly number[] | null) {
  const about = { experimentId, arm, seed, stage: 'evaluate', kind: 'evaluate', key: keyOf(`${arm} ${seed}`), reusedFrom: null };
  if (rewards === null) {
    const message = 'the server is away';
    builder.record('StageFinished', { ...about, outcome: 'failed', message, output: null }, experimentId);
    return;
  }
  const started = experimentId === unreadable ? null : experimentId; // as the run of a training, or one that was imported
  const run = builder.run(`${experimentId} ${arm} ${seed}`, { experimentId: started, kind: 'evaluate' });
  for (const [i, value] of rewards.entries()) {
    const task = { ...taskOf(`task ${i}`), alias: `task ${i}` };
    builder.walk(builder.tree(run, `${experimentId} ${arm} ${i}`, { task }), 0, 2, value);
  }
  builder.finishRun(run);
  const output = {
    digest: keyOf(arm),
    runIds: [run],
    datasetId: null,
    policy: null,
    judge: null,
    kept: null,
    values: { steps: 2 },
  };
  builder.record('StageFinished', { ...about, outcome: 'completed', message: '', output }, experimentId);
}

function taskOf(alias: string) {
  const about = { environment: 'textcraft', serverFingerprint: 'w', observationHash: 'a'.repeat(64), goal: alias, depth: 1 };
  return { ...about, taskId: builder.id('task', alias), split: 'test' };
}

async function asked(query: string) {
  const { data, errors } = await api.ask(query);
  expect(errors).toBeUndefined();
  return data;
}

interface Shown {
  readonly stages: readonly { readonly runs: readonly { readonly id: string }[] }[];
}

const ESTIMATE = '{ mean interval { low high } }';
const COMPARISON = `comparison { arm stage seeds success ${ESTIMATE} return ${ESTIMATE} values { name value } difference { to pairs success ${ESTIMATE} return ${ESTIMATE} } }`;

describe('an experiment in GraphQL', () => {
  test('its arms come as they were declared, with the end of every stage and the runs that it is measured by', async () => {
    const { experiment } =
      await asked(`{ experiment(id: "${first}") { name declaration refused completedStages failedStages rerunOf { id }
      arms { name isBaseline overrides repetitions stages { name kind seed state message key digest reusedFrom { id } runs { id kind } dataset { id } values { name value } } } } }`);
    expect(experiment).toMatchObject({
      name: 'planners',
      refused: null,
      completedStages: 2,
      failedStages: 1,
      rerunOf: null,
      declaration: { seeds: [1, 2], stages: { evaluate: { policy: 'planner' } } },
    });
    const stage = { name: 'evaluate', kind: 'evaluate', reusedFrom: null, dataset: null };
    const done = (arm: string) => ({
      ...stage,
      seed: 1,
      state: 'completed',
      message: '',
      key: keyOf(`${arm} 1`),
      digest: keyOf(arm),
      runs: [{ id: expect.any(String), kind: 'evaluate' }],
      values: [{ name: 'steps', value: 2 }],
    });
    const nothing = { digest: null, runs: [], values: [] };
    expect(experiment.arms).toEqual([
      {
        name: 'base',
        isBaseline: true,
        overrides: { evaluate: { policy: 'random' } },
        repetitions: [1, 2],
        stages: [
          done('base'),
          { ...stage, ...nothing, seed: 2, state: 'failed', message: 'the server is away', key: keyOf('base 2') },
        ],
      },
      {
        name: 'planner',
        isBaseline: false,
        overrides: {},
        repetitions: [1, 2],
        stages: [done('planner'), { ...stage, ...nothing, seed: 2, state: 'planned', message: '', key: null }],
      },
    ]);
  });

  test.each([
    ['against its baseline', first, [undefined, 'base']],
    ['against the arms of the experiment that it repeats', rerun, [undefined, undefined, undefined, 'planner (before)']],
  ])('its comparison is the table of `experiment show`: %s', async (_, id, compared) => {
    const { experiment } = await asked(`{ experiment(id: "${id}") { rerunOf { id } ${COMPARISON} } }`);
    const [plan] = await readExperimentPlans(api.database.db, [String(id)]);
    if (!plan) throw new Error('the experiment was declared');
    const shown = await reportOf(api.database.db, declaredOf(plan));
    const values = (of: Readonly<Record<string, number>>) => Object.entries(of).map(([name, value]) => ({ name, value }));
    expect(experiment.comparison).toEqual(shown.map((arm) => ({ ...arm, values: values(arm.values) })));
    expect(shown.map(({ difference }) => difference?.to)).toEqual(compared);
    expect(experiment.rerunOf?.id).toBe(id === rerun ? first : undefined);
  });

  test('one that declared no stages has no arms, and one that this version cannot run says why and shows what it did', async () => {
    const { a, b } = await asked(`{ a: experiment(id: "${plain}") { declaration arms { name } ${COMPARISON} completedStages }
      b: experiment(id: "${unreadable}") { refused arms { name repetitions stages { name state digest } } ${COMPARISON} } }`);
    expect(a).toEqual({ declaration: null, arms: [], comparison: [], completedStages: 0 });
    expect(b.refused).toContain('"dance" is no kind of stage');
    expect(b.arms).toEqual([
      { name: 'main', repetitions: [1], stages: [{ name: 'evaluate', state: 'completed', digest: keyOf('main') }] },
    ]);
  });

  test('its runs are those that were started for it, and those that its stages made otherwise', async () => {
    const runsOf = async (id = '') => {
      const { experiment } = await asked(
        `{ experiment(id: "${id}") { runs { totalCount nodes { id } } arms { stages { runs { id } } } } }`,
      );
      const { totalCount, nodes } = experiment.runs;
      expect(totalCount).toBe(nodes.length);
      const ofStages = experiment.arms.flatMap((arm: Shown) => arm.stages.flatMap(({ runs }) => runs.map((run) => run.id)));
      return { own: nodes.map((run: { id: string }) => run.id).sort(), ofStages: ofStages.sort() };
    };
    for (const [id, count] of [
      [first, 2],
      [unreadable, 1],
      [plain, 0],
    ] as const) {
      const { own, ofStages } = await runsOf(id);
      expect(own).toHaveLength(count);
      expect(own).toEqual(ofStages);
    }
  });

  test('a list of experiments takes as many statements for many as for one', async () => {
    const statements = async (count: number) => {
      api.statements();
      await asked(
        `{ experiments(first: ${count}) { nodes { completedStages failedStages arms { stages { state runs { id } } } } } }`,
      );
      return api.statements().length;
    };
    expect(await statements(4)).toBe(await statements(3));
  });
});
