import { useState } from 'react';
import { type StepReadAgainQuery, stepReadAgain, stepTokens } from '../../../graphql/studio/generated/operations.ts';
import { useMissing } from '../graphql/missing.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { isPage } from '../page/stored-page.ts';
import { colourOf, scaleOf } from '../parts/colour.ts';
import { decimal, whole } from '../parts/format.ts';
import { useTree } from '../parts/of-tree.tsx';
import { showWhitespace, visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';
import { Table } from '../parts/table.tsx';
import { type TokenRow, tokenRows } from './token-rows.ts';

const SHOWN = 2_000;
const ROWS = 200; // of the table
const RARE = -5; // log-prob at which a token has the full colour of what was unlikely

/** The figures of a token, by the names that are shown. */
const FIGURES = {
  'log-prob': ({ logProb }: TokenRow) => logProb,
  entropy: ({ entropy }: TokenRow) => entropy,
  advantage: ({ advantage }: TokenRow) => advantage,
  'new log-prob': ({ newLogProb }: TokenRow) => newLogProb,
  change: ({ change }: TokenRow) => change,
};
type Colouring = keyof typeof FIGURES;
const COLOURINGS = Object.keys(FIGURES) as readonly Colouring[]; // its own keys

/** The sampled tokens of a step: their texts in the colour of a figure, and all figures of each in a table. */
export function Tokens({ step: id }: { readonly step: string }) {
  const named = { id, tree: useTree() };
  const answer = useAsk(stepTokens, named);
  const again = useAsk(stepReadAgain, named, { enabled: !isPage() }).data?.step?.estimate?.readAgain ?? null;
  const unread = useMissing().find(({ field }) => field === 'step.tokenTexts');
  const [colouring, setColouring] = useState<Colouring>('log-prob');
  return (
    <Query of={answer}>
      {({ step }) => {
        if (!step?.tokens) return <p className="faint">No tokens are recorded.</p>;
        const recorded = tokenRows(step);
        const rows = tokenRows(step, again);
        const { estimate, policySpans } = step;
        const among = (rows: readonly TokenRow[]) =>
          new Set(COLOURINGS.filter((name) => rows.some((row) => FIGURES[name](row) !== null)));
        const [known, onRecord] = [among(rows), among(recorded)];
        return (
          <>
            <p className="faint">
              {policySpans
                .map(({ from, to, policyId, version }) => `${from}–${to} by ${visible(policyId)}@${version}`)
                .join(', ')}
              {estimate?.advantage == null ? '' : ` · advantage ${decimal(estimate.advantage)}`}
              {' · coloured by '}
              <select
                aria-label="coloured by"
                value={colouring}
                onChange={(event) => setColouring(event.target.value as Colouring)}
              >
                {COLOURINGS.map((name) => (
                  <option key={name} value={name} disabled={!known.has(name)}>
                    {onRecord.has(name) ? name : `${name} (${known.has(name) ? 'computed again' : 'not recorded'})`}
                  </option>
                ))}
              </select>
            </p>
            {step.tokenTexts !== null ? null : unread ? (
              <p className="notice notice-bad">
                {`The texts of these tokens could not be read: ${visible(unread.message)}. Ids and figures are as recorded.`}
              </p>
            ) : (
              <p className="notice">
                The texts of these tokens are not known: their ids alone are recorded. A producer records them as{' '}
                <code>ends</code> (<code>token_texts</code> of Python&rsquo;s <code>step</code>), or the server is started with{' '}
                <code>ESPALIER_TOKENIZERS=POLICY=FOLDER</code>.
              </p>
            )}
            <Flow rows={rows} colouring={colouring} />
            {rows.length > SHOWN ? <p className="faint">{`the first ${whole(SHOWN)} of ${whole(rows.length)}`}</p> : null}
            <ReadAgain step={id} recorded={recorded} />
            <details>
              <summary>Each token</summary>
              <EachToken rows={rows} known={known} />
            </details>
          </>
        );
      }}
    </Query>
  );
}

function Flow({ rows, colouring }: { readonly rows: readonly TokenRow[]; readonly colouring: Colouring }) {
  const shown = rows.slice(0, SHOWN);
  const colour = painter(shown, colouring);
  return (
    <ol className="tokens">
      {shown.map((row) => (
        <li
          key={row.place}
          title={said(row)}
          className={row.trained ? '' : 'token-given'}
          style={colour(row) === null ? {} : { borderBottomColor: colour(row) ?? '' }}
        >
          {row.text === null ? row.id : <bdi>{showWhitespace(row.text)}</bdi>}
        </li>
      ))}
    </ol>
  );
}

/** What of a token is drawn: rare is full of one colour, certain of the other. */
function painter(rows: readonly TokenRow[], colouring: Colouring): (row: TokenRow) => string | null {
  const figure = FIGURES[colouring];
  const coloured = (low: number, high: number, sign = 1) => {
    return (row: TokenRow) => {
      const value = figure(row);
      return value === null ? null : colourOf(sign * value, low, high);
    };
  };
  if (colouring === 'log-prob' || colouring === 'new log-prob') return coloured(RARE, 0);
  if (colouring === 'entropy') return coloured(-rows.reduce((high, { entropy }) => Math.max(high, entropy ?? 0), 0), 0, -1);
  return coloured(...scaleOf(rows.flatMap((row) => figure(row) ?? [])));
}

function said({ id, text, logProb, entropy, trained, advantage, newLogProb }: TokenRow): string {
  return [
    `token ${id}`,
    text === null ? '' : JSON.stringify(visible(text)),
    logProb === null ? 'no log-prob' : `log-prob ${logProb.toFixed(3)} (p ${Math.exp(logProb).toFixed(3)})`,
    entropy === null ? '' : `entropy ${decimal(entropy)}`,
    trained ? 'sampled by the policy' : 'given, not trained',
    advantage === null ? '' : `advantage ${decimal(advantage)}`,
    newLogProb === null ? '' : `log-prob after training ${newLogProb.toFixed(3)}`,
  ]
    .filter(Boolean)
    .join(', ');
}

function EachToken({ rows, known }: { readonly rows: readonly TokenRow[]; readonly known: ReadonlySet<Colouring> }) {
  const [until, setUntil] = useState(ROWS);
  return (
    <>
      <Table
        label="Each token"
        tall
        rows={rows.slice(0, until)}
        keyOf={({ place }) => place}
        columns={[
          ['place', ({ place }) => place, 'number'],
          ['id', ({ id }) => id, 'number'],
          ['text', ({ text }) => (text === null ? <span className="faint">not known</span> : <bdi>{showWhitespace(text)}</bdi>)],
          ...[...known].map((name) => [name, (row: TokenRow) => decimal(FIGURES[name](row)), 'number'] as const),
          ['mask', ({ trained }) => (trained ? 'trained' : <span className="faint">masked</span>)],
        ]}
      />
      {rows.length > until ? (
        <button type="button" className="more" onClick={() => setUntil(until * 4)}>
          {`show more (${whole(rows.length - until)} tokens)`}
        </button>
      ) : null}
    </>
  );
}

type Estimate = NonNullable<NonNullable<StepReadAgainQuery['step']>['estimate']>;
type Reading = NonNullable<NonNullable<Estimate['readAgain']>['before']>;
type Read = Pick<Reading, 'logProb'> & { readonly entropy: number | null };

/** Old against new: what the versions before and after training give to what the step sampled. */
function ReadAgain({ step, recorded }: { readonly step: string; readonly recorded: readonly TokenRow[] }) {
  const answer = useAsk(stepReadAgain, { id: step, tree: useTree() }, { enabled: !isPage() });
  if (isPage()) return null;
  return (
    <Query of={answer}>
      {({ step }) => {
        const batch = step?.rollout?.sample?.batch;
        if (!batch) return null; // it trains no policy, or no batch yet
        const again = step.estimate?.readAgain;
        const sampled = sumOf(recorded, ({ logProb }) => logProb);
        const resulted = sumOf(recorded, ({ newLogProb }) => newLogProb);
        if (!again && !resulted)
          return (
            <p className="faint">
              {batch.update
                ? 'What the new version gives to these tokens is not recorded: its trainer sent no log-probs (logprobs of batch.ack).'
                : 'No version resulted yet that could be compared.'}
            </p>
          );
        const before = again ? again.before : sampled;
        const after = again ? again.after : resulted;
        const rows = [
          { name: 'recorded when it was sampled', reading: sampled },
          ...(again ? [{ name: `version ${batch.base.version}, trained on it`, reading: again.before }] : []),
          { name: batch.update ? `version ${batch.update.version}, that resulted` : 'no version resulted yet', reading: after },
        ];
        return (
          <>
            <Table
              label="Old against new"
              rows={rows}
              keyOf={({ name }) => name}
              columns={[
                ['old against new', ({ name }) => name, 'name'],
                ['log-prob', ({ reading }) => decimal(reading?.logProb), 'number'],
                ['probability', ({ reading }) => (reading ? decimal(Math.exp(reading.logProb)) : '–'), 'number'],
                ['entropy', ({ reading }) => decimal(reading?.entropy), 'number'],
              ]}
            />
            <p className="faint">{changed(before, after)}</p>
          </>
        );
      }}
    </Query>
  );
}

/** The sum over the sampled tokens; null where none is known of them. */
function sumOf(rows: readonly TokenRow[], of: (row: TokenRow) => number | null): Read | null {
  const known = rows.flatMap((row) => (row.trained ? (of(row) ?? []) : []));
  return known.length === 0 ? null : { logProb: known.reduce((sum, each) => sum + each, 0), entropy: null };
}

function changed(before: Read | null, after: Read | null): string {
  if (!before || !after) return '';
  const ratio = Math.exp(after.logProb - before.logProb);
  return `The update made it ${ratio >= 1 ? 'more' : 'less'} likely, by the ratio ${decimal(ratio)}.`;
}
