import { clientActionCheck } from './checks/client-action.ts';
import { parseReactCheck } from './checks/parse-react.ts';
import { snapActionCheck } from './checks/snap-action.ts';
import { textcraftResetCheck } from './checks/textcraft-reset.ts';
import { textcraftSessionsCheck } from './checks/textcraft-sessions.ts';
import { textcraftWorldCheck } from './checks/textcraft-world.ts';
import type { VectorCheck } from './vector-check.ts';

/** Every kind of vector file that we can judge: a new kind is one file in `checks/` and one line here. */
export const CHECKS: readonly VectorCheck[] = [
  textcraftWorldCheck,
  textcraftSessionsCheck,
  textcraftResetCheck,
  parseReactCheck,
  clientActionCheck,
  snapActionCheck,
];
