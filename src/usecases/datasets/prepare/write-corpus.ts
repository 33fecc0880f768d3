import { sha256Hex } from '../../../digest/sha256.ts';
import { withTitle } from '../../../environments/retrieval/passages.ts';
import { DatasetError } from '../dataset-error.ts';
import type { ByteSink } from '../export/format.ts';
import { readSource, type SourceFile } from './read-source.ts';
import type { QuestionPassages, RowReader } from './recipe.ts';

/** What a corpus is made of. */
export interface CorpusSource {
  readonly files: readonly SourceFile[];
  readonly reader: RowReader<QuestionPassages>;
  /** The ids of the questions whose passages it holds. */
  readonly questions: ReadonlySet<string>;
  readonly malformed: 'refuse' | 'skip';
  readonly signal: AbortSignal;
}

/**
 * Writes the passages of questions, each once, as lines `{"id", "contents"}` in the order of the files: `search-qa:corpus=FOLDER`
 * and `index-corpus` read them. The files are read a second time, so that no more than a row is in memory. Returns how many there
 * are. @throws DatasetError `bad-row` with file and row.
 */
export async function writeCorpus(
  file: ByteSink,
  { files, reader, questions, malformed, signal }: CorpusSource,
): Promise<number> {
  const written = new Set<string>();
  for (const source of files)
    for await (const { place, row } of readSource(source, reader)) {
      signal.throwIfAborted();
      if (row.kind === 'bad') {
        if (malformed === 'skip') continue;
        throw new DatasetError(
          'bad-row',
          `${place}: ${row.field} ${row.problem}; nothing was written. Rows like this can be left out with --skip-bad`,
        );
      }
      if (!questions.has(row.id)) continue;
      for (const { title, text } of row.passages) {
        const contents = withTitle(title, text);
        const digest = sha256Hex(contents);
        if (text === '' || written.has(digest)) continue;
        await file.write(`${JSON.stringify({ id: `${written.size}`, contents })}\n`);
        written.add(digest);
      }
    }
  return written.size;
}
