import { serveApi } from '../../src/app/serve-api.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import { appendTo, projectSlice, testLog } from '../../src/testing/given-events.ts';
import type { Figure, Outcome } from './outcome.ts';
import { percentile } from './percentile.ts';
import type { Size, Stage, StageDatabase } from './stage.ts';
import { openStagePlatform } from './stage-platform.ts';
import { recordTrajectories } from './trajectories.ts';
import { type Asked, askFromOutside } from './tree-client.ts';

const ROLLOUTS = 100;
const STEPS = 10;
const REQUESTS: Record<Size, number> = { full: 1_000, quick: 20 };
const WARM_UP: Record<Size, number> = { full: 300, quick: 5 };

const TEN_FIELDS = `query Tree($id: ID!) {
  tree(id: $id) { steps { id parentId rolloutId depth response thought action observation executable termination } }
}`;
const WITH_LISTS = `query Tree($id: ID!) {
  tree(id: $id) {
    steps { id parentId depth action observation termination rewards { component value } statistics { visits value } }
  }
}`;
const ONE_STATEMENT = `select step_id as id, parent_step_id as "parentId", rollout_id as "rolloutId", depth, response, thought, action, observation,
  executable, termination from steps where tree_id = $1 order by log_offset`;

/**
 * Measures a tree of 1,000 steps over GraphQL over HTTP, one request after the other on one connection, the answer read to its
 * end. The baseline reads the same fields by one SQL statement and writes them with JSON.stringify in the same process.
 */
export async function benchTree(stage: Stage): Promise<Outcome> {
  const platform = await openStagePlatform(stage);
  const database = await stage.database();
  const treeId = await recordTree(database);
  const server = await serveApi(platform, SILENT);
  stage.closing(() => server.close());
  const ask = (query: string): Promise<Asked> =>
    askFromOutside({
      url: `${server.url}/graphql`,
      body: JSON.stringify({ query, variables: { id: treeId } }),
      warmUp: WARM_UP[stage.size],
      requests: REQUESTS[stage.size],
    });
  const baseline = await sample(stage.size, async () => {
    const { rows } = await database.pool.query(ONE_STATEMENT, [treeId]);
    return Buffer.byteLength(JSON.stringify({ data: { tree: { steps: rows } } }));
  });
  const ten = await ask(TEN_FIELDS);
  const lists = await ask(WITH_LISTS);
  return {
    bench: 'tree',
    figures: [
      ...figures('tree of 1,000 steps over GraphQL, 10 fields', ten, baseline, 20),
      ...figures('with rewards and search statistics', lists, baseline, undefined),
    ],
    conditions: {
      steps: ROLLOUTS * STEPS + 1,
      'answer bytes': ten.bytes,
      requests: REQUESTS[stage.size],
      'warm-up requests': WARM_UP[stage.size],
      client: 'another process, one connection',
      ...stage.conditions(),
    },
  };
}

async function recordTree(database: StageDatabase): Promise<string> {
  const events = recordTrajectories({ trees: 1, rollouts: ROLLOUTS, steps: STEPS, name: 'tree' });
  const log = testLog();
  appendTo(log, events);
  for (const [topic, records] of log.topics) await projectSlice(database.db, log, topic, 0, records.length);
  await database.pool.query('analyze');
  const opened = events.find((event) => event.type === 'TreeOpened');
  if (opened?.type !== 'TreeOpened') throw new TypeError('the trajectories open a tree');
  return opened.data.treeId;
}

async function sample(size: Size, ask: () => Promise<number>): Promise<Asked> {
  for (let i = 0; i < WARM_UP[size]; i++) await ask();
  const milliseconds: number[] = [];
  let bytes = 0;
  for (let i = 0; i < REQUESTS[size]; i++) {
    const began = performance.now();
    bytes = await ask();
    milliseconds.push(performance.now() - began);
  }
  return { milliseconds, bytes };
}

function figures(name: string, asked: Asked, simple: Asked, limit: number | undefined): readonly Figure[] {
  return [0.5, 0.99].map((share) => ({
    name: `${name}, p${share * 100}`,
    value: percentile(asked.milliseconds, share),
    unit: 'ms',
    baseline: { name: 'one statement and JSON.stringify', value: percentile(simple.milliseconds, share), unit: 'ms' },
    goal: limit !== undefined && share === 0.99 ? { kind: 'below', limit } : null,
  }));
}
