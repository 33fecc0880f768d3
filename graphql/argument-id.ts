import { isUuid } from '../src/domain/ids.ts';
import { refusal } from './errors.ts';

/** Takes an id from the caller, in either case. @throws BAD_USER_INPUT that names the argument when it is no UUID. */
export function argumentId(argument: string, text: string): string {
  const id = text.toLowerCase();
  if (isUuid(id)) return id;
  throw refusal('BAD_USER_INPUT', `${argument} must be a UUID, not ${JSON.stringify(text.slice(0, 80))}`, { argument });
}

/** Takes an id that may be left out. */
export function optionalId(argument: string, text: string | null | undefined): string | undefined {
  return text === null || text === undefined ? undefined : argumentId(argument, text);
}
