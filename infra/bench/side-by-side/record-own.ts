import { fileURLToPath } from 'node:url';
import { serveApi } from '../../../src/app/serve-api.ts';
import type { Platform } from '../../../src/platform/open-platform.ts';
import { createKey } from '../../../src/postgres/keys.ts';
import { runProjections } from '../../../src/projections/runner.ts';
import { readConfig } from '../../../src/runtime/config.ts';
import { SILENT } from '../../../src/runtime/logger.ts';
import { PYTHON_PACKAGE } from '../../../src/runtime/python-server.ts';
import type { Stage } from '../stage.ts';
import { type Measured, runScript } from './measure-system.ts';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));

/** Records the work by the Python client into a platform of the stage, with API and projections in this process. */
export async function recordOwn(stage: Stage, platform: Platform, episodes: number): Promise<Measured> {
  const { database, log } = platform;
  const projector = await runProjections({ log, database });
  stage.closing(() => projector.close());
  const server = await serveApi(platform, SILENT);
  stage.closing(() => server.close());
  const { key } = await createKey(database.db, { name: 'bench', scopes: ['ingest', 'read'], projects: 'all' });
  const { consumersPython, python } = readConfig();
  const size = async () => {
    const { rows } = await database.pool.query<{ bytes: string }>('select pg_database_size(current_database()) as bytes');
    return Number(rows[0]?.bytes);
  };
  const before = await size();
  const env = { PYTHONPATH: `${PYTHON_PACKAGE}:${FOLDER}`, TOKEN: key };
  const interpreter = consumersPython ?? python ?? 'python3';
  const said = await runScript(interpreter, 'record_espalier.py', [server.url, `${episodes}`, '1'], env);
  return { ...said, batch: 0, bytes: (await size()) - before };
}
