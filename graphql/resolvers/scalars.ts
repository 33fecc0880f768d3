import { GraphQLError, GraphQLScalarType, Kind, valueFromASTUntyped } from 'graphql';
import { cutText } from '../../src/domain/text/cut-text.ts';
import { beginsWithDay } from '../../src/projections/as-of/calendar-day.ts';

export const DateTime = new GraphQLScalarType<Date, string>({
  name: 'DateTime',
  serialize: (value) => (value instanceof Date ? value.toISOString() : String(value)),
  parseValue: instant,
  parseLiteral: (node) => instant(node.kind === Kind.STRING ? node.value : undefined),
});

export const SafeInt = new GraphQLScalarType<number, number>({
  name: 'SafeInt',
  serialize: safe,
  parseValue: safe,
  parseLiteral: (node) => safe(node.kind === Kind.INT ? Number(node.value) : undefined),
});

export const JSONValue = new GraphQLScalarType<unknown, unknown>({
  name: 'JSON',
  serialize: (value) => value,
  parseValue: (value) => value,
  parseLiteral: (node, variables) => valueFromASTUntyped(node, variables),
});

/**
 * A zone is asked for: without one the same query would mean another time on another machine. Years as Postgres and cursors hold
 * them.
 */
const INSTANT = /^[1-9]\d{3}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:\d\d)$/;

function instant(value: unknown): Date {
  const date = typeof value === 'string' && INSTANT.test(value) && beginsWithDay(value) ? new Date(value) : undefined;
  if (date && !Number.isNaN(date.getTime())) return date;
  throw new GraphQLError(`a DateTime is an ISO 8601 instant with its zone, such as 2026-01-31T09:30:00Z, not ${shown(value)}`);
}

function safe(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw new GraphQLError(`a SafeInt is a whole number within ±(2^53 − 1), not ${shown(value)}`);
}

function shown(value: unknown): string {
  return cutText(JSON.stringify(value) ?? 'nothing', 80);
}
