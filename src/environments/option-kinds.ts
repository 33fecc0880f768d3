import { z } from 'zod';

// The kinds of values that options of an address have. Each takes what help shows of it: a description, and a placeholder for the
// value.

/** A text that is not empty: a folder, a file, a name. */
export function text(value: string, description: string) {
  return z.string('is missing').min(1, 'must not be empty').meta({ value, description });
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
