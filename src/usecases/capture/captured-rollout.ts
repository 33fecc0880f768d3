import type { Appender, Draft } from '../../append/appender.ts';
import { refusalOf } from '../../append/prepare-events.ts';
import { type RememberedPrompt, shownPrompt } from '../../append/shown-prompt.ts';
import { hasNoReply, openOnPath, type PlaceCallOptions, placeCall, type UnclearPlace } from '../../domain/capture/place-call.ts';
import type { PolicyMessage } from '../../domain/prompts/policy-prompt.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import { derivedId } from '../../events/derived-id.ts';
import { type PolicyRef, policyId } from '../../events/schemas/values.ts';
import { formatPosition, positionAfter } from '../../log/position.ts';
import { type CallEnd, callDraft, type Followed, stepDrafts } from './capture-drafts.ts';
import { CaptureRefused, NotRecorded, notAppended } from './capture-errors.ts';
import {
  type Call,
  type CallChoice,
  digestOf,
  linksOf,
  lostPictures,
  otherPictures,
  type PictureReader,
  type PromptPictures,
  picturesIn,
  prefixesOf,
  promptMessagesOf,
  type ShownRequest,
  spoken,
  type ToolSpan,
  toolCallIdsOf,
  toolRuns,
  withMessage,
} from './conversation.ts';
import type { CapturePlace } from './place.ts';
import type { ReadReply } from './read-reply.ts';
import type { Api, ReadRequest } from './read-request.ts';

/** What the record holds of a rollout, as far as later calls need it. */
export interface RolloutState {
  readonly rootStepId: string;
  /** Where it began: the root, or a step of another rollout. */
  readonly fromStepId: string;
  /** Of steps, by their ids. */
  readonly depths: Map<string, number>;
  /** The last step of the path. */
  leafStepId: string;
  readonly calls: Call[];
  /** Ids of the calls that the record held when it was read, also of those whose ordinal an earlier one has. */
  readonly callIds: ReadonlySet<string>;
  /** Ids of the pictures that the record of the tree holds. */
  readonly pictures: Set<string>;
  ended: {
    readonly outcome: RolloutOutcome;
    readonly success: boolean | null;
    readonly reason: string;
    readonly unclearCalls: number;
    readonly lostParts: number;
  } | null;
  /** Opens run, tree and rollout, where the record lacks them, by the first request. */
  open:
    | ((request: ShownRequest, policy: PolicyRef, append: (drafts: readonly Draft[]) => Promise<unknown>) => Promise<void>)
    | null;
  isOpen: boolean;
  /** Whether spans of it are on record. */
  hasSpans: boolean;
  policy: PolicyRef | null;
}
export type RolloutOutcome = 'terminated' | 'truncated' | 'failed' | 'cancelled';

/** A call that is to be asked. */
export interface CallRequest {
  readonly api: Api | 'embeddings';
  readonly request: ReadRequest;
  readonly source: 'proxy' | 'trace' | 'client';
  /** The policy that answers; that of the rollout, else the model, when left out. */
  readonly policy?: PolicyRef;
  /** Of a span, or of the client; drawn from the place of the call when left out. */
  readonly callId?: string;
  /** ms since 1970. */
  readonly now: number;
  /**
   * Lies next to the path: `sub-agent` and `overlapping` where its conversation is another one, as its span says or because another
   * call was in flight when it began; `always` where it is known too late.
   */
  readonly aside?: 'sub-agent' | 'overlapping' | 'always';
}

/** A call whose place is recorded. */
export interface AttachedCall {
  readonly call: Call;
  readonly request: ReadRequest;
  readonly pictures: PromptPictures;
  readonly policy: PolicyRef;
  /** The prompt that it goes on with, by the step that this became. */
  readonly before: string | null;
  /** What its server puts before its input: the prompt of the response that it continues, with the reply. Null where that is not known. */
  readonly history: readonly PolicyMessage[] | null;
}

/** Reads the messages of the prompt of a step from the record; null where it holds none that can be read. */
export type ReadPrompt = (place: CapturePlace, stepId: string) => Promise<readonly PolicyMessage[] | null>;

/** How a call was answered. */
export interface AnsweredCall {
  readonly reply: ReadReply;
  /** SHA-256 of the body that was sent. */
  readonly requestHash: string;
  readonly attempts: number;
  /** Address of the model server without secrets; null where nobody says it. */
  readonly server: string | null;
}

const REMEMBERED = 32; // prompts of one rollout that later ones are compared with

/** Records the calls of one rollout, one at a time. What it cannot append it throws: whoever holds it lets go of it then. */
export class CapturedRollout {
  readonly place: CapturePlace;
  readonly state: RolloutState;
  readonly #appender: Appender;
  readonly #readPictures: PictureReader;
  readonly #readPrompt: ReadPrompt;
  /** Calls of tools that spans describe, for the steps that made them. */
  toolSpans: readonly ToolSpan[] = [];
  readonly #prompts = new Map<string, RememberedPrompt>();
  #tail: Promise<unknown> = Promise.resolve();

  constructor(
    place: CapturePlace,
    state: RolloutState,
    appender: Appender,
    { readPictures, readPrompt }: { readonly readPictures: PictureReader; readonly readPrompt: ReadPrompt },
  ) {
    this.place = place;
    this.state = state;
    this.#appender = appender;
    this.#readPictures = readPictures;
    this.#readPrompt = readPrompt;
  }

  /** Finds the place of a call, and records what it shows: the observation that follows on the reply before it. */
  ask(asking: CallRequest): Promise<AttachedCall> {
    return this.#inTurn(async () => {
      const { state } = this;
      if (state.ended)
        throw new CaptureRefused(
          'conflict',
          `the rollout ${this.place.rollout} has ended`,
          'name another rollout in the address',
        );
      const at = asking.source === 'client' ? asking.now : null;
      const policy = asking.policy ?? state.policy ?? { policyId: policyIdOf(asking.request.model), version: 0 };
      const pictures = await this.#readPictures(asking.request.messages);
      const request = { ...asking.request, losses: [...asking.request.losses, ...lostPictures(pictures, state.pictures)] };
      if (!state.isOpen) await state.open?.({ ...request, pictures }, policy, (drafts) => this.#append(drafts, at));
      state.isOpen = true;
      const prefixes = prefixesOf(request.messages);
      const continued = this.#named(request);
      // of before the rollout, or of a call that failed: the prompt is not known whole
      const isUnrecorded = request.previousResponseId !== null && !continued;
      const found = this.#placing(request, prefixes, continued);
      const placing = asideOr(isUnrecorded && found.kind === 'follows' ? { kind: 'aside', unclear: null } : found, asking.aside);
      const history = continued ? await this.#historyOf(continued) : [];
      if (history === null) request.losses.push('previous_response_id names a response whose own prompt is not on record');
      const { steps, parentStepId, place } = this.#goOn(placing, { ...request, pictures }, asking.now);
      await this.#append(steps, at);
      state.policy ??= policy;
      const ordinal = state.calls.length;
      const call: Call = {
        callId: asking.callId ?? derivedId('call', this.place.rolloutId, ordinal),
        ordinal,
        parentStepId,
        place,
        unclear: isUnrecorded ? 'unrecorded-reply' : unclearOf(placing),
        state: 'in-flight',
        source: asking.source,
        api: asking.api,
        stepId: derivedId('candidate', parentStepId, `${this.place.rolloutId} ${ordinal}`),
        depth: (state.depths.get(parentStepId) ?? 0) + 1,
        prompt: prefixes.at(-1) ?? '',
        policy,
        choices: [],
        answered: null,
        responseId: null,
        hasInstructions: request.hasInstructions,
        losses: [],
        policyMs: 0,
        answeredAt: null,
      };
      state.calls.push(call);
      return { call, request, pictures, policy, before: placing.kind === 'aside' ? null : parentStepId, history };
    });
  }

  /** Records the reply to a call, and what it was asked with. */
  answered(asked: AttachedCall, answered: AnsweredCall, end: Omit<CallEnd, 'outcome' | 'message'>, now: number): Promise<string> {
    return this.#inTurn(async () => {
      const { call } = asked;
      const { reply } = answered;
      call.choices = choicesOf(call, reply);
      call.answered = {
        responseId: reply.responseId && cutText(reply.responseId, 500),
        model: reply.model && cutText(reply.model, 500),
        requestHash: answered.requestHash,
        attempts: answered.attempts,
        latencyMs: end.totalMs,
        usage: reply.usage && { ...reply.usage },
        trimmed: null,
        ...(reply.fingerprint === null ? {} : { fingerprint: cutText(reply.fingerprint, 500) }),
      };
      Object.assign(call, { responseId: reply.responseId, policyMs: end.totalMs, answeredAt: now, state: 'answered' });
      if (this.state.ended) call.state = 'unanswered'; // nothing follows on it
      const at = call.source === 'client' ? now : null;
      return this.#recordCall(asked, { ...end, outcome: 'answered', message: '' }, answered, at);
    });
  }

  /** Records that a call has no reply, or not all of it, and why. @param at when it was over, ms since 1970; now when null. */
  unanswered(
    asked: AttachedCall,
    end: CallEnd,
    partial: ReadReply | null,
    { server = null, at = null }: { readonly server?: string | null; readonly at?: number | null } = {},
  ): Promise<string> {
    return this.#inTurn(async () => {
      const { call } = asked;
      call.state = 'unanswered';
      if (partial) call.choices = choicesOf(call, partial);
      if (end.outcome === 'cancelled' && !this.state.ended && call.choices.some(isText)) {
        call.choices = call.choices.map((choice) => ({ ...choice, finishReason: choice.finishReason ?? 'cancelled' }));
        Object.assign(call, { policyMs: end.totalMs, answeredAt: at ?? Date.now(), state: 'cut' });
      }
      return this.#recordCall(asked, end, partial && { reply: partial, server }, at);
    });
  }

  async #recordCall(
    asked: AttachedCall,
    given: CallEnd,
    answered: Pick<AnsweredCall, 'reply' | 'server'> | null,
    at: number | null,
  ): Promise<string> {
    const { call } = asked;
    const { besides, held } = otherPictures(asked.pictures, this.state.pictures);
    const end = this.#withNotes(given, asked, answered?.reply ?? null);
    const drafts = [callDraft(this.place, call, end, besides)];
    // what a span does not say of its prompt is unknown, and no empty one; so is one whose beginning is not known
    const isUnknown = asked.history === null || (call.source === 'trace' && asked.request.messages.length === 0);
    if (answered && call.state !== 'unanswered' && !isUnknown) drafts.push(this.#promptDraft(asked, held, answered));
    try {
      if (call.state !== 'unanswered') for (const choice of call.choices) checkStep(this.place, call, choice);
      const position = await this.#append(drafts, at);
      call.losses = stringsIn(end.attributes?.losses);
      return position;
    } catch (error) {
      return this.#setAside(error, call, end, at);
    }
  }

  /** Records of a call that no record takes why, as a loss: what follows of the rollout is recorded all the same. @throws the error. */
  async #setAside(error: unknown, call: Call, end: CallEnd, at: number | null): Promise<never> {
    if (!(error instanceof NotRecorded && error.isForGood && error.appended === 0)) throw error;
    Object.assign(call, { choices: [], answered: null, responseId: null, state: 'unanswered' });
    this.#prompts.delete(call.stepId);
    const losses = [...stringsIn(end.attributes?.losses), cutText(error.message, 500)];
    const refused = { ...end, outcome: 'failed', message: error.message, attributes: { ...end.attributes, losses } } as const;
    call.losses = losses;
    await this.#append([callDraft(this.place, call, refused, [])], at);
    throw error;
  }

  /** Whether a reply of the path is no step yet. */
  hasOpen(): boolean {
    return openOnPath(this.state.calls, this.state.leafStepId).length > 0;
  }

  /** Records the step that is open, with an observation. Returns the step; null where none is open. */
  recordOpen(observation: string, now: number): Promise<string | null> {
    return this.#inTurn(async () => {
      const open = openOnPath(this.state.calls, this.state.leafStepId).at(-1);
      if (!open) return null;
      await this.#append(this.#record(open, 0, NOTHING, 'none', now, observation));
      return open.stepId;
    });
  }

  /**
   * Records the end of the rollout, and before it the steps that are open. A repetition changes nothing. @throws CaptureRefused.
   */
  end(
    outcome: RolloutOutcome,
    { success, reason, observation, now }: { success: boolean | null; reason: string; observation: string; now: number },
  ): Promise<string | null> {
    return this.#inTurn(async () => {
      const { state } = this;
      if (state.ended) {
        if (state.ended.outcome === outcome && state.ended.success === success) return null;
        throw new CaptureRefused(
          'conflict',
          `the rollout has ended as ${state.ended.outcome}`,
          'an end that is recorded stays as it is',
        );
      }
      const [unclearCalls, lostParts] = [countUnclear(state), countLost(state)];
      const last = openOnPath(state.calls, state.leafStepId).at(-1);
      const others = state.calls.filter((call) => call.state === 'answered' && call !== last);
      const termination = outcome === 'terminated' || outcome === 'truncated' ? outcome : 'none';
      const steps = last ? this.#record(last, 0, NOTHING, termination, now, observation) : [];
      // the path has gone on: they lie next to it
      for (const call of others) for (const each of this.#record(call, 0, NOTHING, 'none', now, '')) steps.push(each);
      const { runId, treeId, rolloutId } = this.place;
      const end: Draft = {
        type: 'RolloutFinished',
        id: derivedId('RolloutFinished', rolloutId),
        correlationId: runId,
        data: {
          rolloutId,
          treeId,
          leafStepId: state.leafStepId,
          outcome,
          success,
          steps: (state.depths.get(state.leafStepId) ?? 0) - (state.depths.get(state.fromStepId) ?? 0),
          reason: cutText(reason, 10_000),
          unclearCalls,
          lostParts,
        },
      };
      const position = await this.#append([...steps, end]);
      state.ended = { outcome, success, reason, unclearCalls, lostParts };
      return position;
    });
  }

  /**
   * Adds to the attributes of a call what of its request and its reply could not be read, and whether it begins with what no
   * response carries over that continues it.
   */
  #withNotes(end: CallEnd, { call, request }: AttachedCall, reply: ReadReply | null): CallEnd {
    const losses = [
      ...request.losses.map((loss) => `request: ${loss}`),
      ...(reply?.losses ?? []).map((loss) => `reply: ${loss}`),
    ];
    const named = losses.slice(0, MOST_LOSSES).map((loss) => cutText(loss, 500));
    const notes = {
      ...(call.hasInstructions ? { instructions: true } : {}),
      ...(named.length > 0 ? { losses: named } : {}),
    };
    return Object.keys(notes).length === 0 ? end : { ...end, attributes: { ...end.attributes, ...notes } };
  }

  /** Appends what belongs to the rollout and changes nothing of its path. */
  append(drafts: readonly Draft[]): Promise<string> {
    return this.#inTurn(() => this.#append(drafts));
  }

  /** Finds the call whose response a request continues on the server's side. */
  #named({ previousResponseId: id }: ReadRequest): Call | undefined {
    return id === null ? undefined : this.state.calls.find(({ responseId, choices }) => responseId === id && choices.length > 0);
  }

  #placing({ messages }: ReadRequest, prefixes: readonly string[], named: Call | undefined): PlaceCallOptions<Call> {
    const { calls, leafStepId } = this.state;
    if (named) return { kind: 'continues', call: named, choice: 0, from: 0 };
    return placeCall(prefixes, spoken(messages).map(linksOf), calls, leafStepId);
  }

  /** Returns what a call was asked with and answered, but for its instructions; null where it is not on record. */
  async #historyOf({ stepId, hasInstructions, choices: [choice] }: Call): Promise<readonly PolicyMessage[] | null> {
    const asked = this.#prompts.get(stepId)?.messages ?? (await this.#readPrompt(this.place, stepId));
    if (!asked || !choice) return null;
    const reply = promptMessagesOf([choice.message], { shown: new Map(), held: new Set() });
    return [...asked.slice(hasInstructions ? 1 : 0), ...reply];
  }

  /** Records what a request shows of the calls before it, and says where its own step will be. */
  #goOn(placing: PlaceCallOptions<Call>, { messages, pictures }: ShownRequest, now: number): GoneOn {
    const { state } = this;
    const at = (parentStepId: string, place: Call['place'], steps: readonly Draft[] = []): GoneOn => ({
      steps,
      parentStepId,
      place,
    });
    switch (placing.kind) {
      case 'first':
        return at(state.leafStepId, 'path');
      case 'aside':
        return at(state.leafStepId, 'branch');
      case 'again': {
        const { parentStepId, place } = placing.call;
        return at(parentStepId, place === 'path' && parentStepId === state.leafStepId ? 'path' : 'branch');
      }
      case 'follows': {
        const open = openOnPath(state.calls, state.leafStepId).at(-1);
        const last = messages.findLastIndex(({ role }) => role === 'assistant');
        const added = spoken(messages.slice(last + 1));
        const steps = open ? this.#record(open, 0, { added, pictures: picturesIn(added, pictures) }, 'none', now) : [];
        return at(state.leafStepId, 'path', steps);
      }
      case 'continues': {
        const { call, choice, from } = placing;
        const added = spoken(messages).slice(from);
        const followed = { added, pictures: picturesIn(added, pictures) };
        const steps = call.state === 'answered' || call.state === 'cut' ? this.#record(call, choice, followed, 'none', now) : [];
        return at(call.stepId, call.stepId === state.leafStepId ? 'path' : 'branch', steps);
      }
      default:
        return placing satisfies never;
    }
  }

  /** Makes the step of a call, which is then recorded: on the path where it goes on with that. */
  #record(
    call: Call,
    choice: number,
    shown: Pick<Followed, 'added' | 'pictures'>,
    termination: 'none' | 'terminated' | 'truncated',
    now: number,
    observation?: string,
  ): Draft[] {
    const { state } = this;
    const chosen = call.choices[choice];
    if (!chosen) return [];
    const isOnPath = call.place === 'path' && call.parentStepId === state.leafStepId;
    const runs = toolRuns(chosen.message.toolCalls, this.toolSpans);
    this.toolSpans = this.toolSpans.filter((span) => !runs.includes(span));
    const followed = {
      ...shown,
      termination,
      runs,
      environmentMs: call.answeredAt === null ? 0 : Math.max(0, now - call.answeredAt),
      ...(observation === undefined ? {} : { observation }),
    };
    call.state = 'recorded';
    state.depths.set(call.stepId, call.depth);
    if (isOnPath) state.leafStepId = call.stepId;
    if (choice > 0) this.#prompts.delete(call.stepId); // it was remembered with the tokens of the first
    return [...stepDrafts(this.place, call, chosen, isOnPath ? this.place.rolloutId : null, followed)];
  }

  #promptDraft(
    { call, request, pictures, before, history }: AttachedCall,
    held: ReadonlySet<string>,
    { reply, server }: Pick<AnsweredCall, 'reply' | 'server'>,
  ): Draft {
    const { treeId, runId } = this.place;
    const known = before === null ? undefined : this.#prompts.get(before);
    const own = promptMessagesOf(request.messages, { shown: pictures, held });
    const first = request.hasInstructions ? 1 : 0;
    const asked = {
      messages: [...own.slice(0, first), ...(history ?? []), ...own.slice(first)],
      tools: request.tools,
      server,
      sampling: request.sampling,
      model: request.model && cutText(request.model, 500),
      tokenIds: reply.promptTokenIds,
    };
    const { data, prompt } = shownPrompt(asked, reply.choices[0]?.tokens?.ids ?? null, {
      treeId,
      stepId: call.stepId,
      template: null,
      known: new Map(),
      before: before !== null && known ? { id: before, prompt: known } : null,
    });
    this.#prompts.set(call.stepId, prompt);
    for (const [oldest] of this.#prompts) if (this.#prompts.size > REMEMBERED) this.#prompts.delete(oldest);
    return {
      type: 'PromptShown',
      id: derivedId('PromptShown', call.stepId),
      correlationId: runId,
      causationId: derivedId('CallCaptured', call.callId),
      data,
    };
  }

  /** @param at when it happened, ms since 1970; now when null. */
  async #append(given: readonly Draft[], at: number | null = null): Promise<string> {
    if (given.length === 0) return '';
    const drafts = at === null ? given : given.map((draft) => ({ ...draft, occurredAt: new Date(at).toISOString() }));
    try {
      const records = await this.#appender.append(drafts);
      for (const { data } of drafts)
        if ('pictures' in data) for (const { imageId } of data.pictures ?? []) this.state.pictures.add(imageId);
      return formatPosition(positionAfter(records));
    } catch (cause) {
      throw notAppended(cause);
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#tail.then(work, work);
    this.#tail = done.catch(() => undefined);
    return done;
  }
}

function unclearOf(placing: PlaceCallOptions<Call>): UnclearPlace | null {
  return placing.kind === 'aside' ? placing.unclear : placing.kind === 'again' ? placing.call.unclear : null;
}

function asideOr(found: PlaceCallOptions<Call>, aside: CallRequest['aside']): PlaceCallOptions<Call> {
  const isOther = found.kind === 'follows' || found.kind === 'aside';
  if (aside === 'always' || (aside === 'sub-agent' && isOther)) return { kind: 'aside', unclear: null };
  return aside === 'overlapping' && found.kind === 'follows' ? { kind: 'aside', unclear: 'overlapping' } : found;
}

/**
 * Counts the calls next to the path that may belong to it. One is a sub-agent's where the path went on from its reply that was open
 * then: the program still knew the history that the call seemed to replace. One beside a call in flight is where that was
 * answered, or the path went on at all. What follows on a reply that is not on record belongs to no path that is.
 */
function countUnclear({ calls }: RolloutState): number {
  const goesOn = (from: Call) =>
    calls.some(
      ({ place, ordinal, parentStepId }) =>
        place === 'path' && ordinal > from.ordinal && (from.unclear === 'overlapping' || parentStepId !== from.parentStepId),
    );
  const isBesideGivenUp = (from: Call) =>
    calls.some(
      (call) =>
        call.place === 'path' && (hasNoReply(call) || call.state === 'in-flight') && call.parentStepId === from.parentStepId,
    );
  return calls.filter(
    (call) =>
      call.unclear !== null &&
      !hasNoReply(call) &&
      (call.unclear === 'unrecorded-reply' || !goesOn(call)) &&
      (call.unclear !== 'overlapping' || isBesideGivenUp(call)),
  ).length;
}

/**
 * Counts the parts of calls that could not be read. Of one without a reply only what is said of the reply counts, and nothing where the
 * same was asked again and answered: its program went on from that answer.
 */
function countLost({ calls }: RolloutState): number {
  const answered = new Set(calls.flatMap((call) => (hasNoReply(call) || call.prompt === '' ? [] : [call.prompt])));
  return calls
    .filter((call) => !hasNoReply(call) || !answered.has(call.prompt))
    .flatMap((call) => call.losses.filter((loss) => !hasNoReply(call) || !loss.startsWith('request: '))).length;
}

const MOST_LOSSES = 40;

function stringsIn(given: unknown): readonly string[] {
  return Array.isArray(given) ? given.filter((each) => typeof each === 'string') : [];
}

/** The name of a model, where a policy may have it: its calls name it as it is. */
function policyIdOf(model: string | null): string {
  const parsed = policyId.safeParse(cutText(model || 'model', 200));
  return parsed.success ? parsed.data : 'model';
}

/**
 * Checks that a reply can become a step, which is recorded with the next call only: a call whose step no record takes would keep all
 * later ones from theirs. @throws NotRecorded.
 */
function checkStep(place: CapturePlace, call: Call, choice: CallChoice): void {
  const [step] = stepDrafts(place, call, { ...choice, tokens: null }, null, {
    ...NOTHING,
    runs: [],
    termination: 'none',
    environmentMs: 0,
  });
  const refusal = step && refusalOf(step);
  if (refusal) throw new NotRecorded(`the record does not take the step of the reply: ${refusal.message}`, { cause: refusal });
}

const NOTHING = { added: [], pictures: [] };

interface GoneOn {
  readonly steps: readonly Draft[];
  readonly parentStepId: string;
  readonly place: Call['place'];
}

/** Whether a choice is a text: of a call of a tool that was cut off no program goes on. */
function isText({ message: { parts, toolCalls } }: CallChoice): boolean {
  return toolCalls.length === 0 && parts.length > 0;
}

function choicesOf({ prompt }: Call, { choices }: ReadReply): readonly CallChoice[] {
  return choices.map((choice) => ({
    ...choice,
    conversation: withMessage(prompt, choice.message),
    reply: digestOf(choice.message),
    callsTools: choice.message.toolCalls.length > 0,
    toolCallIds: toolCallIdsOf(choice.message),
  }));
}
