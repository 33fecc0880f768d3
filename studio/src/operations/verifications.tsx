import {
  type VerificationsQuery,
  verifications as verificationsOperation,
} from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { duration, instant, whole } from '../parts/format.ts';
import { Paging, usePages } from '../parts/paging.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';

type Verification = VerificationsQuery['verifications']['nodes'][number];
const FIRST = 10;

/** Whether the record was what was written, each time that it was verified, and the report of each. */
export function Verifications() {
  const pages = usePages('verifications');
  const answer = useAsk(verificationsOperation, { first: FIRST, ...pages.variables });
  return (
    <section aria-labelledby="verifications">
      <h2 id="verifications">Verifications{answer.data ? `: ${whole(answer.data.verifications.totalCount)}` : ''}</h2>
      <Query of={answer}>
        {({ verifications: { nodes, pageInfo } }) =>
          nodes.length === 0 ? (
            <p className="faint">
              The record was not verified yet, or not for you to see: <code>espalier verify</code> does.
            </p>
          ) : (
            <>
              <ul className="plain">
                {nodes.map((each) => (
                  <Report key={each.id} of={each} />
                ))}
              </ul>
              <Paging pages={pages} info={pageInfo} of="verifications" />
            </>
          )
        }
      </Query>
    </section>
  );
}

function Report({ of: { intact, faulty, faults, doubtful, foreign, counts, ...of } }: { readonly of: Verification }) {
  const compared = Object.entries(counts).flatMap(([name, count]) =>
    typeof count === 'number' && count > 0 ? [`${whole(count)} ${NAMES[name as keyof typeof NAMES] ?? name}`] : [],
  );
  return (
    <li data-item tabIndex={-1} className={`notice wrap ${intact ? '' : 'notice-bad'}`}>
      <span className={`state ${intact ? 'state-completed' : 'state-failed'}`}>
        {intact ? 'intact' : `${whole(faulty)} ${faulty === 1 ? 'fault' : 'faults'}`}
      </span>{' '}
      {instant(of.finishedAt)}
      <details open={!intact}>
        <summary>Report of the verification</summary>
        <p className="faint">{`By ${visible(of.codeVersion)}, in ${duration(of.seconds * 1_000)}: ${compared.join(', ')}.`}</p>
        {doubtful > 0 ? <p>{`${whole(doubtful)} revisions do not hold by the record; exports leave them out.`}</p> : null}
        {foreign > 0 ? <p>{`${whole(foreign)} event ids are held by several streams.`}</p> : null}
        {faults.length === 0 ? null : (
          <ul>
            {faults.map(({ what, kind, place }) => (
              <li key={`${what} ${kind} ${place}`}>
                <b>{`${what} ${kind}`}</b>: {visible(place).slice(0, 500)}
              </li>
            ))}
          </ul>
        )}
        {faulty > faults.length ? <p className="faint">{`The first ${faults.length} of ${whole(faulty)} are kept.`}</p> : null}
      </details>
    </li>
  );
}

const NAMES = {
  events: 'events',
  records: 'records of the log',
  blobs: 'blobs',
  batches: 'batches',
  checkpoints: 'checkpoints',
  files: 'files',
  prompts: 'prompts',
  anchored: 'heads of chains anchored',
} as const;
