import { decode } from '../events/codec.ts';
import { DEFAULT_STAMP, type Envelope } from '../events/envelope.ts';
import type { EventLog, LogRecord } from '../log/event-log.ts';
import type { Db } from '../postgres/database.ts';
import type { Projection } from '../projections/projection.ts';
import type { BatcherWorld } from '../usecases/train/batcher/plan-lineage.ts';
import { appendTo, projectSlice, type TestLog, testLog } from './given-events.ts';
import { MemoryBlobs } from './memory-blobs.ts';

export interface ProjectedWorld extends BatcherWorld {
  /** Folds what was appended since, by all projections or by those named alone, which are then ahead of the others. */
  readonly project: (projections?: readonly Projection[]) => Promise<void>;
  readonly record: (events: readonly Envelope[]) => void;
}

/** The planner was killed. */
export class Killed extends Error {}

/**
 * A log in memory whose records are projected when the world is asked to go on. `dieAfter` kills the planner when so many of its
 * records are durable.
 */
export function openBatcherWorld(db: Db, events: readonly Envelope[], dieAfter = -1, copies = 1): ProjectedWorld {
  const memory: TestLog = testLog();
  const projected = new Map<string, number>();
  appendTo(memory, events);
  let left = dieAfter;
  const log = {
    async append(records: readonly LogRecord[]) {
      for (const record of records) {
        if (left-- === 0) throw new Killed('the process is gone');
        for (let copy = 0; copy < copies; copy++) appendTo(memory, [eventOf(record)]);
      }
      if (left === 0) {
        left = -1;
        throw new Killed('durable, and nobody was notified');
      }
      return records.map(({ topic }, offset) => ({ topic, partition: 0, offset }));
    },
    async ends(topics: readonly string[]) {
      return new Map(topics.map((topic) => [topic, new Map([[0, memory.topics.get(topic)?.length ?? 0]])]));
    },
  } as unknown as EventLog; // the planner appends and asks for the end, nothing else
  return {
    db,
    log,
    blobs: new MemoryBlobs(),
    stamp: DEFAULT_STAMP,
    catchUpMs: 5_000,
    producer: { name: 'batcher', version: '1' },
    clock: () => Date.UTC(2026, 5, 1),
    record: (appended) => appendTo(memory, appended),
    async project(projections) {
      for (const [topic, records] of memory.topics) {
        if (projections) {
          await projectSlice(db, memory, topic, 0, records.length, projections);
          continue;
        }
        await projectSlice(db, memory, topic, projected.get(topic) ?? 0, records.length);
        projected.set(topic, records.length);
      }
    },
  };
}

function eventOf({ value }: LogRecord) {
  const decoded = decode(value);
  if (decoded.kind === 'refused') throw new Error(decoded.refusal.message);
  return decoded.event;
}
