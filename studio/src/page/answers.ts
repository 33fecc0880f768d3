import type { Operation } from '../../../graphql/studio/operation.ts';
import { answerKey, type PageRecord, type PageStep } from '../../../graphql/studio/page-record.ts';
import { NotInPage } from '../graphql/faults.ts';

type Given = Readonly<Record<string, unknown>>;

/** Answers the operations of the studio from what a page holds. */
export interface PageAnswers {
  /** @throws NotInPage. */
  readonly answer: <Answer, Variables>(operation: Operation<Answer, Variables>, variables: Variables) => Answer;
  /** Whether the page shows what an address of the studio names. */
  readonly holds: (to: string, params: Given, search: Given) => boolean;
}

/** Makes the answers of a page: those that it holds as they were given, and those that follow from its steps. */
export function pageAnswers(record: PageRecord): PageAnswers {
  const trees = new Map(Object.entries(record.trees));
  const steps = new Map<string, PageStep>();
  for (const { steps: own } of trees.values()) for (const step of own) steps.set(step.id, step);
  const held = (name: string, given: unknown) => record.answers[answerKey(name, given)];

  /** What follows from the steps and trees of the page, by operation; undefined where the page does not hold it. */
  const made: Readonly<Record<string, (given: Given) => object | undefined>> = {
    TrajectorySteps: ({ rollout, first, after }) => trajectoryOf(rollout, first, after),
    DiffPath: ({ leaf, first, after }) => pathTo(leaf, first, after),
    RenderedPath: ({ leaf }) => pathTo(leaf, undefined, undefined),
    RolloutSteps: ({ rollout, first }) => ({
      steps: { nodes: [...steps.values()].filter(({ rolloutId }) => rolloutId === rollout).slice(0, Number(first)) },
    }),
    TreeNode: ({ id }) => ofStep(id, () => true),
    StepPrompt: ({ id }) => ofStep(id, ({ whole }) => whole),
    StepTokens: ({ id }) => ofStep(id, ({ whole }) => whole),
    RunTrees: ({ id, first, after, orderBy }) => treesOf(String(id), Number(first), Number(after ?? 0), String(orderBy)),
  };

  return {
    answer: <Answer, Variables>({ name }: Operation<Answer, Variables>, variables: Variables) => {
      const answer = held(name, variables) ?? made[name]?.(variables as Given);
      if (answer === undefined) throw new NotInPage(`the page holds no answer of ${name} to ${JSON.stringify(variables)}`);
      return answer as Answer; // written by the answers of the same operation
    },
    holds: (to, { id }, { a, b }) => {
      const shown = (rollout: unknown) => held('TrajectoryPage', { id: rollout }) !== undefined;
      if (to === '.' || to === '/' || to === '') return true;
      if (to === '/view/run/$id') return held('RunPage', { id }) !== undefined;
      if (to === '/view/tree/$id' || to === '/view/group/$id') return trees.has(String(id));
      if (to === '/view/trajectory/$id') return shown(id);
      return to === '/view/diff' && shown(a) && shown(b);
    },
  };

  function ofStep(id: unknown, holds: (step: PageStep) => boolean): object | undefined {
    const step = steps.get(String(id));
    return step && holds(step) ? { step } : undefined;
  }

  function trajectoryOf(id: unknown, first: unknown, after: unknown): object | undefined {
    const { rollout } = (held('TrajectoryPage', { id }) ?? {}) as { readonly rollout?: { readonly leafId: string | null } };
    if (!rollout) return undefined;
    const path = rollout.leafId === null ? undefined : pathTo(rollout.leafId, first, after);
    return { trajectory: path ? { id, steps: path.path } : null };
  }

  function pathTo(leaf: unknown, first: unknown, after: unknown): { readonly path: readonly PageStep[] } | undefined {
    const path: PageStep[] = [];
    for (let step = steps.get(String(leaf)); step; step = steps.get(step.parentId ?? '')) path.push(step);
    if (path.length === 0) return undefined;
    const from = after === undefined || after === null ? 0 : Number(after) + 1;
    const many = first === undefined ? path.length : Number(first); // DiffPath says itself how many
    return { path: path.reverse().slice(from, from + many) };
  }

  function treesOf(run: string, first: number, from: number, orderBy: string): object | undefined {
    const all = record.runTrees[run] as readonly { readonly returnVariance: number | null }[] | undefined; // as RunTrees lists them
    if (!all) return undefined;
    const ordered =
      orderBy === 'OPENED_DESC'
        ? all.toReversed()
        : orderBy === 'RETURN_VARIANCE_DESC'
          ? all.toSorted((a, b) => (b.returnVariance ?? -1) - (a.returnVariance ?? -1))
          : all;
    const end = from + first;
    const pageInfo = { endCursor: String(end), hasNextPage: end < all.length };
    return { trees: { totalCount: all.length, pageInfo, nodes: ordered.slice(from, end) } };
  }
}
