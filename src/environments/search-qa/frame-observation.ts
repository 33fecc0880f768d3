import type { RetrievedDocument } from '../retrieval/retriever.ts';

/** What a search without a result shows. */
export const NOTHING_FOUND = 'No search results found.';

/** Writes the documents of one search as the published tool does: `Doc 1: …`, one after the other, by rank. */
export function listDocuments(documents: readonly RetrievedDocument[]): string {
  if (documents.length === 0) return NOTHING_FOUND;
  return documents.map(({ contents }, i) => `Doc ${i + 1}: ${contents}`).join('\n');
}

/**
 * Frames a search's result as the agent reads it: `<information>{"result": "…"}</information>`, the JSON as Python's `json.dumps`
 * writes it, with all but printable ASCII escaped.
 */
export function frameResult(result: string): string {
  // no `u` flag: a pair of surrogates becomes two escapes
  const json = JSON.stringify(result).replaceAll(/[^\x20-\x7e]/g, escapeUnit);
  return `<information>{"result": ${json}}</information>`;
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
