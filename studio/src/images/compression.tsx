import { useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { CompressionOfVersionFragment } from '../../../graphql/studio/generated/operations.ts';
import { Chart } from '../parts/chart.tsx';
import { decimal, percent, whole } from '../parts/format.ts';
import { visible } from '../parts/plain-text.tsx';
import type { Point } from '../parts/point.ts';
import { Table } from '../parts/table.tsx';

/** What is drawn by version: a name, and what a version's images amount to; null is left out. */
const CURVES: readonly (readonly [string, (of: CompressionOfVersionFragment) => number | null])[] = [
  ['mean compression factor', ({ images }) => images.meanFactor],
  ['tokens of an image', ({ images }) => images.visionTokens / images.steps],
  [
    'share of the tokens of the text that is saved',
    ({ images }) => (images.textTokens > 0 ? images.saved / images.textTokens : null),
  ],
  ['success', ({ rollouts }) => rollouts.successRate],
];

/** How compression changed over training: by version of the policy, with the success of the same version below it. */
export function Compression({
  versions,
  run,
}: {
  readonly versions: readonly CompressionOfVersionFragment[];
  readonly run?: string;
}) {
  const navigate = useNavigate();
  const shown = useMemo(() => versions.filter(({ policy, images }) => policy !== null && images.steps > 0), [versions]);
  const curves = useMemo(() => CURVES.map(([name, of]) => [name, pointsOf(shown, name, of)] as const), [shown]);
  if (shown.length === 0) return null;
  return (
    <section className="compression" aria-labelledby="compression">
      <h2 id="compression">Compression over training</h2>
      {shown.length === 1 ? (
        <p className="faint">One version of a policy was shown images here: with more of them, curves show how it changed.</p>
      ) : (
        <div className="columns">
          {curves.map(([name, points]) =>
            points.length === 0 ? null : (
              <section key={name} className="panel">
                <h3>{name}</h3>
                <Chart
                  points={points}
                  label={`${name} by version`}
                  choose={({ x, series }) =>
                    void navigate({
                      to: '/view/find',
                      search: { policy: series, version: String(x), ...(run === undefined ? {} : { run }) },
                    })
                  }
                />
              </section>
            ),
          )}
        </div>
      )}
      <details open={shown.length === 1}>
        <summary>As a table</summary>
        <Table
          label="Compression by version"
          rows={shown}
          keyOf={({ key }) => key}
          columns={[
            ['version', ({ policy }) => <bdi>{`${visible(policy?.id ?? '')}@${policy?.version}`}</bdi>],
            ['images', ({ images }) => whole(images.steps), 'number'],
            ['mean factor', ({ images }) => decimal(images.meanFactor), 'number'],
            ['tokens as images', ({ images }) => whole(images.visionTokens), 'number'],
            ['tokens as text', ({ images }) => whole(images.textTokens), 'number'],
            ['saved', ({ images }) => (images.textTokens > 0 ? percent(images.saved / images.textTokens) : '–'), 'number'],
            ['success', ({ rollouts }) => percent(rollouts.successRate), 'number'],
          ]}
        />
      </details>
    </section>
  );
}

function pointsOf(
  versions: readonly CompressionOfVersionFragment[],
  name: string,
  of: (version: CompressionOfVersionFragment) => number | null,
): readonly Point[] {
  return versions.flatMap((each) => {
    const y = of(each);
    if (y === null || each.policy === null) return [];
    const { id: series, version: x } = each.policy;
    return [{ series, x, y, title: `${series}, version ${x}: ${name} ${decimal(y)}` }];
  });
}
