import { type Appender, createAppender } from '../append/appender.ts';
import { CODE_VERSION } from './code-version.ts';
import { nextSequence } from './next-sequence.ts';
import type { Platform } from './open-platform.ts';
import { projectsOf } from './projects-of.ts';

/** What an appender of this process needs of the platform. */
export type AppendingWorld = Pick<Platform, 'log' | 'blobs' | 'stamp'> & { readonly database: Pick<Platform['database'], 'db'> };

export interface Appending {
  /** The epoch at which this process holds the run that it appends to. */
  readonly epoch?: number;
  /** `begin`: the producer has written to none of the streams, so that the record is not asked for its last number. */
  readonly numbers?: 'begin' | 'continue';
}

/**
 * Opens an appender for a part of this program. What belongs to a run, an experiment, a dataset or a policy of the record carries
 * the project of that one, whichever project this process works for; the read models must have caught up with what opened it.
 */
export function openAppender(
  { log, blobs, stamp, database: { db } }: AppendingWorld,
  producer: string,
  { epoch, numbers = 'continue' }: Appending = {},
): Appender {
  return createAppender({
    log,
    blobs,
    stamp,
    producer: { name: producer, version: CODE_VERSION },
    clock: Date.now,
    projectOf: projectsOf(db),
    ...(epoch === undefined ? {} : { epoch }),
    ...(numbers === 'begin' ? {} : { sequenceOf: (stream, topic) => nextSequence(db, producer, stream, topic) }),
  });
}
