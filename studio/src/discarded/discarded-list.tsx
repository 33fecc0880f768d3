import { useNavigate } from '@tanstack/react-router';
import { discardedSamples, type SampleState } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { Choose } from '../parts/choose.tsx';
import { decimal } from '../parts/format.ts';
import { GroupLink, RolloutLink } from '../parts/links.tsx';
import { Paging, usePages } from '../parts/paging.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';
import { Table } from '../parts/table.tsx';
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
        <Choose
          className="faint"
          label="discarded as"
          value={reason}
          options={[['', 'rejected by any rule'], ...reasons]}
          set={(value) => void navigate({ search: (all) => ({ ...all, reason: value || undefined }), replace: true })}
        />
      </div>
      <Query of={answer}>
        {({ samples }) =>
          samples.nodes.length === 0 ? (
            <p className="empty">No sample is discarded.</p>
          ) : (
            <>
              <Table
                label="Discarded samples"
                rows={samples.nodes}
                keyOf={({ rollout }, at) => (rollout ? `${rollout.treeId} ${rollout.id}` : at)}
                columns={[
                  ['task', ({ tree }) => <GroupLink tree={tree} />, 'said-long'],
                  ['rollout', ({ rollout }) => <RolloutLink rollout={rollout} item />],
                  ['return', ({ rollout }) => decimal(rollout?.return), 'number'],
                  ['actions', ({ rollout }) => rollout?.stepCount ?? '–', 'number'],
                  ['version', ({ oldestVersion }) => oldestVersion ?? '–', 'number'],
                  [
                    'discarded',
                    ({ reason, rule, measured, batch }) => (
                      <>
                        {visible(reason ?? (batch ? `abandoned with batch ${batch.ordinal}` : ''))}
                        <div className="faint">
                          {visible(rule ?? batch?.abandonment?.reason ?? '').slice(0, 200)}
                          {measured === null ? '' : `; measured ${decimal(measured)}`}
                        </div>
                      </>
                    ),
                    'said-long',
                  ],
                ]}
              />
              <Paging pages={pages} info={samples.pageInfo} of="samples" />
            </>
          )
        }
      </Query>
    </section>
  );
}
