import { Link, useNavigate } from '@tanstack/react-router';
import { discardedSamples, type SampleState } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { decimal } from '../parts/format.ts';
import { Paging, usePages } from '../parts/paging.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Shown } from '../parts/shown.tsx';
import { ABANDONED } from './bias.ts';

const FIRST = 50;

/** The samples that are discarded, each with the rule that rejected it. */
export function DiscardedList({
  policy,
  reason,
  reasons,
}: {
  readonly policy: string;
  readonly reason: string | undefined;
  readonly reasons: readonly string[];
}) {
  const navigate = useNavigate({ from: '/view/discarded' });
  const pages = usePages(JSON.stringify([policy, reason]));
  const abandoned = reason === ABANDONED;
  const state: SampleState = abandoned ? 'abandoned' : 'rejected';
  const variables = { policy, state, first: FIRST, ...(reason === undefined || abandoned ? {} : { reason }), ...pages.variables };
  const answer = useAsk(discardedSamples, variables);
  return (
    <section aria-labelledby="discarded-samples">
      <div className="row">
        <h2 id="discarded-samples">Samples</h2>
        <label className="faint">
          discarded as{' '}
          <select
            value={reason ?? ''}
            onChange={(event) =>
              void navigate({ search: (all) => ({ ...all, reason: event.target.value || undefined }), replace: true })
            }
          >
            <option value="">rejected by any rule</option>
            {reasons.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
      </div>
      <Shown of={answer}>
        {({ samples }) =>
          samples.nodes.length === 0 ? (
            <p className="empty">No sample is discarded.</p>
          ) : (
            <>
              <div className="scroll-x" role="region" aria-label="Discarded samples" tabIndex={0}>
                <table className="rows">
                  <thead>
                    <tr>
                      <th scope="col">task</th>
                      <th scope="col">rollout</th>
                      <th scope="col" className="number">
                        return
                      </th>
                      <th scope="col" className="number">
                        actions
                      </th>
                      <th scope="col" className="number">
                        version
                      </th>
                      <th scope="col">discarded</th>
                    </tr>
                  </thead>
                  <tbody>
                    {samples.nodes.map(({ rollout, tree, reason, rule, measured, oldestVersion, batch }, at) => (
                      <tr key={rollout?.id ?? at}>
                        <td className="said-long">
                          {tree ? (
                            <Link to="/view/group/$id" params={{ id: tree.id }}>
                              <bdi>{visible(tree.task.goal || tree.task.alias).slice(0, 80)}</bdi>
                            </Link>
                          ) : null}
                        </td>
                        <td>
                          {rollout ? (
                            <Link data-item to="/view/trajectory/$id" params={{ id: rollout.id }}>
                              {`rollout ${rollout.ordinal}`}
                            </Link>
                          ) : (
                            '–'
                          )}
                        </td>
                        <td className="number">{decimal(rollout?.return)}</td>
                        <td className="number">{rollout?.stepCount ?? '–'}</td>
                        <td className="number">{oldestVersion ?? '–'}</td>
                        <td className="said-long">
                          {visible(reason ?? (batch ? `abandoned with batch ${batch.ordinal}` : ''))}
                          <div className="faint">
                            {visible(rule ?? batch?.abandonment?.reason ?? '').slice(0, 200)}
                            {measured === null ? '' : `; measured ${decimal(measured)}`}
                          </div>
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
              <Paging pages={pages} info={samples.pageInfo} of="samples" />
            </>
          )
        }
      </Shown>
    </section>
  );
}
