import type { PlacedCall, Unclear } from '../../domain/capture/place-call.ts';
import type { PolicyRef } from '../../events/schemas/values.ts';
import type { ModelCall } from '../../projections/prompts/read-prompts.ts';
import type { ReadChoice } from './read-reply.ts';
import type { Api } from './read-request.ts';

/** A choice of a reply, and the conversation with it. */
export interface CallChoice extends ReadChoice {
  readonly conversation: string;
  readonly callsTools: boolean;
  readonly toolCallIds: readonly string[];
}

/** A call of a captured rollout. It changes from in flight to answered or unanswered, and from answered to recorded as a step. */
export interface Call extends PlacedCall {
  readonly callId: string;
  readonly ordinal: number;
  /** The step that its reply becomes. */
  readonly stepId: string;
  /** Of that step. */
  readonly depth: number;
  place: 'path' | 'branch';
  readonly unclear: Unclear | null;
  state: 'in-flight' | 'answered' | 'recorded' | 'unanswered';
  readonly prompt: string;
  choices: readonly CallChoice[];
  readonly source: 'proxy' | 'trace';
  readonly api: Api;
  /** Who answers. */
  readonly policy: PolicyRef;
  answered: ModelCall | null;
  responseId: string | null;
  policyMs: number;
  /** When its reply had come, ms since 1970; null until then. */
  answeredAt: number | null;
}
