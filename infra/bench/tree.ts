import { serveApi } from '../../src/app/serve-api.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import { appendTo, projectSlice, testLog } from '../../src/testing/given-events.ts';
import { LOCAL } from '../../src/testing/local-token.ts';
import { type BenchResult, type Figure, percentile, timed } from './bench-result.ts';
import { startClients } from './http-clients.ts';
import { openStagePlatform, type Size, type Stage, type StageDatabase } from './stage.ts';
import { recordTrajectories } from './trajectories.ts';

const ROLLOUTS = 100;
const STEPS = 10;
const REQUESTS: Record<Size, number> = { full: 1_000, quick: 20 };
const WARM_UP: Record<Size, number> = { full: 300, quick: 20 };
const TURN = 20; // requests

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
 * end. The baseline, in turns with it, reads the same fields by one SQL statement and writes them with JSON.stringify in the same
 * process.
 */
export async function benchTree(stage: Stage): Promise<BenchResult> {
  const platform = await openStagePlatform(stage);
  const database = await stage.database();
  const treeId = await recordTree(database);
  const server = await serveApi(platform, SILENT);
  stage.closing(() => server.close());
  const clients = await startClients(server.url, LOCAL);
  stage.closing(() => clients.close());
  const [warmUp, requests] = [WARM_UP[stage.size], REQUESTS[stage.size]];

  const readSimply = async (): Promise<number> => {
    const seconds = await timed(async () => {
      const { rows } = await database.pool.query(ONE_STATEMENT, [treeId]);
      JSON.stringify({ data: { tree: { steps: rows } } });
    });
    return seconds * 1_000;
  };
  const ask = async (query: string, times: number) => {
    const body = JSON.stringify({ query, variables: { id: treeId } });
    const each = { method: 'POST', path: '/graphql', body } as const;
    await clients.prepare({ lanes: [Array.from({ length: times }, () => each)] });
    const { milliseconds, bytes } = await clients.run();
    return { milliseconds: milliseconds[0] ?? [], bytes };
  };
  const [simple, ten, lists] = [[], [], []] as [number[], number[], number[]];
  let bytes = 0;
  for (let done = -warmUp; done < requests; done += TURN) {
    const turn = { simple: [] as number[], ten: await ask(TEN_FIELDS, TURN), lists: await ask(WITH_LISTS, TURN) };
    for (let i = 0; i < TURN; i++) turn.simple.push(await readSimply());
    if (done < 0) continue;
    simple.push(...turn.simple);
    ten.push(...turn.ten.milliseconds);
    lists.push(...turn.lists.milliseconds);
    bytes = turn.ten.bytes;
  }
  const figure = (name: string, times: readonly number[], share: number, floor: Figure['floor']): Figure => ({
    name: `${name}, p${share * 100}`,
    value: percentile(times, share),
    unit: 'ms',
    baseline: { name: 'one statement and JSON.stringify', value: percentile(simple, share), unit: 'ms' },
    floor,
  });
  return {
    bench: 'tree',
    figures: [
      figure('tree of 1,000 steps over GraphQL, 10 fields', ten, 0.5, null),
      figure('tree of 1,000 steps over GraphQL, 10 fields', ten, 0.99, { kind: 'ratio-at-most', limit: 2.5 }),
      figure('with rewards and search statistics', lists, 0.99, null),
    ],
    conditions: {
      steps: ROLLOUTS * STEPS + 1,
      'answer bytes': bytes,
      requests,
      'warm-up requests': warmUp,
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
