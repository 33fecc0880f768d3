import type { MessagePort } from 'node:worker_threads';
import { type LogSource, openLogSource } from '../../log/log-source.ts';
import { openDatabase } from '../../postgres/database.ts';
import { readMasterKey, useKeyWrapping } from '../../postgres/key-wrapping.ts';
import { type ClosingPart, closeInTurn } from '../../runtime/close-in-turn.ts';
import { shadowVersion } from '../projection.ts';
import { projections } from '../registry.ts';
import type { Build } from './build.ts';
import { foldShadow, type Share } from './fold-shadow.ts';

/** What a thread needs to read the log and to write to the database on its own. */
export interface FoldSource {
  readonly databaseUrl: string;
  readonly log: LogSource;
  readonly masterKeyFile: string | null;
  /** The most threads that fold at once. */
  readonly threads: number;
}

/** What a thread is started with. */
export interface FoldThreadData {
  readonly source: FoldSource;
  readonly build: Pick<Build, 'version' | 'begunAt' | 'schema' | 'resumed'> & { readonly name: string };
  readonly share: Share;
}

const CONNECT_MS = 120_000; // a fetch may hold slices of all partitions, which take turns
const CONNECTIONS = 4; // two rebuilds of four threads, with their logs, stay below the 100 that Postgres allows by default

/**
 * Folds a thread's share of the partitions into a build, until it is asked to end.
 */
export async function serveFoldThread(port: MessagePort, { source, build: given, share }: FoldThreadData): Promise<void> {
  const asked = new Promise<void>((resolve) => port.once('message', () => resolve()));
  const opened: ClosingPart[] = [];
  try {
    useKeyWrapping(source.masterKeyFile === null ? null : await readMasterKey(source.masterKeyFile));
    const database = await openDatabase(source.databaseUrl, {
      applicationName: 'espalier fold',
      max: CONNECTIONS,
      connectMs: CONNECT_MS,
    });
    opened.push({ what: 'the database', close: () => database.close() });
    const log = await openLogSource(source.log, 'fold');
    opened.push({ what: 'the log', close: () => log.close() });
    const { name, ...rest } = given;
    const projection = projections.find((candidate) => candidate.name === name);
    if (!projection) throw new Error(`there is no projection ${name}`);
    const build: Build = { ...rest, projection, shadow: shadowVersion(projection, given.version) };
    const folding = await foldShadow({ log, database, build, share });
    opened.push({ what: 'the fold', close: () => folding.close() });
    await Promise.race([asked, folding.finished]);
  } finally {
    await closeInTurn(opened.reverse());
  }
}
