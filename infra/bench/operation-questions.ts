import { createGraphql } from '../../graphql/create-graphql.ts';
import { readOperations } from '../../graphql/persisted-operations.ts';
import * as studio from '../../graphql/studio/generated/operations.ts';
import type { Db } from '../../src/postgres/database.ts';
import { localPrincipal } from '../../src/postgres/principal.ts';
import { idOf, type Question } from './answer-questions.ts';

type Graphql = Awaited<ReturnType<typeof createGraphql>>;
const FIRST = 50;

/** What the lists of the studio ask, and the example queries that need no id of what the fill does not make; over GraphQL. */
export async function operationQuestions({
  runs,
  trees,
  tasks,
}: {
  readonly runs: number;
  readonly trees: number;
  readonly tasks: number;
}): Promise<readonly Question[]> {
  const run = (n: number) => ({ id: idOf(`run${n % runs}`), first: FIRST });
  const tree = (n: number) => ({ id: idOf(`tree${(n * 10) % trees}`) });
  const policy = () => ({ id: 'bench', first: FIRST });
  const page = () => ({ first: FIRST });
  const asked: readonly (readonly [{ readonly name: string; readonly text: string }, (n: number) => object])[] = [
    [studio.runs, page],
    [studio.runFilters, page],
    [studio.runPage, run],
    [studio.runTrees, (n) => ({ ...run(n), orderBy: 'OPENED_DESC' })],
    [studio.runTrees, (n) => ({ ...run(n), orderBy: 'RETURN_VARIANCE_DESC' })],
    [studio.runComponents, (n) => ({ ids: [run(n).id, run(n + 1).id] })],
    [studio.runFailures, run],
    [studio.runLengths, run],
    [studio.runRevisions, run],
    [studio.runImages, (n) => ({ ...run(n), orderBy: 'TREE' })],
    [studio.imagesPage, run],
    [studio.comparePage, (n) => ({ runs: [run(n).id, run(n + 1).id] })],
    [studio.treePage, tree],
    [studio.treeOutline, tree],
    [studio.diffCandidates, (n) => ({ task: idOf(`task${n % tasks}`), first: FIRST })],
    [studio.findSteps, (n) => ({ filter: { text: { words: `word${(n * 3) % 500}` } }, first: FIRST })],
    [studio.findSteps, (n) => ({ filter: { run: run(n).id }, first: FIRST })],
    [studio.reviewQueue, (n) => ({ filter: { run: run(n).id, annotated: { has: false } }, first: FIRST })],
    [studio.saidLast, () => ({ filter: {}, first: FIRST })],
    [studio.labels, page],
    [studio.discardedPage, () => ({ ...policy(), by: 'TASK' })],
    [studio.discardedSamples, () => ({ policy: 'bench', state: 'rejected', reason: 'stale', first: FIRST })],
    [studio.policies, page],
    [studio.policyPage, policy],
    [studio.policyOutcomes, policy],
    [studio.policyWaiting, policy],
    [studio.policyLedger, policy],
    [studio.leases, page],
    [studio.replays, page],
    [studio.verifications, page],
    [studio.datasets, page],
    ...(await readOperations())
      .filter(({ name }) => ['best-trajectories', 'dataset-lineage', 'latest-trees', 'recent-runs', 'whole-tree'].includes(name))
      .map((operation) => [operation, operation.name === 'whole-tree' ? tree : () => ({})] as const),
    ...(await readOperations())
      .filter(({ name }) => name === 'last-batch')
      .map((operation) => [operation, () => ({ policy: 'bench' })] as const),
  ];
  return asked.map(([{ name, text }, variables], i) => ({
    name: `operation ${name}${asked.findIndex(([other]) => other.name === name) === i ? '' : ', another way'}`,
    ask: async (db, n) => {
      const api = await graphqlOver(db);
      const body = JSON.stringify({ query: text, variables: variables(n) });
      const headers = { 'content-type': 'application/json' };
      const answer = await api.fetch(new Request('http://api/graphql', { method: 'POST', headers, body }), {
        principal: localPrincipal(),
      });
      const { errors } = (await answer.json()) as { readonly errors?: readonly { readonly message: string }[] };
      if (errors) throw new Error(`${name}: ${errors.map(({ message }) => message).join('; ')}`);
    },
  }));
}

const opened = new WeakMap<Db, Promise<Graphql>>();

function graphqlOver(db: Db): Promise<Graphql> {
  const known = opened.get(db);
  if (known) return known;
  const nothing = undefined as never; // log, blobs, notices and moments: these operations read tables alone
  const graphql = createGraphql({ ...{ db, log: nothing, blobs: nothing, notices: nothing, snapshots: nothing } });
  opened.set(db, graphql);
  return graphql;
}
