import { type RawBuilder, sql } from 'kysely';

/**
 * Returns the success rate of a group of rollouts, as an aggregate over their rows: successes per finished rollout. One that
 * failed, was cut off or was not judged succeeded as little as one that the environment called a failure, as in an evaluation
 * (`measureEpisodes`): to divide by the judged ones alone would leave out exactly those that did not get there. Null while none
 * is finished, and where the environment judged none: it does not say what success is. Every table and every field reads this.
 * @param o the alias of `rollouts` in the statement.
 */
export function successRate(o: string): RawBuilder<number | null> {
  const success = sql.ref(`${o}.success`);
  return sql`case when count(${success}) > 0
    then count(*) filter (where ${success}) / count(${sql.ref(`${o}.finishedAt`)})::float8 end`;
}
