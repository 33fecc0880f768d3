import { runComponents } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { decimal, duration, percent, whole } from '../parts/format.ts';
import { visible } from '../parts/plain-text.tsx';
import { Shown } from '../parts/shown.tsx';

/** What the steps and rewards of a run add up to. */
export function Sums({ run }: { readonly run: string }) {
  const answer = useAsk(runComponents, { ids: [run] });
  return (
    <section className="panel">
      <h2>Rewards and steps</h2>
      <Shown of={answer}>
        {({ aggregate: [sums] }) =>
          sums ? (
            <>
              {sums.components.length === 0 ? (
                <p className="faint">No reward is assigned.</p>
              ) : (
                <div className="scroll-x" role="region" aria-label="Rewards" tabIndex={0}>
                  <table className="rows">
                    <thead>
                      <tr>
                        <th scope="col">component</th>
                        <th scope="col" className="number">
                          rewards
                        </th>
                        <th scope="col" className="number">
                          mean
                        </th>
                        <th scope="col" className="number">
                          lowest
                        </th>
                        <th scope="col" className="number">
                          highest
                        </th>
                      </tr>
                    </thead>
                    <tbody>
                      {sums.components.map((row) => (
                        <tr key={row.component}>
                          <td>{visible(row.component)}</td>
                          <td className="number">{whole(row.rewards)}</td>
                          <td className="number">{decimal(row.mean)}</td>
                          <td className="number">{decimal(row.min)}</td>
                          <td className="number">{decimal(row.max)}</td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </div>
              )}
              <dl className="facts">
                <dt>well formatted</dt>
                <dd>{percent(sums.steps.steps === 0 ? null : sums.steps.wellFormatted / sums.steps.steps)}</dd>
                <dt>executable</dt>
                <dd>{percent(sums.steps.steps === 0 ? null : sums.steps.executable / sums.steps.steps)}</dd>
                <dt>tokens read, written</dt>
                <dd>{`${whole(sums.steps.promptTokens)}, ${whole(sums.steps.completionTokens)}`}</dd>
                <dt>waited for policy, environment</dt>
                <dd>
                  {`${duration(sums.steps.policyMs)}, ${duration(sums.steps.environmentMs)}`}
                  <div className="faint">added up over rollouts, which run at once</div>
                </dd>
                <dt>tool calls, failed</dt>
                <dd>{`${whole(sums.tools.calls)}, ${whole(sums.tools.errors)}`}</dd>
              </dl>
            </>
          ) : (
            <p className="faint">Nothing to sum up yet.</p>
          )
        }
      </Shown>
    </section>
  );
}
