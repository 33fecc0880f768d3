import { existsSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../postgres/embedded-server.ts';
import { bundlePrograms } from '../bundle-programs.ts';
import { startKafkaForTests, stopKafkaForTests } from '../kafka.ts';
import { afterTests, undoAll } from './after-tests.ts';
import { FOLDER, makeRunFolder } from './run-folder.ts';
import { createTemplateDatabase } from './template-database.ts';

/** What is read of jest's global configuration. */
interface JestConfig {
  readonly rootDir: string;
  readonly testPathPatterns: { readonly patterns: readonly string[] };
}

interface ProjectConfig {
  readonly testPathIgnorePatterns: readonly string[];
}

/**
 * Starts, once for the whole run, the servers that the chosen tests need: Postgres (`DATABASE_URL`, else the embedded one in a
 * temporary folder) with a migrated template database for `.int` and `.e2e` files, and a Kafka broker for `.e2e` files. The
 * workers learn of them from the environment, which they inherit.
 */
export default async function setUp(config: JestConfig, project: ProjectConfig): Promise<void> {
  const files = chosenFiles(config, project);
  const e2e = files.some((file) => file.endsWith('.e2e.test.ts'));
  try {
    const folder = await makeFolder();
    if (e2e || files.some((file) => file.endsWith('.int.test.ts'))) await startPostgres(folder);
    if (e2e) await startKafka(folder);
    if (files.some(startsPrograms)) await bundlePrograms();
  } catch (error) {
    await undoAll(); // jest calls no teardown after a failed setup
    throw error;
  }
}

/** Temporary files of the workers' tests and of the servers lie in one folder, and go with it. */
async function makeFolder(): Promise<string> {
  const folder = await makeRunFolder();
  afterTests(() => rm(folder, { recursive: true, force: true }));
  process.env[FOLDER] = folder;
  return folder;
}

async function startPostgres(folder: string): Promise<void> {
  if (!process.env.DATABASE_URL) {
    const server = await startEmbeddedPostgres({ folder: join(folder, 'postgres'), durability: 'none' });
    afterTests(async () => {
      delete process.env.DATABASE_URL; // a watch begins again
      await server.close();
    });
    process.env.DATABASE_URL = server.url;
  }
  const template = await createTemplateDatabase(process.env.DATABASE_URL);
  afterTests(() => template.drop());
}

/** Whether a test may start the command line or a worker. One that does without its bundle runs the sources, later. */
function startsPrograms(file: string): boolean {
  return /\.(int|e2e)\.test\.ts$|\/cli\//.test(file);
}

/** A run names files by patterns, each matched anywhere in the path; without one all that are not ignored are chosen. */
function chosenFiles({ rootDir, testPathPatterns }: JestConfig, project: ProjectConfig): readonly string[] {
  const patterns = testPathPatterns.patterns.map((pattern) => new RegExp(pattern, 'i'));
  const ignored = project.testPathIgnorePatterns.map((pattern) => new RegExp(pattern));
  const chosen = (file: string) =>
    (patterns.length === 0 || patterns.some((pattern) => pattern.test(file))) && !ignored.some((pattern) => pattern.test(file));
  return ['src', 'graphql', 'workers', 'infra']
    .map((name) => join(rootDir, name))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)))
    .filter((file) => file.endsWith('.test.ts') && chosen(file));
}

async function startKafka(folder: string): Promise<void> {
  afterTests(stopKafkaForTests);
  await startKafkaForTests(join(folder, 'kafka'));
}
