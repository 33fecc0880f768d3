/** Of a call that is `cut` its program went away and has the text that had arrived: that is its reply where a later call shows it. */
export type CallState = 'in-flight' | 'answered' | 'recorded' | 'unanswered' | 'cut';

/** A call of a rollout, as far as later calls are placed by it. */
export interface PlacedCall {
  readonly place: 'path' | 'branch';
  /** The step at which it was made. */
  readonly parentStepId: string;
  readonly state: CallState;
  /** Digest of the conversation that was sent. */
  readonly prompt: string | null;
  /** What the model returned: the digest of the conversation with it, and whether it waits for results of tools. */
  readonly choices: readonly {
    readonly conversation: string;
    /** Of the reply alone. */
    readonly reply: string;
    readonly callsTools: boolean;
    /** Ids of the calls of tools in it. */
    readonly toolCallIds: readonly string[];
  }[];
}

/** Where a call belongs. `from` counts the messages of the request that were there before. */
export type PlaceCallOptions<Call> =
  | { readonly kind: 'first' }
  /** It holds the conversation of an earlier call with its reply: what is behind them is the observation. */
  | { readonly kind: 'continues'; readonly call: Call; readonly choice: number; readonly from: number }
  /** It sends the same conversation again, for another reply. */
  | { readonly kind: 'again'; readonly call: Call }
  /** Its conversation is another one, and nothing else is open: the program writes each prompt from the start. */
  | { readonly kind: 'follows' }
  /** Its conversation is another one while the first is open: that of a sub-agent, or one that may belong to the path. */
  | { readonly kind: 'aside'; readonly unclear: UnclearPlace | null };

/**
 * Why the place of a call is not certain: one next to the path may belong to it. `altered-history`: it begins with what an earlier call sent, and goes on
 * otherwise than that was answered. `tools-waiting`: a reply of the path waits for results of tools, which nobody has sent yet.
 * `overlapping`: another call was in flight, which its program may have given up. `unrecorded-reply`: it holds a reply that is not on
 * record, or continues one on its server's side, so that a step before it is missing.
 */
export type UnclearPlace = 'altered-history' | 'tools-waiting' | 'overlapping' | 'unrecorded-reply';

/** What a message of a request is linked by: the ids of the calls of tools in it, that of the call that it answers, what it says. */
export interface MessageLinks {
  readonly calls: readonly string[];
  readonly answers: string | null;
  /** Digest of a message of the assistant; null for others. */
  readonly reply: string | null;
}

/**
 * Decides where a call belongs among those of its rollout, by the conversation that it sends. System messages are not part of the
 * digests: who hands over to another agent changes them and goes on.
 * @param prefixes digests of the first 0, 1, … messages of the request.
 * @param links of each message of the request.
 * @param calls those before it, in the order in which they began.
 * @param leafStepId the last step of the path.
 */
export function placeCall<Call extends PlacedCall>(
  prefixes: readonly string[],
  links: readonly MessageLinks[],
  calls: readonly Call[],
  leafStepId: string,
): PlaceCallOptions<Call> {
  if (calls.length === 0) return { kind: 'first' };
  const linked = linkedReply(prefixes, links, calls);
  const isLost = lacksReply(prefixes, links, calls, linked?.from ?? 0);
  if (linked && (linked.call.place === 'branch' || (!isLost && isLastIn(linked, links, calls)))) return linked;
  const sent = prefixes.at(-1);
  const same = [...calls].reverse().find(({ prompt }) => prompt !== null && prompt === sent);
  if (same) return { kind: 'again', call: same };
  const open = openOnPath(calls, leafStepId);
  const isWaiting = open.some(({ choices }) => choices.some((each) => each.callsTools));
  if (!isWaiting && !calls.some(({ state }) => state === 'in-flight'))
    return isLost ? { kind: 'aside', unclear: 'unrecorded-reply' } : { kind: 'follows' };
  const isAltered = prefixes.slice(1, -1).some((prefix) => calls.some(({ prompt }) => prompt === prefix));
  return { kind: 'aside', unclear: isAltered ? 'altered-history' : isWaiting ? 'tools-waiting' : 'overlapping' };
}

/** Finds the last reply on record that a request holds: with its whole conversation, or by an id of a call of a tool in it. */
function linkedReply<Call extends PlacedCall>(
  prefixes: readonly string[],
  links: readonly MessageLinks[],
  calls: readonly Call[],
): Continued<Call> | null {
  const replies = new Map<string, { readonly call: Call; readonly choice: number }>();
  // of one text a whole reply comes before one that was cut
  for (const call of [...calls.filter(({ state }) => state === 'cut'), ...calls.filter(isAnswered)])
    for (const [choice, { conversation }] of call.choices.entries()) replies.set(conversation, { call, choice });
  const byToolCall = toolCallOwners(calls);
  let answered: Continued<Call> | null = null; // the reply whose results the request ends with
  for (let from = prefixes.length - 1; from > 0; from--) {
    const { calls: ids = [], answers = null } = links[from - 1] ?? {};
    const found = replies.get(prefixes[from] ?? '') ?? ids.map((id) => byToolCall.get(id)).find(Boolean);
    if (found && (answered === null || answered.call === found.call)) return { kind: 'continues', ...found, from };
    if (found) break; // the reply that its results answer was cut from the window
    const owner = answers === null ? null : byToolCall.get(answers);
    if (owner && (answered === null || answered.call === owner.call)) answered = { kind: 'continues', ...owner, from: from - 1 };
  }
  return answered;
}

type Continued<Call> = Extract<PlaceCallOptions<Call>, { kind: 'continues' }>;

/** Whether the path has no later reply than one that a request holds. Where others follow in it, its program changed what is between. */
function isLastIn<Call extends PlacedCall>(
  linked: Continued<Call>,
  links: readonly MessageLinks[],
  calls: readonly Call[],
): boolean {
  const isFollowed = links.slice(linked.from, -1).some(({ reply }, i, behind) => reply !== null && !behind[i - 1]?.reply);
  const later = calls.slice(calls.indexOf(linked.call) + 1);
  return !isFollowed || !later.some((call) => call.place === 'path' && isAnswered(call));
}

/** Whether a request holds, behind so many messages, the reply to a call that was not recorded, by the very prompt of that call. */
function lacksReply(
  prefixes: readonly string[],
  links: readonly MessageLinks[],
  calls: readonly PlacedCall[],
  from: number,
): boolean {
  const answered = new Set(calls.filter(isAnswered).map(({ prompt }) => prompt));
  const lost = new Set(calls.flatMap((call) => (hasNoReply(call) && !answered.has(call.prompt) ? call.prompt : [])));
  // one that it ends with is the beginning of a reply, which the model is to go on with
  return links.slice(0, -1).some(({ reply }, i) => i >= from && reply !== null && lost.has(prefixes[i] ?? ''));
}

/** Whether a call is over without a reply that later ones go on from. */
export function hasNoReply({ state }: Pick<PlacedCall, 'state'>): boolean {
  return state === 'unanswered' || state === 'cut';
}

function isAnswered({ state }: PlacedCall): boolean {
  return state === 'answered' || state === 'recorded';
}

/**
 * Finds the reply that each call of a tool is in, by its id: programs change what comes before a reply (they strip, summarise and
 * cut their history) and keep the ids. An id that several replies gave names none of them.
 */
function toolCallOwners<Call extends PlacedCall>(
  calls: readonly Call[],
): ReadonlyMap<string, { readonly call: Call; readonly choice: number } | null> {
  const owners = new Map<string, { readonly call: Call; readonly choice: number } | null>();
  for (const call of calls.filter(isAnswered))
    for (const [choice, { toolCallIds }] of call.choices.entries())
      for (const id of toolCallIds) owners.set(id, owners.has(id) ? null : { call, choice });
  return owners;
}

/** Returns the calls whose replies may become the next step of the path, oldest first. */
export function openOnPath<Call extends PlacedCall>(calls: readonly Call[], leafStepId: string): readonly Call[] {
  return calls.filter(
    ({ place, parentStepId, state }) => place === 'path' && state === 'answered' && parentStepId === leafStepId,
  );
}
