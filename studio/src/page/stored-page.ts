import type { TrajectoryPageQuery } from '../../../graphql/studio/generated/operations.ts';
import type { Operation } from '../../../graphql/studio/operation.ts';
import { answerKey, hasPrompt, type PageRecord, type PageStep } from '../../../graphql/studio/page-record.ts';
import { readShared, type SharedValues } from '../../../graphql/studio/shared-values.ts';
import { NotInPage } from '../graphql/faults.ts';

/** A page that opens without a server: what is written in it, and the answers that the views get from that. */
export interface StoredPage extends PageAnswers {
  readonly record: PageRecord;
}
let page: StoredPage | null | undefined; // undefined before it was looked for

/** Returns what the document holds; null where a server is asked instead. */
export function heldPage(): StoredPage | null {
  if (page === undefined) {
    const written = document.getElementById('record')?.textContent;
    const record = written ? (readShared(JSON.parse(written) as SharedValues) as PageRecord) : null; // as the same version wrote it
    page = record && { record, ...pageAnswers(record) };
  }
  return page;
}

/** Whether the answers lie in the page: nothing can be changed then. */
export function isPage(): boolean {
  return heldPage() !== null;
}

type Variables = Readonly<Record<string, unknown>>;

/** Answers the operations of the studio from what a page holds. */
interface PageAnswers {
  /** @throws NotInPage. */
  readonly answer: <Answer, Of>(operation: Operation<Answer, Of>, variables: Of) => Answer;
  /** Whether the page shows what an address of the studio names. */
  readonly holds: (to: string, params: Variables, search: Variables) => boolean;
}

/** Makes the answers of a page: those that it holds, and those about single steps and paths, which are read off its steps. */
function pageAnswers(record: PageRecord): PageAnswers {
  const steps = new Map(record.steps.map((step) => [`${step.treeId} ${step.id}`, step]));
  const stepOf = ({ tree, id }: Variables) => steps.get(`${tree} ${id}`);
  const stored = (name: string, variables: Variables) => record.answers[answerKey(name, variables)];

  /** The answers that are read off the steps, by operation; undefined if the page does not hold them. */
  const ofSteps: Readonly<Record<string, (variables: Variables) => object | undefined>> = {
    TrajectorySteps: ({ rollout, tree, first, after }) => {
      const page = stored('TrajectoryPage', { id: rollout, tree }) as TrajectoryPageQuery | undefined;
      const path = pathTo(tree, page?.rollout?.leafId);
      const from = after === undefined ? 0 : Number(after) + 1;
      return page && { trajectory: path ? { id: rollout, steps: path.slice(from, from + Number(first)) } : null };
    },
    RolloutSteps: ({ rollout, tree, first }) => {
      const nodes = record.steps.filter(({ treeId, rolloutId }) => treeId === tree && rolloutId === rollout);
      return { steps: { nodes: nodes.slice(0, Number(first)) } };
    },
    DiffPath: ({ leaf, tree }) => ({ path: pathTo(tree, leaf) }),
    RenderedPath: ({ leaf, tree }) => ({ path: pathTo(tree, leaf) }),
    TreeNode: (variables) => ({ step: stepOf(variables) }),
    StepPrompt: (variables) => ({ step: withPrompt(variables) }),
    StepTokens: (variables) => ({ step: withPrompt(variables) }),
  };

  return {
    answer: <Answer, Of>({ name }: Operation<Answer, Of>, variables: Of) => {
      const answer = stored(name, variables as Variables) ?? ofSteps[name]?.(variables as Variables);
      if (answer === undefined || Object.values(answer).includes(undefined))
        throw new NotInPage(`the page holds no answer of ${name} to ${JSON.stringify(variables)}`);
      return answer as Answer; // written by the answers of the same operation
    },
    holds: (to, { id }, { tree, a, b, aTree, bTree }) => {
      const shown = (rollout: unknown, of: unknown) => stored('TrajectoryPage', { id: rollout, tree: of }) !== undefined;
      if (to === '.' || to === '/' || to === '') return true;
      if (to === '/view/run/$id') return stored('RunPage', { id }) !== undefined;
      if (to === '/view/tree/$id' || to === '/view/group/$id') return stored('TreePage', { id }) !== undefined;
      if (to === '/view/trajectory/$id') return shown(id, tree);
      return to === '/view/diff' && shown(a, aTree) && shown(b, bTree);
    },
  };

  function withPrompt(variables: Variables): PageStep | undefined {
    const step = stepOf(variables);
    return step && hasPrompt(step) ? step : undefined;
  }

  function pathTo(tree: unknown, leaf: unknown): readonly PageStep[] | undefined {
    const path: PageStep[] = [];
    for (let step = stepOf({ tree, id: leaf }); step; step = stepOf({ tree, id: step.parentId })) path.push(step);
    return path.length === 0 ? undefined : path.reverse();
  }
}
