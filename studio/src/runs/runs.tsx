import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useId, useState } from 'react';
import { behindTheLog, type RunKind, runFilters, runs as runsOperation } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { Choose } from '../parts/choose.tsx';
import { CopyAs } from '../parts/copy-as.tsx';
import { count } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Paging, usePages } from '../parts/paging.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';
import { useMoment } from '../shell/moment.ts';
import { RunsTable } from './runs-table.tsx';

const KINDS: readonly RunKind[] = ['collect', 'search', 'evaluate', 'fork', 'import', 'external'];
const FIRST = 50;

/** What works and what is stuck: the runs, the latest first. */
export function Runs() {
  const search = useSearch({ from: '/' });
  const navigate = useNavigate({ from: '/' });
  const set = (part: Record<string, string | undefined>) =>
    void navigate({ search: (all) => ({ ...all, ...part }), replace: true });
  const filter = {
    ...(search.kind ? { kind: search.kind as RunKind } : {}),
    ...(search.state === 'running' ? { running: true } : {}),
    ...(search.state === 'failed' ? { outcome: 'failed' as const } : {}),
    ...(search.state === 'completed' ? { outcome: 'completed' as const } : {}),
    ...(search.environment ? { environment: search.environment } : {}),
    ...(search.policy ? { policy: search.policy } : {}),
    ...(search.text ? { text: search.text } : {}),
    ...(search.tag ? { label: search.tag } : {}),
  };
  const pages = usePages(JSON.stringify(filter));
  const variables = { filter, first: FIRST, ...pages.variables };
  const answer = useAsk(runsOperation, variables);
  const known = useAsk(runFilters, {});
  const chosen: readonly string[] = search.compare?.split(',').filter(Boolean) ?? [];
  const choose = (id: string) =>
    set({
      compare: (chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id].slice(-2)).join(',') || undefined,
    });
  return (
    <>
      <PageHead title="Runs">
        <LagNotice />
        <CopyAs operation={runsOperation} variables={variables} command="espalier status" />
      </PageHead>
      <FoldedState given={Object.keys(filter).length}>
        <search className="filters">
          <FilterText name="Text" find value={search.text} set={(text) => set({ text })} hint="words of name or id" />
          <Choose
            label="Kind"
            value={search.kind}
            options={[['', 'all'], ...KINDS]}
            set={(kind) => set({ kind: kind || undefined })}
          />
          <Choose
            label="State"
            value={search.state}
            options={[['', 'all'], 'running', 'completed', 'failed']}
            set={(state) => set({ state: state || undefined })}
          />
          <FilterText
            name="Environment"
            value={search.environment}
            set={(environment) => set({ environment })}
            hint="its whole name"
          />
          <FilterText
            name="Policy"
            value={search.policy}
            set={(policy) => set({ policy })}
            hint="its whole name"
            known={known.data?.policies.map(({ id }) => id)}
          />
          <FilterText
            name="Tag"
            value={search.tag}
            set={(tag) => set({ tag })}
            hint="label of an annotation"
            known={known.data?.annotationLabels.map(({ label }) => label)}
          />
        </search>
      </FoldedState>
      <div className="row">
        {chosen.length === 2 ? (
          <Link className="button" to="/view/compare" search={{ runs: chosen.join(',') }}>
            Compare the two
          </Link>
        ) : (
          <span className="faint">{chosen.length === 1 ? 'choose another run to compare' : ''}</span>
        )}
      </div>
      <Query of={answer}>
        {({ runs }) => (
          <>
            <RunsTable rows={runs.nodes} chosen={chosen} choose={choose} filtered={Object.keys(filter).length > 0} />
            <Paging pages={pages} info={runs.pageInfo} of="runs" />
          </>
        )}
      </Query>
    </>
  );
}

const QUIET_MS = 250; // behind the last key: each letter would be a question

interface FilterTextProps {
  readonly name: string;
  readonly value: string | undefined;
  readonly set: (value: string | undefined) => void;
  readonly hint: string;
  /** The key `/` leads here. */
  readonly find?: true;
  /** What may be chosen, as far as it is known. */
  readonly known?: readonly string[] | undefined;
}

/** A text that a list is filtered by: it takes effect when nothing more is written. */
function FilterText({ name, value = '', set, hint, find, known }: FilterTextProps) {
  const list = useId();
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => set(text || undefined), QUIET_MS);
    return () => clearTimeout(timer);
  });
  return (
    <label>
      {name}
      <input
        {...(find ? { 'data-find': true } : {})}
        value={text}
        placeholder={hint}
        onChange={(event) => setText(event.target.value)}
        {...(known ? { list } : {})}
      />
      {known ? (
        <datalist id={list}>
          {known.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      ) : null}
    </label>
  );
}

/** The filters of a list: open where there is room, else behind a line that says how many are given. */
function FoldedState({ given, children }: { readonly given: number; readonly children: ReactNode }) {
  const [open] = useState(() => matchMedia('(min-width: 601px)').matches);
  return (
    <details className="folded" open={open}>
      <summary>{given === 0 ? 'Filters' : `Filters: ${given}`}</summary>
      {children}
    </details>
  );
}

/** How far what is shown is behind the log, by the projection that is furthest behind. */
function LagNotice() {
  const now = useMoment() === null;
  const answer = useAsk(behindTheLog, {}, { enabled: now });
  if (!now || !answer.data) return null;
  const stopped = answer.data.lag.filter(({ state }) => state === 'stopped');
  const [furthest] = answer.data.lag.toSorted((a, b) => b.lag - a.lag);
  const text =
    stopped.length > 0
      ? `stopped: ${stopped.map(({ projection }) => visible(projection)).join(', ')}`
      : furthest && furthest.lag > 0
        ? `${count(furthest.lag, 'event')} behind the log (${visible(furthest.projection)})`
        : 'no lag';
  return (
    <Link to="/view/operations" className={stopped.length > 0 ? 'reason' : 'faint'}>
      {text}
    </Link>
  );
}
