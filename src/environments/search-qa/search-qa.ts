import { sha256Hex } from '../../digest/sha256.ts';
import { findSearchAction, projectResponse } from '../../domain/prompts/project-response.ts';
import { exactMatch, lastAnswer } from '../../domain/reward/exact-match.ts';
import {
  type Environment,
  EnvironmentError,
  type EnvironmentKind,
  type ParsedResponse,
  type StepResult,
} from '../environment.ts';
import { kindOfSource } from '../kind-of-source.ts';
import { type RetrievedDocument, type Retriever, SearchFailure } from '../retrieval/retriever.ts';
import { createLexicon, type Lexicon, listCandidates } from './list-candidates.ts';
import type { Question } from './question.ts';

export interface SearchQaOptions {
  readonly questions: readonly Question[];
  /** Closed with the kind. */
  readonly retriever: Retriever;
  /** The names that candidate actions are made of; without them there are none. */
  readonly entities?: readonly string[];
  readonly topK?: number;
  readonly maxTurns?: number;
  /** `as-published`: see `Manner`. */
  readonly manner?: Manner;
}

export const MANNERS = ['sound', 'as-published'] as const;

/**
 * `sound` (the default): the answer that is scored is the answer action's own text, a server that fails is a fault of the world
 * and thrown, and an action that is neither search nor answer is answered so. `as-published`: the last `<answer>` anywhere in the
 * chat is scored, retrieved text included, which a document can thereby win or lose; a failed search is an observation like any
 * other; nonsense shows nothing.
 */
export type Manner = (typeof MANNERS)[number];

/** Raised when the same questions and documents make another task. */
const RULES_REVISION = 1;
export const TOP_K = 3; // as published, and so are the turns: at most three searches and the answer
export const MAX_TURNS = 4;

/**
 * Opens question answering by search (Search-R1's task as verl-agent and AgentOCR play it): up to 4 turns, each
 * `<search>query</search>` or `<answer>text</answer>`; reward 1 for an answer that matches a target exactly (normalised), else 0.
 * The seed of a reset has no meaning.
 */
export function openSearchQa(options: SearchQaOptions): EnvironmentKind {
  const { questions, retriever, topK = TOP_K, maxTurns = MAX_TURNS, manner = 'sound' } = options;
  const rules = [RULES_REVISION, topK, maxTurns, manner, options.entities ?? null];
  const kind: Kind = {
    questions: new Map(questions.map((question) => [question.alias, question])),
    retriever,
    lexicon: options.entities ? createLexicon(options.entities) : null,
    topK,
    maxTurns,
    manner,
    fingerprint: sha256(['search-qa', rules, retriever.fingerprint, questions]),
  };
  return {
    name: 'search-qa',
    fingerprint: kind.fingerprint,
    taskAliases: [...kind.questions.keys()],
    groundTruth: (alias) => {
      const question = kind.questions.get(alias);
      return question === undefined ? null : { groundTruth: question.targets, dataSource: question.dataSource };
    },
    create: async () => createEpisode(kind, null),
    close: () => retriever.close(),
  };
}

interface Kind {
  readonly questions: ReadonlyMap<string, Question>;
  readonly retriever: Retriever;
  readonly lexicon: Lexicon | null;
  readonly topK: number;
  readonly maxTurns: number;
  readonly manner: Manner;
  readonly fingerprint: string;
}

interface Turn {
  readonly action: string;
  readonly query: string | null;
  readonly documents: readonly RetrievedDocument[];
  readonly observation: string;
}

interface Situation {
  readonly question: Question;
  readonly turns: readonly Turn[];
  readonly ended: boolean;
}

function createEpisode(kind: Kind, initial: Situation | null): Environment {
  let situation = initial;
  const current = (): Situation => {
    if (situation === null) throw new EnvironmentError('gone', 'no question is asked: reset first');
    return situation;
  };
  const plan = (): readonly string[] | null => {
    const { question, turns, ended } = current();
    const seen = new Set(turns.flatMap(({ documents }) => documents.map(({ id }) => id)));
    return ended ? null : planSearch(question, seen, kind.maxTurns - turns.length);
  };

  return {
    reset: async ({ alias }) => {
      const question = kind.questions.get(alias);
      if (question === undefined)
        throw new EnvironmentError(
          'unknown-task',
          `there is no question ${JSON.stringify(alias.slice(0, 80))}: name one of the file`,
        );
      const started: Situation = { question, turns: [], ended: false };
      situation = started;
      return {
        instruction: INSTRUCTION,
        observation: `Question: ${question.text}`,
        goal: question.text,
        depth: question.hops?.length ?? null,
        split: question.split,
        kind: kindOfSource(question.dataSource),
        admissibleActions: candidatesOf(kind, started),
        stateHash: stateHash(kind, started),
      };
    },
    step: async (action, signal) => {
      const before = current();
      if (before.ended) throw new EnvironmentError('gone', 'the question is answered, or its turns are used up: reset first');
      const { after, result } = await take(kind, before, action, signal);
      situation = after;
      return result;
    },
    parse: parseResponse,
    clone: async () => createEpisode(kind, situation), // a situation never changes, so sharing it is copying it
    expertAction: async () => plan()?.[0] ?? null,
    planLength: async () => plan()?.length ?? null,
    close: async () => {
      situation = null;
    },
  };
}

async function take(
  kind: Kind,
  before: Situation,
  text: string,
  signal: AbortSignal | undefined,
): Promise<{ readonly after: Situation; readonly result: StepResult }> {
  const action = readAction(text);
  const isLast = before.turns.length + 1 >= kind.maxTurns;
  const ends = action.kind === 'answer' || isLast;
  const { observation, documents } = ends ? NOTHING_TO_SEE : await observe(kind, action, signal);
  const turn: Turn = { action: text, query: action.kind === 'search' ? action.query : null, documents, observation };
  const after: Situation = { question: before.question, turns: [...before.turns, turn], ended: ends };
  const scored = ends ? scoredAnswer(kind.manner, after, action) : null;
  const won = scored !== null && exactMatch(scored, before.question.targets);
  const result: StepResult = {
    observation,
    reward: { value: won ? 1 : 0, raw: won ? 1 : 0, scale: 1, kind: 'final' },
    terminated: action.kind === 'answer',
    truncated: ends && action.kind !== 'answer',
    success: ends ? won : null,
    executable: action.kind !== 'nothing',
    admissibleActions: candidatesOf(kind, after),
    stateHash: stateHash(kind, after),
  };
  return { after, result };
}

const NOTHING_TO_SEE = { observation: '', documents: [] } as const;

async function observe(
  kind: Kind,
  action: Exclude<ReturnType<typeof readAction>, { kind: 'answer' }>,
  signal: AbortSignal | undefined,
): Promise<Pick<Turn, 'observation' | 'documents'>> {
  if (action.kind === 'nothing') {
    if (kind.manner === 'as-published') return NOTHING_TO_SEE;
    return {
      observation: frameResult('There was neither a search nor an answer. Write <search>…</search> or <answer>…</answer>.'),
      documents: [],
    };
  }
  try {
    const [documents = []] = await kind.retriever.search([action.query], kind.topK, signal);
    return { observation: frameResult(listDocuments(documents)), documents };
  } catch (error) {
    if (!(error instanceof SearchFailure)) throw error;
    // What a server refuses is the query's own doing; anything else must not teach a policy that searching fails.
    if (error.code === 'refused' || kind.manner === 'as-published')
      return { observation: frameResult(`Search error: ${error.message}`), documents: [] };
    const isAway = error.code === 'unreachable';
    throw new EnvironmentError(isAway ? 'backend' : 'protocol', error.message, { retryable: isAway, cause: error });
  }
}

function scoredAnswer(manner: Manner, { turns }: Situation, action: ReturnType<typeof readAction>): string | null {
  if (manner === 'sound') return action.kind === 'answer' ? action.text : null;
  return lastAnswer(turns.map((turn) => turn.action + turn.observation).join(''));
}

function candidatesOf(kind: Kind, { question, turns, ended }: Situation): readonly string[] | null {
  if (kind.lexicon === null || question.relationWords === null) return null;
  if (ended) return [];
  return listCandidates(kind.lexicon, {
    question: question.text,
    relationWords: question.relationWords,
    found: turns.map(({ documents }) => documents.map(({ contents }) => contents)),
    queries: turns.flatMap(({ query }) => (query === null ? [] : [query])),
  });
}

/** Hashes what all that follows depends on: the question, the turns used, and what was found in them, in order. */
function stateHash(kind: Kind, { question, turns, ended }: Situation): string {
  // there the chat itself is scored
  const past = kind.manner === 'as-published' ? turns.map(({ action, observation }) => [action, observation]) : null;
  return sha256([
    kind.fingerprint,
    question.alias,
    ended,
    turns.map(({ query, documents }) => [query, documents.map(({ id }) => id)]),
    past,
  ]);
}

function sha256(value: unknown): string {
  return sha256Hex(JSON.stringify(value));
}

/** Explains to an agent without a prompt template how to play. */
const INSTRUCTION = `You answer a question, and may search a collection of documents before you do. At each turn think first, and then do exactly one of two things:
- search: <search>what to look for</search>. You are shown the best documents between <information> and </information>.
- answer: <answer>the answer, short and without explanation</answer>. This ends the task.
You have few turns; the last one must be an answer.`;

/**
 * Returns the next action of a player who knows the way and acts on evidence: the first search of the way whose document was not
 * seen yet, or, when all were, the answer. Null where the way is not known, or too long for the turns that are left.
 */
function planSearch(question: Question, seen: ReadonlySet<string>, turnsLeft: number): readonly string[] | null {
  if (question.hops === null) return null;
  const missing = question.hops.filter(({ documentId }) => !seen.has(documentId));
  const plan = [...missing.map(({ query }) => `<search>${query}</search>`), `<answer>${question.targets[0]}</answer>`];
  return plan.length <= turnsLeft ? plan : null;
}

/** What an action text asks for. */
type SearchAction =
  | { readonly kind: 'search'; readonly query: string }
  | { readonly kind: 'answer'; readonly text: string }
  | { readonly kind: 'nothing' };

/** Reads an action as a response is read, so that the environment may be given either. A blank query is no search. */
export function readAction(text: string): SearchAction {
  const { action } = findSearchAction(text);
  const [, tag, content = ''] = /^<(search|answer)>([\s\S]*)<\/\1>$/.exec(action) ?? [];
  if (tag === 'search' && content !== '') return { kind: 'search', query: content };
  return tag === 'answer' ? { kind: 'answer', text: content } : { kind: 'nothing' };
}

/** What a search without a result shows. */
const NOTHING_FOUND = 'No search results found.';

/** Writes the documents of one search as the published tool does: `Doc 1: …`, one after the other, by rank. */
function listDocuments(documents: readonly RetrievedDocument[]): string {
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

/**
 * Splits a response by the published rules for Search. The labels of the policies that pick (`Thought:`, `Action:`) are no part
 * of the thought.
 */
export function parseResponse(response: string): ParsedResponse {
  const { action, thought, valid } = projectResponse('search-qa', response, { compression: false });
  return { thought: withoutLabel(thought.replace(/^Thought:\s*/, '')), action, wellFormatted: valid };
}

/**
 * Takes off a final `Action:` with the blanks around it; as a pattern (`\s*Action:\s*$`) it takes quadratic time on a run of
 * blanks.
 */
function withoutLabel(thought: string): string {
  const end = thought.trimEnd();
  return end.endsWith('Action:') ? end.slice(0, -'Action:'.length).trimEnd() : thought;
}
