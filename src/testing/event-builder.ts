import { sha256Hex } from '../digest/sha256.ts';
import type { DataOf, EventType } from '../events/catalogue.ts';
import { catalogue } from '../events/catalogue.ts';
import { derivedId } from '../events/derived-id.ts';
import type { Envelope } from '../events/envelope.ts';
import { streamOf } from '../events/stream-of.ts';

/**
 * Builds the events of a test: ids, sequences and times follow from names and order, so that a test says only what it
 * is about.
 */
export class EventBuilder {
  readonly events: Envelope[] = [];
  readonly #name: string;
  readonly #sequences = new Map<string, number>();
  /** Depth of each step, and of the one that each rollout began at, by tree and id. */
  readonly #depths = new Map<string, number>();
  #clock = Date.UTC(2026, 0, 1);

  constructor(name = 'story') {
    this.#name = name;
  }

  id(...parts: (string | number)[]): string {
    return derivedId('test', this.#name, ...parts);
  }

  /** Appends any event; what the builders below do not say is said here. */
  record<T extends EventType>(type: T, data: DataOf<T>, correlationId: string): Envelope<T> {
    const stream = streamOf(type, data) ?? ''; // the catalogue names an id field
    const sequence = this.#sequences.get(stream) ?? 0;
    this.#sequences.set(stream, sequence + 1);
    this.#clock += 1_000;
    const event = {
      id: this.id('event', this.events.length),
      type,
      schemaVersion: catalogue[type].version,
      stream,
      sequence,
      occurredAt: new Date(this.#clock).toISOString(),
      correlationId,
      causationId: null,
      producer: { name: 'story', version: '1' },
      data,
    } as Envelope<T>; // type and data are tied by T
    this.events.push(event as Envelope);
    this.#place(event as Envelope);
    return event;
  }

  #place({ type, data }: Envelope): void {
    if (type === 'TreeOpened') this.#depths.set(`${data.treeId} ${data.rootStepId}`, 0);
    if (type === 'StepTaken') this.#depths.set(`${data.treeId} ${data.stepId}`, data.depth);
    if (type !== 'RolloutStarted') return;
    this.#depths.set(`${data.treeId} of ${data.rolloutId}`, this.#depths.get(`${data.treeId} ${data.fromStepId}`) ?? 0);
  }

  run(name = 'run', overrides: Partial<DataOf<'RunStarted'>> = {}): string {
    const runId = this.id('run', name);
    const data: DataOf<'RunStarted'> = {
      runId,
      experimentId: null,
      name,
      kind: 'collect',
      seed: 1,
      codeVersion: 'test',
      config: {},
      environments: [{ environment: 'textcraft', fingerprint: 'world-1' }],
      policy: { policyId: 'random', version: 0 },
      ...overrides,
    };
    this.record('RunStarted', data, runId);
    return runId;
  }

  finishRun(runId: string, overrides: Partial<DataOf<'RunFinished'>> = {}): void {
    this.record(
      'RunFinished',
      { runId, outcome: 'completed', message: '', trees: 0, rollouts: 0, steps: 0, ...overrides },
      runId,
    );
  }

  tree(
    runId: string,
    name = 'tree',
    overrides: Partial<DataOf<'TreeOpened'>> = {},
  ): { treeId: string; rootStepId: string; runId: string } {
    const treeId = this.id('tree', runId, name);
    const rootStepId = this.id('root', treeId);
    const observation = `Goal: craft ${name}.`;
    const data: DataOf<'TreeOpened'> = {
      treeId,
      runId,
      task: {
        taskId: this.id('task', name),
        environment: 'textcraft',
        serverFingerprint: 'world-1',
        observationHash: sha256Hex(observation),
        alias: name,
        goal: `craft ${name}`,
        depth: 1,
        split: null,
      },
      rootStepId,
      instruction: 'Craft what is asked.',
      observation,
      admissibleActions: ['inventory'],
      stateHash: sha256Hex(`${name} at the start`),
      plannedRollouts: 1,
      seed: 1,
      ...overrides,
    };
    this.record('TreeOpened', data, runId);
    return { treeId, rootStepId, runId };
  }

  rollout(
    tree: { treeId: string; rootStepId: string; runId: string },
    ordinal = 0,
    overrides: Partial<DataOf<'RolloutStarted'>> = {},
  ): string {
    const rolloutId = this.id('rollout', tree.treeId, ordinal);
    const data: DataOf<'RolloutStarted'> = {
      rolloutId,
      treeId: tree.treeId,
      fromStepId: tree.rootStepId,
      ordinal,
      seed: ordinal,
      policy: { policyId: 'random', version: 0 },
      ...overrides,
    };
    this.record('RolloutStarted', data, tree.runId);
    return rolloutId;
  }

  /** Takes one step below `parentStepId`; depth and the other parts follow unless overridden. */
  step(
    tree: { treeId: string; runId: string },
    rolloutId: string | null,
    parentStepId: string,
    depth: number,
    overrides: Partial<DataOf<'StepTaken'>> = {},
  ): string {
    const stepId = overrides.stepId ?? this.id('step', tree.treeId, rolloutId ?? '', depth, this.events.length);
    const data: DataOf<'StepTaken'> = {
      stepId,
      treeId: tree.treeId,
      parentStepId,
      rolloutId,
      depth,
      response: `Thought: step ${depth}.\nAction: inventory`,
      thought: `step ${depth}.`,
      action: 'inventory',
      observation: 'Inventory: You are not carrying anything.',
      wellFormatted: true,
      executable: true,
      termination: 'none',
      policySpans: [{ from: 0, to: 1, policyId: 'random', version: 0 }],
      tokens: null,
      usage: null,
      finishReason: 'stop',
      call: null,
      timings: { policyMs: 1, environmentMs: 1 },
      stateHash: null,
      admissibleActions: null,
      ...overrides,
    };
    this.record('StepTaken', data, tree.runId);
    return stepId;
  }

  reward(
    tree: { treeId: string; runId: string },
    stepId: string | null,
    value: number,
    overrides: Partial<DataOf<'RewardAssigned'>> = {},
  ): string {
    const rewardId = overrides.rewardId ?? this.id('reward', tree.treeId, this.events.length);
    const data: DataOf<'RewardAssigned'> = {
      rewardId,
      treeId: tree.treeId,
      stepId,
      rolloutId: null,
      component: 'environment',
      value,
      scorer: { name: 'environment', revision: '1' },
      raw: { value, scale: 1, kind: 'final' },
      ...overrides,
    };
    this.record('RewardAssigned', data, tree.runId);
    return rewardId;
  }

  /** Ends a rollout; how many steps it took follows unless overridden. */
  finishRollout(
    tree: { treeId: string; runId: string },
    rolloutId: string,
    leafStepId: string,
    overrides: Partial<DataOf<'RolloutFinished'>> = {},
  ): void {
    const from = this.#depths.get(`${tree.treeId} of ${rolloutId}`) ?? 0;
    const leaf = this.#depths.get(`${tree.treeId} ${leafStepId}`) ?? from + 1;
    const data: DataOf<'RolloutFinished'> = {
      rolloutId,
      treeId: tree.treeId,
      leafStepId,
      outcome: 'terminated',
      success: true,
      steps: Math.max(0, leaf - from),
      reason: '',
      ...overrides,
    };
    this.record('RolloutFinished', data, tree.runId);
  }

  closeTree(tree: { treeId: string; runId: string }, rollouts: number): void {
    this.record('TreeClosed', { treeId: tree.treeId, reason: 'completed', rollouts }, tree.runId);
  }

  /** Records a whole rollout of `length` steps from the root that ends with `value` as its reward. Returns its ids. */
  walk(
    tree: { treeId: string; rootStepId: string; runId: string },
    ordinal: number,
    length: number,
    value: number,
  ): { rolloutId: string; steps: string[] } {
    const rolloutId = this.rollout(tree, ordinal);
    const steps: string[] = [];
    for (let depth = 1; depth <= length; depth++) {
      const termination = depth === length ? 'terminated' : 'none';
      steps.push(this.step(tree, rolloutId, steps.at(-1) ?? tree.rootStepId, depth, { termination }));
    }
    const leaf = steps.at(-1) ?? tree.rootStepId;
    this.reward(tree, leaf, value, { rolloutId });
    this.finishRollout(tree, rolloutId, leaf, { steps: length, success: value >= 1 });
    return { rolloutId, steps };
  }
}
