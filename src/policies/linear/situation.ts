/** The agent's state, as the features read it; every `ActRequest` is one. */
export interface Situation {
  readonly goal: string;
  readonly firstObservation: string;
  readonly history: readonly { readonly action: string; readonly observation: string }[];
}
