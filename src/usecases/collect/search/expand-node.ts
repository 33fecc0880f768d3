import type { Draft } from '../../../append/appender.ts';
import { seedFrom } from '../../../domain/random/seed-from.ts';
import { chooseCandidates, gradeOutcome } from '../../../domain/search/expansion.ts';
import { nextSearchStep, type SearchParams, type SearchStep } from '../../../domain/search/next-search-step.ts';
import { applySearchFacts, type SearchFact } from '../../../domain/search/search-facts.ts';
import { type SearchState, searchNode } from '../../../domain/search/search-tree.ts';
import type { ParsedResponse } from '../../../environments/environment.ts';
import { picturesOf } from '../../../environments/with-pictures.ts';
import { derivedId } from '../../../events/derived-id.ts';
import { endsWithin } from '../../../policies/openai/completion.ts';
import type { Act } from '../../../policies/policy.ts';
import { askPolicy } from '../ask-policy.ts';
import type { Episodes, Executed, NewAction } from '../episodes.ts';
import type { GrowingTree, TreeNode } from '../growing-tree.ts';
import { penalties } from '../prompting/closing-rewards.ts';
import { historyDrafts, promptDrafts } from '../prompting/history-drafts.ts';
import type { DrawnHistory } from '../prompting/prompt-plan.ts';
import { readAnswer } from '../prompting/prompter.ts';
import { pathTo } from '../restore-environment.ts';
import { rewardDrafts, rolloutFinishedDraft, rolloutStartedDraft, stepData, stepDraft, toolDrafts } from '../rollout-events.ts';
import { repliesSampled } from '../sampled-replies.ts';
import { ordinalsTo, type SearchRules } from './search-rules.ts';

type Expansion = Extract<SearchStep, { kind: 'expand' }>;
interface Candidate {
  readonly ordinal: number;
  /** What makes two replies the same. */
  readonly response: string;
  /** What is recorded of the reply. */
  readonly said: string;
  readonly action: string;
  readonly act: Act;
  readonly parsed: ParsedResponse;
}

const NOT_REPEATED = 'the environment did not repeat what was recorded';

/** A search under way: the tree as its rules see it, and its parameters. */
export interface Search {
  readonly tree: GrowingTree;
  readonly rules: SearchRules;
  readonly episodes: Episodes;
  readonly params: SearchParams;
}

/** What an expansion came to, before it is on record. */
export interface Expanded {
  readonly state: SearchState;
  readonly drafts: readonly Draft[];
  /** To be called when the drafts are durable. */
  readonly report: () => void;
}

/**
 * Expands a node: one request for all candidates, their replies on record before any is executed, then one environment step for
 * each action that says something new. All children, what they mean for the search and the end of the expansion are appended at
 * once, in the order of the replies; children that an earlier process already added are kept, and only the missing ones of the
 * same replies are tried.
 */
export async function expandNode(search: Search, state: SearchState, step: Expansion): Promise<Expanded> {
  const { tree, rules, episodes } = search;
  const path = pathTo(tree, step.stepId);
  const recorded = tree.tree?.replies.get(step.stepId) ?? null;
  const began = tree.clock();
  const expert = { expertAction: () => episodes.expertAction(step.stepId) };
  const asked = await askPolicy(tree, expert, path, {
    seed: seedOf(tree, state, step.stepId),
    n: step.candidates,
    prompt: rules.promptAt(path),
    recorded: recorded?.acts ?? null,
  });
  const policyMs = recorded?.policyMs ?? Math.max(0, tree.clock() - began);
  if (asked.kind === 'failed') {
    await episodes.release(step.stepId);
    return expanded(tree, state, step, { children: [], dropped: [], reason: asked.reason });
  }
  const { repeats } = tree.policy;
  const acts = recorded || repeats ? asked.acts : asked.acts.map((act, ordinal) => asTaken(tree, step, act, ordinal));
  if (!recorded && !repeats) await tree.appender.append([repliesSampled(tree, step, { acts, policyMs })]);
  const candidates: Candidate[] = [];
  for (const [ordinal, act] of acts.entries()) {
    const parsed = tree.prompter ? readAnswer(tree.prompter, act.response) : await episodes.parse(act.response);
    const { said, key } = rules.read(act.response);
    candidates.push({ ordinal, act, parsed, said, response: key, action: parsed.action });
  }
  const { kept, dropped } = chooseCandidates(candidates);
  const present = new Set(step.present.map((child) => child.ordinal));
  const missing = kept.filter(({ candidate }) => !present.has(candidate.ordinal));
  const { executed, failure } = await episodes.execute(step.stepId, inOrder(search, state, step, missing));
  if (tree.signal.aborted) return { state, drafts: [], report: () => undefined }; // the next process executes the same replies
  let grown = state;
  const children: Child[] = [];
  for (const { candidate, equivalentTo } of missing) {
    const done = executed.get(stepIdOf(step.stepId, candidate.ordinal));
    if (!done) continue;
    const earlier = equivalentTo === null ? null : stepIdOf(step.stepId, equivalentTo);
    const child = childOf({ search, state: grown, step, candidate, earlier, done, policyMs, history: asked.history });
    grown = applySearchFacts(grown, [child.fact]);
    await episodes.settle(child.fact.stepId, child.fact.end === 'none' ? 'open' : 'ended');
    children.push(child);
  }
  await episodes.release(step.stepId);
  return expanded(tree, grown, step, {
    children,
    dropped: dropped.map(({ candidate, sameAs }) => ({ ordinal: candidate.ordinal, sameAs })),
    reason: children.length < missing.length ? (failure ?? NOT_REPEATED) : '',
  });
}

/**
 * Puts the children in an order in which they are executed: last the one where the search goes on if none of them ends, and those
 * with its action, so that an episode that cannot be copied is there then.
 */
function inOrder(
  { tree, params }: Search,
  state: SearchState,
  step: Expansion,
  missing: readonly { readonly candidate: Candidate }[],
): readonly NewAction[] {
  const wanted = missing.map(({ candidate: { ordinal, action } }) => ({
    stepId: stepIdOf(step.stepId, ordinal),
    ordinal,
    action,
  }));
  if (wanted.length < 2) return wanted;
  const { simulation, stepId: parentStepId } = step;
  const open = { kind: 'child-added', simulation, parentStepId, score: 0, end: 'none', equivalentTo: null } as const;
  const facts = wanted.map(({ stepId, ordinal }): SearchFact => ({ ...open, stepId, ordinal }));
  const then = applySearchFacts(state, [...facts, { kind: 'node-expanded', simulation, stepId: parentStepId }]);
  // A draw that is no function of the tie is not drawn here.
  const next = nextSearchStep(then, tree.overrides?.drawTie ? { ...params, tieBreak: { kind: 'first' } } : params);
  const last = next.kind === 'expand' ? wanted.find(({ stepId }) => stepId === next.stepId)?.action : undefined;
  return [...wanted.filter(({ action }) => action !== last), ...wanted.filter(({ action }) => action === last)];
}

/**
 * Puts what is recorded of a child in the place of a reply that was asked for again: records made before replies were kept hold
 * the children of an expansion that was cut short, and not what else was said. So no new child repeats one that is there.
 */
function asTaken(tree: GrowingTree, { stepId, present }: Expansion, act: Act, ordinal: number): Act {
  const isPresent = present.some((child) => child.ordinal === ordinal);
  return isPresent ? sayingOnly(act, nodeOf(tree, stepIdOf(stepId, ordinal)).response) : act;
}

/** Puts what is recorded of a reply in its place; the ends of its tokens go with it. */
function sayingOnly({ tokens, ...act }: Act, response: string): Act {
  const { ends: before, ...others } = tokens ?? { ids: [], logProbs: null };
  const ends = before && endsWithin(response, act.response, before);
  return { ...act, response, tokens: tokens && { ...others, ...(ends ? { ends } : {}) } };
}

interface Adding {
  readonly search: Search;
  readonly state: SearchState;
  readonly step: Expansion;
  readonly candidate: Candidate;
  readonly earlier: string | null;
  readonly done: Executed;
  readonly policyMs: number;
  readonly history: DrawnHistory | null;
}

interface Child {
  readonly fact: SearchFact & { readonly kind: 'child-added' };
  readonly drafts: readonly Draft[];
  readonly report: () => void;
}

/** Adds a child to the nodes of the tree. Returns what is recorded of it. */
function childOf({ search, state, step, candidate, earlier, done, policyMs, history }: Adding): Child {
  const { tree, rules, params } = search;
  const { result, environmentMs } = done;
  const at = nodeOf(tree, step.stepId);
  const parent = searchNode(state, step.stepId);
  const stepId = stepIdOf(step.stepId, candidate.ordinal);
  const graded = gradeOutcome(
    { score: rules.scoreAfter(parent.score, result), terminated: result.terminated, truncated: result.truncated },
    parent.depth,
    params.maxDepth,
  );
  const isEnd = graded.end !== 'none';
  const act = sayingOnly(candidate.act, candidate.said);
  const rolloutId = isEnd ? derivedId('rollout', tree.treeId, stepId) : null;
  const { parsed } = candidate;
  const data = stepData({ tree, stepId, rolloutId, at, act, parsed, result, timings: { policyMs, environmentMs }, done: isEnd });
  const path = pathTo(tree, at.stepId);
  const shown = promptDrafts(tree, path, stepId, candidate.act);
  const node: TreeNode = {
    stepId,
    parentStepId: at.stepId,
    depth: data.depth,
    response: candidate.said,
    action: result.executed ?? candidate.action,
    observation: result.observation,
    pictures: picturesOf(result),
    admissibleActions: result.admissibleActions,
    stateHash: result.stateHash,
    ended: isEnd,
    policyVersion: (act.policy ?? tree.policy.ref).version,
    prompt: isEnd ? null : shown.prompt,
  };
  const fact = {
    kind: 'child-added',
    simulation: step.simulation,
    stepId,
    parentStepId: at.stepId,
    ordinal: candidate.ordinal,
    equivalentTo: earlier,
    ...graded,
  } as const;
  // A walk that ends is a rollout from the node where it was sampled: it makes the path to its leaf a trajectory.
  const walk =
    rolloutId === null
      ? null
      : { tree, rolloutId, fromStepId: at.stepId, ordinal: rolloutOrdinal(tree), seed: seedOf(tree, state, step.stepId) };
  const drafts = [
    ...(walk ? [rolloutStartedDraft(walk)] : []),
    stepDraft(tree, data),
    ...toolDrafts(tree, stepId, result),
    ...historyDrafts(tree, path, stepId, history),
    ...shown.drafts,
    ...rewardDrafts({ tree, rolloutId }, stepId, result, isEnd),
    ...penalties(tree, rolloutId, node),
    nodeAdded(tree, fact),
    ...(walk
      ? [rolloutFinishedDraft(walk, node, result.terminated ? 'terminated' : 'truncated', result.success ?? false, graded.end)]
      : []),
  ];
  tree.nodes.set(stepId, node);
  const report = () => {
    tree.onStep();
    if (isEnd) tree.onRollout(result.success === true);
  };
  return { fact, drafts, report };
}

function nodeAdded(tree: GrowingTree, { kind: _, ...fact }: SearchFact & { kind: 'child-added' }): Draft {
  const { end } = fact;
  if (end === 'stuck') throw new TypeError('a child is never stuck before it was expanded');
  return {
    type: 'NodeAdded',
    id: derivedId('NodeAdded', fact.stepId),
    correlationId: tree.runId,
    causationId: derivedId('StepTaken', fact.stepId),
    data: { treeId: tree.treeId, ...fact, end },
  };
}

function expanded(
  tree: GrowingTree,
  state: SearchState,
  { stepId, simulation, candidates, present }: Expansion,
  found: {
    readonly children: readonly Child[];
    readonly dropped: readonly { ordinal: number; sameAs: number }[];
    readonly reason: string;
  },
): Expanded {
  const { children, dropped, reason } = found;
  const closed: Draft = {
    type: 'NodeExpanded',
    id: derivedId('NodeExpanded', tree.treeId, stepId),
    correlationId: tree.runId,
    data: { treeId: tree.treeId, stepId, simulation, asked: candidates, dropped: [...dropped], reason },
  };
  return {
    state: applySearchFacts(state, [{ kind: 'node-expanded', simulation, stepId }]),
    drafts: [...children.flatMap(({ drafts }) => drafts), closed],
    report: () => {
      for (const child of children) child.report();
      if (reason !== '' && stepId === tree.rootStepId && present.length === 0) tree.onFailure(reason);
    },
  };
}

/** Names the child of a node by its place among the candidates: equal replies give equal trees, ids included. */
function stepIdOf(parentStepId: string, ordinal: number): string {
  return derivedId('candidate', parentStepId, ordinal);
}

/**
 * The seed of the request at a node: from the run's seed and the ordinals on the way there, so that it does not depend on ids.
 */
function seedOf(tree: GrowingTree, state: SearchState, stepId: string): number {
  return seedFrom('expand', tree.seed, tree.task.alias, tree.treeIndex, ...ordinalsTo(state, stepId));
}

/** Numbers the rollouts of a search in the order in which they ended. */
function rolloutOrdinal(tree: GrowingTree): number {
  let ended = 0;
  for (const node of tree.nodes.values()) if (node.ended) ended++;
  return ended;
}

function nodeOf(tree: GrowingTree, stepId: string): TreeNode {
  const node = tree.nodes.get(stepId);
  if (!node) throw new RangeError(`tree ${tree.treeId} has no step ${stepId}`);
  return node;
}
