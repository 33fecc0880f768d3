import { openSha256, sha256Hex } from '../../../digest/sha256.ts';
import type { SearchedStep } from '../../../domain/search/search-tree.ts';
import { cutText } from '../../../domain/text/cut-text.ts';
import { type TreeNode, walkDown } from '../../../domain/tree/grow-tree.ts';
import { parseReact } from '../../../environments/parse-react.ts';
import type { DataOf, EventType } from '../../../events/catalogue.ts';
import { derivedId } from '../../../events/derived-id.ts';
import { DatasetError } from '../dataset-error.ts';
import { type AgentRFile, type AgentRTree, agentRFiles, namesInPath, readAgentRTree } from './agent-r-tree.ts';
import { type AgentTrajOptions, agentTrajDefaults } from './agent-traj-options.ts';
import type { LinedDraft } from './check-against-record.ts';
import { badRow } from './read-rows.ts';

/** Names the mapping from trees to events. A change of the mapping raises it, and so assigns other ids to the runs. */
const IMPORTER = 'agent-r/1';

/** What a folder of search trees is, known before the first event is made. */
export interface AgentRSurvey {
  readonly files: readonly AgentRFile[];
  readonly runId: string;
  readonly environment: string;
  readonly policy: AgentTrajOptions['policy'];
  /** Of the content of all files. */
  readonly sha256: string;
  readonly system: string | null;
  readonly acknowledgement: string | null;
}

/**
 * Reads and checks every tree once. Task and model come from the options, or from `mcts_result/<task>/<model>/` in the path.
 * @throws DatasetError `cannot-read`, `bad-row`; `invalid-query` when nothing names the environment.
 */
export async function surveyAgentR(source: string, options: AgentTrajOptions): Promise<AgentRSurvey> {
  const files = await agentRFiles(source);
  const { task, model } = namesInPath(source);
  const environment = options.environment ?? task;
  if (environment === null)
    throw new DatasetError(
      'invalid-query',
      `${source} does not say of which environment it is; name it (--environment textcraft)`,
    );
  const given = options.policy.policyId !== agentTrajDefaults.policy.policyId;
  const policy = given ? options.policy : { policyId: model ?? 'agent-r', version: 0 };
  const hash = openSha256();
  let opening: Pick<AgentRTree, 'system' | 'acknowledgement'> | undefined;
  for (const file of files) {
    const { alias, sha256, system, acknowledgement } = await readAgentRTree(file);
    hash.update(`${alias} ${sha256}\n`);
    opening ??= { system, acknowledgement };
    if (opening.system !== system || opening.acknowledgement !== acknowledgement)
      throw badRow(
        file.path,
        1,
        'its conversation opens with another system message or acknowledgement than the trees before; import it as a run of its own',
      );
  }
  const sha256 = hash.digest('hex');
  const { serverFingerprint, split, rewardScale, recordedAt } = options;
  const parts = [environment, serverFingerprint, split ?? '', policy.policyId, policy.version, rewardScale, recordedAt];
  const runId = options.runId ?? derivedId('agent-r-run', IMPORTER, sha256, ...parts);
  return {
    files,
    runId,
    environment,
    policy,
    sha256,
    system: opening?.system ?? null,
    acknowledgement: opening?.acknowledgement ?? null,
  };
}

/**
 * Turns search trees into events: a run of kind import; a tree per file; a step and its place in the search for every node; an
 * expansion per node with children; a back-up per visit of a leaf; a rollout per walk that ended. Every id is derived from the
 * run and the place in the tree. The file records neither the order of the walks nor which ends are those of the depth limit:
 * back-ups stand in the order of the tree, under simulation 0, and every end but a disaster counts as the environment's.
 */
export async function* agentRDrafts(survey: AgentRSurvey, options: AgentTrajOptions): AsyncGenerator<LinedDraft> {
  const recorded = new AgentRRun(survey, options);
  const [first] = survey.files;
  const file = first?.path ?? '';
  yield { line: 1, file, draft: recorded.started() };
  for (const each of survey.files) {
    for (const draft of recorded.tree(await readAgentRTree(each))) yield { line: 1, file: each.path, draft };
  }
  yield { line: 1, file, draft: recorded.finished() };
}

type IdentifiedDraft = LinedDraft['draft'];
type Node = TreeNode<SearchedStep>;

class AgentRRun {
  readonly #survey: AgentRSurvey;
  readonly #options: AgentTrajOptions;
  #trees = 0;
  #rollouts = 0;
  #steps = 0;

  constructor(survey: AgentRSurvey, options: AgentTrajOptions) {
    this.#survey = survey;
    this.#options = options;
  }

  started(): IdentifiedDraft {
    const { runId, environment, policy, sha256, system, acknowledgement, files } = this.#survey;
    const { serverFingerprint, split, rewardScale } = this.#options;
    return this.#draft('RunStarted', runId, {
      runId,
      experimentId: null,
      name: cutText(`Agent-R ${environment} ${sha256.slice(0, 8)}`, 200),
      kind: 'import',
      seed: 0,
      codeVersion: IMPORTER,
      config: { importer: IMPORTER, sha256, split, rewardScale, files: files.length, system, acknowledgement },
      environments: [{ environment, fingerprint: serverFingerprint }],
      policy,
    });
  }

  *tree(file: AgentRTree): Generator<IdentifiedDraft> {
    const { runId } = this.#survey;
    const treeId = derivedId('tree', runId, file.alias);
    const nodes = [...walkDown(file.tree.root)];
    const planned = nodes.filter(isEnd).length;
    yield this.#draft('TreeOpened', treeId, this.#opened(file, treeId, planned));
    let ordinal = 0;
    for (const node of nodes) {
      if (node.children.length === 0) continue;
      for (const [i, child] of node.children.entries()) {
        yield* this.#child(treeId, child, i, isEnd(child) ? ordinal++ : null);
      }
      const expanded = {
        treeId,
        stepId: idOf(treeId, node),
        simulation: 0,
        asked: node.children.length,
        dropped: [],
        reason: '',
      };
      yield this.#draft('NodeExpanded', expanded.stepId, expanded);
      for (const child of node.children) yield* this.#backUps(treeId, child);
    }
    const reason = file.tree.root.step.terminal ? 'exhausted' : 'completed';
    yield this.#draft('TreeClosed', treeId, { treeId, reason, rollouts: planned });
    this.#trees += 1;
    this.#rollouts += planned;
    this.#steps += nodes.length - 1;
  }

  finished(): IdentifiedDraft {
    const { runId } = this.#survey;
    const counts = { trees: this.#trees, rollouts: this.#rollouts, steps: this.#steps };
    return this.#draft('RunFinished', runId, { runId, outcome: 'completed', message: '', ...counts });
  }

  #opened({ alias, instruction, firstObservation }: AgentRTree, treeId: string, planned: number): DataOf<'TreeOpened'> {
    const { runId, environment } = this.#survey;
    const { serverFingerprint, split } = this.#options;
    const observationHash = sha256Hex(firstObservation);
    const taskId = derivedId('task', environment, serverFingerprint, observationHash);
    return {
      treeId,
      runId,
      task: { taskId, environment, serverFingerprint, observationHash, alias, goal: '', depth: null, split },
      rootStepId: derivedId('root', treeId),
      instruction,
      observation: firstObservation,
      admissibleActions: null,
      stateHash: null,
      plannedRollouts: planned,
      seed: 0,
    };
  }

  /** A node, and the rollout that ends at it when it is the end of a walk: `walk` numbers those. */
  *#child(treeId: string, node: Node, ordinal: number, walk: number | null): Generator<IdentifiedDraft> {
    const { policy } = this.#survey;
    const { rewardScale: scale } = this.#options;
    const { step, parent } = node;
    const stepId = idOf(treeId, node);
    const parentStepId = parent ? idOf(treeId, parent) : derivedId('root', treeId);
    const rolloutId = walk === null ? null : derivedId('rollout', treeId, stepId);
    if (walk !== null && rolloutId !== null)
      yield this.#draft('RolloutStarted', rolloutId, {
        rolloutId,
        treeId,
        fromStepId: parentStepId,
        ordinal: walk,
        seed: 0,
        policy,
      });
    yield this.#draft('StepTaken', stepId, {
      stepId,
      treeId,
      parentStepId,
      rolloutId,
      depth: depthOf(node),
      ...this.#said(node),
    });
    if (rolloutId !== null) {
      const rewardId = derivedId('reward', stepId, 'environment');
      yield this.#draft('RewardAssigned', rewardId, {
        rewardId,
        treeId,
        stepId,
        rolloutId,
        component: 'environment',
        value: step.score / scale,
        scorer: { name: 'agent-r', revision: IMPORTER },
        raw: { value: step.score, scale, kind: 'final' },
      });
    }
    const end = !isEnd(node) ? 'none' : step.disaster ? 'disaster' : 'terminated';
    const earlier = parent?.children.slice(0, ordinal).find((sibling) => sibling.step.action === step.action);
    const equivalentTo = earlier ? idOf(treeId, earlier) : null;
    const added = { treeId, stepId, parentStepId, simulation: 0, ordinal, score: step.score / scale, end, equivalentTo } as const;
    yield this.#draft('NodeAdded', stepId, added);
    if (rolloutId === null) return;
    // The files have no word for success; a full reward is what the evaluations of AgentGym count as one (§4.7).
    const ended = {
      rolloutId,
      treeId,
      leafStepId: stepId,
      outcome: 'terminated',
      success: step.score >= scale,
      steps: 1,
    } as const;
    yield this.#draft('RolloutFinished', rolloutId, { ...ended, reason: end });
  }

  *#backUps(treeId: string, leaf: Node): Generator<IdentifiedDraft> {
    if (leaf.children.length > 0) return;
    const leafStepId = idOf(treeId, leaf);
    const path: string[] = [];
    for (let node: Node | null = leaf; node; node = node.parent) path.push(idOf(treeId, node));
    const value = leaf.step.valueSum / leaf.step.visits / this.#options.rewardScale;
    const data = { treeId, simulation: 0, leafStepId, value, path: path.reverse() };
    for (let i = 0; i < leaf.step.visits; i++) yield this.#draft('ValueBackedUp', derivedId('back-up', leafStepId, i), data);
  }

  #said({ step, ...node }: Node): Omit<DataOf<'StepTaken'>, 'stepId' | 'treeId' | 'parentStepId' | 'rolloutId' | 'depth'> {
    const { response, action, observation } = step;
    return {
      response,
      thought: parseReact(response).thought,
      action, // what was executed: SciWorld's was snapped to a valid one
      observation,
      wellFormatted: response.includes('Action:'),
      executable: true, // the files keep what the environment answered, not whether it understood
      termination: isEnd({ step, ...node }) ? 'terminated' : 'none',
      policySpans: [{ from: 0, to: 0, ...this.#survey.policy }],
      tokens: null,
      usage: null,
      finishReason: null,
      call: null,
      timings: { policyMs: 0, environmentMs: 0 },
      stateHash: null,
      admissibleActions: null,
    };
  }

  #draft<T extends EventType>(type: T, subject: string, data: DataOf<T>): IdentifiedDraft {
    const occurredAt = this.#options.recordedAt;
    // type and data are tied by T
    return { type, id: derivedId(type, subject), correlationId: this.#survey.runId, occurredAt, data } as IdentifiedDraft;
  }
}

function isEnd({ step, parent, children }: Node): boolean {
  return parent !== null && step.terminal && children.length === 0;
}

function idOf(treeId: string, { step, parent }: Node): string {
  return parent === null ? derivedId('root', treeId) : derivedId('step', treeId, step.stepId);
}

function depthOf({ step }: Node): number {
  return step.stepId.split('.').length - 1; // positions: `0` is the root, `0.2.1` is two below it
}
