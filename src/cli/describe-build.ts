import type { BuildProgress } from '../projections/rebuild/watch-build.ts';

/** Describes how far a build is, how fast it goes, and how long it will take. */
export function describeBuildProgress(progress: BuildProgress): string {
  return `${progress.projection}: ${describeProgress(progress)}`;
}

/** Describes the same without the projection. */
export function describeProgress({ done, of, rate, secondsLeft }: Omit<BuildProgress, 'projection'>): string {
  const left = secondsLeft === null ? '' : `, ${Math.ceil(secondsLeft)} s left`;
  return `${done} of ${of} records, ${Math.round(rate)}/s${left}`;
}
