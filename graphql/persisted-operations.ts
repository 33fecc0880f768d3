import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { usePersistedOperations } from '@graphql-yoga/plugin-persisted-operations';
import type { GraphQLParams, Plugin } from 'graphql-yoga';
import { sha256Hex } from '../src/digest/sha256.ts';

const FOLDER = fileURLToPath(new URL('./operations/', import.meta.url));

/** An operation that the server ships: its file name without the ending, and the SHA-256 of its text in hex. */
export interface ShippedOperation {
  readonly name: string;
  readonly sha256: string;
  readonly text: string;
}

/** Reads the operations of `operations/`, in name order. */
export async function readOperations(): Promise<readonly ShippedOperation[]> {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith('.graphql')).sort();
  return Promise.all(
    files.map(async (file) => {
      const text = await readFile(`${FOLDER}/${file}`, 'utf8');
      return { name: file.slice(0, -'.graphql'.length), sha256: sha256Hex(text), text };
    }),
  );
}

/**
 * Answers requests that name a shipped operation instead of sending a document: by `extensions.persistedQuery.sha256Hash`, or by
 * name or hash in `documentId`. @param documents 'any': other documents are answered too; 'persisted-only': they are refused.
 */
export function useShippedOperations(operations: readonly ShippedOperation[], documents: 'any' | 'persisted-only'): Plugin {
  const byKey = new Map(operations.flatMap(({ name, sha256, text }) => [[name, text] as const, [sha256, text] as const]));
  const names = operations.map(({ name }) => name).join(', ');
  return usePersistedOperations({
    allowArbitraryOperations: documents === 'any',
    extractPersistedOperationId: keyOf,
    getPersistedOperation: (key) => byKey.get(key) ?? null,
    customErrors: {
      notFound: error('PERSISTED_OPERATION_NOT_FOUND', `no such operation is shipped; send the document, or one of: ${names}`),
      keyNotFound: error(
        'BAD_USER_INPUT',
        'the request has no query; send a document in `query`, or the name of a shipped operation in `documentId`',
      ),
      persistedQueryOnly: error(
        'PERSISTED_ONLY',
        `this server answers only the operations it ships; name one in \`documentId\`: ${names}`,
      ),
    },
  });
}

function keyOf(params: GraphQLParams & { documentId?: unknown }): string | null {
  if (typeof params.documentId === 'string') return params.documentId;
  const persisted: unknown = params.extensions?.persistedQuery;
  if (typeof persisted !== 'object' || persisted === null || !('sha256Hash' in persisted)) return null;
  return typeof persisted.sha256Hash === 'string' ? persisted.sha256Hash : null;
}

function error(code: string, message: string) {
  return { message, extensions: { code, http: { status: 400 } } };
}
