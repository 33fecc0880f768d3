import { percent, wilson } from './format.ts';

interface ShareProps {
  readonly successes: number;
  readonly of: number;
  readonly interval?: boolean;
}

/** Shows a share as a bar with its Wilson interval at 95 %, with `interval` that in numbers in place of the share. */
export function Share({ successes, of, interval = false }: ShareProps) {
  const bounds = wilson(successes, of);
  if (bounds === null) return <span className="faint">–</span>;
  const share = successes / of;
  const [low, high] = bounds;
  const label = `${percent(share)} of ${of}, 95 % interval ${percent(low)} to ${percent(high)}`;
  return (
    <span className="share" title={label}>
      <svg viewBox="0 0 100 12" preserveAspectRatio="none" role="img" aria-label={label}>
        <rect width="100" height="12" className="share-ground" />
        <rect width={100 * share} height="12" className="share-bar" />
        <rect x={100 * low} y="5" width={Math.max(0.5, 100 * (high - low))} height="2" className="share-interval" />
      </svg>
      <span>{interval ? `95 %: ${percent(low)} to ${percent(high)}` : percent(share)}</span>
    </span>
  );
}
