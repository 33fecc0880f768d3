import { type ReplaysQuery, replays as replaysOperation } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { duration, instant, whole } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { RunLink } from '../parts/links.tsx';
import { Paging, usePages } from '../parts/paging.tsx';
import { PlainText, visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';
import { Table } from '../parts/table.tsx';

type Replay = ReplaysQuery['replays']['nodes'][number];
const FIRST = 20;

/** What was done over from the record, and the report of each: what differs, by event, step and field. */
export function Replays() {
  const pages = usePages('replays');
  const answer = useAsk(replaysOperation, { first: FIRST, ...pages.variables });
  return (
    <section aria-labelledby="replays">
      <h2 id="replays">Replays{answer.data ? `: ${whole(answer.data.replays.totalCount)}` : ''}</h2>
      <Query of={answer}>
        {({ replays: { nodes, pageInfo } }) =>
          nodes.length === 0 ? (
            <p className="faint">
              Nothing was done over from the record yet: <code>espalier replay</code> does.
            </p>
          ) : (
            <>
              <ul className="plain">
                {nodes.map((replay) => (
                  <Report key={replay.id} replay={replay} />
                ))}
              </ul>
              <Paging pages={pages} info={pageInfo} of="replays" />
            </>
          )
        }
      </Query>
    </section>
  );
}

function Report({ replay }: { readonly replay: Replay }) {
  const { run, runId, mode, outcome, compared, differing, differences, notes } = replay;
  return (
    <li data-item tabIndex={-1} className="notice wrap">
      <span className={`state ${outcome === 'equal' ? 'state-completed' : 'state-failed'}`}>{outcome}</span> <b>{mode}</b> of{' '}
      <RunLink run={run ?? { id: runId, name: runId }} />
      {` · ${whole(compared)} compared, ${whole(differing)} differ · ${instant(replay.finishedAt)}`}
      <details>
        <summary>{`Report of the replay${differences.length > 0 ? `, with ${differences.length} of what differs` : ''}`}</summary>
        <p className="faint">{`By ${visible(replay.codeVersion)}, in ${duration(replay.seconds * 1_000)}.`}</p>
        {notes.map((note) => (
          <p key={note}>{visible(note).slice(0, 2_000)}</p>
        ))}
        <PlainText text={JSON.stringify(replay.parameters, null, 2)} />
        {differences.length === 0 ? (
          <p className="faint">All that was compared is the same.</p>
        ) : (
          <Table
            label="What differs"
            rows={differences}
            keyOf={({ eventId, stepId, field }) => `${eventId} ${stepId} ${field}`}
            columns={[
              ['field', ({ field }) => visible(field)],
              ['recorded', ({ recorded }) => visible(recorded).slice(0, 500)],
              ['replayed', ({ replayed }) => visible(replayed).slice(0, 500)],
              [
                'of',
                ({ eventId, stepId }) => (
                  <>
                    {eventId === null ? null : (
                      <Link to="/view/lineage/$id" params={{ id: eventId }}>
                        event {eventId.slice(0, 8)}
                      </Link>
                    )}{' '}
                    {stepId === null ? null : <code>step {stepId.slice(0, 8)}</code>}
                  </>
                ),
              ],
            ]}
          />
        )}
      </details>
    </li>
  );
}
