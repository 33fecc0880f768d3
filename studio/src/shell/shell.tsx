import { useQueryClient } from '@tanstack/react-query';
import { Outlet, useNavigate } from '@tanstack/react-router';
import { Popover } from 'radix-ui';
import { type FormEvent, useEffect, useRef, useState } from 'react';
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
import { chosenTheme, nextTheme } from './theme.ts';
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

/** Chooses the moment that the whole page shows: now, an instant, or a position of the log. */
function MomentPicker({ position }: { readonly position: string | undefined }) {
  const at = useMoment();
  const navigate = useNavigate();
  const [open, setOpen] = useState(false);
  const [instant, setInstant] = useState('');
  const [offsets, setOffsets] = useState(at ?? '');
  const choose = (moment: string | undefined) => {
    setOpen(false);
    void navigate({ to: '.', search: (all: object) => ({ ...all, at: moment }) } as never);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    choose(instant === '' ? offsets.trim() : new Date(instant).toISOString());
  };
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger className="quiet">{at === null ? 'now' : 'as of …'}</Popover.Trigger>
      <Popover.Portal>
        <Popover.Content className="panel popover" align="end" aria-label="The moment that is shown">
          <form onSubmit={submit}>
            <label htmlFor="instant">Time</label>
            <input
              id="instant"
              type="datetime-local"
              step="1"
              value={instant}
              onChange={(event) => setInstant(event.target.value)}
            />
            <label htmlFor="offsets">or position</label>
            <input
              id="offsets"
              value={offsets}
              placeholder={position?.slice(0, 40) ?? 'runs.0:3,trees.2:41'}
              onChange={(event) => setOffsets(event.target.value)}
            />
            <div className="row">
              <button type="submit" disabled={instant === '' && offsets.trim() === ''}>
                Show
              </button>
              <button type="button" onClick={() => choose(undefined)}>
                Now
              </button>
            </div>
          </form>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

const AGAIN_MS = 2_000;

/**
 * Asks once more for all that is shown when the read models have caught up with the log: what was answered before may lack events
 * that were recorded already, and no later event need come.
 * @param behind how many records the read models are behind; @param asked when that was answered.
 */
function useCaughtUp(behind: number, asked: number): void {
  const queries = useQueryClient();
  const before = useRef(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: every answer, the same one too, is looked at
  useEffect(() => {
    const was = before.current;
    before.current = behind;
    if (behind > 0) {
      const timer = setTimeout(() => void queries.invalidateQueries({ queryKey: [state.name] }), AGAIN_MS);
      return () => clearTimeout(timer);
    }
    if (was > 0) void queries.invalidateQueries(undefined, { cancelRefetch: false });
    return undefined;
  }, [behind, asked, queries]);
}
