import { createRandom, type Random } from '../../src/domain/random/random.ts';
import { catalogue, type DataOf, type EventType } from '../../src/events/catalogue.ts';
import { DEFAULT_STAMP, type Envelope } from '../../src/events/envelope.ts';
import { streamOf } from '../../src/events/stream-of.ts';
import { checkEvents } from '../../src/http/ingest/check-events.ts';
import { EventBuilder } from '../../src/testing/event-builder.ts';
import { everyEvent } from '../../src/testing/every-event.ts';
import { variationsOf } from '../../src/testing/vary-events.ts';
import { factOf } from './record-model.ts';

/** What the clients of one round know: a few runs and trees, whose ids they share. */
export interface World {
  readonly name: string;
  readonly runs: readonly string[];
  readonly trees: readonly TreeIds[];
  /** Ids that every tree gives to something of its own. */
  readonly shared: readonly string[];
}

interface TreeIds {
  readonly treeId: string;
  readonly runId: string;
  /** The root first; the parent of step i is step (i − 1) / 2. */
  readonly steps: readonly string[];
  readonly rollouts: readonly string[];
  readonly rewards: readonly string[];
}

const [RUNS, TREES, STEPS, ROLLOUTS, REWARDS, SHARED] = [2, 4, 15, 3, 6, 5];
const COMMON = 3; // trees, of two runs, whose steps, rollouts and rewards have the same ids

export function drawWorld(name: string): World {
  const random = createRandom(name);
  const some = (count: number) => Array.from({ length: count }, () => uuid(random));
  const runs = some(RUNS);
  const ids = () => ({ steps: some(STEPS), rollouts: some(ROLLOUTS), rewards: some(REWARDS) });
  const common = ids();
  const trees = some(TREES).map((treeId, i) => ({
    treeId,
    runId: runs[i % RUNS] as string, // below their number
    ...(i < COMMON ? common : ids()),
  }));
  return { name, runs, trees, shared: some(SHARED) };
}

/** Draws the world of another project, in whose trees everything has the ids that it has in those of a world. */
export function drawOther(world: World): World {
  const other = drawWorld(`${world.name} other`);
  const trees = other.trees.map((tree, i) => {
    const { steps, rollouts, rewards } = world.trees[i] ?? tree;
    return { ...tree, steps, rollouts, rewards };
  });
  return { ...other, trees, shared: world.shared };
}

/**
 * Draws what a client says next: facts of the world in a random order, so that some come before what they refer to, some again under
 * the same or another id, some measured otherwise, and some with other content or of another run.
 */
export function drawRequests(world: World, random: Random): () => readonly Envelope[] {
  const sent: Envelope[] = [];
  let at = 0; // how far the client is in its walk through the world
  return () => {
    const events: Envelope[] = [];
    for (let count = 1 + random.int(5); count > 0; count--) {
      const before = sent.length > 0 && random.next() < 0.2 ? random.choice(sent) : undefined;
      const kind = random.next();
      if (before && kind < 0.3) events.push(before);
      else if (before && kind < 0.6) events.push(again({ ...before, id: uuid(random) }, random));
      else if (before && kind < 0.7) {
        const other = fact(world, random, at);
        if (other.stream === before.stream) events.push({ ...other, id: before.id }); // an id of another fact
      } else {
        const event = fact(world, random, at++);
        const odd = random.next();
        events.push(odd < 0.03 ? otherRun(event, world, random) : odd < 0.06 ? secondFact(event, world, random) : event);
      }
    }
    if (events.length === 0) events.push(fact(world, random, at++));
    sent.push(...events);
    return events;
  };
}

/** The same fact, measured and dated anew. */
function again(event: Envelope, random: Random): Envelope {
  const occurredAt = new Date(Date.UTC(2026, 0, 2) + random.int(1_000_000)).toISOString();
  if (event.type !== 'StepTaken') return { ...event, occurredAt };
  return {
    ...event,
    occurredAt,
    data: { ...event.data, timings: { policyMs: random.int(900), environmentMs: random.int(900) } },
  };
}

function otherRun(event: Envelope, world: World, random: Random): Envelope {
  const runId = random.choice(world.runs);
  if (event.type === 'TreeOpened') return { ...event, correlationId: runId, data: { ...event.data, runId } };
  return event.stream === event.correlationId ? event : { ...event, correlationId: runId };
}

function secondFact(event: Envelope, world: World, random: Random): Envelope {
  if (factOf(event) === null) return event;
  const changes: Readonly<Record<string, object>> = {
    RunStarted: { name: `other ${random.int(3)}` },
    RunFinished: { outcome: 'failed' },
    TreeOpened: { plannedRollouts: 7 + random.int(2) },
    TreeClosed: { rollouts: 7 },
    RolloutStarted: { seed: 77 },
    RolloutFinished: { outcome: 'failed', success: null },
    StepTaken: { action: random.choice(ODD_TEXTS) },
    ToolCalled: { output: random.choice(ODD_TEXTS) },
    RewardAssigned: { value: random.choice(AMOUNTS) },
    AnnotationAdded: { label: 'other', score: null },
    AnnotationRetracted: { reason: 'other' },
  };
  const others = world.trees.find(({ treeId, runId }) => [treeId, runId].includes(event.stream));
  const ways = WAYS.get(event.type);
  if (ways && others) {
    const id = String((event.data as Record<string, unknown>)[catalogueEntity(event.type)]);
    return { ...event, data: dataOf(random.choice(ways), { ...others, id }, random) } as Envelope;
  }
  return { ...event, data: { ...event.data, ...changes[event.type] } } as Envelope; // a change of the same type
}

/** What `fact` says in ways of its own. */
const SAID: ReadonlySet<EventType> = new Set<EventType>([
  ...(['RunStarted', 'RunFinished', 'TreeOpened', 'TreeClosed', 'RolloutStarted', 'RolloutFinished', 'StepTaken'] as const),
  ...(['ToolCalled', 'RewardAssigned', 'AnnotationAdded', 'AnnotationRetracted'] as const),
]);
/**
 * What else may be said of trees and runs, from the catalogue: by type the ways to say it, with values of its fields replaced by null,
 * empty and extreme ones. Without what an end of another program waits for, and what refers to payloads that are not in the store.
 */
const WAYS: ReadonlyMap<EventType, readonly Envelope[]> = waysOf(['RecorderJoined', 'RecorderLeft']);

function waysOf(left: readonly EventType[]): ReadonlyMap<EventType, readonly Envelope[]> {
  const ways = new Map<EventType, Envelope[]>();
  for (const event of everyEvent()) {
    const { stream, entity } = catalogue[event.type];
    if (typeof entity !== 'string' || !['treeId', 'runId'].includes(stream) || SAID.has(event.type) || left.includes(event.type))
      continue;
    const all = [event, ...variationsOf(event).map((varied) => varied.event)].filter(
      (way) => !JSON.stringify(way).includes('"blob"') && checkEvents([way], Date.now(), DEFAULT_STAMP).kind === 'events',
    );
    if (all.length > 0) ways.set(event.type, [...(ways.get(event.type) ?? []), ...all]);
  }
  return ways;
}

/** One of the ways to say something, of entities of a tree: all that a way names besides its own is a step of the tree. */
function dataOf(way: Envelope, of: TreeIds & { readonly id: string }, random: Random): Envelope['data'] {
  const own = way.data as Record<string, unknown>;
  const names = new Map<unknown, string>([
    [own.treeId, of.treeId],
    [own.runId, of.runId],
    [own[catalogueEntity(way.type)], of.id],
  ]);
  const named = JSON.stringify(own).replace(UUIDS, (id) => {
    const name = names.get(id) ?? random.choice(of.steps);
    names.set(id, name);
    return name;
  });
  return JSON.parse(named) as Envelope['data']; // the same with other ids
}

const UUIDS = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

function catalogueEntity(type: EventType): string {
  const { entity } = catalogue[type];
  return typeof entity === 'string' ? entity : ''; // the ways have one
}

const CONFIGS = [null, {}, [], 0, 1.7e308, '', { nested: [null, { blob: 'a'.repeat(64) }] }, 'é'.repeat(9_000)];
const AMOUNTS = [0, 1, -1, 0.1, 0.2, 0.3, 1e-300, -1e100, 1e100, 5e-324, 123456.789];
const ODD_TEXTS = [
  '',
  '\ufeff',
  '\u202e\u{10ffff}',
  '"\\',
  "'; drop table steps; --",
  '\u2028\u2029',
  `{"blob":"${'a'.repeat(64)}"}`,
  '[forgotten]',
];
/** What is repaired before it is appended. */
const BROKEN_TEXTS = ['\0', '\ud800', 'a\udfffb\0'];

/** A fact of the world: what all clients say of an entity is equal, unless it is changed on purpose. */
function fact(world: World, random: Random, at: number): Envelope {
  const tree = random.choice(world.trees);
  const { treeId, runId, steps, rollouts, rewards } = tree;
  const root = steps[0] as string; // there are many
  const step = 1 + random.int(Math.min(steps.length - 1, 2 + (at >> 2)));
  const rolloutId = rollouts[random.int(rollouts.length)] as string; // below their number
  const stepId = steps[step] as string; // below their number
  const say = <T extends EventType>(type: T, data: DataOf<T>) => envelope(world, random, type, data, runId);
  // what is said of an entity follows from its tree and its id
  const own = (id: string) => createRandom(`${world.name} ${treeId} ${id}`);
  const takerOf = (id: string) => (own(id).next() < 0.3 ? null : (rollouts[own(id).int(rollouts.length)] as string));
  const textOf = (id: string): string => {
    const drawn = own(id);
    const kind = drawn.next();
    if (kind < 0.05) return 'long '.repeat(15_000);
    if (kind < 0.3) return drawn.choice(kind < 0.2 ? ODD_TEXTS : BROKEN_TEXTS);
    return `text of ${id}`;
  };
  if (at > 6 && random.next() < 0.25) {
    const [type, ways] = random.choice([...WAYS]);
    const ids = { stepId: steps, runId: [runId] }[catalogueEntity(type)] ?? world.shared;
    const id = random.choice(ids);
    const drawn = own(`${type} ${id}`);
    const way = drawn.choice(ways);
    return envelope(world, random, type, dataOf(way, { ...tree, id }, drawn) as never, runId); // of the type of the way
  }
  const kind = at < 2 ? 0 : at < 6 ? 0.06 : random.next();
  if (kind < 0.04)
    return built(world, random, (builder) => {
      const id = random.choice(world.runs);
      builder.run('run', { runId: id, config: createRandom(`${world.name} ${id}`).choice(CONFIGS) as never });
    });
  if (kind < 0.1)
    return built(world, random, (builder) =>
      builder.tree(runId, 'tree', { treeId, rootStepId: root, observation: textOf(root), admissibleActions: null }),
    );
  if (kind < 0.2)
    return say('RolloutStarted', {
      rolloutId,
      treeId,
      fromStepId: root,
      ordinal: rollouts.indexOf(rolloutId),
      seed: Number.MAX_SAFE_INTEGER,
      policy: { policyId: 'random', version: 0 },
    });
  if (kind < 0.5) {
    const parent = (step - 1) >> 1;
    const taker = takerOf(stepId);
    return built(world, random, (builder) =>
      builder.step({ treeId, runId }, taker, steps[parent] as string, Math.floor(Math.log2(step + 1)), {
        stepId,
        action: textOf(stepId),
        response: textOf(`${stepId} response`),
        observation: textOf(`${stepId} observation`),
        timings: { policyMs: random.int(100), environmentMs: 1e100 },
      }),
    );
  }
  if (kind < 0.58) {
    const leaf = steps.slice(1, 3).find((id) => takerOf(id) === rolloutId); // below the root
    return say('RolloutFinished', {
      rolloutId,
      treeId,
      leafStepId: leaf ?? root,
      outcome: 'terminated',
      success: own(rolloutId).choice([true, false, null]),
      steps: leaf === undefined ? 0 : 1,
      reason: textOf(rolloutId).slice(0, 100).toWellFormed().replaceAll('\0', ''),
    });
  }
  if (kind < 0.72) {
    const rewardId = random.choice(rewards);
    const ofStep = steps[1 + (rewards.indexOf(rewardId) % 3)] as string;
    const ofRollout = rewards.indexOf(rewardId) === 0;
    return say('RewardAssigned', {
      rewardId,
      treeId,
      stepId: ofRollout ? null : ofStep,
      rolloutId: ofRollout ? (rollouts[0] as string) : null,
      component: 'environment',
      value: own(rewardId).choice(AMOUNTS),
      scorer: { name: 'environment', revision: '1' },
      raw: null,
    });
  }
  if (kind < 0.78)
    return say('RewardRevised', {
      rewardId: random.choice(rewards),
      treeId,
      value: random.choice(AMOUNTS),
      scorer: { name: 'judge', revision: '2' },
      reason: '',
    });
  if (kind < 0.84) {
    const toolCallId = random.choice(world.shared);
    return say('ToolCalled', {
      toolCallId,
      treeId,
      stepId: steps[1] as string,
      ordinal: world.shared.indexOf(toolCallId),
      tool: 'search',
      arguments: '',
      output: textOf(toolCallId),
      outcome: 'ok',
      durationMs: 0,
    });
  }
  if (kind < 0.92) {
    const annotationId = random.choice(world.shared);
    const subject = annotationId === world.shared[0] ? ({ kind: 'tree' } as const) : ({ kind: 'step', stepId: root } as const);
    return say('AnnotationAdded', {
      annotationId,
      treeId,
      subject,
      label: annotationId === world.shared[1] ? null : 'good',
      score: own(annotationId).choice([...AMOUNTS, null]),
      note: '',
    });
  }
  if (kind < 0.95) return say('AnnotationRetracted', { annotationId: random.choice(world.shared), treeId, reason: '' });
  if (kind < 0.98) return say('TreeClosed', { treeId, reason: 'completed', rollouts: 1 });
  return envelope(
    world,
    random,
    'RunFinished',
    { runId, outcome: 'completed', message: '', trees: 0, rollouts: 0, steps: 0 },
    runId,
  );
}

function envelope<T extends EventType>(world: World, random: Random, type: T, data: DataOf<T>, runId: string): Envelope {
  return built(world, random, (builder) => builder.record(type, data, runId));
}

/** An event of a builder, under an id of its own and stamped as one of this installation. */
function built(world: World, random: Random, build: (builder: EventBuilder) => unknown): Envelope {
  const builder = new EventBuilder(world.name);
  build(builder);
  const event = builder.events[0] as Envelope; // just built
  const stream = streamOf(event.type, event.data) ?? event.stream;
  const correlationId = catalogue[event.type].topic === 'runs' ? stream : event.correlationId;
  return { ...event, stream, correlationId, id: uuid(random), sequence: random.int(1_000) };
}

function uuid(random: Random): string {
  const hex = Array.from({ length: 32 }, () => random.int(16).toString(16)).join('');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}
