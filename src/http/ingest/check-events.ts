import { cutText } from '../../domain/text/cut-text.ts';
import { isObject } from '../../domain/text/parse-json.ts';
import { catalogue, type EventType } from '../../events/catalogue.ts';
import { contentHash, parseEnvelope, type Refusal } from '../../events/codec.ts';
import type { Envelope, Stamp } from '../../events/envelope.ts';
import { wellFormed } from '../../events/well-formed.ts';
import { uniqueKeysOf } from '../../projections/journal/journal-entries.ts';
import { PROBLEM_LIMIT, type Problem, type Reply, refuse } from '../reply.ts';
import { type ContentFault, findContentFault, unknownTrainingFields } from './content-fault.ts';
import { conflictOf } from './refuse-events.ts';
import { unsafePart } from './unsafe-part.ts';

/** An event of a request and its place in it. */
export interface SentEvent {
  readonly index: number;
  readonly event: Envelope;
}
export type CheckedEvents =
  | { readonly kind: 'events'; readonly events: readonly SentEvent[] }
  | { readonly kind: 'refused'; readonly reply: Reply };

/**
 * Checks every value against the catalogue. One that does not fit refuses the request (400), listing the first twenty such.
 * @param now the server's time, ms since 1970: an event of the future would end every read as of a time before it.
 * @param stamp who sends them, and for which project: the events that are returned carry it.
 */
export function checkEvents(values: readonly unknown[], now: number, stamp: Stamp): CheckedEvents {
  const events: SentEvent[] = [];
  const problems: Problem[] = [];
  for (const [index, value] of values.entries()) {
    const checked = check(value, index, now, stamp);
    if ('event' in checked) events.push(checked);
    else problems.push(checked);
    if (problems.length === PROBLEM_LIMIT) break;
  }
  if (problems.length === 0) return { kind: 'events', events };
  return { kind: 'refused', reply: refuse(400, 'some events do not fit; nothing was appended', REMEDY, { problems }) };
}

const LARGEST_SKEW_MS = 300_000; // as far as the clocks of two machines with a time service are ever apart

/** Returns why a time is none of the past, as far as clocks agree; undefined where it is. */
export function aheadOfClock(at: number, now: number): Required<Rule> | undefined {
  const ms = at - now;
  if (!(ms > LARGEST_SKEW_MS)) return undefined;
  return {
    message: `is ${Math.ceil(ms / 1_000)} s ahead of the server's clock; at most ${LARGEST_SKEW_MS / 1_000} s are allowed`,
    remedy: 'set the clock of the machine that sends it, and send the time at which it happened',
  };
}

const ALONE = 'is written by the platform alone';

type Rule = Pick<Problem, 'message' | 'remedy'>;
const TRAINING: Rule = {
  message: 'events of topic training are written by the platform alone',
  remedy: 'lease, acknowledge and return batches through /v1/training',
};
const TAKE_OVER: Rule = {
  message: `${ALONE}, when a run is taken over`,
  remedy: 'leave it out; POST /v1/runs/<id>/epoch takes over a run',
};
const OF_PLATFORM: Readonly<Partial<Record<EventType, Rule>>> = {
  RunResumed: TAKE_OVER,
  TreeResumed: TAKE_OVER,
  SpanReceived: { message: `${ALONE}, when a span arrives`, remedy: 'send spans to POST /v1/traces' },
  StageFinished: {
    message: `${ALONE}, when a stage of an experiment ends: later experiments reuse what it names`,
    remedy: 'run the stages by `espalier experiment run`',
  },
  PayloadForgotten: { message: `${ALONE}, when payload is forgotten`, remedy: 'forget it by `espalier forget`' },
};

/** Returns why a producer sends no events of a type, and what it does instead; undefined for one that it sends. */
export function ruleOfPlatform(type: EventType): Rule | undefined {
  return catalogue[type].topic === 'training' ? TRAINING : OF_PLATFORM[type];
}

const BY_KEY: Rule = { message: ALONE, remedy: 'leave it out; the key that sends the event decides it' };
/** Fields of the envelope that the platform writes. */
export const FIELDS_OF_PLATFORM: Readonly<Record<string, Rule>> = {
  released: { message: ALONE, remedy: 'leave it out; `espalier quarantine requeue` appends it' },
  sealed: { message: ALONE, remedy: 'send the payload in `data`; the platform encrypts it' },
  principal: BY_KEY,
  project: BY_KEY,
};

const REMEDY = 'correct them and send all again; GET /v1/schemas has the JSON Schema of every type';

/**
 * Drops repetitions of an event within the request; returns those with other content, and second facts, which are refused (409). A fact
 * that another event of the request states too stays: the journal may set one of them aside, for its id or its run, and the other counts.
 */
export function dropRepetitions(
  sent: readonly SentEvent[],
):
  | { readonly kind: 'distinct'; readonly events: readonly SentEvent[] }
  | { readonly kind: 'conflict'; readonly problems: readonly Problem[] } {
  const first = new Map<string, SentEvent>();
  const problems: Problem[] = [];
  const distinct: SentEvent[] = [];
  for (const item of sent) {
    const keys = uniqueKeysOf(item.event);
    const key = keys.find((taken) => first.has(taken));
    const before = key === undefined ? undefined : first.get(key);
    if (before && contentHash(before.event) !== contentHash(item.event))
      problems.push(conflictOf(item, `event ${before.index} of this request`, key === keys[0] ? 'id' : 'fact'));
    else if (key === undefined || key !== keys[0]) {
      for (const taken of keys) first.set(taken, item);
      distinct.push(item);
    }
  }
  return problems.length > 0 ? { kind: 'conflict', problems } : { kind: 'distinct', events: distinct };
}

function check(value: unknown, index: number, now: number, stamp: Stamp): SentEvent | Problem {
  const wrong = unsafePart(value) ?? wrongMark(value);
  if (wrong) return { index, ...idOf(value), ...wrong };
  const parsed = parseEnvelope(isObject(value) ? { ...value, ...stamp } : value);
  if (parsed.kind === 'refused') return { index, ...idOf(value), ...wordsOf(parsed.refusal) };
  const { event } = parsed;
  const refused = notTaken(event, now) ?? brokenName(event) ?? findContentFault(event) ?? unknownTrainingFields(event);
  return refused ? { index, id: event.id, ...refused } : { index, event };
}

/** Returns which field of the platform a value brings along. */
function wrongMark(value: unknown): ContentFault | undefined {
  if (!isObject(value)) return undefined;
  const mark = Object.entries(FIELDS_OF_PLATFORM).find(([field]) => value[field] !== undefined);
  return mark && { path: mark[0], ...mark[1] };
}

/** Returns why an event is none of a producer, or not of this time. */
function notTaken({ type, occurredAt }: Envelope, now: number): ContentFault | undefined {
  const rule = ruleOfPlatform(type);
  if (rule) return { path: 'type', ...rule };
  const ahead = aheadOfClock(Date.parse(occurredAt), now);
  return ahead && { path: 'occurredAt', ...ahead };
}

/** Text in `data` is repaired on append; who wrote an event is not text from a model, so a broken name is a mistake. */
function brokenName({ producer, repaired }: Envelope): ContentFault | undefined {
  const [broken] = wellFormed({ producer, repaired }).repaired; // every other text of the envelope has a pattern
  return broken === undefined ? undefined : { path: broken, message: 'holds a half surrogate or NUL' };
}

function wordsOf({ code, path, message }: Refusal): Pick<Problem, 'path' | 'message' | 'remedy'> {
  const words = { path: cutText(path.toWellFormed(), 200), message: cutText(message.toWellFormed(), 500) };
  return code === 'unknown-type' || code === 'unknown-version'
    ? { ...words, remedy: 'GET /v1/schemas lists types and versions' }
    : words;
}

function idOf(value: unknown): { readonly id?: string } {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, 'id')) return {};
  const { id } = value as { id: unknown }; // its own, as just seen
  return typeof id === 'string' ? { id: cutText(id.toWellFormed(), 80) } : {};
}
