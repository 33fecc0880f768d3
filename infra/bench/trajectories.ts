import { sha256Hex } from '../../src/digest/sha256.ts';
import { createRandom } from '../../src/domain/random/random.ts';
import { catalogue } from '../../src/events/catalogue.ts';
import { encode } from '../../src/events/codec.ts';
import type { Envelope } from '../../src/events/envelope.ts';
import type { LogRecord } from '../../src/log/event-log.ts';
import { EventBuilder } from '../../src/testing/event-builder.ts';

export interface Shape {
  readonly trees: number;
  readonly rollouts: number;
  readonly steps: number;
  /** Makes other shapes of the same seed record other trees. */
  readonly name: string;
}

/** What a GRPO group of TextCraft looks like: 8 rollouts of 10 steps under one root. 106 events, 80 of them steps. */
export const GROUP = { rollouts: 8, steps: 10 } as const;
export const EVENTS_PER_GROUP = 106;

/** Records groups of rollouts whose steps are events of about 1 KB, with usage, call, state hash and a reward per rollout. */
export function recordTrajectories({ trees, rollouts, steps, name }: Shape): readonly Envelope[] {
  const builder = new EventBuilder(name);
  const random = createRandom(`trajectories ${name}`);
  const words = (count: number): string => Array.from({ length: count }, () => random.choice(WORDS)).join(' ');
  const runId = builder.run(name);
  for (let t = 0; t < trees; t++) {
    const tree = builder.tree(runId, `task ${t}`, { observation: words(60), plannedRollouts: rollouts });
    for (let ordinal = 0; ordinal < rollouts; ordinal++) {
      const rolloutId = builder.rollout(tree, ordinal);
      let parent = tree.rootStepId;
      for (let depth = 1; depth <= steps; depth++) {
        const thought = words(6);
        const action = `craft ${1 + random.int(8)} ${words(1)} using ${1 + random.int(4)} ${words(1)}`;
        parent = builder.step(tree, rolloutId, parent, depth, {
          thought,
          action,
          response: `Thought: ${thought}\nAction: ${action}`,
          observation: `Crafted ${words(2)}`,
          termination: depth === steps ? 'terminated' : 'none',
          usage: { promptTokens: 400 + random.int(400), completionTokens: 30 + random.int(30) },
          timings: { policyMs: random.int(4_000) / 10, environmentMs: random.int(40) / 10 },
          stateHash: sha256Hex(`${t} ${ordinal} ${depth}`),
        });
      }
      builder.reward(tree, parent, ordinal % 2, { rolloutId });
      builder.finishRollout(tree, rolloutId, parent, { steps, success: ordinal % 2 === 1 });
    }
    builder.closeTree(tree, rollouts);
  }
  return builder.events;
}

/** Mixes trees as a collector does that walks `atOnce` of them together; the order within each stream stays. */
export function interleave(events: readonly Envelope[], atOnce: number): readonly Envelope[] {
  const byStream = new Map<string, Envelope[]>();
  for (const event of events) {
    const stream = byStream.get(event.stream);
    if (stream) stream.push(event);
    else byStream.set(event.stream, [event]);
  }
  const streams = [...byStream.values()];
  const mixed: Envelope[] = [];
  for (let first = 0; first < streams.length; first += atOnce) {
    const together = streams.slice(first, first + atOnce);
    const longest = Math.max(...together.map(({ length }) => length));
    for (let i = 0; i < longest; i++) mixed.push(...together.flatMap((stream) => stream.slice(i, i + 1)));
  }
  return mixed;
}

/** Encodes events as the log takes them. */
export function recordsOf(events: readonly Envelope[]): readonly LogRecord[] {
  return events.map((event) => ({ topic: catalogue[event.type].topic, key: event.stream, value: encode(event) }));
}

/** Returns the mean size of the steps among events, in bytes: what "1 KB events" means in a figure. */
export function meanStepBytes(events: readonly Envelope[]): number {
  const steps = events.filter((event) => event.type === 'StepTaken');
  return Math.round(steps.reduce((sum, step) => sum + encode(step).byteLength, 0) / Math.max(1, steps.length));
}

const WORDS =
  'oak log plank stick birch spruce iron ingot copper plate silver wire glass bead clay brick coal torch rope wool yarn cloth dye chest crate lantern wheel gear hinge rivet candle basket kettle ladder craft get inventory need first then because recipe ingredient have missing next goal make from with already'.split(
    ' ',
  );
