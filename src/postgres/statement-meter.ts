import type { QueryId } from 'kysely';

/** Counts what statements read while it arrives, and bounds how long each of them may take. */
export interface StatementMeter {
  /** How long one statement may take, ms. */
  readonly statementMs: number;
  /** Is called for each row that arrives, with its bytes. What it throws ends the statement and its connection. */
  row(bytes: number): void;
  /** Returns what a statement fails with that took longer. */
  late(): Error;
}

const METERS = new WeakMap<QueryId, StatementMeter>();

/** Has a statement charged to a meter. */
export function chargeTo(meter: StatementMeter, query: QueryId): void {
  METERS.set(query, meter);
}

/** Returns the meter that a statement is charged to; undefined for one that nobody meters. */
export function meterOf(query: QueryId): StatementMeter | undefined {
  return METERS.get(query);
}
