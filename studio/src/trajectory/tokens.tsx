import { stepTokens } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { colourOf } from '../parts/colour.ts';
import { decimal } from '../parts/format.ts';
import { Shown } from '../parts/shown.tsx';
import { unpack } from '../parts/unpack.ts';

const SHOWN = 2_000;
const RARE = -5; // log-prob at which a token has the full colour of what was unlikely

/** The sampled tokens of a step: id, log-probability, whether it is trained, advantage. */
export function Tokens({ step: id }: { readonly step: string }) {
  const answer = useAsk(stepTokens, { id });
  return (
    <Shown of={answer}>
      {({ step }) => {
        if (!step?.tokens) return <p className="faint">No tokens are recorded.</p>;
        const ids = unpack(step.tokens.ids);
        const logProbs = step.tokens.logProbs ? unpack(step.tokens.logProbs) : null;
        const mask = step.tokens.mask ? unpack(step.tokens.mask) : null;
        const { estimate, policySpans } = step;
        return (
          <>
            <p className="faint">
              {policySpans.map(({ from, to, policyId, version }) => `${from}–${to} by ${policyId}@${version}`).join(', ')}
              {estimate?.advantage === null || estimate === null ? '' : ` · advantage ${decimal(estimate.advantage)}`}
            </p>
            <ol className="tokens">
              {[...ids.slice(0, SHOWN)].map((token, at) => {
                const logProb = logProbs?.[at];
                const trained = mask === null || mask[at] === 1;
                const advantage = estimate?.tokenAdvantages?.[at] ?? estimate?.advantage ?? null;
                const title = [
                  `token ${token}`,
                  logProb === undefined ? 'no log-prob' : `log-prob ${logProb.toFixed(3)} (p ${Math.exp(logProb).toFixed(3)})`,
                  trained ? 'sampled by the policy' : 'given, not trained',
                  advantage === null ? '' : `advantage ${decimal(advantage)}`,
                ]
                  .filter(Boolean)
                  .join(', ');
                return (
                  <li
                    // biome-ignore lint/suspicious/noArrayIndexKey: tokens are their places
                    key={at}
                    title={title}
                    className={trained ? '' : 'token-given'}
                    style={logProb === undefined ? {} : { borderBottomColor: colourOf(logProb, RARE, 0) }}
                  >
                    {token}
                  </li>
                );
              })}
            </ol>
            {ids.length > SHOWN ? <p className="faint">{`the first ${SHOWN} of ${ids.length}`}</p> : null}
          </>
        );
      }}
    </Shown>
  );
}
