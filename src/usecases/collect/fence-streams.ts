import { createAppender, type Draft } from '../../append/appender.ts';
import { derivedId } from '../../events/derived-id.ts';
import { positionAfter } from '../../log/position.ts';
import { CODE_VERSION } from '../../platform/code-version.ts';
import { nextSequence } from '../../platform/next-sequence.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';

const CATCH_UP_MS = 60_000;

/** Takes over streams of a run from the collectors before. False where there was none: then nothing is recorded. */
export interface Fences {
  run(): Promise<boolean>;
  tree(treeId: string): Promise<boolean>;
}

/**
 * Opens what a collector takes over streams by, before it reads them: an event behind which those of lower epochs have no effect,
 * and a wait until the read models hold it. So what is read is all that the collectors before it will ever have said there.
 */
export function openFences(
  platform: Platform,
  { runId, epoch, signal }: { readonly runId: string; readonly epoch: number; readonly signal: AbortSignal },
): Fences {
  const { log, blobs, database } = platform;
  // numbers of its own: those of the collector are looked up when what came before the fence is known
  const producer = { name: 'resumer', version: CODE_VERSION };
  const appender = createAppender({
    ...{ log, blobs, producer, stamp: platform.stamp, clock: Date.now, epoch },
    sequenceOf: (stream, topic) => nextSequence(database.db, producer.name, stream, topic),
  });

  async function fence(draft: Draft): Promise<boolean> {
    if (epoch === 1) return false;
    const position = positionAfter(await appender.append([draft]));
    await waitUntilProjected(database.db, position, { timeoutMs: CATCH_UP_MS, signal });
    return true;
  }

  return {
    run: () =>
      fence({
        ...{ type: 'RunResumed', id: derivedId('RunResumed', runId, epoch), correlationId: runId },
        data: { runId, epoch, codeVersion: CODE_VERSION },
      }),
    tree: (treeId) =>
      fence({
        ...{ type: 'TreeResumed', id: derivedId('TreeResumed', treeId, epoch), correlationId: runId },
        data: { treeId, runId, epoch },
      }),
  };
}
