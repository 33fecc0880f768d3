import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { REFLECTIONS } from '../../domain/revision/compose-revisions.ts';
import { pythonJson } from '../../domain/revision/published-rows.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { appenderAs } from '../../testing/appender-as.ts';
import { type ChatRequest, type OpenAiServer, startOpenAiServer } from '../../testing/openai-server.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { collect } from '../collect/collect.ts';
import { agentTrajDefaults } from '../datasets/import/agent-traj-options.ts';
import { importTrajectories } from '../datasets/import/import-trajectories.ts';
import { type FaithfulRevisionOptions, reviseFaithfully } from './revise-faithfully.ts';

/**
 * Vectors 05, 06, 07 and 11 through the record: trees come in by our own import, verdicts from a model server, rows out as files.
 */
interface Feedback {
  readonly action: string;
  readonly revision_feedback: string;
}
interface Row {
  readonly revise_log: readonly { readonly role: string; readonly content: string }[];
  readonly high_log: Row['revise_log'];
  readonly low_log: Row['revise_log'];
  readonly revise_feedback: readonly (Feedback & { readonly judgement: string })[] | '';
}
interface Scenario {
  readonly tree: string;
  readonly alpha: number;
  readonly beta: number;
  readonly revise: boolean;
  readonly note: string;
  readonly judgeCalls: readonly Record<string, string>[];
  readonly rows: readonly Row[];
}
interface Pairing extends Pick<Scenario, 'tree' | 'alpha' | 'beta'> {
  readonly treeSkipped: boolean;
  readonly pairsUnshuffled: readonly unknown[];
  readonly acceptedPairsInOrder: readonly (readonly [string, string])[];
  readonly goodOnly: readonly string[];
}

const trees: Partial<Record<'T1_fork' | 'T3_graded' | 'T6_disaster' | 'T7_percent_scale', object>> = vector('05_trees');
const pairings: readonly Pairing[] = vector('05_pairs').cases;
const scenarios: readonly Scenario[] = vector('06_revision_rows').cases;
const verdicts: readonly { response: string; judgement: string; continues: boolean }[] = vector('07_verdict_parse').cases;

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
let server: OpenAiServer;
/** What the model of a name answers about an action. */
const scripts = new Map<string, (action: string) => string>();
/** The run of each tree. */
const runs = new Map<string, string>();
beforeAll(async () => {
  server = await startOpenAiServer({ reply: (request) => scripts.get(request.model)?.(actionOf(request)) ?? '' });
  for (const [name, tree] of Object.entries(trees)) runs.set(name, await imported(name, { 77: tree }));
});
afterAll(async () => {
  await server.close();
});

function vector(name: string) {
  return JSON.parse(readFileSync(fileURLToPath(new URL(`../../domain/revision/fixtures/${name}.json`, import.meta.url)), 'utf8'));
}

async function imported(name: string, files: Readonly<Record<string, object>>, rewardScale = 1): Promise<string> {
  const source = join(platform.home, `${name}-${rewardScale}`);
  await mkdir(source);
  for (const [alias, tree] of Object.entries(files))
    await writeFile(join(source, `search_results_${alias}.json`), JSON.stringify(tree));
  const { log, blobs, database } = platform;
  const report = await importTrajectories({
    source,
    form: 'detect',
    db: database.db,
    signal: new AbortController().signal,
    onProgress: () => undefined,
    blobs,
    appender: appenderAs('importer', { log, blobs }),
    badRows: 'refuse',
    agentTraj: { ...agentTrajDefaults, environment: 'textcraft', rewardScale },
  });
  await settle();
  return report.runs[0] ?? '';
}

async function settle(): Promise<void> {
  await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 30_000 });
}

function actionOf({ messages }: ChatRequest): string {
  // the first explains the form
  return [...(messages.at(-1)?.content ?? '').matchAll(/^Current_Action: (.*)$/gm)].at(-1)?.[1] ?? '';
}

type Change = Partial<Omit<FaithfulRevisionOptions, 'plan'>> & { readonly plan?: Partial<FaithfulRevisionOptions['plan']> };

async function revise(runId: string | undefined, { plan, ...change }: Change = {}) {
  const out = join(platform.home, `${newId()}.jsonl`);
  const revised = await reviseFaithfully(platform, {
    runId: runId ?? '',
    judge: 'direct',
    environment: null,
    out,
    xtuner: null,
    existing: 'refuse',
    concurrency: 2,
    signal: new AbortController().signal,
    ...change,
    plan: { alpha: 0.5, beta: 0.2, dataType: 'centric', revise: true, seed: 123, ...plan },
  });
  await settle();
  return { revised, text: existsSync(change.out ?? out) ? readFileSync(change.out ?? out, 'utf8') : null };
}

/** Names a judge of the scripted server. Answers are kept by judge, so every scenario has its own. */
function judgedBy(model: string, script: (action: string) => string): string {
  scripts.set(model, script);
  return JSON.stringify({ kind: 'openai', model, baseUrl: server.url, attempts: 1 });
}

/** The vectors have the index in the place of the sentence. */
function recorded(text: string): string {
  return text.replaceAll(/<reflection (\d+)>/g, (_, index: string) => REFLECTIONS[Number(index)] ?? 'none');
}

function rowsIn(text: string | null): readonly Row[] {
  return (text ?? '')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line)); // as they were written
}

const leafOf = (log: Row['revise_log']) => /act (.*)$/.exec(log.findLast(({ role }) => role === 'assistant')?.content ?? '')?.[1];

function scripted({ rows }: Scenario): (action: string) => string {
  const recorded = rows.flatMap(({ revise_feedback: feedback }) => feedback || []);
  return (action) => recorded.find((each) => each.action === action)?.revision_feedback ?? 'Judgement: Bad';
}

describe('published rows from the record', () => {
  test.each(pairings.map((pairing) => [`${pairing.tree}, ${pairing.alpha}, ${pairing.beta}`, pairing] as const))(
    'pairs and good trajectories of %s have the order of the original',
    async (_, { tree, alpha, beta, ...expected }) => {
      const pairs = await revise(runs.get(tree), { plan: { alpha, beta, revise: false } });
      const logs = rowsIn(pairs.text).map(({ high_log: high, low_log: low }) => [leafOf(high), leafOf(low)]);
      expect(logs).toEqual(expected.acceptedPairsInOrder);
      const found = expected.treeSkipped ? 0 : expected.pairsUnshuffled.length;
      const skipped = expected.treeSkipped ? 1 : 0;
      expect(pairs.revised).toMatchObject({ trees: 1, skipped, found, accepted: logs.length, judge: null, asked: 0 });
      const good = await revise(runs.get(tree), { plan: { alpha, beta, dataType: 'good' } });
      expect(rowsIn(good.text).map((row) => leafOf(row.revise_log))).toEqual(expected.goodOnly);
      expect(rowsIn(good.text).every((row) => Object.keys(row).join() === 'task_num,revise_log,revise')).toBe(true);
    },
  );

  test.each(scenarios.map((scenario, i) => [`${scenario.tree}, ${scenario.note}`, scenario, i] as const))(
    'the rows of %s equal the original byte for byte, and no request is sent twice',
    async (_, scenario, i) => {
      const { tree, alpha, beta, revise: asks, rows, judgeCalls } = scenario;
      const model = `scenario-${i}`;
      const judge = judgedBy(model, scripted(scenario));
      const { revised, text } = await revise(runs.get(tree), { judge, plan: { alpha, beta, revise: asks } });
      expect(text).toBe(rows.map((row) => `${recorded(pythonJson(row))}\n`).join(''));
      const questions = new Set(judgeCalls.map((call) => JSON.stringify(call))).size;
      expect(revised).toMatchObject({ rows: rows.length, judged: judgeCalls.length, asked: questions });
      expect(server.requests.filter(({ body }) => body?.model === model)).toHaveLength(questions);
    },
  );

  test.each(verdicts)('the judgement $response is read as in the original', async ({ response, ...expected }) => {
    const judge = judgedBy(`verdict ${response}`, (action) => (action === 'act b1' ? response : 'Judgement: Bad'));
    const feedback = rowsIn((await revise(runs.get('T1_fork'), { judge })).text)[0]?.revise_feedback || [];
    expect({ judgement: feedback[0]?.judgement, continues: feedback.length === 2 }).toEqual(expected);
  });

  test('xtuner rows are converted as published, without masks', async () => {
    const { output } = vector('11_xtuner_rewrite');
    const scenario = scenarios.find(({ note }) => note.startsWith('bad on b3'));
    if (!scenario) throw new Error('06 has the scenario that 11 was made of');
    const xtuner = join(platform.home, 'xtuner.json');
    const judge = judgedBy('xtuner', scripted(scenario));
    const { revised } = await revise(runs.get(scenario.tree), { judge, xtuner });
    expect(readFileSync(xtuner, 'utf8')).toBe(recorded(JSON.stringify(output, null, 4)));
    expect(revised.files?.xtuner?.bytes).toBe(readFileSync(xtuner).length);
    await revise(runs.get('T4_all_zero'), { xtuner, existing: 'replace', plan: { revise: false } });
    expect(readFileSync(xtuner, 'utf8')).toBe('[]');
  });

  test('thresholds apply on the scale of the environment, whatever the record divides by', async () => {
    const tree = trees.T7_percent_scale ?? {};
    const percent = await imported('percent', { 77: tree }, 100);
    const plan = { alpha: 50, beta: 20, revise: false };
    expect((await revise(percent, { plan })).text).toBe((await revise(runs.get('T7_percent_scale'), { plan })).text);
    expect((await revise(percent, { plan: { revise: false } })).revised.rows).toBe(3); // 0.5 of 100
  });

  test('trees come in the order of their numbers, however many are judged concurrently, and unfinished ones have no file', async () => {
    const [two, ten, nine] = [trees.T3_graded ?? {}, trees.T1_fork ?? {}, trees.T6_disaster ?? {}];
    const runId = await imported('three', { 10: ten, 2: two, 9: nine });
    const judge = judgedBy('order', () => 'Judgement: Bad');
    const { text, revised } = await revise(runId, { judge, concurrency: 3 });
    expect(rowsIn(text).map((row) => 'task_num' in row && row.task_num)).toEqual([...'222222', '9', '9', '10']);
    expect((await revise(runId, { judge, concurrency: 1 })).text).toBe(text);
    await openTree(runId);
    const again = await revise(runId, { judge });
    expect(again.text).toBe(text);
    expect(again.revised).toEqual({ ...revised, unfinished: 1, asked: 0 });
  });

  test('only the answers are recorded, with the verdict of the sound reading', async () => {
    const judge = judgedBy('recorded', (action) => (action === 'act b1' ? 'Bad. It is not good.' : 'Judgement: Bad'));
    await revise(runs.get('T1_fork'), { judge });
    const { db } = platform.database;
    const rows = await db
      .selectFrom('judgements')
      .selectAll()
      .where('judge', 'like', '%recorded%')
      .orderBy('stepIndex')
      .execute();
    expect(rows.map(({ verdict, reply }) => [verdict, reply])).toEqual([
      ['unparsed', 'Bad. It is not good.'],
      ['bad', 'Judgement: Bad'],
    ]);
    expect(await db.selectFrom('revisions').selectAll().execute()).toEqual([]);
  });

  test('a failing judge leaves no file, and the next call asks only for the missing answers and writes the same', async () => {
    const script = (action: string) => (/[ab]$/.test(action) ? 'Judgement: Good' : 'Judgement: Bad');
    const whole = await revise(runs.get('T3_graded'), { judge: judgedBy('steady', script) });
    const judge = judgedBy('shaky', script);
    server.fail({ kind: 'none' }, { kind: 'none' }, { kind: 'status', status: 500 });
    const out = join(platform.home, 'shaky.jsonl');
    await expect(revise(runs.get('T3_graded'), { judge, out })).rejects.toMatchObject({ name: 'PolicyError' });
    expect(readdirSync(platform.home).filter((name) => name.includes('shaky'))).toEqual([]);
    await settle();
    const { revised, text } = await revise(runs.get('T3_graded'), { judge, out });
    expect(text).toBe(whole.text);
    expect(revised.asked).toBe(whole.revised.asked - 2);
  });

  test('a stopped call leaves no file, and the next call writes the whole one', async () => {
    const stop = new AbortController();
    const judge = judgedBy('stopping', (action) => {
      if (action === 'act c') stop.abort();
      return 'Judgement: Bad';
    });
    const stopped = await revise(runs.get('T3_graded'), { judge, signal: stop.signal });
    expect([stopped.revised.files, stopped.revised.trees, stopped.text]).toEqual([null, 0, null]);
    const steady = await revise(runs.get('T3_graded'), { judge: judgedBy('never stopping', () => 'Judgement: Bad') });
    expect((await revise(runs.get('T3_graded'), { judge })).text).toBe(steady.text);
  });

  test.each<[string, Change, RegExp]>([
    ['a threshold that is no number', { plan: { alpha: Number.NaN } }, /alpha is NaN/],
    ['a judge that asks nobody', {}, /which is --revise 0/],
    ['one file for both forms', { out: '/nowhere/a', xtuner: '/nowhere/b/../a' }, /name two files/],
    ['a file that is there', { out: fileURLToPath(import.meta.url), plan: { revise: false } }, /is already there/],
    ['self, of a run that does not say who acted', { judge: 'self' }, /does not say which policy acted/],
    ['the planner, of a run that does not say where', { judge: 'planner' }, /name it with --environment, or judge by a model$/],
  ])('%s is refused with the remedy', async (_, change, message) => {
    await expect(revise(runs.get('T1_fork'), change)).rejects.toThrow(message);
  });

  test('trees that the published program could not have grown are refused', async () => {
    const runId = newId();
    await collect(platform, {
      runId,
      name: 'own',
      seed: 1,
      concurrency: 1,
      signal: new AbortController().signal,
      mode: 'new',
      plan: {
        environment: 'textcraft',
        tasks: [{ alias: '1', rollouts: 1, branching: 'root' }],
        taskSeed: 0,
        policy: 'random',
        temperature: 1,
        maxSteps: 4,
        search: { iterations: 1, candidates: 1, maxDepth: 1, exploration: 0.25 },
      },
    });
    await settle();
    await expect(revise(runId, { plan: { revise: false } })).rejects.toThrow(/holds no trees of the published program/);
  });
});

/** Opens one more tree in a run, which nobody searches. */
async function openTree(runId: string): Promise<void> {
  const { db } = platform.database;
  const tree = await db.selectFrom('trees').selectAll().where('runId', '=', runId).executeTakeFirstOrThrow();
  const { log, blobs } = platform;
  const { environment, serverFingerprint, observationHash, taskId } = tree;
  await appenderAs('another', { log, blobs }).append([
    {
      type: 'TreeOpened',
      correlationId: runId,
      data: {
        treeId: newId(),
        runId,
        rootStepId: newId(),
        instruction: '',
        observation: 'TASK',
        admissibleActions: null,
        task: { taskId, environment, serverFingerprint, observationHash, alias: '3', goal: '', depth: null, split: null },
        stateHash: null,
        plannedRollouts: 1,
        seed: 0,
      },
    },
  ]);
  await settle();
}
