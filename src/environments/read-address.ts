import type { z } from 'zod';
import { secretInUrl } from '../runtime/secret-in-url.ts';
import { EnvironmentError } from './environment.ts';
import type { EnvironmentEntry, RawOptions } from './environment-entry.ts';

/** Returns the form of an address, as help and messages show it. */
export function formOf({ name, options, syntax }: EnvironmentEntry): string {
  return syntax?.form ?? (Object.keys(options.shape).length === 0 ? name : `${name}[:KEY=VALUE;…]`);
}

/** Splits what is behind the name of an entry into options, which are texts still. @throws EnvironmentError. */
export function readOptions(entry: EnvironmentEntry, rest: string | undefined): RawOptions {
  if (rest === undefined) return {};
  try {
    return entry.syntax ? entry.syntax.read(rest) : readPairs(rest);
  } catch (cause) {
    throw wrongAddress(entry, cause instanceof Error ? cause.message : String(cause));
  }
}

/** Reads `KEY=VALUE;KEY=VALUE`. @throws Error that names what is not of this form. */
export function readPairs(rest: string): RawOptions {
  const pairs = new Map<string, string>();
  for (const part of rest.split(';').filter((each) => each !== '')) {
    const [, key = '', value = ''] = /^([^=]*)=(.*)$/s.exec(part) ?? [];
    if (key === '' || value === '') throw new Error(`${JSON.stringify(part.slice(0, 200))} is no option: an option is KEY=VALUE`);
    if (pairs.has(key)) throw new Error(`${key} is given twice`);
    pairs.set(key, value);
  }
  return Object.fromEntries(pairs);
}

/** Describes what is wrong with an address, by the first thing that its schema refuses, and how it is written. */
export function refusedAddress(entry: EnvironmentEntry, raw: RawOptions, { issues: [issue] }: z.ZodError): EnvironmentError {
  if (issue?.code === 'unrecognized_keys') {
    const key = issue.keys[0] ?? '';
    return wrongAddress(entry, `${JSON.stringify(`${key}=${raw[key]}`.slice(0, 200))} is no option of ${entry.name}`);
  }
  const key = String(issue?.path[0] ?? '');
  const named = raw[key] === undefined || secretInUrl(raw[key]) !== null ? key : `${key}=${raw[key].slice(0, 200)}`;
  return wrongAddress(entry, `${named} ${issue?.message ?? 'does not fit'}`.trim());
}

function wrongAddress(entry: EnvironmentEntry, what: string): EnvironmentError {
  const options = listOptions(entry).map(({ key, value }) => `${key}=${value}`);
  const there = entry.syntax || options.length === 0 ? '' : `; there are ${options.join(', ')}`;
  return new EnvironmentError('unknown-task', `${what}; write ${formOf(entry)}${there}`);
}

/** An option as the reference shows it. */
export interface OptionLine {
  readonly key: string;
  readonly value: string;
  readonly description: string;
  readonly usual: string | null;
}

/** Lists the options of an environment, as their schemas describe themselves. */
export function listOptions({ options }: EnvironmentEntry): readonly OptionLine[] {
  return Object.entries(options.shape).map(([key, schema]) => {
    let [inner, usual] = [schema as z.ZodType, null as string | null];
    for (let { def } = inner; !inner.meta() && (def.type === 'pipe' || 'innerType' in def); { def } = inner) {
      if ('defaultValue' in def) usual = String(def.defaultValue);
      inner = ('innerType' in def ? def.innerType : (def as z.core.$ZodPipeDef).in) as z.ZodType;
    }
    const { value, description = '' } = inner.meta() ?? {};
    return { key, value: String(value ?? 'VALUE'), description, usual };
  });
}
