import { runComponents } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { Facts } from '../parts/facts.tsx';
import { decimal, duration, percent, whole } from '../parts/format.ts';
import { visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';
import { Table } from '../parts/table.tsx';

/** What the steps and rewards of a run add up to. */
export function Sums({ run }: { readonly run: string }) {
  const answer = useAsk(runComponents, { ids: [run] });
  return (
    <section className="panel">
      <h2>Rewards and steps</h2>
      <Query of={answer}>
        {({ aggregate: [sums] }) =>
          sums ? (
            <>
              {sums.components.length === 0 ? (
                <p className="faint">No reward is assigned.</p>
              ) : (
                <Table
                  label="Rewards"
                  rows={sums.components}
                  keyOf={({ component }) => component}
                  columns={[
                    ['component', ({ component }) => visible(component)],
                    ['rewards', ({ rewards }) => whole(rewards), 'number'],
                    ['mean', ({ mean }) => decimal(mean), 'number'],
                    ['lowest', ({ min }) => decimal(min), 'number'],
                    ['highest', ({ max }) => decimal(max), 'number'],
                  ]}
                />
              )}
              <Facts
                of={[
                  ['well formatted', percent(sums.steps.steps === 0 ? null : sums.steps.wellFormatted / sums.steps.steps)],
                  ['executable', percent(sums.steps.steps === 0 ? null : sums.steps.executable / sums.steps.steps)],
                  ['tokens read, written', `${whole(sums.steps.promptTokens)}, ${whole(sums.steps.completionTokens)}`],
                  [
                    'waited for policy, environment',
                    <>
                      {`${duration(sums.steps.policyMs)}, ${duration(sums.steps.environmentMs)}`}
                      <div className="faint">added up over rollouts, which run at once</div>
                    </>,
                  ],
                  ['tool calls, failed', `${whole(sums.tools.calls)}, ${whole(sums.tools.errors)}`],
                ]}
              />
            </>
          ) : (
            <p className="faint">Nothing to sum up yet.</p>
          )
        }
      </Query>
    </section>
  );
}
