import type { ModelServer, ServedVersion } from '../../policies/served/model-server.ts';
import type { Config } from '../../runtime/config.ts';

/** What a model server is opened with. */
export interface ServerOptions {
  /** What follows the colon of its name; empty where there is none. */
  readonly rest: string;
  readonly config: Pick<Config, 'home' | 'python'>;
  /** How the passes are computed, as the training was declared. */
  readonly precision?: 'float32' | 'bfloat16' | undefined;
}

/** A kind of model server that the versions of a language model can act by. */
export interface ServerEntry {
  readonly kind: string;
  /** How it is named, as help and messages show it. */
  readonly form: string;
  /** Opens or connects to it. @throws Error with the reason and the remedy. */
  open(options: ServerOptions, first: ServedVersion, signal: AbortSignal): Promise<ModelServer>;
}
