import { Outlet } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { state } from '../../../graphql/studio/generated/operations.ts';
import { Annotator } from '../annotations/annotator.tsx';
import { NotLetIn } from '../graphql/faults.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { useServerAway } from '../graphql/use-server-away.ts';
import { Failure } from '../parts/failure.tsx';
import { whole } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { MissingNotice } from '../parts/missing-notice.tsx';
import { Keys } from './keys.tsx';
import { useMoment } from './moment.ts';
import { MomentPicker } from './moment-picker.tsx';
import { chosenTheme, nextTheme } from './theme.ts';
import { useCaughtUp } from './use-caught-up.ts';
import { useLive } from './use-live.ts';

const PLACES = [
  { to: '/', name: 'Runs' },
  { to: '/view/training', name: 'Training' },
  { to: '/view/data', name: 'Data' },
  { to: '/view/find', name: 'Find' },
  { to: '/view/review', name: 'Review' },
  { to: '/view/operations', name: 'Operations' },
] as const;

/** The frame of every view: where to go, which moment is shown, whether it is live. */
export function Shell() {
  const at = useMoment();
  const away = useServerAway();
  const following = useLive(at === null);
  const live = away && following === 'live' ? 'waiting' : following;
  const answer = useAsk(state, {});
  const main = useRef<HTMLElement>(null);
  useEffect(() => {
    document.documentElement.dataset.moment = at === null ? 'now' : 'past';
  }, [at]);
  const behind = (answer.data?.lag ?? []).reduce((most, { lag }) => Math.max(most, lag), 0);
  useCaughtUp(at === null ? behind : 0, answer.dataUpdatedAt);
  return (
    <>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="bar">
        <Link to="/" className="brand">
          Espalier
        </Link>
        <nav aria-label="Views">
          {PLACES.map(({ to, name }) => (
            <Link
              key={to}
              to={to}
              activeProps={{ 'aria-current': 'page' }}
              activeOptions={{ exact: to === '/', includeSearch: false }}
            >
              {name}
            </Link>
          ))}
          <a href="/graphql">GraphQL</a>
        </nav>
        <div className="bar-end">
          <MomentPicker position={answer.data?.position} />
          <span className={`live live-${live}`} role="status">
            {LIVE[live]}
            {behind > 0 ? ` · ${whole(behind)} behind` : ''}
          </span>
          <ThemeButton />
        </div>
      </header>
      {at === null ? null : (
        <p className="past" role="status">
          Everything is shown as of <code>{at}</code>.{' '}
          <Link to="." search={(all: object) => ({ ...all, at: undefined })}>
            Show now
          </Link>
        </p>
      )}
      <main id="main" ref={main} tabIndex={-1}>
        {away ? (
          <div className="notice notice-bad" role="alert">
            <strong>The server does not answer.</strong> It is asked again by itself; what is shown may be old.
          </div>
        ) : null}
        {answer.error ? <Failure error={answer.error} /> : null}
        <MissingNotice />
        {answer.error instanceof NotLetIn ? null : <Outlet />}
      </main>
      <Keys />
      <Annotator />
    </>
  );
}

const LIVE = { live: 'live', waiting: 'connecting', past: 'past' } as const;

export function ThemeButton() {
  const [theme, setTheme] = useState(chosenTheme);
  return (
    <button type="button" className="quiet" onClick={() => setTheme(nextTheme())}>
      {`${theme} colours`}
    </button>
  );
}
