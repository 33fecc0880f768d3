import { EnvironmentError } from '../environment.ts';
import { listOf, oneOf, text, whole } from '../option-kinds.ts';
import { SHIPPED_WORLD } from '../search-qa/world/generate-world.ts';
import { ToolError } from '../tools/tool.ts';
import { openHttpRetriever } from './http-retriever.ts';
import { hybridRetriever } from './hybrid-retriever.ts';
import { openLocalRetriever } from './local-retriever.ts';
import { CorpusError, readCorpus } from './read-corpus.ts';
import type { RetrieveDialect } from './retrieve-protocol.ts';
import { type CorpusDocument, type Retriever, SearchFailure } from './retriever.ts';

/** The options that say where documents come from: a folder, servers, or else a generated world. */
export const sourceOptions = {
  corpus: text('FOLDER', 'documents to search').optional(),
  retriever: listOf('URL', 'servers to search, in place of a folder; they are asked in turn').optional(),
  hybrid: oneOf(['rrf'], 'searches the folder by words and the servers too, and fuses their ranks: 1 / (60 + rank)').optional(),
  dialect: oneOf(['query', 'queries'], 'whether a request of the servers holds one query or a list').default('query'),
  seed: whole(0, 999_999_999, `the generated world: its seed; ${SHIPPED_WORLD.seed} when left out`).optional(),
  size: whole(2, 500, `the generated world: its realms; ${SHIPPED_WORLD.size} when left out`).optional(),
};

export interface Source {
  readonly corpus?: string | undefined;
  readonly retriever?: readonly string[] | undefined;
  readonly hybrid?: 'rrf' | undefined;
  readonly dialect: RetrieveDialect;
}

/** The rule that a source is one, or two that are searched together. */
export const oneSource = [
  ({ corpus, retriever, hybrid }: Pick<Source, 'corpus' | 'retriever' | 'hybrid'>) =>
    hybrid ? corpus !== undefined && retriever !== undefined : corpus === undefined || retriever === undefined,
  'corpus and retriever exclude each other, except with hybrid=rrf, which needs both',
] as const;

/** Opens the retriever that searches a source. @param timeoutS the limit for one request. */
export async function openSource(
  { corpus, retriever, hybrid, dialect }: Source,
  timeoutS: number,
  generated: () => readonly CorpusDocument[],
): Promise<Retriever> {
  const [first, ...others] = retriever ?? [];
  const openWords = async () => openLocalRetriever(corpus === undefined ? generated() : await readCorpus(corpus));
  if (first === undefined) return openWords();
  const server = await openHttpRetriever({ urls: [first, ...others], dialect, timeoutMs: timeoutS * 1_000 });
  if (!hybrid) return server;
  try {
    return hybridRetriever(await openWords(), server);
  } catch (error) {
    await server.close();
    throw error;
  }
}

/** Names the environment in the error of what it could not open. @throws EnvironmentError in place of what a source throws. */
export async function opening<T>(environment: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (cause) {
    const message = `${environment}: ${cause instanceof Error ? cause.message : cause}`;
    if (cause instanceof CorpusError || cause instanceof ToolError || cause instanceof RangeError)
      throw new EnvironmentError('unknown-task', message, { cause });
    if (cause instanceof SearchFailure)
      throw new EnvironmentError(cause.code === 'unreachable' ? 'unreachable' : 'protocol', message, { cause });
    throw cause;
  }
}
