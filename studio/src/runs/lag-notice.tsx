import { behindTheLog } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { count } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { visible } from '../parts/plain-text.tsx';
import { useMoment } from '../shell/moment.ts';

/** How far what is shown is behind the log, by the projection that is furthest behind. */
export function LagNotice() {
  const now = useMoment() === null;
  const answer = useAsk(behindTheLog, {}, { enabled: now });
  if (!now || !answer.data) return null;
  const stopped = answer.data.lag.filter(({ state }) => state === 'stopped');
  const [furthest] = answer.data.lag.toSorted((a, b) => b.lag - a.lag);
  const text =
    stopped.length > 0
      ? `stopped: ${stopped.map(({ projection }) => visible(projection)).join(', ')}`
      : furthest && furthest.lag > 0
        ? `${count(furthest.lag, 'event')} behind the log (${visible(furthest.projection)})`
        : 'no lag';
  return (
    <Link to="/view/operations" className={stopped.length > 0 ? 'reason' : 'faint'}>
      {text}
    </Link>
  );
}
