import type { LogProbKind } from '../openai/log-prob-kind.ts';

/** Weights that a model server is to answer with: those of one version of a policy that is trained. */
export interface ServedVersion {
  readonly policyId: string;
  readonly version: number;
  /** The checkpoint, a folder that the server can read; its name is the digest of what is in it. */
  readonly folder: string;
  /** SHA-256 of the model's tensors, as the trainer wrote them. */
  readonly tensors: string;
}

/** What a server confirmed of a change of weights. */
export interface LoadedWeights {
  /** What requests call these weights: servers of adapters have a name for each, others one for all. */
  readonly model: string;
  /** What answers that these weights drew carry as `system_fingerprint` (SGLang: `weight_version`); null where none is sent. */
  readonly fingerprint: string | null;
  /** What answers that these weights drew carry as `model`; absent where that is not known. */
  readonly answersAs?: string | undefined;
}

/**
 * A model server that answers with the weights of the version that it was asked to load, by OpenAI's chat-completions protocol
 * at `baseUrl`. Weights are exchanged between requests: nobody calls `load` while a request is in flight. Who opens it closes it.
 */
export interface ModelServer {
  readonly baseUrl: string;
  /** Named where requests are written otherwise than for vLLM, SGLang and our own server. */
  readonly dialect?: 'transformers' | undefined;
  /**
   * `raw`: it returns log-probabilities from before the temperature; `unknown`: its answers do not tell. With what to do about it;
   * absent where they are of the distribution that was drawn from.
   */
  readonly logProbs?: { readonly kind: Exclude<LogProbKind, 'processed'>; readonly remedy: string } | undefined;
  /**
   * Takes over the weights of a version and returns when the server has confirmed them. @throws Error with the server's reason.
   */
  load(version: ServedVersion, signal: AbortSignal): Promise<LoadedWeights>;
  /** Aborted when the server is known to have gone by itself; another one is opened then. */
  readonly gone: AbortSignal;
  close(): Promise<void>;
}

/** Opens a model server that holds the weights of a version, or can load them. @throws Error with the reason and the remedy. */
export type OpenModelServer = (first: ServedVersion, signal: AbortSignal) => Promise<ModelServer>;
