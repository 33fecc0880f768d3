import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import {
  compressionOfPolicy,
  type PolicyPageQuery,
  policies as policiesOperation,
  policyOutcomes,
  policyPage,
  policyWaiting,
} from '../../../graphql/studio/generated/operations.ts';
import { useAsk, useAskEach } from '../graphql/use-ask.ts';
import { Compression } from '../images/compression.tsx';
import { Chart } from '../parts/chart.tsx';
import { CopyAs } from '../parts/copy-as.tsx';
import { Failure } from '../parts/failure.tsx';
import { instant, whole } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';
import { BatchPanel } from './batch-panel.tsx';
import { curvesOf } from './curves.ts';
import { LedgerFlow } from './ledger-flow.tsx';

type Policy = NonNullable<PolicyPageQuery['policy']>;
const FIRST = 500;
/** Policies that are trained: their curves by version, the account of their samples, and the batch behind each point. */
export function TrainingPage() {
  const { policy, version, beside } = useSearch({ from: '/view/training' });
  const answer = useAsk(policiesOperation, {});
  const shown = policy ?? answer.data?.policies[0]?.id;
  return (
    <>
      <PageHead title="Training">
        {shown ? (
          <CopyAs operation={policyPage} variables={{ id: shown, first: FIRST }} command={`espalier ledger ${shown}`} />
        ) : null}
      </PageHead>
      <Query of={answer}>
        {({ policies }) =>
          policies.length === 0 ? (
            <p className="empty">
              No policy is declared for training yet. <code>client.declare(POLICY, backend=…)</code> of Python does, or{' '}
              <code>PUT /v1/training/policies/POLICY</code>; samples that were recorded for it wait until then.
            </p>
          ) : (
            <>
              <nav className="row" aria-label="Policies">
                {policies.map((each) => (
                  <Link
                    key={each.id}
                    data-item
                    className="button"
                    to="/view/training"
                    search={{ policy: each.id }}
                    aria-current={each.id === (policy ?? policies[0]?.id) ? 'page' : undefined}
                  >
                    <bdi>{visible(each.id)}</bdi>{' '}
                    <span className="faint">{each.newest ? `version ${each.newest.version}` : 'no version'}</span>
                  </Link>
                ))}
              </nav>
              <OnePolicy
                id={policy ?? policies[0]!.id}
                version={version === undefined ? null : Number(version)}
                beside={besideOf(beside)}
                others={policies.map(({ id }) => id).filter((id) => id !== (policy ?? policies[0]?.id))}
              />
            </>
          )
        }
      </Query>
    </>
  );
}

function OnePolicy({
  id,
  version,
  beside,
  others,
}: {
  readonly id: string;
  readonly version: number | null;
  readonly beside: readonly string[];
  readonly others: readonly string[];
}) {
  const answer = useAsk(policyPage, { id, first: FIRST });
  return (
    <Query of={answer}>
      {({ policy }) =>
        policy ? (
          <>
            <p className="faint">
              {`${policy.declaration.backend ?? 'no backend'}, ${policy.estimator.name}${policy.declaration.loss ? `, loss ${policy.declaration.loss.name}` : ''}${
                policy.declaration.preset ? `, preset ${policy.declaration.preset}` : ''
              }, declared ${instant(policy.declaredAt)}`}
            </p>
            <WaitingNotice policy={policy.id} />
            <LedgerFlow policy={policy.id} />
            {version === null ? null : <BatchOf policy={policy} version={version} />}
            {others.length > 0 ? <Over others={others} chosen={beside} /> : null}
            <Curves policy={policy} beside={beside} />
            <CompressionOf policy={policy.id} />
          </>
        ) : (
          <p className="empty">The policy {visible(id)} is not known at this moment of the record.</p>
        )
      }
    </Query>
  );
}

/** How the policy compresses what it is shown; nothing where it is shown no images. */
function CompressionOf({ policy }: { readonly policy: string }) {
  const { data } = useAsk(compressionOfPolicy, { policy });
  return data ? <Compression versions={data.aggregate} /> : null; // of more than 100 runs there is no sum
}

/** Chooses the policies whose curves lie over those that are shown. */
function Over({ others, chosen }: { readonly others: readonly string[]; readonly chosen: readonly string[] }) {
  const navigate = useNavigate({ from: '/view/training' });
  const toggle = (id: string) => {
    const then = chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id];
    void navigate({ search: (all) => ({ ...all, beside: besideText(then) }), replace: true });
  };
  return (
    <fieldset className="over">
      <legend className="faint">over its curves</legend>
      {others.map((each) => (
        <label key={each}>
          <input type="checkbox" checked={chosen.includes(each)} onChange={() => toggle(each)} /> <bdi>{visible(each)}</bdi>
        </label>
      ))}
    </fieldset>
  );
}

function Curves({ policy, beside }: { readonly policy: Policy; readonly beside: readonly string[] }) {
  const navigate = useNavigate({ from: '/view/training' });
  const others = useAskEach(
    policyPage,
    beside.map((id) => ({ id, first: FIRST })),
  );
  const outcomes = useAskEach(
    policyOutcomes,
    [policy.id, ...beside].map((id) => ({ id, first: FIRST })),
  );
  const policies = [policy, ...others.flatMap(({ data }) => data?.policy ?? [])];
  const found = outcomes.flatMap(({ data }) => data?.policy ?? []);
  const answered = [...others, ...outcomes].map(({ dataUpdatedAt }) => dataUpdatedAt).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the lists are new arrays each time, what they hold is the same
  const curves = useMemo(
    () =>
      curvesOf(
        policies.map(({ id, versions }) => ({
          id,
          versions: versions.nodes,
          outcomes: found.find((each) => each.id === id)?.versions.nodes ?? [],
        })),
      ),
    [policy, answered],
  );
  const fault = [...others, ...outcomes].find(({ error }) => error)?.error;
  if (curves.length === 0) return <p className="empty">No version is trained yet.</p>;
  return (
    <>
      {fault ? <Failure error={fault} /> : null}
      <div className="columns">
        {curves.map(([metric, points]) => (
          <section key={metric} className="panel">
            <h2>{visible(metric)}</h2>
            <Chart
              points={points}
              label={`${metric} by version`}
              choose={({ x, series }) =>
                void navigate({ search: (all) => ({ ...all, policy: series, beside: undefined, version: String(x) }) })
              }
            />
          </section>
        ))}
      </div>
    </>
  );
}

/** Several names in one part of an address. */
function besideText(ids: readonly string[]): string | undefined {
  return ids.map(encodeURIComponent).join(',') || undefined;
}

function besideOf(text: string | undefined): readonly string[] {
  return (text ?? '').split(',').flatMap((part) => {
    try {
      return part === '' ? [] : [decodeURIComponent(part)];
    } catch {
      return [part]; // written by hand
    }
  });
}

function BatchOf({ policy, version }: { readonly policy: Policy; readonly version: number }) {
  const update = policy.versions.nodes.find((each) => each.version === version);
  if (!update) return <p className="notice">{`Version ${version} is not among the last ${whole(FIRST)}.`}</p>;
  if (!update.batch) return <p className="notice">{`Version ${version} is a beginning: no batch made it.`}</p>;
  return <BatchPanel id={update.batch.id} version={version} />;
}

/** What the next batch of a policy waits for, as soon as it is known. It looks at every sample that waits: nothing waits for it. */
function WaitingNotice({ policy }: { readonly policy: string }) {
  const { data, error } = useAsk(policyWaiting, { id: policy });
  const waiting = data?.policy?.waiting;
  return (
    <>
      {error ? <Failure error={error} /> : null}
      {waiting ? (
        <p className="notice">
          <strong>Waits for {waiting.for.replaceAll('_', ' ')}.</strong> {visible(waiting.next)}. Groups: {waiting.openGroups}{' '}
          open, {waiting.closedGroups} closed, {waiting.readyGroups} ready
          {waiting.rejectedGroups.map(({ reason, groups }) => `, ${groups} rejected (${reason})`).join('')}.
        </p>
      ) : null}
    </>
  );
}
