import { z } from 'zod';
import { agentgym } from './agentgym/agentgym-entry.ts';
import { chat } from './chat/chat.ts';
import { echo } from './echo/echo.ts';
import { EnvironmentError, type EnvironmentKind } from './environment.ts';
import type { EnvironmentEntry } from './environment-entry.ts';
import { ownModule } from './own-module.ts';
import { formOf, listOptions, type OptionLine, readOptions, refusedAddress } from './read-address.ts';
import { searchQa } from './search-qa/search-qa-entry.ts';
import { pythonEnvironment } from './server/open-python.ts';
import { environmentServer } from './server/open-server.ts';
import { alfWorld, scienceWorld } from './server/published-entries.ts';
import { textcraft } from './textcraft/textcraft.ts';
import { toolEnv } from './tool-env/tool-env-entry.ts';
import { isModule } from './tools/load-export.ts';
import { withPictures } from './with-pictures.ts';

/** The environments that a plan may name. */
const ENTRIES = [
  textcraft,
  searchQa,
  toolEnv,
  chat,
  echo,
  agentgym,
  ownModule,
  pythonEnvironment,
  environmentServer,
  scienceWorld,
  alfWorld,
] as const;

type AddressOf<Entry> =
  Entry extends EnvironmentEntry<infer Name, infer Options> ? { readonly environment: Name } & z.output<Options> : never;
/** An address that was read: the name in `environment`, and its options. */
export type EnvironmentAddress = AddressOf<(typeof ENTRIES)[number]>;
const [first, ...others] = ENTRIES.map(({ address }) => address);
const environmentAddress = z.discriminatedUnion('environment', [first as NonNullable<typeof first>, ...others]); // there is a first one

/** How each environment is written, for help and messages. */
export const ENVIRONMENT_FORMS = `${ENTRIES.map(formOf).join(', ')}; or your own by ./FILE.ts, ./FILE.py, npm:PACKAGE, http://HOST:PORT (options: espalier environments)`;

/**
 * Reads the name of an environment. A path, `npm:PACKAGE` and an address are those of the user's own. @throws EnvironmentError
 * that says what is wrong, and which names or options there are.
 */
export function parseEnvironment(text: string): EnvironmentAddress {
  const [, name, rest] = /^([^:]*)(?::(.*))?$/s.exec(`${kindOfOwn(text)}${text}`) ?? [];
  const entry = ENTRIES.find((each) => each.name === name);
  if (!entry)
    throw new EnvironmentError(
      'unknown-task',
      `there is no environment ${JSON.stringify(text.slice(0, 200))}; name ${ENVIRONMENT_FORMS}`,
    );
  const raw = readOptions(entry, rest);
  const parsed = environmentAddress.safeParse({ ...raw, environment: name });
  if (!parsed.success) throw refusedAddress(entry, raw, parsed.error);
  return parsed.data as EnvironmentAddress; // the union of the same entries, whose types `safeExtend` forgets
}

/** Returns what is left out before a path, a package or an address that stands for itself. */
function kindOfOwn(text: string): string {
  const [file = ''] = text.split(/[;#]/);
  if (/^https?:\/\//.test(text)) return `${environmentServer.name}:`;
  if (/\.py$/.test(file) && !file.includes(':')) return `${pythonEnvironment.name}:`;
  return isModule(file) && !ENTRIES.some(({ name }) => file.startsWith(`${name}:`)) ? `${ownModule.name}:` : '';
}

/**
 * Opens the environment that a plan names. Who opens it closes it. @throws EnvironmentError as `parseEnvironment`, or its own.
 */
export async function openEnvironment(text: string): Promise<EnvironmentKind> {
  const address = parseEnvironment(text);
  // the entry whose name, and so whose schema, the union has matched
  const entry = ENTRIES.find(({ name }) => name === address.environment) as unknown as EnvironmentEntry;
  return withPictures(await entry.open(address));
}

/** Describes every environment, for the reference and the command line. */
export function describeEnvironments(): readonly {
  readonly name: string;
  readonly summary: string;
  readonly form: string;
  readonly options: readonly OptionLine[];
}[] {
  return ENTRIES.map((entry) => ({
    name: entry.name,
    summary: entry.summary,
    form: formOf(entry),
    options: listOptions(entry),
  }));
}
