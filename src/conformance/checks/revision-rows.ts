import { z } from 'zod';
import { directTransition, nextTransitionStep } from '../../domain/revision/find-transition.ts';
import { type LeafPath, leafPaths, type PathPair, pairAsPublished } from '../../domain/revision/pair-paths.ts';
import { goodRow, type PublishedFeedback, pairRow } from '../../domain/revision/published-rows.ts';
import { spliceAsPublished } from '../../domain/revision/splice.ts';
import { parseVerdictAsPublished, type Verdict } from '../../domain/revision/verdict.ts';
import { toXtuner } from '../../domain/revision/xtuner.ts';
import { type PublishedNode, publishedTree, readPublishedTree, type SearchedTree } from '../../domain/search/published-tree.ts';
import { judgeEqual, type VectorCheck, type VectorFile } from '../vector-check.ts';

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
    for (const each of judged?.asked ?? []) judgeCalls.push(each);
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

const names = z.array(z.string());
const namedPairs = z.array(z.tuple([z.string(), z.string()]));
const pairing = z.object({
  tree: z.string(),
  alpha: z.number(),
  beta: z.number(),
  rootValue: z.number(),
  rootVisits: z.number(),
  treeSkipped: z.boolean(),
  leavesDfs: z.array(names),
  leavesSorted: z.array(z.tuple([z.string(), z.number()])),
  pairsUnshuffled: namedPairs,
  pairsShuffledSeed123: namedPairs,
  acceptedPairsInOrder: namedPairs,
  goodOnly: names,
});
const pairsShape = z.object({ cases: z.array(pairing) });

/** Judges `05_pairs`: leaves, their order, pairs before and after the shuffle, and what is accepted. */
export const pairsCheck: VectorCheck = {
  fileName: /^05_pairs.*\.json$/,
  async *judge(file) {
    const { cases } = pairsShape.parse(file.json);
    const treeOf = await siblingTrees(file);
    for (const { tree: name, alpha, beta, ...expected } of cases) {
      const { tree } = treeOf(name);
      const found = pairAsPublished(tree, { alpha, beta });
      const actual = {
        rootValue: tree.root.step.valueSum,
        rootVisits: tree.root.step.visits,
        treeSkipped: found.skipped,
        leavesDfs: leafPaths(tree).map(({ steps }) => ['ROOT', ...steps.map(nameOf)]),
        leavesSorted: found.sorted.map((path) => [leafName(path), path.average]),
        pairsUnshuffled: found.found.map(namesOf),
        pairsShuffledSeed123: found.shuffled.map(namesOf),
        acceptedPairsInOrder: found.accepted.map(namesOf),
        goodOnly: found.good.map(leafName),
      };
      yield judgeEqual(`${name}, alpha ${alpha}, beta ${beta}`, actual, expected);
    }
  },
};

function namesOf({ good, bad }: PathPair): [string, string] {
  return [leafName(good), leafName(bad)];
}

function leafName({ steps }: LeafPath): string {
  const leaf = steps.at(-1);
  return leaf ? nameOf(leaf) : 'ROOT';
}

/** The files name a step after its action, `act g1`. */
function nameOf({ action }: { readonly action: string }): string {
  return action.replace(/^act /, '');
}

const verdictShape = z.object({
  cases: z.array(z.object({ response: z.string(), judgement: z.string(), continues: z.boolean() })),
});

/** Judges `07_verdict_parse`: how the published program reads a judge, misreadings included. */
export const verdictCheck: VectorCheck = {
  fileName: /^07_verdict_parse.*\.json$/,
  *judge({ json }) {
    for (const { response, ...expected } of verdictShape.parse(json).cases) {
      const { judgement, verdict } = parseVerdictAsPublished(response);
      yield judgeEqual(JSON.stringify(response), { judgement, continues: verdict !== 'bad' }, expected);
    }
  },
};

const message = z
  .object({ role: z.enum(['system', 'user', 'assistant']), content: z.string(), loss: z.boolean().optional() })
  .transform(({ role, content, loss }) => ({ role, content, ...(loss === undefined ? {} : { loss }) }));
const xtunerShape = z.object({ input: z.array(message), output: z.array(z.unknown()) });

/** Judges `11_xtuner_rewrite`: the published conversion, which drops the masks. */
export const xtunerCheck: VectorCheck = {
  fileName: /^11_xtuner_rewrite.*\.json$/,
  *judge({ json }) {
    const { input, output } = xtunerShape.parse(json);
    yield judgeEqual('rewrite', [toXtuner(input, 'drop')], output);
  },
};

const publishedNodeMessage = z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() });

/** A tree as the published program wrote it to a file (specification of Agent-R, §1.7). */
export const publishedNode: z.ZodType<PublishedNode> = z.object({
  visits: z.number(),
  value: z.number(),
  prior: z.number(),
  puct_value: z.number(),
  obs: z.string(),
  llm_response: z.string(),
  depth: z.number(),
  is_terminal: z.boolean(),
  recent_actions: z.array(z.union([z.string(), z.tuple([z.string(), z.string()])])),
  action: z.string(),
  env_score: z.number(),
  disaster: z.boolean(),
  state: z.array(publishedNodeMessage),
  get children() {
    return z.array(publishedNode);
  },
});

const publishedTreesShape = z.record(z.string(), publishedNode);

/**
 * Judges `05_trees`: read, and written again from what was kept, each tree is the same, though its score was not computed by who
 * wrote it.
 */
export const publishedTreesCheck: VectorCheck = {
  fileName: /^05_trees.*\.json$/,
  *judge({ json }) {
    for (const [name, tree] of Object.entries(publishedTreesShape.parse(json))) {
      yield judgeEqual(name, withoutScore(publishedTree(readPublishedTree(tree))), withoutScore(tree));
    }
  },
};

/** Reads the trees that the pairings and rows were made of. @throws Error when the sibling file is missing or another. */
async function siblingTrees({ readSibling }: VectorFile) {
  const trees = publishedTreesShape.parse(await readSibling('05_trees.json'));
  return (name: string) => {
    const tree = trees[name];
    if (!tree) throw new Error(`05_trees.json has no tree ${name}`);
    return readPublishedTree(tree);
  };
}

function withoutScore(node: PublishedNode): PublishedNode {
  return { ...node, puct_value: 0, children: node.children.map(withoutScore) };
}
