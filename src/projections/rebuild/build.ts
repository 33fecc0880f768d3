import type { Projection } from '../projection.ts';

/** A version of a projection that is folded next to the live one, into a schema with cursors and a quarantine of its own. */
export interface Build {
  /** The code, by the name under which the live version is known. */
  readonly projection: Projection;
  /** The same code, as what it folds into: `name@version`. */
  readonly shadow: Projection;
  readonly version: number;
  readonly schema: string;
  /** True when an earlier process began it. */
  readonly resumed: boolean;
  /** `load`: its tables are empty, their indexes wait. `index`: an earlier process began to load, and ended. */
  readonly next: 'load' | 'index' | 'fold';
}
