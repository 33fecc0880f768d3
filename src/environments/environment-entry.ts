import { z } from 'zod';
import type { EnvironmentKind } from './environment.ts';

/**
 * An environment that a plan can name. What a module of the user's exports has the same form: `name`, `open` and, where it has
 * any, `options`.
 */
export interface EnvironmentEntry<Name extends string = string, Options extends z.ZodObject = z.ZodObject> {
  readonly name: Name;
  /** Describes in one line what it is. */
  readonly summary: string;
  /** What may be written behind the name, as values that are texts still; `option-kinds.ts` has what most need. */
  readonly options: Options;
  /** How options are written, where it is not as `NAME:KEY=VALUE;KEY=VALUE`. */
  readonly syntax?: AddressSyntax;
  /** A module that exports `render`, by which the studio shows its steps: a path relative to the module of the user's. */
  readonly renderer?: string;
  /** Opens it. Who opens it closes it. @throws EnvironmentError that says what cannot be used. */
  open(options: z.output<Options>): Promise<EnvironmentKind>;
}

export interface AddressSyntax {
  /** The whole address, as help and messages show it. */
  readonly form: string;
  /** Returns the options in what follows the name and its colon; nothing is checked yet. */
  read(rest: string): RawOptions;
}

export type RawOptions = Readonly<Record<string, string>>;

/** Makes an entry of the registry: the entry, and the schema of its addresses with its name in the field `environment`. */
export function defineEnvironment<const Name extends string, Options extends z.ZodObject>(
  entry: EnvironmentEntry<Name, Options>,
) {
  return { ...entry, address: entry.options.safeExtend({ environment: z.literal(entry.name) }) };
}

/** The syntax of an environment with one option, which is all that follows the colon. */
export function wholeRest(name: string, option: string, value: string): AddressSyntax {
  return { form: `${name}[:${value}]`, read: (rest) => ({ [option]: rest }) };
}
