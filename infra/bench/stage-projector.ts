import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectInThread } from '../../src/app/project-in-thread.ts';
import type { Subscription } from '../../src/log/event-log.ts';
import { readConfig } from '../../src/runtime/config.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import type { Stage } from './stage.ts';

/**
 * Projects a stage's log as `espalier up` does: in a thread of the process, with connections of its own. Who starts it closes it.
 */
export async function projectOnStage(stage: Stage, log: 'kafka' | 'embedded'): Promise<Subscription> {
  const home = await mkdtemp(join(tmpdir(), 'espalier-bench-home-'));
  stage.closing(() => rm(home, { recursive: true, force: true }));
  const config = readConfig({ ESPALIER_HOME: home, ...(await stage.settings(log)) });
  const { url } = await stage.database();
  return projectInThread({ config, databaseUrl: url, directUrl: url }, SILENT);
}
