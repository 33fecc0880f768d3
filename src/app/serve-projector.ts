import type { MessagePort } from 'node:worker_threads';
import { openPlatform } from '../platform/open-platform.ts';
import { type RunnerReport, runProjections } from '../projections/runner.ts';
import type { Config } from '../runtime/config.ts';

/** What the thread is started with: a configuration that names the database, so that it starts no server. */
export interface ProjectorData {
  readonly config: Config;
}

/** What the thread says. That it failed is its end. */
export type FromProjector = { readonly kind: 'projecting' } | { readonly kind: 'report'; readonly report: RunnerReport };

/** Folds the log into the read models as a member of the projectors' group, until it is asked to end. */
export async function serveProjector(port: MessagePort, { config }: ProjectorData): Promise<void> {
  const asked = new Promise<void>((resolve) => port.once('message', () => resolve()));
  const say = (message: FromProjector) => port.postMessage(message);
  const platform = await openPlatform(config, 'project');
  try {
    const subscription = await runProjections({
      log: platform.log,
      database: platform.database,
      report: (report) => report.kind !== 'projected' && say({ kind: 'report', report }),
    });
    say({ kind: 'projecting' });
    try {
      await Promise.race([asked, subscription.finished]);
    } finally {
      await subscription.close();
    }
  } finally {
    await platform.close();
  }
}
