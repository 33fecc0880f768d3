import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import {
  compressionOfPolicy,
  type PolicyPageQuery,
  policies as policiesOperation,
  policyPage,
} from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { Compression } from '../images/compression.tsx';
import { Chart, type Point } from '../parts/chart.tsx';
import { CopyAs } from '../parts/copy-as.tsx';
import { Failure } from '../parts/failure.tsx';
import { instant, whole } from '../parts/format.ts';
import { PageHead } from '../parts/page-head.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Shown } from '../parts/shown.tsx';
import { BatchPanel } from './batch-panel.tsx';
import { LedgerFlow } from './ledger-flow.tsx';
import { WaitingNotice } from './waiting-notice.tsx';

type Policy = NonNullable<PolicyPageQuery['policy']>;
const FIRST = 500;
const FIRST_METRICS = [
  'meanReturn',
  'return',
  'success',
  'entropy',
  'kl',
  'clipFraction',
  'gradNorm',
  'gradientNorm',
  'staleness',
  'loss',
];

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
      <Shown of={answer}>
        {({ policies }) =>
          policies.length === 0 ? (
            <p className="empty">No policy is trained from this record yet.</p>
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
                beside={beside}
                others={policies.map(({ id }) => id).filter((id) => id !== (policy ?? policies[0]?.id))}
              />
            </>
          )
        }
      </Shown>
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
  readonly beside: string | undefined;
  readonly others: readonly string[];
}) {
  const navigate = useNavigate({ from: '/view/training' });
  const other = useAsk(policyPage, { id: beside ?? '', first: FIRST }, { enabled: beside !== undefined });
  const answer = useAsk(policyPage, { id, first: FIRST });
  return (
    <Shown of={answer}>
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
            {others.length > 0 ? (
              <label className="faint">
                over its curves{' '}
                <select
                  value={beside ?? ''}
                  onChange={(event) =>
                    void navigate({ search: (all) => ({ ...all, beside: event.target.value || undefined }), replace: true })
                  }
                >
                  <option value="">no other policy</option>
                  {others.map((each) => (
                    <option key={each}>{each}</option>
                  ))}
                </select>
              </label>
            ) : null}
            {other.error ? <Failure error={other.error} /> : null}
            <Curves policy={policy} beside={beside === undefined ? null : (other.data?.policy ?? null)} />
            <CompressionOf policy={policy.id} />
          </>
        ) : (
          <p className="empty">The policy {visible(id)} is not known at this moment of the record.</p>
        )
      }
    </Shown>
  );
}

/** How the policy compresses what it is shown; nothing where it is shown no images. */
function CompressionOf({ policy }: { readonly policy: string }) {
  const { data } = useAsk(compressionOfPolicy, { policy });
  return data ? <Compression versions={data.aggregate} /> : null; // of more than 100 runs there is no sum
}

function Curves({ policy, beside }: { readonly policy: Policy; readonly beside: Policy | null }) {
  const navigate = useNavigate({ from: '/view/training' });
  const curves = useMemo(() => curvesOf(beside ? [policy, beside] : [policy]), [policy, beside]);
  if (curves.length === 0) return <p className="empty">No version is trained yet.</p>;
  return (
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
  );
}

/** The numbers that updates measured, by metric, the usual ones first. */
function curvesOf(policies: readonly Policy[]): readonly (readonly [string, readonly Point[]])[] {
  const byMetric = new Map<string, Point[]>();
  for (const { id, versions } of policies)
    for (const { version, metrics } of versions.nodes.toReversed())
      for (const [metric, y] of Object.entries((metrics ?? {}) as Readonly<Record<string, unknown>>)) {
        if (typeof y !== 'number') continue;
        const points = byMetric.get(metric) ?? [];
        points.push({ series: id, x: version, y, title: `${id}, version ${version}: ${y}` });
        byMetric.set(metric, points);
      }
  const rank = (metric: string) => (FIRST_METRICS.indexOf(metric) + FIRST_METRICS.length + 1) % (FIRST_METRICS.length + 1);
  return [...byMetric].sort(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b));
}

function BatchOf({ policy, version }: { readonly policy: Policy; readonly version: number }) {
  const update = policy.versions.nodes.find((each) => each.version === version);
  if (!update) return <p className="notice">{`Version ${version} is not among the last ${whole(FIRST)}.`}</p>;
  if (!update.batch) return <p className="notice">{`Version ${version} is a beginning: no batch made it.`}</p>;
  return <BatchPanel id={update.batch.id} version={version} />;
}
