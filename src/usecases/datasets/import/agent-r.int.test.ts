import { appendFileSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { readPublishedTree } from '../../../domain/search/published-tree.ts';
import { applySearchFacts } from '../../../domain/search/search-facts.ts';
import { startSearch } from '../../../domain/search/search-tree.ts';
import { walkDown } from '../../../domain/tree/grow-tree.ts';
import { readSearchFacts } from '../../../projections/search-statistics/read-statistics.ts';
import { datasetWorkshop } from '../../../testing/dataset-workshop.ts';
import { projectingAppender } from '../../../testing/projecting-log.ts';
import { readModels } from '../../../testing/read-models.ts';
import { agentTrajDefaults } from './agent-traj-options.ts';

const shop = datasetWorkshop();
// the published program's own, from the shared vectors
const EXAMPLE = new URL('./fixtures/search_results_7.json', import.meta.url);
const example = JSON.parse(readFileSync(EXAMPLE, 'utf8'));
const textcraft = { ...agentTrajDefaults, environment: 'textcraft' };
/** Leaves' words and what the search counted there, by the actions on the way: ids differ between file and record. */
type Counted = Record<string, [visits: number, value: number, observation: string]>;

describe('search trees of Agent-R', () => {
  let folder: string;
  beforeEach(async () => {
    folder = shop.path('mcts_result/textcraft/llama');
    await mkdir(folder, { recursive: true });
    await copyFile(EXAMPLE, `${folder}/search_results_7.json`);
  });

  test('the visits, values and texts of every node equal those of the file', async () => {
    await copyFile(EXAMPLE, `${folder}/search_results_12.json`);
    const report = await shop.importing({ source: folder });
    expect(report).toMatchObject({ source: 'agent-r', trees: 2, rollouts: 14, steps: 24, alreadyThere: 0 });
    expect(await shop.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
    for (const alias of ['7', '12']) expect(await recorded(alias)).toEqual(contentOf());
  });

  test('the events fold into the same search, and nothing is left to explore where the file says so', async () => {
    await shop.importing({ source: folder });
    const tree = await shop.db.selectFrom('trees').select(['treeId', 'rootStepId']).executeTakeFirstOrThrow();
    const state = applySearchFacts(startSearch(tree.rootStepId), await readSearchFacts(shop.db, tree.treeId));
    expect(state.nodes.size).toBe(13);
    expect([...state.nodes.values()].every(({ terminal }) => terminal)).toBe(true);
    expect(state.nodes.get(tree.rootStepId)).toMatchObject({ visits: 7, valueSum: 1, expanded: true });
  });

  test('a tree becomes a task, its ended walks become rollouts with rewards, and the run names its source', async () => {
    const report = await shop.importing({ source: `${folder}/search_results_7.json` });
    const run = await shop.db.selectFrom('runs').selectAll().executeTakeFirstOrThrow();
    expect(run).toMatchObject({ runId: report.runs[0], kind: 'import', outcome: 'completed', policyId: 'llama' });
    expect(run.config).toMatchObject({ system: 'SYS', acknowledgement: 'Ok.', files: 1 });
    const tree = await shop.db.selectFrom('trees').selectAll().executeTakeFirstOrThrow();
    expect(tree).toMatchObject({ environment: 'textcraft', alias: '7', instruction: 'INSTRUCTION', closeReason: 'exhausted' });
    const rollouts = await shop.db
      .selectFrom('rollouts')
      .innerJoin('returns', 'returns.rolloutId', 'rollouts.rolloutId')
      .select(['ordinal', 'outcome', 'success', 'value'])
      .orderBy('ordinal')
      .execute();
    expect(rollouts).toHaveLength(7);
    expect(rollouts.filter(({ success }) => success)).toEqual([{ ordinal: 0, outcome: 'terminated', success: true, value: 1 }]);
    expect(rollouts.map(({ ordinal }) => ordinal)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  test('a second import changes nothing', async () => {
    const first = await shop.importing({ source: folder });
    const before = await readModels(shop.db);
    expect(await shop.importing({ source: folder })).toMatchObject({
      runs: first.runs,
      events: first.events,
      alreadyThere: first.events,
    });
    expect(await readModels(shop.db)).toEqual(before);
  });

  test('the rewards are divided by their scale, and the raw value is kept', async () => {
    await shop.importing({ source: folder, agentTraj: { ...textcraft, rewardScale: 4 } });
    const reward = await shop.db.selectFrom('rewards').selectAll().orderBy('value', 'desc').executeTakeFirstOrThrow();
    expect(reward).toMatchObject({ value: 0.25, raw: { value: 1, scale: 4, kind: 'final' } });
  });

  test('another file name needs the flag, and a path without a task needs the environment', async () => {
    await copyFile(EXAMPLE, shop.path('tree_3.json'));
    await expect(shop.importing({ source: shop.path('tree_3.json') })).rejects.toMatchObject({ code: 'bad-row' });
    const flagged = { source: shop.path('tree_3.json'), form: 'agent-r' } as const;
    await expect(shop.importing(flagged)).rejects.toMatchObject({ code: 'invalid-query' });
    expect(await shop.importing({ ...flagged, agentTraj: textcraft })).toMatchObject({ source: 'agent-r', trees: 1 });
  });

  const deepened = (tree: object): unknown => {
    let inner: unknown = tree;
    for (let i = 0; i < 1_000; i++) inner = { ...tree, children: [inner] };
    return inner;
  };
  test.each<[string, (tree: typeof example) => unknown, string]>([
    ['visits that do not add up', (tree) => ({ ...tree, visits: 9 }), 'has 9 visits, its children 7'],
    ['a value that does not add up', (tree) => ({ ...tree, value: 3 }), 'has value 3, its children 1'],
    ['a field that is missing', ({ value: _, ...tree }) => tree, 'value:'],
    ['a conversation without observation', (tree) => ({ ...tree, state: [] }), 'the conversation of the root is empty'],
    ['nodes without end', deepened, 'nested more than 400 deep'],
    ['another system message', (tree) => ({ ...tree, state: tree.state.slice(1) }), 'opens with another system message'],
  ])('one bad tree (%s) refuses the whole folder and names its file', async (_, change, message) => {
    await writeFile(`${folder}/search_results_9.json`, JSON.stringify(change(example)));
    const appender = projectingAppender(shop.db, shop.blobs);
    const refused = await shop.importing({ source: folder, appender }).catch((error: Error) => error.message);
    expect(refused).toContain('search_results_9.json line 1');
    expect(refused).toContain(message);
    expect(appender.appended).toEqual([]);
  });

  test('a truncated file, a changing file and two files of one number are refused', async () => {
    const text = await readFile(EXAMPLE, 'utf8');
    await writeFile(`${folder}/search_results_9.json`, text.slice(0, -30));
    await expect(shop.importing({ source: folder })).rejects.toThrow('cut off');
    await writeFile(`${folder}/search_results_9.json`, text);
    const onProgress = () => appendFileSync(`${folder}/search_results_9.json`, ' ');
    await expect(shop.importing({ source: folder, onProgress })).rejects.toThrow('was changed while it was read');
    await writeFile(`${folder}/other_9.json`, text);
    await expect(shop.importing({ source: folder })).rejects.toThrow('are both of task 9');
    await expect(shop.importing({ source: shop.path('mcts_result') })).rejects.toThrow('holds no search_results');
  });

  function contentOf(): Counted {
    const { tree } = readPublishedTree(example);
    const counted: Counted = {};
    for (const node of walkDown(tree.root)) {
      const actions: string[] = [];
      for (let at = node; at.parent; at = at.parent) actions.unshift(at.step.action);
      const observation = node.parent ? node.step.observation : 'start';
      counted[actions.join('/')] = [node.step.visits, node.step.valueSum, observation];
    }
    return counted;
  }

  async function recorded(alias: string): Promise<Counted> {
    const rows = await shop.db
      .selectFrom('steps')
      .innerJoin('trees', 'trees.treeId', 'steps.treeId')
      .leftJoin('nodeStatistics', 'nodeStatistics.stepId', 'steps.stepId')
      .where('trees.alias', '=', alias)
      .select(['steps.stepId', 'parentStepId', 'action', 'observation', 'visits', 'valueSum', 'depth'])
      .orderBy('depth')
      .execute();
    const places = new Map<string, string>();
    const counted: Counted = {};
    for (const row of rows) {
      const above = places.get(row.parentStepId ?? '');
      const place = above ? `${above}/${row.action}` : row.action;
      places.set(row.stepId, place);
      counted[place] = [row.visits ?? 0, row.valueSum ?? 0, row.observation];
    }
    return counted;
  }
});
