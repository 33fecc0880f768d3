import type { Draft } from '../../../append/appender.ts';
import { seedFrom } from '../../../domain/random/seed-from.ts';
import { chooseCandidates, gradeOutcome } from '../../../domain/search/expansion.ts';
import type { SearchParams, SearchStep } from '../../../domain/search/next-search-step.ts';
import { applySearchFacts, type SearchFact } from '../../../domain/search/search-facts.ts';
import { type SearchState, searchNode } from '../../../domain/search/search-tree.ts';
import type { Environment, ParsedResponse } from '../../../environments/environment.ts';
import { derivedId } from '../../../events/derived-id.ts';
import type { Act } from '../../../policies/policy.ts';
import { askPolicy } from '../ask-policy.ts';
import { type Episodes, episodeAt, keepEpisode, releaseEpisode } from '../episodes.ts';
import type { GrowingTree } from '../growing-tree.ts';
import { penalties } from '../prompting/closing-rewards.ts';
import { historyDrafts } from '../prompting/history-drafts.ts';
import { promptDrafts } from '../prompting/prompt-draft.ts';
import { readAnswer } from '../prompting/prompter.ts';
import type { DrawnHistory } from '../prompting/step-prompt.ts';
import { pathTo } from '../restore-environment.ts';
import { finished, rewards, started, stepData, stepEvent, toolDrafts } from '../rollout-events.ts';
import { repliesSampled } from '../sampled-replies.ts';
import type { TreeNode } from '../tree-node.ts';
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

/**
 * Expands a node: one request for all candidates, their replies on record before any is executed, then one environment step for
 * each reply that says something new. A child and what it means for the search are appended together, so that neither is ever
 * without the other; children that an earlier process already added are kept, and only the missing ones of the same replies are
 * tried.
 */
export async function expandNode(search: Search, state: SearchState, step: Expansion): Promise<SearchState> {
  const { tree, rules, episodes } = search;
  const episode = await episodeAt(episodes, step.stepId);
  if (!episode) return close(tree, state, step, [], NOT_REPEATED);
  const path = pathTo(tree, step.stepId);
  const recorded = tree.tree?.replies.get(step.stepId) ?? null;
  const began = tree.clock();
  const asked = await askPolicy(tree, episode, path, {
    seed: seedOf(tree, state, step.stepId),
    n: step.candidates,
    prompt: rules.promptAt(path),
    recorded: recorded?.acts ?? null,
  });
  const policyMs = recorded?.policyMs ?? Math.max(0, tree.clock() - began);
  if (asked.kind === 'failed') {
    await episode.close();
    return close(tree, state, step, [], asked.reason);
  }
  const { repeats } = tree.policy;
  const acts = recorded || repeats ? asked.acts : asked.acts.map((act, ordinal) => asTaken(tree, step, act, ordinal));
  if (!recorded && !repeats) await tree.appender.append([repliesSampled(tree, step, { acts, policyMs })]);
  const candidates = acts.map((act, ordinal): Candidate => {
    const parsed = tree.prompter ? readAnswer(tree.prompter, act.response) : episode.parse(act.response);
    const { said, key } = rules.read(act.response);
    return { ordinal, act, parsed, said, response: key, action: parsed.action };
  });
  const { kept, dropped } = chooseCandidates(candidates);
  const present = new Set(step.present.map((child) => child.ordinal));
  const missing = kept.filter(({ candidate }) => !present.has(candidate.ordinal));
  // Where episodes cannot be copied, the one that was asked at becomes the first child's.
  let spare = episode.clone ? null : episode;
  if (episode.clone) await keepEpisode(episodes, step.stepId, episode);
  let grown = state;
  let reason = '';
  for (const { candidate, equivalentTo } of missing) {
    if (tree.signal.aborted) break;
    const child = spare ?? (await episodeAt(episodes, step.stepId));
    spare = null;
    if (!child) {
      reason = NOT_REPEATED;
      break;
    }
    const earlier = equivalentTo === null ? null : stepIdOf(step.stepId, equivalentTo);
    grown = await addChild({ search, state: grown, step, candidate, earlier, child, policyMs, history: asked.history });
  }
  await spare?.close();
  if (tree.signal.aborted) return grown; // the next process asks again and adds what is missing
  await releaseEpisode(episodes, step.stepId);
  return close(
    tree,
    grown,
    step,
    dropped.map(({ candidate, sameAs }) => ({ ordinal: candidate.ordinal, sameAs })),
    reason,
  );
}

/**
 * Puts what is recorded of a child in the place of a reply that was asked for again: records made before replies were kept hold
 * the children of an expansion that was cut short, and not what else was said. So no new child repeats one that is there.
 */
function asTaken(tree: GrowingTree, { stepId, present }: Expansion, act: Act, ordinal: number): Act {
  const isPresent = present.some((child) => child.ordinal === ordinal);
  return isPresent ? { ...act, response: nodeOf(tree, stepIdOf(stepId, ordinal)).response } : act;
}

interface Adding {
  readonly search: Search;
  readonly state: SearchState;
  readonly step: Expansion;
  readonly candidate: Candidate;
  readonly earlier: string | null;
  readonly child: Environment;
  readonly policyMs: number;
  readonly history: DrawnHistory | null;
}

async function addChild({
  search: { tree, rules, episodes, params },
  state,
  step,
  candidate,
  earlier,
  child,
  policyMs,
  history,
}: Adding): Promise<SearchState> {
  const at = nodeOf(tree, step.stepId);
  const parent = searchNode(state, step.stepId);
  const stepId = stepIdOf(step.stepId, candidate.ordinal);
  const began = tree.clock();
  const result = await child.step(candidate.action, tree.signal);
  const timings = { policyMs, environmentMs: Math.max(0, tree.clock() - began) };
  const graded = gradeOutcome(
    { score: rules.scoreAfter(parent.score, result), terminated: result.terminated, truncated: result.truncated },
    parent.depth,
    params.maxDepth,
  );
  const done = graded.end !== 'none';
  const act = { ...candidate.act, response: candidate.said };
  const rolloutId = done ? derivedId('rollout', tree.treeId, stepId) : null;
  const data = stepData({ tree, stepId, rolloutId, at, act, parsed: candidate.parsed, result, timings, done });
  const path = pathTo(tree, at.stepId);
  const shown = promptDrafts(tree, path, stepId, candidate.act);
  const node: TreeNode = {
    stepId,
    parentStepId: at.stepId,
    depth: data.depth,
    response: candidate.said,
    action: result.executed ?? candidate.action,
    observation: result.observation,
    admissibleActions: result.admissibleActions,
    stateHash: result.stateHash,
    ended: done,
    policyVersion: (act.policy ?? tree.policy.ref).version,
    prompt: done ? null : shown.prompt,
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
    ...(walk ? [started(walk)] : []),
    stepEvent(tree, data),
    ...toolDrafts(tree, stepId, result),
    ...historyDrafts(tree, path, stepId, history),
    ...shown.drafts,
    ...rewards({ tree, rolloutId }, stepId, result, done),
    ...penalties(tree, rolloutId, node),
    nodeAdded(tree, fact),
    ...(walk ? [finished(walk, node, result.terminated ? 'terminated' : 'truncated', result.success ?? false, graded.end)] : []),
  ];
  await tree.appender.append(drafts);
  tree.nodes.set(stepId, node);
  tree.onStep();
  if (done) {
    tree.onRollout(result.success === true);
    await child.close();
  } else await keepEpisode(episodes, stepId, child);
  return applySearchFacts(state, [fact]);
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

async function close(
  tree: GrowingTree,
  state: SearchState,
  step: Expansion,
  dropped: readonly { ordinal: number; sameAs: number }[],
  reason: string,
): Promise<SearchState> {
  const { stepId, simulation, candidates } = step;
  await tree.appender.append([
    {
      type: 'NodeExpanded',
      id: derivedId('NodeExpanded', tree.treeId, stepId),
      correlationId: tree.runId,
      data: { treeId: tree.treeId, stepId, simulation, asked: candidates, dropped: [...dropped], reason },
    },
  ]);
  if (reason !== '' && stepId === tree.rootStepId && step.present.length === 0) tree.onFailure(reason);
  return applySearchFacts(state, [{ kind: 'node-expanded', simulation, stepId }]);
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
