import type { Sha256 } from '../../../../digest/sha256.ts';
import { DatasetError } from '../../dataset-error.ts';
import type { ParsedItem } from '../agent-traj-item.ts';
import type { AgentTrajOptions } from '../agent-traj-options.ts';
import { isEventFile } from '../event-file-drafts.ts';
import { badRow } from '../read-rows.ts';
import { isZip } from '../read-zip.ts';
import { readAtif } from './atif.ts';
import { isTraceLine, readTrace } from './hf-trace.ts';
import { inspectForm } from './inspect.ts';
import { type ItemForm, type ItemOfFile, isObject } from './item-of-file.ts';
import { langfuseForm } from './langfuse.ts';
import {
  MESSAGES_COLUMNS,
  parseAgentTrajRow,
  parseMessagesRow,
  parseShareGptRow,
  parseVerifiersRow,
  SHARED_COLUMNS,
  VERIFIERS_COLUMNS,
} from './messages-row.ts';
import { openHandsForm } from './openhands.ts';
import { readFileRows, readItems } from './read-items.ts';
import { rLlmForm } from './rllm.ts';
import { skyRlForm } from './skyrl.ts';
import { slimeForm } from './slime.ts';
import { spansForm } from './spans.ts';
import { sweAgentForm } from './swe-agent.ts';
import { tauBenchForm } from './tau-bench.ts';
import { verifiersTracesForm } from './verifiers-traces.ts';
import { isParquet, parseVerlRow, readVerlSteps, VERL_FIELDS } from './verl-steps.ts';

/** The forms that files of others are read in; a file is of the first one that recognizes the row that tells it. */
const FORMS = [
  {
    name: 'atif',
    importer: 'atif/3',
    title: 'ATIF',
    policyId: 'atif',
    notKept: 'ids of prompts, costs, and prompts that were worded otherwise than as one chat',
    recognizes: ({ schema_version: version }) => typeof version === 'string' && version.startsWith('ATIF-'),
    items: readAtif,
  },
  inspectForm,
  sweAgentForm,
  tauBenchForm,
  openHandsForm,
  langfuseForm,
  spansForm,
  verifiersTracesForm,
  rLlmForm,
  skyRlForm,
  slimeForm,
  {
    name: 'sharegpt',
    importer: 'agent-traj/2',
    title: 'AgentTraj',
    policyId: 'agent-traj',
    notKept: 'token ids, rewards of single steps, and what followed the last reply',
    recognizes: (first) => 'conversations' in first || 'item_id' in first,
    items: readShareGpt,
  },
  {
    name: 'openai',
    importer: 'openai/2',
    title: 'chats',
    policyId: 'chat',
    notKept:
      'token ids, rewards of single steps, what followed the last reply, and prompts that were worded otherwise than as one chat',
    recognizes: (first) => 'messages' in first,
    items: rowsBy(parseMessagesRow, MESSAGES_COLUMNS),
  },
  {
    name: 'verifiers',
    importer: 'verifiers/2',
    title: 'verifiers',
    policyId: 'verifiers',
    notKept: 'token ids, single metrics, what followed the last reply, and which rows were one trajectory',
    recognizes: (first) => 'prompt' in first && 'completion' in first,
    items: rowsBy(parseVerifiersRow, VERIFIERS_COLUMNS),
  },
  {
    name: 'verl',
    importer: 'verl/1',
    title: 'verl',
    policyId: 'verl',
    notKept: 'what followed the last reply, and of a rollout dump token ids and rewards of single steps',
    recognizes: (first) => ('response_text' in first && 'raw_prompt' in first) || ('input' in first && 'output' in first),
    items: readVerl,
  },
  {
    name: 'hf-trace',
    importer: 'hf-trace/2',
    title: 'trace',
    policyId: 'hf-trace',
    notKept: 'usage, thinking and times',
    recognizes: isTraceLine,
    items: readTrace,
  },
] as const satisfies readonly ItemForm[];

export type ItemFormName = (typeof FORMS)[number]['name'];
export const ITEM_FORMS: readonly ItemFormName[] = FORMS.map(({ name }) => name);

export function itemFormOf(name: ItemFormName): ItemForm & { readonly name: ItemFormName } {
  const form = FORMS.find((each) => each.name === name);
  if (!form) throw new Error(`there is no form ${name}`);
  return form;
}

/** Finds the form of a file by the row that `tellingRow` found. @throws DatasetError `bad-row` that names the forms. */
export async function detectForm(path: string, telling: unknown): Promise<ItemForm & { readonly name: ItemFormName }> {
  const form = formOf(telling);
  if (form) return form;
  if (await isZip(path)) return inspectForm; // which names what it lacks
  if (await isParquet(path)) return itemFormOf('verl'); // which says what Parquet is read
  const has = isObject(telling)
    ? `its first row has ${Object.keys(telling).slice(0, 8).join(', ') || 'no field'}`
    : 'its first row is no object';
  throw new DatasetError(
    'bad-row',
    `${path} line 1: is in no form that is known: ${has}; name one by --format: events of our own (jsonl), ${ITEM_FORMS.join(', ')}`,
  );
}

function formOf(row: unknown) {
  return isObject(row) ? FORMS.find((each) => each.recognizes(row)) : undefined;
}

/** What tells the form of a file, of the columns of Parquet. */
const TELLING = [
  ...['schema_version', 'response_text', 'raw_prompt', 'conversations', 'item_id', 'messages', 'prompt', 'completion'],
  ...['input', 'output', 'type', 'sessionId'],
];

const TOLD_WITHIN = 200; // rows: sessions of Claude Code begin with a line for each summary and snapshot of others

/**
 * Reads the row that tells the form of a file: the first that a form recognizes among its first rows, else its first that can be
 * read; of Parquet only what tells it; null of a zip. @throws DatasetError `bad-row` where no row can be read.
 */
export async function tellingRow(path: string): Promise<unknown> {
  if (await isZip(path)) return null;
  let refused: { readonly line: number; readonly reason: string } | undefined;
  let [first, read]: [unknown, number] = [undefined, 0];
  for await (const row of readFileRows(path, TELLING, undefined, 'null')) {
    if (row.kind === 'refused') {
      refused ??= row;
      continue;
    }
    if (formOf(row.value) || isEventFile(row.value)) return row.value;
    if (read === 0) first = row.value;
    read += 1;
    if (read === TOLD_WITHIN) break;
  }
  if (refused && read === 0) throw badRow(path, refused.line, refused.reason);
  return first;
}

type ParseRow = (value: unknown, environment: string | null) => ParsedItem;

function rowsBy(parse: ParseRow, columns: readonly string[]): ItemForm['items'] {
  return (path, { environment }, hash) => readItems(path, hash, columns, (value) => parse(value, environment));
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
