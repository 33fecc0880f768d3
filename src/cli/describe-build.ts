import type { BuildProgress } from '../projections/rebuild/watch-build.ts';

/** Says how far a build is, how fast it goes, and how long it will take. */
export function describeBuildProgress({ projection, done, of, rate, secondsLeft }: BuildProgress): string {
  const left = secondsLeft === null ? '' : `, ${Math.ceil(secondsLeft)} s left`;
  return `${projection}: ${done} of ${of} records, ${Math.round(rate)}/s${left}`;
}
