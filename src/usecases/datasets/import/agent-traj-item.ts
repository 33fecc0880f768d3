import { z } from 'zod';
import type { PolicyMessage } from '../../../domain/prompts/policy-prompt.ts';
import { wellFormed } from '../../../events/well-formed.ts';

/** One episode of an AgentTraj file, in our words. */
export interface Episode {
  readonly environment: string;
  readonly alias: string;
  readonly instruction: string;
  /** The reply that the file puts between the instruction and the first observation; null where it has none. */
  readonly acknowledgement: string | null;
  readonly firstObservation: string;
  /** What the task asks for, where the file says it. */
  readonly goal?: string;
  readonly turns: readonly EpisodeTurn[];
  readonly reward: number | null;
  readonly success: boolean | null;
  /** What a file says that names more than one reward; each on the reply with this place (from 0), or on the whole. */
  readonly rewards?: readonly { readonly component: string; readonly value: number; readonly turn: number | null }[];
  /** Who acted, where the file says so; else who the options name. */
  readonly policy?: { readonly policyId: string; readonly version: number };
  /** How it ended; `terminated` where the file does not say. */
  readonly outcome?: 'terminated' | 'truncated' | 'failed' | 'cancelled';
}
export interface EpisodeTurn {
  readonly response: string;
  /** '' after the last reply: these files do not keep what it led to. */
  readonly observation: string;
  /** The loss flag; a reply without one is trained on, as AgentGym's trainer does. */
  readonly trained: boolean;
  /** The messages that it replies to, and it as one; there where the file has more than texts of them. */
  readonly shown?: {
    readonly messages: readonly PolicyMessage[];
    readonly reply: PolicyMessage;
    /** Schemas of the tools that were offered, as JSON; null for none. */
    readonly tools: string | null;
  };
  /** What was sampled, where the file has it. */
  readonly tokens?: {
    readonly ids: readonly number[];
    readonly logProbs: readonly number[] | null;
    /** 1 for each token that was sampled, 0 for those of tools; without it all were. */
    readonly mask?: readonly number[] | null;
  };
  readonly usage?: { readonly promptTokens: number; readonly completionTokens: number };
}

export type ParsedItem =
  | { readonly kind: 'episode'; readonly episode: Episode; readonly notes?: readonly RowNote[] }
  | { readonly kind: 'no-conversation' } // items of AgentEval name a task and hold no trajectory
  | { readonly kind: 'refused'; readonly reason: string };

const flag = z.union([z.boolean(), z.literal(0), z.literal(1)]).transform(Boolean);
const turn = z.object({ from: z.enum(['human', 'gpt']), loss: z.boolean().nullish(), value: z.string() });
const item = z.object({
  item_id: z.string().min(1),
  conversations: z.array(turn).nullish(),
  reward: z.number().nullish(),
  success: flag.nullish(),
});
type Turn = z.infer<typeof turn>;

/** Reads an item `{item_id, conversations, reward?, success?}` (Agent-R spec §4.3, §4.8). Other fields are passed over. */
export function parseAgentTrajItem(value: unknown, environment: string | null): ParsedItem {
  const parsed = item.safeParse(wellFormed(value).value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return refused(`${issue?.path.map(String).join('.') || 'the row'}: ${issue?.message}`);
  }
  const { item_id, conversations, reward, success } = parsed.data;
  if (!conversations) return { kind: 'no-conversation' };
  const task = taskOf(item_id, environment);
  if (!task) return refused(`item_id ${JSON.stringify(item_id)} is not <environment>_<number>; name the environment`);
  for (const [i, { from }] of conversations.entries()) {
    const due = i % 2 === 0 ? 'human' : 'gpt';
    if (from !== due) return refused(`conversations.${i} is from ${from} where ${due} speaks: the two take turns, human first`);
  }
  const opening = openingOf(conversations);
  const turns = turnsOf(opening.rest);
  if (turns.length === 0) return refused('the conversation holds no reply to an observation');
  const { instruction, acknowledgement, firstObservation } = opening;
  const scored = { reward: reward ?? null, success: success ?? null };
  return { kind: 'episode', episode: { ...task, instruction, acknowledgement, firstObservation, turns, ...scored } };
}

function taskOf(itemId: string, environment: string | null): { environment: string; alias: string } | null {
  if (environment !== null)
    return { environment, alias: itemId.startsWith(`${environment}_`) ? itemId.slice(environment.length + 1) : itemId };
  const match = /^(.+)_(\d+)$/.exec(itemId);
  return match?.[1] !== undefined && match[2] !== undefined ? { environment: match[1], alias: match[2] } : null;
}

interface Opening {
  readonly instruction: string;
  readonly acknowledgement: string | null;
  readonly firstObservation: string;
  /** The turns after the first observation, a reply first. */
  readonly rest: readonly Turn[];
}

/** A first reply with `loss: false` acknowledges an instruction; otherwise the first human turn is the first observation. */
function openingOf([first, second, third, ...rest]: readonly Turn[]): Opening {
  if (second?.loss === false && third)
    return { instruction: first?.value ?? '', acknowledgement: second.value, firstObservation: third.value, rest };
  const replies = [second, third].filter((turn) => turn !== undefined);
  return { instruction: '', acknowledgement: null, firstObservation: first?.value ?? '', rest: [...replies, ...rest] };
}

function turnsOf(rest: readonly Turn[]): readonly EpisodeTurn[] {
  const turns: EpisodeTurn[] = [];
  for (let i = 0; i < rest.length; i += 2) {
    turns.push({ response: rest[i]?.value ?? '', observation: rest[i + 1]?.value ?? '', trained: rest[i]?.loss !== false });
  }
  return turns;
}

function refused(reason: string): ParsedItem {
  return { kind: 'refused', reason };
}

/** What of a row cannot be kept as it is. It is no fault, and an import says it. */
export interface RowNote {
  readonly kind: RowNoteKind;
  /** The field or the role that it is about; null where the kind says it all. */
  readonly field: string | null;
}

export type RowNoteKind =
  | 'role-not-kept'
  | 'messages-joined'
  | 'calls-as-text'
  | 'instruction-first'
  | 'empty-message-added'
  | 'weight-read-as-1'
  | 'field-not-read'
  | 'column-not-read'
  | 'line-not-read'
  | 'reply-without-mask'
  | 'part-not-read'
  | 'session-compacted'
  | 'sidechain-left-out'
  | 'sidechain-alone'
  | 'characters-replaced';

/** Notes that texts of a row are not storable as they are. @param value the row as it was read. */
export function characterNotes(value: unknown): readonly RowNote[] {
  return wellFormed(value).repaired.length > 0 ? [{ kind: 'characters-replaced', field: null }] : [];
}

/** Notes the fields of an object that hold something and are none of those read. @param prefix of their names. */
export function unreadNotes(value: unknown, read: readonly string[], prefix = ''): readonly RowNote[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value)
    .filter(([name, held]) => !read.includes(name) && !isEmpty(held))
    .map(([name]) => ({ kind: 'field-not-read', field: `${prefix}${name}` }));
}

function isEmpty(held: unknown): boolean {
  if (held === null || held === undefined || held === '') return true;
  return typeof held === 'object' && Object.keys(held).length === 0;
}

/** Adds notes to a row that is taken; one that is refused needs none. */
export function withNotes(parsed: ParsedItem, notes: readonly RowNote[]): ParsedItem {
  return parsed.kind === 'episode' && notes.length > 0 ? { ...parsed, notes: [...(parsed.notes ?? []), ...notes] } : parsed;
}
