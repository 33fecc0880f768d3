import { z } from 'zod';
import { isHttpAddress } from '../runtime/secret-address.ts';
import { SECRET_REMEDY, secretInUrl } from '../runtime/secret-in-url.ts';

// The kinds of values that options of an address have. Each takes what help shows of it: a description, and a placeholder for the
// value.

/** A text that is not empty: a folder, a file, a name. */
export function text(value: string, description: string) {
  return z.string('is missing').min(1, 'must not be empty').meta({ value, description });
}

/** An http address, recorded as it is written: what is secret in it is given by name. */
export function address(description: string) {
  return text('URL', description)
    .refine(isHttpAddress, 'is no http URL')
    .refine((url) => secretInUrl(url) === null, {
      error: ({ input }) => `holds ${secretInUrl(String(input))}: ${SECRET_REMEDY}`,
    });
}

/** A whole number in decimal digits. */
export function whole(least: number, most: number, description: string) {
  const wrong = `must be a whole number from ${least} to ${most}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, wrong)
    .transform(Number)
    .refine((number) => number >= least && number <= most, wrong)
    .meta({ value: `${least}..${most}`, description });
}

export function oneOf<const T extends string>(choice: readonly T[], description: string) {
  return z.enum(choice, `must be ${choice.join(' or ')}`).meta({ value: choice.join('|'), description });
}

/** Texts with commas between them. */
export function listOf(value: string, description: string) {
  return z
    .string()
    .transform((given) => given.split(',').map((each) => each.trim()))
    .refine((each) => !each.includes(''), 'names an empty one')
    .meta({ value: `${value},…`, description });
}
