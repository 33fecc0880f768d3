import { canonicalJson } from '../../src/events/canonical-json.ts';
import { catalogue, type EventType } from '../../src/events/catalogue.ts';
import type { Envelope } from '../../src/events/envelope.ts';
import { recordedForm } from '../../src/events/recorded-form.ts';

/** A record of the log and its place. */
export interface Placed {
  /** As `trees.1:7`. */
  readonly place: string;
  readonly event: Envelope;
}

/**
 * What the record holds by its rules alone: within a stream the first word on a fact counts, an equal one repeats it, another one is a
 * conflict, and a tree belongs to the run that opened it. Shares nothing with the projections; fold the records of a partition in order.
 */
export class RecordModel {
  readonly runs = new Map<string, ModelRun>();
  readonly replays: Envelope<'ReplayFinished'>['data'][] = [];
  readonly evaluations = new Map<string, Envelope<'EvaluationFinished'>['data']>();
  readonly trees = new Map<string, ModelTree>();
  /** Places of the records that contradict an earlier one of their stream. */
  readonly conflicts: string[] = [];
  /** Ids of the events that the journal keeps, in no order over partitions. */
  readonly kept: string[] = [];
  readonly #said = new Map<string, string>(); // event id or fact of a stream → what it says
  readonly #runOf = new Map<string, string>();
  readonly #tree: (treeId: string) => ModelTree;

  constructor() {
    this.#tree = (treeId) => {
      let tree = this.trees.get(treeId);
      if (!tree) {
        tree = new ModelTree();
        this.trees.set(treeId, tree);
      }
      return tree;
    };
  }

  /** What was said first under an event's id, and of its fact; undefined where nothing was. */
  saidBefore(event: Envelope): { readonly id: string | undefined; readonly fact: string | undefined } {
    const fact = factOf(event);
    return { id: this.#said.get(idOf(event)), fact: fact === null ? undefined : this.#said.get(fact) };
  }

  /** A run as GraphQL answers `RUN_FIELDS`, lists by id; null before it began. */
  run(runId: string): object | null {
    const run = this.runs.get(runId);
    if (!run) return null;
    const evaluation = this.evaluations.get(runId);
    return {
      ...run,
      evaluation:
        evaluation === undefined ? null : { tasks: evaluation.tasks, split: evaluation.split, meanReturn: evaluation.meanReturn },
      replays: this.replays
        .filter((replay) => replay.runId === runId)
        .map(({ replayId, compared, notes, parameters }) => ({ id: replayId, compared, notes, parameters: parameters ?? {} })),
    };
  }

  runOf(treeId: string): string | undefined {
    return this.#runOf.get(treeId);
  }

  fold({ place, event }: Placed): void {
    const content = contentOf(event);
    const fact = factOf(event);
    const { id: ofId, fact: ofFact } = this.saidBefore(event);
    const owner = this.#runOf.get(event.stream);
    const isForeign =
      catalogue[event.type].topic === 'trees' && !FOUND.has(event.type) && owner !== undefined && owner !== event.correlationId;
    if (ofId !== undefined) {
      if (ofId !== content) this.conflicts.push(place);
      return;
    }
    if (ofFact === undefined ? isForeign : ofFact !== content) {
      this.conflicts.push(place);
      return;
    }
    this.kept.push(event.id);
    this.#said.set(idOf(event), content);
    if (ofFact !== undefined) return;
    if (fact !== null) this.#said.set(fact, content);
    if (event.type === 'TreeOpened') this.#runOf.set(event.stream, event.data.runId);
    this.#apply(event);
  }

  #apply(event: Envelope): void {
    switch (event.type) {
      case 'RunStarted': {
        const { name, kind, seed, config } = event.data;
        this.runs.set(event.stream, { id: event.stream, name, kind, seed, config: config ?? {}, outcome: null, message: null });
        return;
      }
      case 'RunFinished': {
        const run = this.runs.get(event.stream);
        if (run) Object.assign(run, { outcome: event.data.outcome, message: event.data.message });
        return;
      }
      case 'ReplayFinished':
        this.replays.push(event.data);
        return;
      case 'EvaluationFinished':
        this.evaluations.set(event.stream, event.data);
        return;
      default:
        if ('treeId' in event.data) this.#tree(event.stream).apply(event);
    }
  }
}

interface ModelRun {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly seed: number;
  readonly config: unknown;
  outcome: string | null;
  message: string | null;
}

type Text = Envelope<'StepTaken'>['data']['observation'];

/** What a tree is shown as; facts that refer to what is not there yet wait in quarantine, and have no effect. */
export class ModelTree {
  opened: Envelope<'TreeOpened'>['data'] | null = null;
  closeReason: string | null = null;
  readonly steps = new Map<string, Envelope<'StepTaken'>['data'] | null>(); // null: the root
  readonly rollouts = new Map<string, Envelope<'RolloutStarted'>['data']>();
  readonly ends = new Map<string, Envelope<'RolloutFinished'>['data']>();
  readonly rewards = new Map<string, { readonly first: Envelope<'RewardAssigned'>['data']; value: number; revisions: number }>();
  readonly calls = new Map<string, Envelope<'ToolCalled'>['data']>();
  readonly annotations = new Map<string, { readonly data: Envelope<'AnnotationAdded'>['data']; retracted: boolean }>();
  readonly revisions = new Map<string, { state: string; readonly reflection: Text }>();
  /** Steps under a known parent, with who took them, and rollouts that began: what a reward may name. */
  readonly #taken = new Map<string, string | null>();
  readonly #begun = new Set<string>();

  apply(event: Envelope): void {
    if (event.type === 'AnnotationAdded') this.annotations.set(event.data.annotationId, { data: event.data, retracted: false });
    if (event.type === 'AnnotationRetracted') {
      const annotation = this.annotations.get(event.data.annotationId);
      if (annotation) annotation.retracted = true;
    }
    if (event.type === 'TreeOpened') {
      this.opened = event.data;
      this.steps.set(event.data.rootStepId, null);
      if (!this.#taken.has(event.data.rootStepId)) this.#taken.set(event.data.rootStepId, null);
    }
    if (this.opened === null) return;
    switch (event.type) {
      case 'RolloutStarted':
        this.#begun.add(event.data.rolloutId);
        if (this.steps.has(event.data.fromStepId)) this.rollouts.set(event.data.rolloutId, event.data);
        return;
      case 'StepTaken': {
        const { stepId, parentStepId, depth, rolloutId } = event.data;
        if (this.#taken.has(parentStepId) && !this.#taken.has(stepId)) this.#taken.set(stepId, rolloutId);
        const parent = this.steps.get(parentStepId);
        if (parent === undefined || this.steps.has(stepId) || depth !== (parent?.depth ?? 0) + 1) return;
        if (rolloutId === null || this.rollouts.has(rolloutId)) this.steps.set(stepId, event.data);
        return;
      }
      case 'ToolCalled':
        if (this.steps.has(event.data.stepId)) this.calls.set(event.data.toolCallId, event.data);
        return;
      case 'RewardAssigned':
        if (!this.#mayReward(event.data)) return;
        this.rewards.set(event.data.rewardId, { first: event.data, value: event.data.value, revisions: 0 });
        return;
      case 'RewardRevised': {
        const reward = this.rewards.get(event.data.rewardId);
        if (reward) Object.assign(reward, { value: event.data.value, revisions: reward.revisions + 1 });
        return;
      }
      case 'RolloutFinished':
        if (this.#mayEnd(event.data)) this.ends.set(event.data.rolloutId, event.data);
        return;
      case 'RevisionComposed': {
        const { revisionId, reflection } = event.data;
        if (this.#isWhole(event.data)) this.revisions.set(revisionId, { state: 'composed', reflection });
        return;
      }
      case 'RevisionVerified':
      case 'RevisionRejected': {
        const revision = this.revisions.get(event.data.revisionId);
        if (revision?.state === 'composed') revision.state = event.type === 'RevisionVerified' ? 'verified' : 'rejected';
        return;
      }
      case 'TreeClosed':
        this.closeReason ??= event.data.reason;
        return;
      default:
    }
  }

  /** Lists the steps from the root to a step. */
  pathTo(stepId: string): readonly string[] {
    const parent = this.steps.get(stepId)?.parentStepId;
    return parent === undefined ? [stepId] : [...this.pathTo(parent), stepId];
  }

  /** A revision keeps the path to its bad leaf up to a step behind the branch. */
  #isWhole({ goodLeafStepId, badLeafStepId, branchStepId, transitionStepId }: Envelope<'RevisionComposed'>['data']): boolean {
    if (![goodLeafStepId, badLeafStepId].every((id) => this.steps.has(id))) return false;
    const bad = this.pathTo(badLeafStepId);
    return bad.includes(branchStepId) && bad.indexOf(transitionStepId) > bad.indexOf(branchStepId);
  }

  /** The replies of a rollout that ended, and the sum of what counts for it, exactly; null where nothing does. */
  trained(rolloutId: string): { readonly replies: readonly string[]; readonly value: number | null } | null {
    const end = this.ends.get(rolloutId);
    if (end?.outcome !== 'terminated') return null;
    const path = this.pathTo(end.leafStepId);
    if (path.length === 1) return null; // where no step was taken there is nothing to train on
    const counts = [...this.rewards.values()].filter(({ first }) =>
      first.stepId === null ? first.rolloutId === rolloutId : path.includes(first.stepId),
    );
    return {
      replies: path.flatMap((id) => this.steps.get(id)?.response ?? []).map(textOf),
      value: counts.length === 0 ? null : sumExactly(counts.map(({ value }) => value)),
    };
  }

  /** A reward waits where it names no step or rollout before it, or a step for a rollout that did not take it. */
  #mayReward({ stepId, rolloutId }: Envelope<'RewardAssigned'>['data']): boolean {
    if (stepId === null) return rolloutId === null || this.#begun.has(rolloutId);
    return this.#taken.has(stepId) && (rolloutId === null || this.#taken.get(stepId) === rolloutId);
  }

  /** A rollout ends at a step that it took, or where it began, behind as many steps as it says. */
  #mayEnd({ rolloutId, leafStepId, steps }: Envelope<'RolloutFinished'>['data']): boolean {
    const from = this.rollouts.get(rolloutId)?.fromStepId;
    const leaf = this.steps.get(leafStepId);
    if (from === undefined || leaf === undefined || (leafStepId !== from && leaf?.rolloutId !== rolloutId)) return false;
    return steps === (leaf?.depth ?? 0) - (this.steps.get(from)?.depth ?? 0);
  }

  /** The tree as GraphQL answers `TREE_FIELDS`, lists by id; null before it was opened. */
  shown(): object | null {
    const { opened } = this;
    if (opened === null) return null;
    const rewardsOf = (of: (data: Envelope<'RewardAssigned'>['data']) => boolean) =>
      [...this.rewards.values()]
        .filter(({ first }) => of(first))
        .map(({ first, value, revisions }) => ({
          id: first.rewardId,
          component: first.component,
          value,
          assignedValue: first.value,
          revisionCount: revisions,
        }));
    const annotationsOf = (kind: string, id: string | null) =>
      [...this.annotations.values()].flatMap(({ data, retracted }) => {
        const { annotationId, subject, label, score, note } = data;
        const subjectId = subject.kind === 'step' ? subject.stepId : null;
        return retracted || subject.kind !== kind || subjectId !== id ? [] : [{ id: annotationId, label, score, note }];
      });
    return {
      id: opened.treeId,
      runId: opened.runId,
      rootId: opened.rootStepId,
      plannedRollouts: opened.plannedRollouts,
      closeReason: this.closeReason,
      steps: [...this.steps].map(([id, step]) => ({
        id,
        parentId: step?.parentStepId ?? null,
        depth: step?.depth ?? 0,
        rolloutId: step?.rolloutId ?? null,
        action: textOf(step?.action ?? ''),
        observation: textOf(step?.observation ?? opened.observation),
        rewards: rewardsOf(({ stepId }) => stepId === id),
        toolCalls: [...this.calls.values()]
          .filter(({ stepId }) => stepId === id)
          .map(({ toolCallId, output }) => ({ id: toolCallId, output: textOf(output) })),
        annotations: annotationsOf('step', id),
      })),
      rollouts: [...this.rollouts.values()].map(({ rolloutId, ordinal, fromStepId }) => {
        const end = this.ends.get(rolloutId);
        return {
          id: rolloutId,
          ordinal,
          fromStepId,
          outcome: end?.outcome ?? null,
          success: end?.success ?? null,
          stepCount: end?.steps ?? null,
          leafId: end?.leafStepId ?? null,
          rewards: rewardsOf((data) => data.stepId === null && data.rolloutId === rolloutId),
        };
      }),
      annotations: annotationsOf('tree', null),
      revisions: {
        nodes: [...this.revisions].map(([id, { state, reflection }]) => ({ id, state, reflection: textOf(reflection) })),
      },
    };
  }
}

/** Adds numbers as the decimals that they are written as. */
function sumExactly(values: readonly number[]): number {
  const scale = 700;
  const total = values.reduce((sum, value) => {
    const [digits = '', exponent = '0'] = value.toExponential().split('e');
    const [whole = '', fraction = ''] = digits.split('.');
    return sum + BigInt(`${whole}${fraction}`) * 10n ** BigInt(scale + Number(exponent) - fraction.length);
  }, 0n);
  return Number(`${total}e-${scale}`);
}

/** What stands for a text over 64 KiB, of which readers show a part. */
export const LONG = '(long)';

function textOf(text: Text): string {
  return typeof text === 'string' ? text : LONG;
}

export const TREE_FIELDS = `id runId rootId plannedRollouts closeReason
  steps { id parentId depth rolloutId action observation rewards { ...R } toolCalls { id output } annotations { id label score note } }
  rollouts { id ordinal fromStepId outcome success stepCount leafId rewards { ...R } } annotations { id label score note }
  revisions(first: 50) { nodes { id state reflection } }`;
export const RUN_FIELDS =
  'id name kind seed config outcome message evaluation { tasks split meanReturn } replays { id compared notes parameters }';
export const REWARD_FIELDS = 'fragment R on Reward { id component value assignedValue revisionCount }';

/** What others than the run of a tree find of it. */
const FOUND: ReadonlySet<EventType> = new Set<EventType>([
  ...(['RewardAssigned', 'RewardRevised', 'AnnotationAdded', 'AnnotationRetracted', 'ReplayDiverged'] as const),
  ...(['StepJudged', 'RevisionComposed', 'RevisionVerified', 'RevisionRejected'] as const),
]);

function idOf({ stream, id }: Envelope): string {
  return `${stream} ${id}`;
}

/** The fact that an event states in its stream; null where there may be many. */
export function factOf({ type, stream, data }: Envelope): string | null {
  const { entity }: { readonly entity: string | readonly string[] | null } = catalogue[type];
  const values = (entity === null ? [] : [entity].flat()).map((field) => String((data as Record<string, unknown>)[field]));
  return values.length === 0 ? null : [stream, type, ...values].join(' ');
}

/** What an event says as it is recorded, without measurements, as text that is equal where the content is. */
export function contentOf({ type, data }: Envelope): string {
  const { timings: _timings, call: _call, cache: _cache, ...said } = data as Record<string, unknown>; // absent in most types
  return canonicalJson([type, recordedForm(type, said).data]);
}
