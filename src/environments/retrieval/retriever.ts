/**
 * Finds documents for queries. Environments and tools search through this port, whoever answers: a server or an index in memory.
 */
export interface Retriever {
  /**
   * Identifies what determines the answers (corpus, method, settings): the same query of the same fingerprint finds the same
   * documents.
   */
  readonly fingerprint: string;
  /**
   * Returns for each query at most `topK` documents, best first; an empty list when nothing fits.
   * @throws SearchFailure; the signal's reason when it is aborted.
   */
  search(queries: readonly string[], topK: number, signal?: AbortSignal): Promise<readonly (readonly RetrievedDocument[])[]>;
  close(): Promise<void>;
}

/**
 * A text of a corpus. A title, where there is one, is the first line of its contents, in double quotes, as in Search-R1's
 * corpora.
 */
export interface CorpusDocument {
  readonly id: string;
  readonly contents: string;
}

export interface RetrievedDocument extends CorpusDocument {
  /** Higher is better; comparable within one query only. Null where the server sends none. */
  readonly score: number | null;
}

/** A search that has no answer, after everything that may be tried again was. */
export class SearchFailure extends Error {
  override readonly name = 'SearchFailure';
  /**
   * `unreachable`: nobody answers, in time, or only that it cannot now; `refused`: the server takes offence at this query;
   * `protocol`: what answers is no retrieval server, or none for us.
   */
  readonly code: 'unreachable' | 'refused' | 'protocol';
  constructor(code: SearchFailure['code'], message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
  }
}
