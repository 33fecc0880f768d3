import type { Sha256 } from '../../../../digest/sha256.ts';
import { DatasetError } from '../../dataset-error.ts';
import type { ParsedItem } from '../agent-traj-item.ts';
import type { AgentTrajOptions } from '../agent-traj-options.ts';
import { badRow } from '../read-rows.ts';
import { readAtif } from './atif.ts';
import { isTraceLine, readTrace } from './hf-trace.ts';
import { ITEM_FORMS, type ItemForm, type ItemFormName, type ItemOfFile, isObject } from './item-of-file.ts';
import {
  MESSAGES_COLUMNS,
  parseAgentTrajRow,
  parseMessagesRow,
  parseShareGptRow,
  parseVerifiersRow,
  SHARED_COLUMNS,
  VERIFIERS_COLUMNS,
} from './messages-row.ts';
import { readFileRows, readItems } from './read-items.ts';
import { isParquet, parseVerlRow, readVerlSteps, VERL_FIELDS } from './verl-steps.ts';

type ParseRow = (value: unknown, environment: string | null) => ParsedItem;

function rowsBy(parse: ParseRow, columns: readonly string[]): ItemForm['items'] {
  return (path, { environment }, hash) => readItems(path, hash, columns, (value) => parse(value, environment));
}

const forms: { readonly [Name in ItemFormName]: Omit<ItemForm, 'name'> } = {
  sharegpt: {
    importer: 'agent-traj/1',
    title: 'AgentTraj',
    policyId: 'agent-traj',
    items: readShareGpt,
  },
  openai: { importer: 'openai/1', title: 'chats', policyId: 'chat', items: rowsBy(parseMessagesRow, MESSAGES_COLUMNS) },
  atif: { importer: 'atif/1', title: 'ATIF', policyId: 'atif', items: readAtif },
  verl: { importer: 'verl/1', title: 'verl', policyId: 'verl', items: readVerl },
  verifiers: {
    importer: 'verifiers/1',
    title: 'verifiers',
    policyId: 'verifiers',
    items: rowsBy(parseVerifiersRow, VERIFIERS_COLUMNS),
  },
  'hf-trace': { importer: 'hf-trace/1', title: 'trace', policyId: 'hf-trace', items: readTrace },
};

export function itemFormOf(name: ItemFormName): ItemForm {
  return { name, ...forms[name] };
}

/** Finds the form of a file by its first row. @throws DatasetError `bad-row` that names the forms. */
export async function detectForm(path: string, first: unknown): Promise<ItemForm> {
  const name = isObject(first) ? nameOf(first) : null;
  if (name !== null) return itemFormOf(name);
  if (await isParquet(path)) return itemFormOf('verl'); // which says what Parquet is read
  const has = isObject(first)
    ? `its first row has ${Object.keys(first).slice(0, 8).join(', ') || 'no field'}`
    : 'its first row is no object';
  throw new DatasetError(
    'bad-row',
    `${path} line 1: is in no form that is known: ${has}; name one by --format: events of our own (jsonl), ${ITEM_FORMS.join(', ')}`,
  );
}

/** What tells the form of a file, of the columns of Parquet. */
const TELLING = [
  ...['schema_version', 'response_text', 'raw_prompt', 'conversations', 'item_id', 'messages', 'prompt', 'completion'],
  ...['input', 'output', 'type', 'sessionId'],
];

/** Reads the first row of a file that can be read, of Parquet what tells its form. @throws DatasetError `bad-row` where there is none. */
export async function firstRow(path: string): Promise<unknown> {
  let refused: { readonly line: number; readonly reason: string } | undefined;
  for await (const row of readFileRows(path, TELLING)) {
    if (row.kind === 'row') return row.value;
    refused ??= row;
  }
  if (refused) throw badRow(path, refused.line, refused.reason);
  return undefined;
}

function nameOf(first: Readonly<Record<string, unknown>>): ItemFormName | null {
  if (typeof first.schema_version === 'string' && first.schema_version.startsWith('ATIF-')) return 'atif';
  if ('response_text' in first && 'raw_prompt' in first) return 'verl';
  if ('conversations' in first || 'item_id' in first) return 'sharegpt';
  if ('messages' in first) return 'openai';
  if ('prompt' in first && 'completion' in first) return 'verifiers';
  if ('input' in first && 'output' in first) return 'verl';
  return isTraceLine(first) ? 'hf-trace' : null;
}

/** Reads rollout dumps of verl, or our own Parquet for it. */
async function* readVerl(path: string, options: AgentTrajOptions, hash?: Sha256): AsyncGenerator<ItemOfFile> {
  yield* (await isParquet(path)) ? readVerlSteps(path, options, hash) : rowsBy(parseVerlRow, VERL_FIELDS)(path, options, hash);
}

/**
 * Reads ShareGPT conversations. A file whose first row has an `item_id` is one of AgentGym, where every row has one and names its
 * task; of those the ones that open with a system text or call tools, as ours do, have no acknowledgement.
 */
function readShareGpt(path: string, { environment }: AgentTrajOptions, hash?: Sha256): AsyncGenerator<ItemOfFile> {
  let items: boolean | undefined;
  return readItems(path, hash, SHARED_COLUMNS, (value) => {
    items ??= isObject(value) && 'item_id' in value;
    const parse = items && !isChat(value) ? parseAgentTrajRow : parseShareGptRow;
    return parse(value, environment);
  });
}

function isChat(value: unknown): boolean {
  if (!isObject(value) || !('item_id' in value) || !Array.isArray(value.conversations)) return false;
  const [first] = value.conversations;
  const callsTool = (turn: unknown) => isObject(turn) && turn.from === 'function_call';
  return (isObject(first) && first.from === 'system') || value.conversations.some(callsTool);
}
