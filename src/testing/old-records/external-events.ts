/**
 * Events of a program outside that appends to the log itself: some come too early and wait in quarantine, one of them for ever.
 * They are written out, so that no change of this program changes them.
 */

const id = (n: number) => `bbbbbbbb-0000-4000-8000-${String(n).padStart(12, '0')}`;
const [run, tree, root, rollout, first, second, reward] = [1, 2, 3, 4, 5, 6, 7].map(id);
const policy = { policyId: 'elsewhere', version: 3 };
let events = 0;
const sequences = new Map<string | undefined, number>();

function event(type: string, stream: string | undefined, data: object) {
  const sequence = sequences.get(stream) ?? 0;
  sequences.set(stream, sequence + 1);
  events++;
  const occurredAt = new Date(Date.UTC(2026, 10, 22, 9, 0, events)).toISOString();
  const envelope = { id: id(1_000 + events), type, schemaVersion: 1, stream, sequence, occurredAt, correlationId: run };
  return { ...envelope, causationId: null, producer: { name: 'elsewhere', version: '1' }, data };
}

function step(stepId: string | undefined, parentStepId: string | undefined, depth: number, termination: string) {
  const said = {
    response: `<think>é 漢 🙂</think> go ${depth}`,
    thought: 'é 漢 🙂',
    action: `go ${depth}`,
    observation: `room ${depth}`,
  };
  const ids = Buffer.from(new Int32Array([42, 7, depth]).buffer).toString('base64');
  const logProbs = Buffer.from(new Float32Array([-0.1, -0.02, -0.3]).buffer).toString('base64');
  return event('StepTaken', tree, {
    stepId,
    treeId: tree,
    parentStepId,
    rolloutId: rollout,
    depth,
    ...said,
    termination,
    wellFormatted: true,
    executable: true,
    policySpans: [{ from: 0, to: 3, ...policy }],
    tokens: {
      ids: { dtype: 'int32', length: 3, bytes: ids },
      logProbs: { dtype: 'float32', length: 3, bytes: logProbs },
      mask: null,
    },
    usage: { promptTokens: 12, completionTokens: 3 },
    finishReason: 'stop',
    call: null,
    timings: { policyMs: 80, environmentMs: 1 },
    stateHash: null,
    admissibleActions: null,
  });
}

const scorer = { name: 'by-hand', revision: '1' };
const rewarded = { rewardId: reward, treeId: tree };

/** A step before its parent and a revision before its reward, which can be released; and a reward of a step that never comes. */
export const beforeRelease: readonly object[] = [
  event('RunStarted', run, {
    runId: run,
    experimentId: null,
    name: 'from elsewhere',
    kind: 'external',
    seed: 1,
    codeVersion: 'elsewhere 1',
    config: { lr: 1e-6 },
    environments: [{ environment: 'rooms', fingerprint: 'v1' }],
    policy,
  }),
  event('TreeOpened', tree, {
    treeId: tree,
    runId: run,
    rootStepId: root,
    instruction: `Leave. ${'You are in a maze. '.repeat(4_000)}`,
    observation: 'room 0',
    task: {
      taskId: id(8),
      environment: 'rooms',
      serverFingerprint: 'v1',
      observationHash: 'ab'.repeat(32),
      alias: '0',
      goal: 'leave',
      depth: null,
      split: 'train',
    },
    admissibleActions: null,
    stateHash: null,
    plannedRollouts: 1,
    seed: 1,
  }),
  event('RolloutStarted', tree, { rolloutId: rollout, treeId: tree, fromStepId: root, ordinal: 0, seed: 1, policy }),
  step(second, first, 2, 'terminated'),
  step(first, root, 1, 'none'),
  event('RewardRevised', tree, { ...rewarded, value: 0.25, scorer: { name: 'by-hand', revision: '2' }, reason: 'too kind' }),
  event('RewardAssigned', tree, {
    ...rewarded,
    stepId: first,
    rolloutId: rollout,
    component: 'environment',
    value: 1,
    scorer,
    raw: null,
  }),
  event('RewardAssigned', tree, {
    rewardId: id(9),
    treeId: tree,
    stepId: id(10),
    rolloutId: rollout,
    component: 'environment',
    value: 1,
    scorer,
    raw: null,
  }),
];

/** What is folded on top of the step that was released. */
export const afterRelease: readonly object[] = [
  event('RolloutFinished', tree, {
    rolloutId: rollout,
    treeId: tree,
    leafStepId: second,
    outcome: 'terminated',
    success: true,
    steps: 2,
    reason: '',
  }),
  event('TreeClosed', tree, { treeId: tree, rollouts: 1, reason: 'completed' }),
  event('RunFinished', run, { runId: run, outcome: 'completed', message: '', trees: 1, rollouts: 1, steps: 2 }),
];

/** Chooses from what `espalier quarantine list` prints the places of what can be folded by now. */
export function placesToRelease(waiting: unknown): readonly string[] {
  const rows = waiting as readonly { topic: string; partition: number; offset: number; type: string }[];
  return [
    ...new Set(
      rows
        .filter(({ type }) => type !== 'RewardAssigned')
        .map(({ topic, partition, offset }) => `${topic}.${partition}:${offset}`),
    ),
  ];
}
