import { createGraphql } from '../../graphql/create-graphql.ts';
import { readOperations } from '../../graphql/persisted-operations.ts';
import * as studio from '../../graphql/studio/generated/operations.ts';
import type { EventLog } from '../../src/log/event-log.ts';
import type { Db } from '../../src/postgres/database.ts';
import { localPrincipal } from '../../src/postgres/principal.ts';
import { idOf, type Question } from './answer-questions.ts';
import { DRAWN_RUNS, RELEASED, SHAPE } from './fill-answers.ts';

type Graphql = Awaited<ReturnType<typeof createGraphql>>;
type Variables = (n: number) => Readonly<Record<string, unknown>>;
const FIRST = 50;

/** Operations that are not asked: each with what it reads in place of a list. */
export const NOT_ASKED: Readonly<Record<string, string>> = {
  Annotate: 'a command',
  RetractAnnotations: 'a command',
  Requeue: 'a command',
  Live: 'the log as it grows',
  'live-events': 'the log as it grows',
  'read-your-writes': 'waits for a position',
  'tree-as-of': 'folds the journal, of which this record has none',
  StepText: 'the blob store',
  TreeText: 'the blob store',
  ToolCallTexts: 'the blob store',
  SegmentTexts: 'the blob store',
  JudgementTexts: 'the blob store',
  ImageAtFactors: 'draws images',
  DatasetRow: 'makes a line of a release again',
};

/** Returns what each operation of the studio, and each example, is asked with: once, or once for each order or filter. */
export function askedOperations({
  runs,
  trees,
  tasks,
}: {
  readonly runs: number;
  readonly trees: number;
  readonly tasks: number;
}): Readonly<Record<string, readonly Variables[]>> {
  const at = (n: number) => (n * 10) % trees;
  const page: Variables = () => ({ first: FIRST });
  const run: Variables = (n) => ({ id: idOf(`run${n % runs}`), first: FIRST });
  const variables: Variables = (n) => ({ id: idOf(`run${n % DRAWN_RUNS}`), first: FIRST });
  const tree: Variables = (n) => ({ id: idOf(`tree${at(n)}`) });
  const rollout = (n: number, ordinal = n % SHAPE.rollouts) => idOf(`rollout${at(n)} ${ordinal}`);
  const leaf = (n: number) => idOf(`step${at(n)} 0 ${SHAPE.steps}`);
  const step: Variables = (n) => ({ id: idOf(`step${at(n)} ${n % SHAPE.rollouts} 3`) });
  const pair: Variables = (n) => ({ a: rollout(n, 0), b: rollout(n, 1) });
  const policy: Variables = () => ({ id: 'bench', first: FIRST });
  const dataset: Variables = (n) => ({ id: idOf(`dataset${n % RELEASED.datasets}`), first: FIRST });
  const runsOf = (n: number) => [idOf(`run${n % runs}`), idOf(`run${(n + 1) % runs}`)];
  const filters = (...all: readonly ((n: number) => object)[]) =>
    all.map(
      (filter): Variables =>
        (n) => ({ filter: filter(n), first: FIRST }),
    );
  const none: Variables = () => ({});
  return {
    Runs: [page],
    RunFilters: [page],
    RunPage: [run],
    RunFailures: [run],
    RunLengths: [run],
    RunRevisions: [run],
    RunTrees: ['OPENED_DESC', 'RETURN_VARIANCE_DESC'].map(
      (orderBy): Variables =>
        (n) => ({ ...run(n), orderBy }),
    ),
    RunComponents: [(n) => ({ ids: runsOf(n) })],
    RunImages: ['TREE', 'VISION_TOKENS_DESC'].map(
      (orderBy): Variables =>
        (n) => ({ ...variables(n), orderBy }),
    ),
    ImagesPage: [run, variables],
    CompressionOfPolicy: [() => ({ policy: 'bench' })],
    ComparePage: [(n) => ({ runs: runsOf(n) })],
    TreePage: [tree],
    TreeOutline: [tree],
    TreeNode: [step],
    GroupPage: [tree],
    GroupLeaves: [tree],
    DiffReplays: [(n) => ({ tree: tree(n).id })],
    Parting: [pair],
    Divergence: [pair],
    RenderedTask: [(n) => ({ tree: tree(n).id })],
    RenderedPath: [(n) => ({ leaf: leaf(n) })],
    DiffPath: [(n) => ({ leaf: leaf(n) })],
    DiffSide: [(n) => ({ id: rollout(n) })],
    TrajectoryPage: [(n) => ({ id: rollout(n) })],
    DiffCandidates: [(n) => ({ task: idOf(`task${n % tasks}`), first: FIRST })],
    TrajectorySteps: [(n) => ({ rollout: rollout(n), first: FIRST })],
    RolloutSteps: [(n) => ({ rollout: rollout(n), first: FIRST })],
    PageSubject: [tree],
    PageSteps: [(n) => ({ tree: tree(n).id, first: FIRST })],
    PageStepsWithPrompts: [(n) => ({ tree: tree(n).id, first: FIRST })],
    StepPrompt: [step],
    StepTokens: [step],
    StepReadAgain: [step],
    StepEvents: [step],
    FindSteps: filters(
      (n) => ({ text: { words: `word${(n * 3) % 500}` } }),
      (n) => ({ run: run(n).id }),
    ),
    ReviewQueue: filters((n) => ({ run: run(n).id, annotated: { has: false } })),
    LatestAnnotations: filters(
      () => ({}),
      () => ({ label: 'loop' }),
    ),
    Labels: [page],
    Viewer: [none],
    State: [none],
    BehindTheLog: [none],
    OperationsPage: [none],
    RevisionPage: [(n) => ({ id: idOf(`revision${idOf(`tree${(n * 10 + 2) % trees}`)}`) })],
    DiscardedPage: ['TASK', 'LENGTH', 'VERSION'].map(
      (by): Variables =>
        () => ({ ...policy(0), by }),
    ),
    DiscardedSamples: [() => ({ policy: 'bench', state: 'rejected', reason: 'stale', first: FIRST })],
    Policies: [page],
    PolicyPage: [policy],
    PolicyOutcomes: [policy],
    PolicyWaiting: [policy],
    PolicyLedger: [policy],
    VersionBatch: [(n) => ({ id: idOf(`batch${n}`) })],
    Leases: [page],
    Replays: [page],
    Verifications: [page],
    Datasets: [page],
    DatasetPage: [dataset],
    LineageNode: [(n) => ({ id: rollout(n), whole: true })],
    LineagePage: [(n) => ({ id: rollout(n) }), (n) => ({ id: idOf(`batch${n}`) })],
    'best-trajectories': [none],
    'dataset-lineage': [none],
    'latest-trees': [none],
    'recent-runs': [none],
    health: [none],
    'whole-tree': [tree],
    'history-images': [variables],
    'last-batch': [() => ({ policy: 'bench' })],
  };
}

/** Returns the operations of the studio and the examples, by their names. */
export async function namedOperations(): Promise<ReadonlyMap<string, string>> {
  const all = [...Object.values(studio), ...(await readOperations())];
  return new Map(all.map(({ name, text }) => [name, text]));
}

/** What the pages of the studio ask, and the example queries, over GraphQL. */
export async function operationQuestions(
  size: Parameters<typeof askedOperations>[0],
  log: EventLog,
): Promise<readonly Question[]> {
  const texts = await namedOperations();
  return Object.entries(askedOperations(size)).flatMap(([name, ways]) =>
    ways.map((variables, i) => ({
      name: `operation ${name}${i === 0 ? '' : ', another way'}${i > 1 ? ` (${i})` : ''}`,
      ask: async (db, n) => {
        const api = await graphqlOver(db, log);
        const body = JSON.stringify({ query: texts.get(name), variables: variables(n) });
        const headers = { 'content-type': 'application/json' };
        const answer = await api.fetch(new Request('http://api/graphql', { method: 'POST', headers, body }), {
          principal: localPrincipal(),
        });
        const { errors } = (await answer.json()) as { readonly errors?: readonly { readonly message: string }[] };
        if (errors) throw new Error(`${name}: ${errors.map(({ message }) => message).join('; ')}`);
      },
    })),
  );
}

const opened = new WeakMap<Db, Promise<Graphql>>();

function graphqlOver(db: Db, log: EventLog): Promise<Graphql> {
  const known = opened.get(db);
  if (known) return known;
  const nothing = undefined as never; // blobs, notices and moments: these operations read tables alone
  const graphql = createGraphql({ db, log, blobs: nothing, notices: nothing, snapshots: nothing });
  opened.set(db, graphql);
  return graphql;
}
