import { useNavigate, useSearch } from '@tanstack/react-router';
import { type RunKind, runFilters, runs as runsOperation } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { Choose } from '../parts/choose.tsx';
import { CopyAs } from '../parts/copy-as.tsx';
import { Link } from '../parts/link.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Paging, usePages } from '../parts/paging.tsx';
import { Query } from '../parts/query.tsx';
import { FilterText } from './filter-text.tsx';
import { FoldedState } from './folded-state.tsx';
import { LagNotice } from './lag-notice.tsx';
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
