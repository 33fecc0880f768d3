import { z } from 'zod';
import { directTransition, nextTransitionStep } from '../../domain/revision/find-transition.ts';
import type { LeafPath } from '../../domain/revision/leaf-paths.ts';
import { pairAsPublished } from '../../domain/revision/pair-as-published.ts';
import { goodRow, type PublishedFeedback, pairRow } from '../../domain/revision/published-rows.ts';
import { spliceAsPublished } from '../../domain/revision/splice.ts';
import { parseVerdictAsPublished, type Verdict } from '../../domain/revision/verdict.ts';
import type { SearchedTree } from '../../domain/search/published-tree.ts';
import { judgeEqual, type VectorCheck } from '../vector-check.ts';
import { siblingTrees } from './published-trees.ts';

const slots = z.object({
  task_description: z.string(),
  action_obs_prompt: z.string(),
  action: z.string(),
  observation: z.string(),
});
const feedback = z.object({ revision_feedback: z.string(), action: z.string(), obs: z.string(), judgement: z.string() });
const row = z.looseObject({
  task_num: z.string(),
  revise_feedback: z.union([z.array(feedback), z.literal('')]).optional(),
});
const scenario = z.object({
  tree: z.string(),
  alpha: z.number(),
  beta: z.number(),
  dataType: z.string(),
  revise: z.boolean(),
  note: z.string(),
  judgeCalls: z.array(slots),
  rows: z.array(row),
});
type Scenario = z.infer<typeof scenario>;
const shape = z.object({ cases: z.array(scenario) });

/** Judges `06_revision_rows`: every row with all of its messages, and every question to the judge, in order. */
export const revisionRowsCheck: VectorCheck = {
  fileName: /^06_revision_rows.*\.json$/,
  async *judge(file) {
    const { cases } = shape.parse(file.json);
    const treeOf = await siblingTrees(file);
    for (const each of cases) {
      const { tree, dataType, note, rows, judgeCalls } = each;
      const name = `${tree}, ${dataType}: ${note}`;
      yield judgeEqual(name, rowsOf(each, treeOf(tree)), { rows, judgeCalls });
    }
  },
};

/**
 * Makes the rows of a tree as the published program does; its judge answers what the file records, and everything it is asked is
 * kept.
 */
function rowsOf({ alpha, beta, dataType, revise, rows: given }: Scenario, { opening, tree }: SearchedTree) {
  const taskNum = given[0]?.task_num ?? '';
  const paired = pairAsPublished(tree, { alpha, beta });
  if (dataType === 'good') {
    return { rows: paired.good.map(({ steps }) => goodRow(taskNum, opening, steps, revise)), judgeCalls: [] };
  }
  const judgeCalls: z.infer<typeof slots>[] = [];
  const rows = paired.accepted.map(({ good, bad, reflection }, i) => {
    const replies = (given[i]?.revise_feedback || []).map(({ revision_feedback }) => revision_feedback);
    const judged = revise ? judgePath(bad, opening.at(-1)?.content ?? '', replies) : null;
    judgeCalls.push(...(judged?.asked ?? []));
    const { index } = judged?.transition ?? directTransition(bad.steps);
    const turns = spliceAsPublished(bad.steps.slice(0, index + 1), good.steps, `<reflection ${reflection}>`);
    const steps = { good: good.steps, bad: bad.steps };
    return pairRow({ taskNum, opening, turns, ...steps, feedback: judged?.feedback ?? null, lowLog: 'trained' });
  });
  return { rows, judgeCalls };
}

function judgePath({ steps }: LeafPath, task: string, replies: readonly string[]) {
  const asked: z.infer<typeof slots>[] = [];
  const feedback: PublishedFeedback[] = [];
  const verdicts: Verdict[] = [];
  for (;;) {
    const next = nextTransitionStep(steps, task, verdicts);
    if (next.kind === 'found') return { transition: next.transition, asked, feedback };
    const { taskDescription, log, action, observation } = next.slots;
    asked.push({ task_description: taskDescription, action_obs_prompt: log, action, observation });
    const reply = replies[next.index] ?? ''; // a step beyond those given is asked for nothing, rejected, and seen as a difference
    const { judgement, verdict } = parseVerdictAsPublished(reply);
    feedback.push({ revision_feedback: reply, action, obs: observation, judgement });
    verdicts.push(verdict);
  }
}
