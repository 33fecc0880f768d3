import { EnvironmentError, type EnvironmentKind } from '../environment.ts';
import { openHttpRetriever } from '../retrieval/http-retriever.ts';
import { openLocalRetriever } from '../retrieval/local-retriever.ts';
import { CorpusError, readCorpus } from '../retrieval/read-corpus.ts';
import { type Retriever, SearchFailure } from '../retrieval/retriever.ts';
import { readQuestions } from './read-questions.ts';
import type { SearchAddress } from './search-address.ts';
import { openSearchQa } from './search-qa.ts';
import { generateWorld, type QuestionWorld } from './world/generate-world.ts';

/**
 * Opens question answering by search as a plan names it. Who opens it closes it. @throws EnvironmentError that says what cannot
 * be used.
 */
export async function openSearchAddress(address: SearchAddress): Promise<EnvironmentKind> {
  try {
    const world = generateWorld(address.world.seed, address.world.size);
    const questions = address.questions === null ? world.questions : await readQuestions(address.questions);
    const retriever = await openSource(address, world);
    const { topK, maxTurns, manner } = address;
    return openSearchQa({
      questions,
      retriever,
      manner,
      ...(address.questions === null ? { entities: world.entities } : {}),
      ...(topK === undefined ? {} : { topK }),
      ...(maxTurns === undefined ? {} : { maxTurns }),
    });
  } catch (error) {
    if (error instanceof CorpusError || error instanceof RangeError)
      throw new EnvironmentError('unknown-task', `search-qa: ${error.message}`, { cause: error });
    if (error instanceof SearchFailure)
      throw new EnvironmentError(error.code === 'unreachable' ? 'unreachable' : 'protocol', `search-qa: ${error.message}`, {
        cause: error,
      });
    throw error;
  }
}

async function openSource({ source, timeoutMs }: SearchAddress, world: QuestionWorld): Promise<Retriever> {
  switch (source.kind) {
    case 'world':
      return openLocalRetriever(world.documents);
    case 'folder':
      return openLocalRetriever(await readCorpus(source.folder));
    case 'servers':
      return openHttpRetriever({ urls: source.urls, dialect: source.dialect, ...(timeoutMs === undefined ? {} : { timeoutMs }) });
    default:
      return source satisfies never;
  }
}
