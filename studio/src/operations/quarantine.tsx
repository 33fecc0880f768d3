import { lazy, Suspense, useState } from 'react';
import type { OperationsPageQuery, RequeueMutation } from '../../../graphql/studio/generated/operations.ts';
import { instant, whole } from '../parts/format.ts';
import { loadScript } from '../parts/load.ts';
import { visible } from '../parts/plain-text.tsx';
import { useMoment } from '../shell/moment.ts';

const Form = lazy(() => loadScript(() => import('./requeue-form.tsx')).then(({ RequeueForm }) => ({ default: RequeueForm })));
type Quarantined = OperationsPageQuery['quarantine'];
type Requeue = RequeueMutation['requeue'][number];

/** What no projection could fold, and why; what waits can be requeued, one record or all that are shown. */
export function Quarantine({ of: { nodes, totalCount } }: { readonly of: Quarantined }) {
  const past = useMoment() !== null;
  const [open, setOpen] = useState<readonly string[] | null>(null);
  const [done, setDone] = useState<readonly Requeue[]>([]);
  const waiting = [...new Set(nodes.filter(({ requeuedAt }) => requeuedAt === null).map(placeOf))];
  return (
    <section aria-labelledby="quarantine">
      <h2 id="quarantine">{`Quarantine: ${whole(totalCount)}`}</h2>
      {nodes.length === 0 ? <p className="faint">Every record was folded.</p> : null}
      {waiting.length > 1 && !past ? (
        <p>
          <button type="button" onClick={() => setOpen(waiting)}>{`Requeue the ${waiting.length} that wait here`}</button>
        </p>
      ) : null}
      {nodes.length < totalCount ? (
        <p className="faint">{`The last ${nodes.length} are shown; \`espalier quarantine list\` lists the others.`}</p>
      ) : null}
      <div role="status">
        {done.map(({ projection, place, appended, outcome, reason }) => (
          <p key={`${projection} ${place}`} className={outcome === 'refused' ? 'notice notice-bad' : 'notice'}>
            <b>{projection}</b> {place} {OUTCOMES[outcome]}
            {appended === null ? '' : ` by ${appended}`}
            {reason === null ? '.' : `: ${visible(reason).slice(0, 500)}`}
          </p>
        ))}
      </div>
      <ul className="plain">
        {nodes.map((each) => (
          <li key={`${each.projection} ${placeOf(each)}`} data-item tabIndex={-1} className="notice notice-bad">
            <b>{each.projection}</b> {placeOf(each)} {visible(each.type ?? '')} · {each.code}
            {each.field ? ` · ${visible(each.field)}` : ''} · {instant(each.quarantinedAt)}
            <div className="wrap">{visible(each.reason).slice(0, 500)}</div>
            {each.requeuedAt ? (
              <div className="faint">requeued {instant(each.requeuedAt)}</div>
            ) : past ? null : (
              <button
                type="button"
                className="quiet"
                aria-label={`Requeue ${placeOf(each)}`}
                onClick={() => setOpen([placeOf(each)])}
              >
                Requeue
              </button>
            )}
          </li>
        ))}
      </ul>
      {open === null ? null : (
        <Suspense fallback={null}>
          <Form
            places={open}
            close={() => setOpen(null)}
            done={(requeues) => {
              setDone(requeues);
              setOpen(null);
            }}
          />
        </Suspense>
      )}
    </section>
  );
}

const OUTCOMES = { requeued: 'was requeued', refused: 'stays', pending: 'was requeued, and is not folded yet' } as const;

/** As `requeue` takes it. */
function placeOf({ topic, partition, offset }: Quarantined['nodes'][number]): string {
  return `${topic}.${partition}:${offset}`;
}
