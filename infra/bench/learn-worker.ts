import './production.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureProjector } from '../../src/cli/ensure-projector.ts';
import { openPlatform } from '../../src/platform/open-platform.ts';
import { readConfig } from '../../src/runtime/config.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import { train } from '../../src/usecases/train/train.ts';
import type { TrainPlan } from '../../src/usecases/train/train-plan.ts';
import { type Lesson, type Trained, trainedOf } from './learn-lesson.ts';

/** What the bench sends to one of its processes. `stop`: leave the trainings in flight; `end`: there are no more. */
export type ToWorker =
  | { readonly kind: 'train'; readonly lesson: Lesson; readonly plan: TrainPlan }
  | { readonly kind: 'stop' }
  | { readonly kind: 'end' };

export type FromWorker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'learned'; readonly learned: Trained }
  | { readonly kind: 'failed'; readonly lesson: Lesson; readonly reason: string };

process.on('SIGINT', () => undefined); // Ctrl-C goes to the whole group; the parent says what follows from it
await work();

/**
 * Trains what it is sent, on an embedded database of its own that is gone afterwards: trainings of two processes share nothing
 * but the machine.
 */
async function work(): Promise<void> {
  const stopping = new AbortController();
  const inFlight = new Set<Promise<void>>();
  const home = await mkdtemp(join(tmpdir(), 'espalier-learn-'));
  const own = { ESPALIER_HOME: home, ESPALIER_BLOBS: join(home, 'blobs'), DATABASE_URL: '', KAFKA_BROKERS: '' };
  const platform = await openPlatform(readConfig({ ...process.env, ...own }), 'learn');
  const projector = await ensureProjector(platform);
  try {
    await new Promise<void>((ended) => {
      process.on('disconnect', () => {
        stopping.abort(); // the parent is gone
        ended();
      });
      process.on('message', (message: ToWorker) => {
        if (message.kind === 'stop') stopping.abort();
        if (message.kind !== 'train') return ended();
        const training = trainLesson(message.lesson, message.plan).finally(() => inFlight.delete(training));
        inFlight.add(training);
      });
      post({ kind: 'ready' });
    });
    await Promise.all(inFlight);
  } finally {
    await projector.close();
    await platform.close();
    await rm(home, { recursive: true, force: true });
    if (process.connected) process.disconnect();
  }

  async function trainLesson(lesson: Lesson, plan: TrainPlan): Promise<void> {
    const began = performance.now();
    const { signal } = stopping;
    try {
      const trained = await train(platform, { plan, concurrency: plan.groupsPerBatch, signal, logger: SILENT });
      if (signal.aborted) return; // half of it says nothing
      post({ kind: 'learned', learned: trainedOf(lesson, plan, trained, (performance.now() - began) / 1_000) });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (!signal.aborted) post({ kind: 'failed', lesson, reason });
    }
  }
}

function post(message: FromWorker): void {
  if (process.connected) process.send?.(message);
}
