/** One message of a prompt as it was sent, pictures by their id. */
export interface PolicyMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly parts: readonly PolicyMessagePart[];
  /** The call that a message of a tool answers; left out where it is not known. */
  readonly toolCallId?: string;
  /** The tool or the person that speaks; left out where nobody says it. */
  readonly name?: string;
}

export type PolicyMessagePart =
  | { readonly kind: 'text'; readonly text: string }
  /** What the model thought, apart from what it said. */
  | { readonly kind: 'reasoning'; readonly text: string }
  | ToolCallPart
  /** SHA-256 of size and pixels. */
  | { readonly kind: 'image'; readonly imageId: string };

/** A call of a tool in a reply. */
export interface ToolCallPart {
  readonly kind: 'tool-call';
  /** Null where its server gave none. */
  readonly id: string | null;
  readonly name: string;
  /** As the model wrote them, mostly JSON. */
  readonly arguments: string;
}

/** How a reply was sampled, as it was asked for; null where the request left it to the server. */
export interface Sampling {
  readonly temperature: number | null;
  readonly topP: number | null;
  /** −1: all tokens. */
  readonly topK: number | null;
  readonly minP: number | null;
  readonly repetitionPenalty: number | null;
  readonly maxTokens: number | null;
  readonly stop: readonly string[];
  readonly seed: number | null;
  /** What else of the request changes the distribution that replies are drawn from: the values as JSON. */
  readonly others: readonly { readonly name: string; readonly value: string }[];
}

/** Returns the sampling from the whole distribution at a temperature. */
export function wholeSampling(temperature: number | null) {
  return { ...serverSampling(temperature), topP: 1, topK: -1, minP: 0, repetitionPenalty: 1 };
}

/** Returns a sampling that leaves all but the temperature to the server. */
export function serverSampling(temperature: number | null) {
  const left = { topP: null, topK: null, minP: null, repetitionPenalty: null, maxTokens: null, seed: null };
  return { temperature, ...left, stop: [] as string[], others: [] as { name: string; value: string }[] };
}

/** What a policy was asked with, whole: the request without what only says how many replies it wants. */
export interface PolicyPrompt {
  readonly messages: readonly PolicyMessage[];
  /** Schema of the tools that the model may call, as JSON text; null when it was given none. */
  readonly tools: string | null;
  readonly sampling: Sampling;
  /** Address of the model server, without credentials; null for a policy inside this program. */
  readonly server: string | null;
  /** Name of the model as it was asked for; null for a policy that names none. */
  readonly model: string | null;
  /** Token ids of the prompt as the server counted them, template and all; null when it returned none. */
  readonly tokenIds: readonly number[] | null;
}
