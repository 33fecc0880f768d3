import { serverSampling } from '../domain/prompts/policy-prompt.ts';
import type { PlanRules } from '../domain/training/planning/plan-rules.ts';
import type { DataOf } from '../events/catalogue.ts';
import type { Envelope } from '../events/envelope.ts';
import { pack } from '../events/packed.ts';
import { imageId } from '../images/image-id.ts';
import { EventBuilder } from './event-builder.ts';

/**
 * Records one event of every type of the catalogue, with the optional parts that it had when its fixture was frozen, then those
 * with what was added later; the frozen fixtures were written from it.
 */
export function everyEvent(): readonly Envelope[] {
  const builder = new EventBuilder('fixtures');
  const experimentId = builder.id('experiment');
  const sha = (digit: string) => digit.repeat(64);
  builder.record('ExperimentDeclared', { experimentId, name: 'depth', question: 'Does depth help? 深さ' }, experimentId);
  const runId = builder.run('run', { experimentId, config: { nested: [1, { a: null }, 'text'] } });
  builder.record('MetricRecorded', { runId, metric: 'loss', value: -0.125, at: 7 }, runId);
  const tree = builder.tree(runId, 'stick', {
    instruction: { blob: sha('a'), size: 70_000, mediaType: 'text/plain; charset=utf-8' },
  });
  const rolloutId = builder.rollout(tree);
  const stepId = builder.step(tree, rolloutId, tree.rootStepId, 1, {
    response: 'Thought: é🌳\nAction: get 1 stick',
    tokens: { ids: pack('int32', [1, -2, 3]), logProbs: pack('float32', [-0.5, 0, -1.25]), mask: pack('uint8', [1, 0, 1]) },
    usage: { promptTokens: 10, completionTokens: 3 },
    call: {
      responseId: 'r-1',
      model: 'm',
      requestHash: sha('b'),
      attempts: 2,
      latencyMs: 12.5,
      usage: { promptTokens: 10, completionTokens: 3 },
      trimmed: { from: 9, to: 4 },
    },
    stateHash: sha('c'),
    admissibleActions: ['inventory', 'get 1 stick'],
  });
  const { treeId } = tree;
  builder.record(
    'ToolCalled',
    {
      toolCallId: builder.id('call'),
      treeId,
      stepId,
      ordinal: 0,
      tool: 'search',
      arguments: '{"q":1}',
      output: 'found',
      outcome: 'ok',
      durationMs: 1.5,
    },
    runId,
  );
  const rewardId = builder.reward(tree, stepId, 0.5, { rolloutId });
  builder.record(
    'RewardRevised',
    { rewardId, treeId, value: 1, scorer: { name: 'judge', revision: '2' }, reason: 'seen again' },
    runId,
  );
  builder.record(
    'ValueBackedUp',
    { treeId, simulation: 3, leafStepId: stepId, value: 0.75, path: [tree.rootStepId, stepId] },
    runId,
  );
  builder.record('ReplayDiverged', { treeId, stepId, field: 'observation', recorded: 'a', replayed: 'b' }, runId);
  builder.finishRollout(tree, rolloutId, stepId, { success: null, outcome: 'truncated' });
  builder.closeTree(tree, 1);
  builder.finishRun(runId, { trees: 1, rollouts: 1, steps: 1 });
  // New types stand at the end: the ids and sequences of the frozen ones before them stay as they are.
  const added = {
    treeId,
    stepId,
    parentStepId: tree.rootStepId,
    simulation: 2,
    ordinal: 1,
    score: 0.5,
    end: 'terminated' as const,
  };
  builder.record('NodeAdded', { ...added, equivalentTo: builder.id('elder') }, runId);
  const dropped = [{ ordinal: 3, sameAs: 1 }];
  builder.record(
    'NodeExpanded',
    { treeId, stepId: tree.rootStepId, simulation: 2, asked: 4, dropped, reason: 'said nothing else' },
    runId,
  );
  const revision = { revisionId: builder.id('revision'), treeId };
  const judge = { name: 'planner', revision: '1' };
  const judged = { treeId, leafStepId: stepId, stepId, index: 0, judge, promptHash: sha('d'), verdict: 'bad' as const };
  builder.record('StepJudged', { ...judged, reply: 'Judgement: Bad' }, runId);
  const leaves = { goodLeafStepId: stepId, badLeafStepId: stepId, branchStepId: tree.rootStepId, transitionStepId: stepId };
  const found = { transitionCause: 'bad' as const, judged: 1, reflection: 'I erred.', signal: 'thought' as const };
  builder.record(
    'RevisionComposed',
    { ...revision, ...leaves, ...found, alpha: 0.5, beta: 0.2, judge, contentHash: sha('e') },
    runId,
  );
  builder.record('RevisionVerified', { ...revision, reached: 1, threshold: 0.5 }, runId);
  const refuted = { ...revision, revisionId: builder.id('rejected revision') };
  builder.record(
    'RevisionComposed',
    { ...refuted, ...leaves, ...found, signal: 'in-form', alpha: 0.5, beta: 0.2, judge, contentHash: sha('e') },
    runId,
  );
  const refused = { reason: 'impossible' as const, reached: null, stepId, detail: 'it was used up' };
  builder.record('RevisionRejected', { ...refuted, ...refused }, runId);
  const measured = { tasks: 10, episodes: 20, meanReturn: 0.75, successRate: 0.5, meanSteps: 6.5, split: 'test' };
  const intervals = { returnInterval: { low: 0.6, high: 0.9 }, successInterval: { low: 0.25, high: 0.75 } };
  const details = {
    bootstrap: { confidence: 0.95, resamples: 2_000, seed: 7 },
    repeatedActions: [{ length: 1, perEpisode: 0.5 }],
    byDepth: [{ taskDepth: null, episodes: 20, successes: 10 }],
    recovery: { fromRunId: builder.id('failures') },
    trained: { method: 'agent-r', iteration: 1, weights: sha('f'), runIds: [runId], good: 3, revisions: 4, actions: 25 },
  };
  const policy = { policyId: 'linear', version: 2 };
  builder.record('EvaluationFinished', { runId, policy, environment: 'textcraft', ...measured, ...intervals, ...details }, runId);
  const datasetId = builder.id('dataset');
  const frozen = { format: 'xtuner', formatVersion: 1, bytes: 1_000, sha256: sha('e'), codeVersion: '0.1.0', runs: [runId] };
  const made = {
    query: { runs: [runId] },
    parameters: { data: 'both' },
    counts: { lines: 7 },
    position: { 'step-tree@1': 'trees.0:41' },
  };
  builder.record('DatasetReleased', { datasetId, name: 'agent-r', version: 1, ...frozen, ...made }, datasetId);
  builder.record('DatasetWithdrawn', { datasetId, reason: 'a task of the test split' }, datasetId);
  const example = { line: 1, lines: 2, kind: 'revision' as const, treeId, goodRolloutId: rolloutId, badRolloutId: rolloutId };
  builder.record(
    'DatasetSourced',
    { datasetId, sha256: sha('e'), part: 0, examples: [{ ...example, revisionId: revision.revisionId }] },
    datasetId,
  );
  const lineage = { lineageId: builder.id('lineage'), policyId: 'linear:grpo' };
  const batchId = builder.id('batch');
  const estimator = { name: 'grpo', revision: '1', mode: { normaliseByDeviation: true } };
  const chain = { previousHash: sha('a'), manifestHash: sha('b') };
  const groups = [{ treeId, rolloutIds: [rolloutId, builder.id('second')] }];
  const size = { groups, samples: 2, tokens: 12, shards: [[1], [0]] };
  const planning = { policyVersion: 3, estimator, rules: RULES, seed: 1, position: 'trees.0:41' };
  builder.record('BatchPlanned', { ...lineage, batchId, ordinal: 2, ...planning, ...size, ...chain }, lineage.lineageId);
  const rejected = { reason: 'zero-variance' as const, rule: 'all returns of the group are equal', measured: 0 };
  builder.record('SampleRejected', { ...lineage, groupId: treeId, rolloutId, ...rejected }, lineage.lineageId);
  const lease = { ...lineage, batchId, leaseId: builder.id('lease'), fence: 1 };
  builder.record('BatchLeased', { ...lease, consumer: 'trainer-1', deadline: '2026-01-01T00:05:00.000Z' }, lineage.lineageId);
  builder.record('LeaseExpired', lease, lineage.lineageId);
  builder.record('BatchReturned', { ...lease, fence: 2, reason: 'out of memory' }, lineage.lineageId);
  const checkpointId = builder.id('checkpoint');
  builder.record('BatchAcked', { ...lease, fence: 3, version: 4, checkpointId }, lineage.lineageId);
  const kept = { blob: sha('c'), size: 131_072, mediaType: 'application/octet-stream' };
  const saved = { checkpointId, version: 4, backend: 'linear', weights: sha('c'), kept, covers: 2 };
  builder.record('CheckpointSaved', { ...lineage, ...saved }, lineage.lineageId);
  const loss = { name: 'clipped', revision: '1', mode: { low: 0.2, high: 0.2 } };
  const update = { version: 4, parentVersion: 3, batchId, checkpointId, weights: sha('c'), estimator, loss, samples: 2 };
  builder.record('PolicyUpdated', { ...lineage, ...update, metrics: { loss: -0.25, clip_fraction: 0 } }, lineage.lineageId);
  const renderSpecId = sha('1');
  const spec = { renderer: 'espalier', glyph: { px: 10 }, highlights: [['[Action]', [255, 0, 0]]] };
  builder.record('RenderSpecRegistered', { runId, renderSpecId, profile: 'agentocr-alfworld', spec }, runId);
  const drawn = { lines: 2, width: 392, height: 24, rgb: sha('3'), cutLines: 0, outside: 1, unshaped: 0 };
  builder.record('SegmentRendered', { segmentId: sha('2'), renderSpecId, text: '[Observation]: 深 hall', ...drawn }, runId);
  builder.record(
    'HistoryRendered',
    {
      treeId,
      stepId,
      renderSpecId,
      segments: [sha('2')],
      factor: 1.2,
      factorChosenBy: stepId,
      imageId: sha('4'),
      history: 'segments',
      prefix: { stepId: tree.rootStepId, from: 1, to: 3 },
      sizes: {
        raw: { width: 392, height: 72 },
        resized: { width: 357, height: 65 },
        bordered: { width: 367, height: 75 },
        model: { width: 364, height: 84 },
      },
      visionTokens: { count: 39, preset: 'qwen2.5-vl' },
      textTokens: { count: 80, tokenizer: 'o200k_base' },
      cut: { segments: 0, lines: 1 },
      outside: 1,
      unshaped: 0,
      cache: { missed: [2] },
      timings: { renderMs: 0.5 },
    },
    runId,
  );
  const declared = { estimator, rules: RULES, seed: 1, trainer: { backend: 'linear' } };
  builder.record('TrainingDeclared', { ...lineage, ...declared }, lineage.lineageId);
  const unequal = { eventId: builder.id('event'), stepId, field: 'observation', recorded: 'a', replayed: 'b' };
  const replay = {
    replayId: builder.id('replay'),
    mode: 'environment' as const,
    outcome: 'differs' as const,
    compared: 9,
    differing: 1,
  };
  const asked = { notes: ['another server'], parameters: { environment: null }, codeVersion: '0.1.0', seconds: 1 };
  builder.record('ReplayFinished', { runId, ...replay, differences: [unequal], ...asked }, runId);
  const abandoned = {
    batchId: builder.id('abandoned'),
    ordinal: 3,
    by: 'trainer' as const,
    leaseId: builder.id('last'),
    fence: 2,
  };
  builder.record('BatchAbandoned', { ...lineage, ...abandoned, reason: 'its rows cannot be read' }, lineage.lineageId);
  builder.record(
    'RepliesSampled',
    { treeId, stepId: tree.rootStepId, simulation: 2, asked: 4, count: 4, policyMs: 12.5, replies: pack('uint8', [31, 139, 8]) },
    runId,
  );
  builder.record(
    'PromptShown',
    {
      treeId,
      stepId,
      base: { stepId: tree.rootStepId, messages: 1 },
      blocks: ['one text\n'],
      sha256: sha('5'),
      messages: [
        { role: 'assistant', parts: [{ kind: 'step', stepId, field: 'response' }] },
        {
          role: 'user',
          parts: [
            { kind: 'image', imageId: sha('4') },
            { kind: 'text', blocks: [sha('6')] },
          ],
        },
      ],
      template: { name: 'textcraft', version: 1 },
      tools: '[]',
      server: 'http://127.0.0.1:8000/v1/chat/completions',
      sampling: {
        temperature: 0.7,
        topP: 0.9,
        topK: 20,
        minP: 0.05,
        repetitionPenalty: 1.1,
        maxTokens: 512,
        stop: ['\n'],
        seed: 5,
        others: [{ name: 'presence_penalty', value: '0.5' }],
      },
      tokens: { before: 4, keep: 3, ids: pack('int32', [7, 8]) },
    },
    runId,
  );
  builder.record('RunResumed', { runId, epoch: 2, codeVersion: '0.1.0' }, runId);
  builder.record('TreeResumed', { treeId, runId, epoch: 2 }, runId);
  builder.record(
    'PayloadForgotten',
    { runId, trees: [builder.id('forgotten tree')], keys: [builder.id('key')], blobs: 2, by: 'operator', reason: 'asked for' },
    runId,
  );
  builder.record(
    'StageFinished',
    {
      experimentId,
      arm: 'rloo',
      stage: 'train',
      kind: 'train',
      seed: 1,
      key: sha('1'),
      outcome: 'completed',
      message: 'why',
      reusedFrom: experimentId,
      output: {
        digest: sha('2'),
        runIds: [builder.id('stage run')],
        datasetId: builder.id('stage dataset'),
        policy: '{"kind":"linear"}',
        judge: 'planner@1',
        values: { success: 0.5 },
        kept: { blob: sha('3'), size: 70_001, mediaType: 'application/octet-stream' },
      },
    },
    experimentId,
  );
  const dot = recordPictures(builder, runId);
  const captured: DataOf<'CallCaptured'> = {
    callId: builder.id('call'),
    treeId,
    rolloutId,
    ordinal: 1,
    parentStepId: tree.rootStepId,
    stepId,
    place: 'path',
    source: 'trace',
    api: 'chat.completions',
    outcome: 'answered',
    status: 200,
    message: 'why',
    prompt: sha('1'),
    choices: [
      {
        message: '{"role":"assistant"}',
        conversation: sha('2'),
        finishReason: 'stop',
        tokens: { ids: pack('int32', [7, 8]), logProbs: pack('float32', [-0.5, -0.25]) },
        usage: { promptTokens: 12, completionTokens: 2 },
      },
    ],
    call: {
      responseId: 'chatcmpl-1',
      model: 'qwen',
      requestHash: sha('3'),
      attempts: 1,
      latencyMs: 12.5,
      trimmed: { from: 0, to: 1 },
      usage: { promptTokens: 12, completionTokens: 2 },
      fingerprint: 'fp_1',
    },
    timings: { firstMs: 3.5, totalMs: 12.5 },
    attributes: '{"session.id":"s"}',
  };
  builder.record('CallCaptured', captured, runId);
  recordAnnotations(builder, tree.treeId, stepId, runId);
  builder.record('CallCaptured', { ...captured, callId: builder.id('seeing call'), stepId: null, pictures: [dot] }, runId);
  builder.record(
    'SpanReceived',
    {
      spanId: builder.id('span'),
      treeId,
      rolloutId,
      run: 'run',
      task: 'task',
      rollout: '0',
      kind: 'model',
      endsRollout: false,
      startMs: 1_700_000_000_000.25,
      span: '{"name":"chat"}',
    },
    runId,
  );
  const environments = [
    { environment: 'gauge', fingerprint: 'world-1', renderer: "export const render = (given, h) => h('p');\n" },
  ];
  builder.run('rendered', { environments });
  builder.step(tree, null, tree.rootStepId, 7, {
    response: 'é🌳 go',
    tokens: {
      ids: pack('int32', [5, 6, 7]),
      logProbs: pack('float32', [-0.5, -0.25, -2]),
      mask: null,
      ends: pack('int32', [1, 2, 5]),
      entropies: pack('float32', [1.5, 0.25, 0]),
    },
  });
  const logProbs = { blob: sha('9'), size: 160, mediaType: 'application/x-safetensors' };
  const next = {
    ...update,
    version: 5,
    parentVersion: 4,
    batchId: builder.id('batch 2'),
    checkpointId: builder.id('checkpoint 2'),
  };
  builder.record('PolicyUpdated', { ...lineage, ...next, metrics: {}, logProbs }, lineage.lineageId);
  recordToolCalls(builder, runId, tree, stepId);
  builder.record(
    'CallCaptured',
    {
      ...captured,
      callId: builder.id('unclear call'),
      stepId: null,
      place: 'branch',
      source: 'proxy',
      unclear: 'altered-history',
      choices: captured.choices.map((choice) => ({ ...choice, tokens: null, namedTokens: '[["Go",-0.5],[" on",-0.25]]' })),
    },
    runId,
  );
  builder.finishRollout(tree, builder.id('unclear rollout'), stepId, { unclearCalls: 1 });
  const closed = { treeId: builder.id('tree', runId, 'painted'), reason: 'failed' as const, rollouts: 0 };
  builder.record('TreeClosed', { ...closed, fault: 'the door is stuck' }, runId);
  const recorderId = builder.id('recorder');
  builder.record('RecorderJoined', { runId, recorderId, name: 'rank 1', session: builder.id('session') }, runId);
  builder.record('RecorderLeft', { runId, recorderId, outcome: 'failed', message: 'its process ended 🌳' }, runId);
  builder.tree(runId, 'shared', { shared: true });
  builder.record('MetricRecorded', { runId, metric: 'loss', value: 0.5, at: 8, weights: sha('e') }, runId);
  const row = {
    taskId: builder.id('task', 'row'),
    environment: 'textcraft',
    serverFingerprint: 'world-1',
    observationHash: sha('f'),
  };
  const kwargs = '{"judge":{"create_kwargs":{"ground_truth":"an axe"}}}';
  const task = { ...row, alias: 'row', goal: 'craft an axe', depth: 1, split: null, toolsKwargs: kwargs };
  builder.tree(runId, 'tools', { task });
  builder.finishRollout(tree, builder.id('lossy rollout'), stepId, { unclearCalls: 0, lostParts: 2 });
  return builder.events.map((event) => ({ ...event, causationId: builder.id('cause'), repaired: ['data.nothing'] }));
}

/** Names the fixture of an event: its type and version, and what was added to the type without a new version. */
export function fixtureName({ type, schemaVersion, data }: Envelope): string {
  return `${type}.v${schemaVersion}${addedTo(data)}.json`;
}

function addedTo(data: Envelope['data']): string {
  if ('fault' in data) return '.fault';
  if ('lostParts' in data) return '.losses';
  if ('unclear' in data || 'unclearCalls' in data) return '.unclear';
  if ('signal' in data && data.signal === 'in-form') return '.form';
  if ('pictures' in data) return '.pictures';
  if ('task' in data && typeof data.task === 'object' && 'toolsKwargs' in data.task) return '.tools';
  if ('logProbs' in data) return '.tokens';
  if ('shared' in data) return '.shared';
  if ('metric' in data && 'at' in data && data.weights !== undefined) return '.weights';
  if ('reply' in data && 'response' in data) return '.reply';
  if ('messages' in data && data.messages.some(({ toolCallId }) => toolCallId !== undefined)) return '.structured';
  if ('response' in data && 'tokens' in data && data.tokens?.ends) return '.texts';
  return 'environments' in data && data.environments.some(({ renderer }) => renderer !== undefined) ? '.renderer' : '';
}

/** A reply with reasoning that calls a tool, and a prompt that shows one with its result. */
function recordToolCalls(
  builder: EventBuilder,
  runId: string,
  tree: { readonly treeId: string; readonly runId: string; readonly rootStepId: string },
  before: string,
): void {
  const sha = (letter: string) => letter.repeat(64);
  const toolCalls = [{ id: 'call_1', name: 'weather', arguments: '{"city": "Ulm", "id": 1234567890123456789}' }];
  const stepId = builder.step(tree, null, tree.rootStepId, 1, {
    response: '',
    thought: 'The tool says it.',
    reply: { reasoning: true, toolCalls },
  });
  const parts = [
    { kind: 'reasoning' as const, blocks: [sha('a')] },
    { kind: 'tool-call' as const, id: 'call_1', name: 'weather', blocks: [sha('b')] },
  ];
  builder.record(
    'PromptShown',
    {
      treeId: tree.treeId,
      stepId,
      base: { stepId: before, messages: 1 },
      blocks: ['one text\n'],
      sha256: sha('c'),
      messages: [
        { role: 'assistant', parts },
        { role: 'tool', parts: [{ kind: 'text', blocks: [sha('d')] }], toolCallId: 'call_1', name: 'weather' },
      ],
      template: null,
      tools: '[]',
      server: null,
      sampling: serverSampling(1),
      tokens: null,
    },
    runId,
  );
}

function recordAnnotations(builder: EventBuilder, treeId: string, stepId: string, runId: string): void {
  const annotationId = builder.id('annotation');
  const said = { label: 'gave up', score: -0.5, note: 'says „I cannot“ 🌳' };
  builder.record('AnnotationAdded', { annotationId, treeId, subject: { kind: 'step', stepId }, ...said }, runId);
  builder.record('AnnotationRetracted', { annotationId, treeId, reason: 'another step' }, runId);
}

/** A PNG of one pixel (1, 2, 3), and one that lies in the blob store. */
function recordPictures(builder: EventBuilder, runId: string) {
  const bytes = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgZGIGAAAOAAfXb+R4AAAAAElFTkSuQmCC',
    'base64',
  );
  const dot = { imageId: imageId(1, 1, Uint8Array.of(1, 2, 3)), width: 1, height: 1, png: pack('uint8', [...bytes]) };
  const blob = { blob: '7'.repeat(64), size: 70_002, mediaType: 'application/octet-stream' };
  const large = {
    imageId: '8'.repeat(64),
    width: 200,
    height: 100,
    png: { dtype: 'uint8' as const, length: blob.size, bytes: blob },
  };
  const tree = builder.tree(runId, 'painted', { pictures: [dot] });
  builder.step(tree, null, tree.rootStepId, 1, { observation: 'seen', pictures: [large, dot] });
  return dot;
}

const RULES: PlanRules = {
  groupsPerBatch: 8,
  group: { kind: 'at-least' as const, members: 2 },
  maxStaleness: 1,
  offPolicy: 'log-probs',
  metric: 'environment',
  unscored: 'wait',
  zeroVariance: 'reject',
  band: { low: 0.1, high: 0.9 },
  truncated: 'keep',
  unclear: 'keep',
  maxTokens: 4_096,
  layout: 'verl',
  tokenBudget: 16_384,
};
