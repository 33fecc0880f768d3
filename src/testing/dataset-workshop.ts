import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { type Database, openDatabase } from '../postgres/database.ts';
import { exportTrajectories } from '../usecases/datasets/export/export-trajectories.ts';
import type { ExportFormat } from '../usecases/datasets/export/formats.ts';
import { parseTrajectoryQuery, type QueryTexts } from '../usecases/datasets/export/parse-trajectory-query.ts';
import { agentTrajDefaults } from '../usecases/datasets/import/agent-traj-options.ts';
import { type ImportOptions, type ImportReport, importTrajectories } from '../usecases/datasets/import/import-trajectories.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { MemoryBlobs } from './memory-blobs.ts';
import { projectingAppender } from './projecting-log.ts';
import { emptyReadModels } from './read-models.ts';

/** What tests of imports and exports work with: a database, a blob store and a folder, empty before each test. */
export interface DatasetWorkshop {
  readonly db: Database['db'];
  readonly blobs: MemoryBlobs;
  /** Returns a path in the test's folder. */
  path(name: string): string;
  /** Exports under a name; returns the path. */
  exportTo(name: string, format: ExportFormat, texts?: QueryTexts): Promise<string>;
  /** Imports the file named `source` unless another is given; events are projected as they are appended. */
  importing(change?: Partial<ImportOptions>): Promise<ImportReport>;
  /** Forgets every event and every blob; files stay. */
  startAgain(): Promise<void>;
}

/** Opens a workshop for the tests of a file; jest's hooks empty and close it. */
export function datasetWorkshop(): DatasetWorkshop {
  let testDatabase: TestDatabase;
  let database: Database;
  let folder: string;
  let blobs = new MemoryBlobs();
  beforeAll(async () => {
    testDatabase = await createTestDatabase();
    database = await openDatabase(testDatabase.url);
  });
  afterAll(async () => {
    await database.close();
    await testDatabase.drop();
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'espalier-datasets-'));
    await startAgain();
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function startAgain(): Promise<void> {
    await emptyReadModels(database.db);
    blobs = new MemoryBlobs();
  }
  const path = (name: string) => join(folder, name);
  const signal = new AbortController().signal;
  const onProgress = () => undefined;
  return {
    get db() {
      return database.db;
    },
    get blobs() {
      return blobs;
    },
    path,
    startAgain,
    async exportTo(name, format, texts = {}) {
      const query = parseTrajectoryQuery(texts);
      const policy = { existing: 'replace', empty: 'allow', codeVersion: 'test', waitMs: 2_000, signal, onProgress } as const;
      await exportTrajectories({ db: database.db, blobs, query, format, out: path(name), ...policy });
      return path(name);
    },
    importing(change = {}) {
      const appender = projectingAppender(database.db, blobs);
      const form = 'detect' as const;
      const defaults = {
        source: path('source'),
        form,
        db: database.db,
        appender,
        blobs,
        badRows: 'refuse' as const,
        agentTraj: agentTrajDefaults,
        signal,
        onProgress,
      };
      return importTrajectories({ ...defaults, ...change });
    },
  };
}
