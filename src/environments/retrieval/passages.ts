import type { CorpusDocument } from './retriever.ts';

const PASSAGE_WORDS = 100; // as in the Wikipedia corpora that Search-R1 and DPR use

/**
 * Cuts a text file into passages of at most 100 words, at paragraphs where they allow it. Each begins with the title in double
 * quotes: the file's first heading (`# …`), or else its name. Ids are `PATH#1`, `PATH#2`, ….
 */
export function cutPassages(path: string, text: string): CorpusDocument[] {
  const title = /^#+\s+(\S(?:.*\S)?)/m.exec(text)?.[1] ?? nameOf(path);
  const passages: string[][] = [];
  let current: string[] = [];
  for (const paragraph of text.split(/\n\s*\n/)) {
    const words = paragraph.split(/\s+/).filter((word) => word !== '');
    if (current.length > 0 && current.length + words.length > PASSAGE_WORDS) {
      passages.push(current);
      current = [];
    }
    if (current.length > 0) {
      for (const each of words) current.push(each);
      continue;
    }
    let from = 0;
    for (; words.length - from > PASSAGE_WORDS; from += PASSAGE_WORDS) passages.push(words.slice(from, from + PASSAGE_WORDS));
    current = words.slice(from);
  }
  if (current.length > 0) passages.push(current);
  return passages.map((words, i) => ({ id: `${path}#${i + 1}`, contents: withTitle(title, words.join(' ')) }));
}

/** Puts a title before a text as Search-R1's corpora have it. */
export function withTitle(title: string, text: string): string {
  return `"${title}"\n${text}`;
}

function nameOf(path: string): string {
  return (path.split('/').at(-1) ?? path).replace(/\.[^.]*$/, '').replaceAll(/[-_]+/g, ' ');
}
