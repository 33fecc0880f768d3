import { EnvironmentError } from '../environment.ts';
import type { RetrieveDialect } from '../retrieval/retrieve-protocol.ts';
import type { Manner } from './search-qa.ts';

/** How a plan names question answering by search. */
export const SEARCH_QA_FORM = 'search-qa, search-qa:corpus=FOLDER;questions=FILE (or retriever=URL in place of corpus)';

export interface SearchAddress {
  /** Where documents come from: the generated world's own, a folder, or servers. */
  readonly source:
    | { readonly kind: 'world' }
    | { readonly kind: 'folder'; readonly folder: string }
    | { readonly kind: 'servers'; readonly urls: readonly [string, ...string[]]; readonly dialect: RetrieveDialect };
  /** A file of questions; null for those of the generated world. */
  readonly questions: string | null;
  readonly world: { readonly seed: number; readonly size: number };
  readonly topK?: number;
  readonly maxTurns?: number;
  readonly timeoutMs?: number;
  readonly manner: Manner;
}

/** The world that is played when nothing else is said: 680 documents, 288 questions to train on and 72 to test with. */
export const SHIPPED_WORLD = { seed: 1, size: 10 } as const;

const KEYS = ['corpus', 'questions', 'retriever', 'dialect', 'timeout', 'topk', 'turns', 'seed', 'size', 'manner'] as const;
type Key = (typeof KEYS)[number];

/**
 * Reads a name such as `search-qa`, `search-qa:seed=7;size=20`, `search-qa:corpus=wiki;questions=dev.jsonl;topk=5` or
 * `search-qa:retriever=http://a:8000/retrieve,http://b:8000/retrieve;questions=dev.jsonl`: `topk` documents for a search, `turns`
 * for a question, `timeout` in seconds for one request, `dialect=queries` for a server that takes lists, `manner=as-published`
 * for the original's scoring. @throws EnvironmentError that says what is wrong and what is right.
 */
export function parseSearchAddress(text: string): SearchAddress {
  const wrong = (what: string) => new EnvironmentError('unknown-task', `${what}; write ${SEARCH_QA_FORM}`);
  const values = new Map<Key, string>();
  for (const part of text
    .replace(/^search-qa:?/, '')
    .split(';')
    .filter((each) => each !== '')) {
    const [, name = '', value = ''] = /^([^=]*)=(.*)$/s.exec(part) ?? [];
    const key = KEYS.find((known) => known === name);
    if (key === undefined || value === '')
      throw wrong(`${JSON.stringify(part.slice(0, 200))} is no option of search-qa, there are ${KEYS.join('=…, ')}=…`);
    if (values.has(key)) throw wrong(`${key} is given twice`);
    values.set(key, value);
  }
  const whole = (key: Key, least: number, most: number): number | undefined => {
    const value = values.get(key);
    if (value === undefined) return undefined;
    const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= least && number <= most)) throw wrong(`${key}=${value} must be a whole number from ${least} to ${most}`);
    return number;
  };
  const oneOf = <T extends string>(key: Key, choice: readonly [T, ...T[]]): T => {
    const value = values.get(key) ?? choice[0];
    const chosen = choice.find((known) => known === value);
    if (chosen === undefined) throw wrong(`${key}=${value} must be ${choice.join(' or ')}`);
    return chosen;
  };

  const [corpus, retriever, questions] = [values.get('corpus'), values.get('retriever'), values.get('questions')];
  if (corpus !== undefined && retriever !== undefined) throw wrong('corpus and retriever exclude each other');
  if (corpus !== undefined && questions === undefined) throw wrong('a corpus needs questions=FILE');
  if (questions !== undefined && corpus === undefined && retriever === undefined)
    throw wrong('questions need corpus=FOLDER or retriever=URL');
  const generated = questions === undefined;
  if (!generated && (values.has('seed') || values.has('size')))
    throw wrong('seed and size are for the generated world, which has questions of its own');
  const dialect = oneOf<RetrieveDialect>('dialect', ['query', 'queries']);
  const [first = '', ...others] = (retriever ?? '').split(',').map((url) => url.trim());
  const optional = { topK: whole('topk', 1, 100), maxTurns: whole('turns', 1, 100), timeoutS: whole('timeout', 1, 3_600) };
  return {
    source:
      retriever !== undefined
        ? { kind: 'servers', urls: [first, ...others], dialect }
        : corpus !== undefined
          ? { kind: 'folder', folder: corpus }
          : { kind: 'world' },
    questions: questions ?? null,
    world: { seed: whole('seed', 0, 999_999_999) ?? SHIPPED_WORLD.seed, size: whole('size', 2, 500) ?? SHIPPED_WORLD.size },
    manner: oneOf<Manner>('manner', ['sound', 'as-published']),
    ...(optional.topK === undefined ? {} : { topK: optional.topK }),
    ...(optional.maxTurns === undefined ? {} : { maxTurns: optional.maxTurns }),
    ...(optional.timeoutS === undefined ? {} : { timeoutMs: optional.timeoutS * 1_000 }),
  };
}
