import type { TrajectoryPageQuery } from '../../../graphql/studio/generated/operations.ts';
import type { Operation } from '../../../graphql/studio/operation.ts';
import { answerKey, hasPrompt, type PageRecord, type PageStep } from '../../../graphql/studio/page-record.ts';
import { NotInPage } from '../graphql/faults.ts';

type Variables = Readonly<Record<string, unknown>>;

/** Answers the operations of the studio from what a page holds. */
export interface PageAnswers {
  /** @throws NotInPage. */
  readonly answer: <Answer, Of>(operation: Operation<Answer, Of>, variables: Of) => Answer;
  /** Whether the page shows what an address of the studio names. */
  readonly holds: (to: string, params: Variables, search: Variables) => boolean;
}

/** Makes the answers of a page: those that it holds, and those about single steps and paths, which are read off its steps. */
export function pageAnswers(record: PageRecord): PageAnswers {
  const steps = new Map(record.steps.map((step) => [step.id, step]));
  const stored = (name: string, variables: Variables) => record.answers[answerKey(name, variables)];

  /** The answers that are read off the steps, by operation; undefined if the page does not hold them. */
  const ofSteps: Readonly<Record<string, (variables: Variables) => object | undefined>> = {
    TrajectorySteps: ({ rollout, first, after }) => {
      const page = stored('TrajectoryPage', { id: rollout }) as TrajectoryPageQuery | undefined;
      const path = pathTo(page?.rollout?.leafId);
      const from = after === undefined ? 0 : Number(after) + 1;
      return page && { trajectory: path ? { id: rollout, steps: path.slice(from, from + Number(first)) } : null };
    },
    RolloutSteps: ({ rollout, first }) => ({
      steps: { nodes: record.steps.filter(({ rolloutId }) => rolloutId === rollout).slice(0, Number(first)) },
    }),
    DiffPath: ({ leaf }) => ({ path: pathTo(leaf) }),
    RenderedPath: ({ leaf }) => ({ path: pathTo(leaf) }),
    TreeNode: ({ id }) => ({ step: steps.get(String(id)) }),
    StepPrompt: ({ id }) => ({ step: withPrompt(id) }),
    StepTokens: ({ id }) => ({ step: withPrompt(id) }),
  };

  return {
    answer: <Answer, Of>({ name }: Operation<Answer, Of>, variables: Of) => {
      const answer = stored(name, variables as Variables) ?? ofSteps[name]?.(variables as Variables);
      if (answer === undefined || Object.values(answer).includes(undefined))
        throw new NotInPage(`the page holds no answer of ${name} to ${JSON.stringify(variables)}`);
      return answer as Answer; // written by the answers of the same operation
    },
    holds: (to, { id }, { a, b }) => {
      const shown = (rollout: unknown) => stored('TrajectoryPage', { id: rollout }) !== undefined;
      if (to === '.' || to === '/' || to === '') return true;
      if (to === '/view/run/$id') return stored('RunPage', { id }) !== undefined;
      if (to === '/view/tree/$id' || to === '/view/group/$id') return stored('TreePage', { id }) !== undefined;
      if (to === '/view/trajectory/$id') return shown(id);
      return to === '/view/diff' && shown(a) && shown(b);
    },
  };

  function withPrompt(id: unknown): PageStep | undefined {
    const step = steps.get(String(id));
    return step && hasPrompt(step) ? step : undefined;
  }

  function pathTo(leaf: unknown): readonly PageStep[] | undefined {
    const path: PageStep[] = [];
    for (let step = steps.get(String(leaf)); step; step = steps.get(step.parentId ?? '')) path.push(step);
    return path.length === 0 ? undefined : path.reverse();
  }
}
