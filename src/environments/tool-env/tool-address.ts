import { TOOL_PROFILES, type ToolProfile } from '../../domain/tools/plan-turn.ts';
import { EnvironmentError } from '../environment.ts';
import type { RetrieveDialect } from '../retrieval/retrieve-protocol.ts';

/** How a plan names tasks that are done with tools. */
export const TOOL_ENV_FORM = 'tool-env or tool-env:tools=search,./my-tool.ts;tasks=FILE;reward=NAME';

export interface ToolAddress {
  readonly profile: ToolProfile;
  /** Names of shipped tools (`search`, `calculator`, `python`) and modules (`./my-tool.ts#name`). */
  readonly tools: readonly string[];
  /** A file of tasks; null for the questions of the generated world. */
  readonly tasks: string | null;
  /** A scorer or a module; null for the scorer of each task's data source. */
  readonly reward: string | null;
  readonly maxTurns: number;
  /** Code points of a result that the model is shown. */
  readonly maxResponse: number;
  readonly toolTimeoutMs: number;
  readonly parallel: boolean;
  readonly paysCalls: boolean;
  /** Where the search tool looks. */
  readonly source:
    | { readonly kind: 'world' }
    | { readonly kind: 'folder'; readonly folder: string }
    | { readonly kind: 'servers'; readonly urls: readonly [string, ...string[]]; readonly dialect: RetrieveDialect };
  readonly topK: number;
  readonly sandbox: string | null;
  readonly world: { readonly seed: number; readonly size: number };
}

const KEYS = [
  'profile',
  'tools',
  'tasks',
  'reward',
  'max-turns',
  'max-response',
  'tool-timeout',
  'parallel',
  'process',
  'corpus',
  'retriever',
  'dialect',
  'topk',
  'sandbox',
  'seed',
  'size',
] as const;
type Key = (typeof KEYS)[number];

// As configured in Agent-R1: 10 turns; its scripts show 2,048 characters of a result (512 is the default of the code) and 5
// documents of a search.
const DEFAULTS = { maxTurns: 10, maxResponse: 2_048, toolTimeoutS: 60, topK: 5 } as const;

/**
 * Reads a name such as `tool-env`, `tool-env:profile=v0.1;tools=search,calculator;tasks=dev.jsonl;max-turns=5` or
 * `tool-env:tools=./my-tool.ts;reward=./my-reward.ts#score;tasks=dev.jsonl`. Further: `max-response` code points shown of a
 * result, `tool-timeout` in seconds (of a search: for one request), `parallel=yes` (nous: all calls of a turn), `process=yes|no`
 * (rewards of calls count; as the profile says: seed and v0.1 yes), `corpus=FOLDER` or `retriever=URL,…` with `dialect` and
 * `topk` for search, `sandbox=URL` for python, `seed` and `size` of the generated world.
 * @throws EnvironmentError that says what is wrong and what is right.
 */
export function parseToolAddress(text: string): ToolAddress {
  const wrong = (what: string) => new EnvironmentError('unknown-task', `${what}; write ${TOOL_ENV_FORM}`);
  const values = readOptions(text, wrong);
  const whole = (key: Key, least: number, most: number, usual: number): number => {
    const value = values.get(key);
    if (value === undefined) return usual;
    const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= least && number <= most)) throw wrong(`${key}=${value} must be a whole number from ${least} to ${most}`);
    return number;
  };
  const oneOf = <T extends string>(key: Key, choice: readonly T[], usual: T): T => {
    const value = values.get(key) ?? usual;
    const chosen = choice.find((known) => known === value);
    if (chosen === undefined) throw wrong(`${key}=${value} must be ${choice.join(' or ')}`);
    return chosen;
  };

  const profile = oneOf('profile', TOOL_PROFILES, 'nous');
  const tools = (values.get('tools') ?? (profile === 'retool' ? 'python' : 'search')).split(',').map((each) => each.trim());
  if (tools.includes('')) throw wrong('tools names an empty tool');
  const [corpus, retriever, tasks, sandbox] = (['corpus', 'retriever', 'tasks', 'sandbox'] as const).map(
    (key) => values.get(key) ?? null,
  );
  if (corpus && retriever) throw wrong('corpus and retriever exclude each other');
  if (tools.includes('python') && !sandbox)
    throw wrong('the tool python needs sandbox=URL: programs are run by a sandbox server only');
  const [first = '', ...others] = (retriever ?? '').split(',').map((url) => url.trim());
  return {
    profile,
    tools,
    tasks: tasks ?? null,
    reward: values.get('reward') ?? null,
    maxTurns: whole('max-turns', 1, 1_000, DEFAULTS.maxTurns),
    maxResponse: whole('max-response', 1, 65_536, DEFAULTS.maxResponse),
    toolTimeoutMs: whole('tool-timeout', 1, 3_600, DEFAULTS.toolTimeoutS) * 1_000,
    parallel: oneOf('parallel', ['yes', 'no'], 'no') === 'yes',
    paysCalls: oneOf('process', ['yes', 'no'], profile === 'seed' || profile === 'v0.1' ? 'yes' : 'no') === 'yes',
    source: retriever
      ? { kind: 'servers', urls: [first, ...others], dialect: oneOf<RetrieveDialect>('dialect', ['query', 'queries'], 'query') }
      : corpus
        ? { kind: 'folder', folder: corpus }
        : { kind: 'world' },
    topK: whole('topk', 1, 100, DEFAULTS.topK),
    sandbox: sandbox ?? null,
    world: { seed: whole('seed', 0, 999_999_999, 1), size: whole('size', 2, 500, 10) },
  };
}

function readOptions(text: string, wrong: (what: string) => EnvironmentError): ReadonlyMap<Key, string> {
  const values = new Map<Key, string>();
  const parts = text.replace(/^tool-env:?/, '').split(';');
  for (const part of parts.filter((each) => each !== '')) {
    const [, name = '', value = ''] = /^([^=]*)=(.*)$/s.exec(part) ?? [];
    const key = KEYS.find((known) => known === name);
    if (key === undefined || value === '')
      throw wrong(`${JSON.stringify(part.slice(0, 200))} is no option of tool-env, there are ${KEYS.join('=…, ')}=…`);
    if (values.has(key)) throw wrong(`${key} is given twice`);
    values.set(key, value);
  }
  return values;
}
