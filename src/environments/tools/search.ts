import { type Retriever, SearchFailure } from '../retrieval/retriever.ts';
import { type Tool, type ToolResult, ToolUnavailable } from './tool.ts';

/**
 * Searches documents through a retriever, over HTTP or in memory. Answers JSON, `{"results": […]}`, as Agent-R1's search tools
 * do. A query that the server refuses is reported to the model; a server that is away, or none, is a `ToolUnavailable`. Rewards
 * are those of the tools of March 2025: `search` pays 0.1 for any result, `wiki_search` −0.1 for an error; none elsewhere. The
 * tool closes the retriever.
 */
export function search(retriever: Retriever, options: { readonly topK: number; readonly pays?: 'search' | 'wiki_search' }): Tool {
  const { topK, pays } = options;
  const resultOf = (documents: readonly { readonly contents: string }[]): ToolResult =>
    JSON.stringify({ results: documents.map(({ contents }) => contents) });

  async function find(queries: readonly string[], signal: AbortSignal): Promise<readonly ToolResult[]> {
    try {
      return (await retriever.search(queries, topK, signal)).map(resultOf);
    } catch (error) {
      if (!(error instanceof SearchFailure)) throw error;
      if (error.code !== 'refused') throw new ToolUnavailable(error.message, { cause: error });
      return queries.map(() => ({ content: JSON.stringify({ error: error.message }), success: false }));
    }
  }

  return {
    name: 'search',
    description: 'Searches a collection of documents and gives the best ones.',
    parameters: {
      type: 'object',
      properties: { query: { type: 'string', description: 'What to look for' } },
      required: ['query'],
    },
    ownLimit: true,
    fingerprint: `search 1 ${topK} ${pays ?? ''} ${retriever.fingerprint}`,
    execute: async ({ query }, signal) => (await find([String(query)], signal))[0] ?? '{"results":[]}',
    executeBatch: (calls, signal) =>
      find(
        calls.map(({ query }) => String(query)),
        signal,
      ),
    ...(pays === undefined ? {} : { reward: (_, output) => rewardOf(output, pays) }),
    close: () => retriever.close(),
  };
}

function rewardOf(output: string, pays: 'search' | 'wiki_search'): number {
  const found = output.startsWith('{"results"');
  if (pays === 'search') return found ? 0.1 : 0;
  return found ? 0 : -0.1;
}
