import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import { z } from 'zod';
import { cutPassages, withTitle } from './passages.ts';
import { readJsonLines } from './read-json-lines.ts';
import type { CorpusDocument } from './retriever.ts';

/** A corpus that cannot be used as it is. The message names the file and, where there is one, the line. */
export class CorpusError extends Error {
  override readonly name = 'CorpusError';
}

export interface CorpusLimits {
  readonly documents?: number;
  /** Of one .txt or .md file. */
  readonly fileBytes?: number;
}

const DOCUMENTS = 200_000; // passages of 100 words: about 1.5 GB and a minute of indexing; a server is made for more
const FILE_BYTES = 64 * 1024 * 1024;
const TEXTS = new Set(['.txt', '.md']);

const lineSchema = z.union([
  z.looseObject({ id: z.union([z.string(), z.number()]).optional(), contents: z.string().min(1) }),
  z.looseObject({ id: z.union([z.string(), z.number()]).optional(), title: z.string(), text: z.string().min(1) }),
]);
const LINES = {
  shape: lineSchema,
  what: 'document {"id", "contents"} or {"title", "text"} with text in it',
  Failed: CorpusError,
};

/**
 * Reads a folder and the folders in it: each line of a .jsonl file is a document (`{id, contents}` or `{title, text}`; without an
 * id it is `FILE:LINE`), .txt and .md files are cut into passages. Other files, and those whose name begins with a dot, are
 * passed over.
 * @throws CorpusError for the first thing that is wrong: a line that is no such object, an id that comes twice, too much, or
 * nothing at all.
 */
export async function readCorpus(folder: string, limits: CorpusLimits = {}): Promise<CorpusDocument[]> {
  const most = limits.documents ?? DOCUMENTS;
  const documents: CorpusDocument[] = [];
  const places = new Map<string, string>();
  const add = (document: CorpusDocument, place: string): void => {
    const other = places.get(document.id);
    if (other !== undefined)
      throw new CorpusError(`${place}: the id ${JSON.stringify(document.id.slice(0, 80))} is that of ${other} too`);
    if (documents.length === most)
      throw new CorpusError(
        `${place}: the corpus has more than ${most} documents; let a retrieval server search it (retriever=URL)`,
      );
    places.set(document.id, place);
    documents.push(document);
  };

  for (const path of await filesIn(folder)) {
    const file = join(folder, path);
    if (extname(path) === '.jsonl') {
      for await (const { data, number, place } of readJsonLines(file, LINES)) add(documentOf(data, `${path}:${number}`), place);
    } else {
      const { size } = await stat(file);
      const limit = limits.fileBytes ?? FILE_BYTES;
      if (size > limit)
        throw new CorpusError(`${file}: has ${size} bytes, more than ${limit}; split it or make a .jsonl file of it`);
      for (const passage of cutPassages(path, await readFile(file, 'utf8'))) add(passage, file);
    }
  }
  if (documents.length === 0) throw new CorpusError(`${folder}: holds no .jsonl, .txt or .md file with text in it`);
  return documents;
}

async function filesIn(folder: string): Promise<string[]> {
  let found: Awaited<ReturnType<typeof list>>;
  try {
    found = await list(folder);
  } catch (cause) {
    throw new CorpusError(`${folder}: cannot be read as a folder (${(cause as NodeJS.ErrnoException).code})`, { cause });
  }
  return found
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((path) => !path.split('/').some((part) => part.startsWith('.')))
    .filter((path) => extname(path) === '.jsonl' || TEXTS.has(extname(path)))
    .sort();
}

const list = (folder: string) => readdir(folder, { recursive: true, withFileTypes: true });

function documentOf(data: z.output<typeof lineSchema>, id: string): CorpusDocument {
  const contents =
    'contents' in data && typeof data.contents === 'string' ? data.contents : withTitle(String(data.title), String(data.text));
  return { id: String(data.id ?? id), contents };
}
