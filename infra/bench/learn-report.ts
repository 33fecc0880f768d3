import { plotSvg } from '../../src/cli/plot-svg.ts';
import { table } from '../../src/cli/terminal.ts';
import { BOOTSTRAP_DEFAULTS, bootstrapInterval } from '../../src/domain/evaluation/bootstrap-interval.ts';
import { ESTIMATORS, type Estimator, type Trained, WORLD_NAMES, type World } from './learn-lesson.ts';

/**
 * Writes the table of what was learned, one row for each world and estimator that has a training; it may be a part of what was
 * asked for.
 */
export function reportTrained(learned: readonly Trained[]): string {
  const rows = WORLD_NAMES.flatMap((world) =>
    ESTIMATORS.flatMap((estimator) => {
      const own = learned.filter((each) => each.world === world && each.estimator === estimator);
      if (own.length === 0) return [];
      const last = versionsOf(own, world).at(-1) ?? 0;
      const sum = (field: keyof Trained['ledger']) => own.reduce((total, { ledger }) => total + ledger[field], 0);
      const before = percent(successAt(own, world, estimator, 0));
      const after = percent(successAt(own, world, estimator, last));
      return [[world, estimator, own.length, before, after, last, sum('produced'), sum('trained'), sum('difference')]];
    }),
  );
  const header = ['world', 'estimator', 'seeds', 'success % before', 'success % after'];
  return table([...header, 'updates', 'rollouts', 'trained', 'lost'], rows).join('\n');
}

/** Draws success by version with its intervals, a line for each estimator. */
export function drawTrained(learned: readonly Trained[], world: World): string {
  const versions = versionsOf(learned, world);
  const present = ESTIMATORS.filter((estimator) => learned.some((each) => each.world === world && each.estimator === estimator));
  return plotSvg({
    title: `Success on held-out tasks: ${world}`,
    x: { label: 'updates', ticks: versions },
    y: { label: 'success', from: 0, to: 1 },
    series: present.map((estimator) => ({
      name: estimator,
      points: versions.map((version) => {
        const { mean, interval } = successAt(learned, world, estimator, version);
        return { x: version, y: mean, interval };
      }),
    })),
  });
}

/**
 * What the seeds of a world and estimator had reached at a version. The interval is over seeds: how much another repetition may
 * differ on these tasks.
 */
function successAt(learned: readonly Trained[], world: World, estimator: Estimator, version: number) {
  const rates = learned
    .filter((each) => each.world === world && each.estimator === estimator)
    .flatMap(({ measured }) => measured.filter((at) => at.version === version).map(({ success }) => success));
  const interval = bootstrapInterval(
    rates.map((rate) => [rate]),
    { ...BOOTSTRAP_DEFAULTS, seed: 1 },
  );
  return { mean: rates.reduce((sum, rate) => sum + rate, 0) / rates.length, interval };
}

function versionsOf(learned: readonly Trained[], world: World): readonly number[] {
  return learned.find((each) => each.world === world)?.measured.map(({ version }) => version) ?? [];
}

function percent({ mean, interval: { low, high } }: ReturnType<typeof successAt>): string {
  return `${(100 * mean).toFixed(1)} (${(100 * low).toFixed(1)}–${(100 * high).toFixed(1)})`;
}
