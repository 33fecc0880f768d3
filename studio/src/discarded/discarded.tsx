import { useNavigate, useSearch } from '@tanstack/react-router';
import { type DiscardedBy, type DiscardedPageQuery, discardedPage } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { Choose } from '../parts/choose.tsx';
import { CopyAs } from '../parts/copy-as.tsx';
import { count, percent, shortId, whole } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';
import { Share } from '../parts/share.tsx';
import { Table } from '../parts/table.tsx';
import { ABANDONED, biasOf } from './bias.ts';
import { DiscardedList } from './discarded-list.tsx';

type Policy = NonNullable<DiscardedPageQuery['policy']>;
type Part = Policy['discarded'][number];

const FIRST = 100;
const BY: Readonly<Record<string, DiscardedBy>> = { task: 'TASK', length: 'LENGTH', version: 'VERSION' };

/** The samples of a policy that are rejected or abandoned: why, and whether some tasks, lengths or versions lose more of them than others. */
export function DiscardedPage() {
  const { policy: id = '', by: asked, reason } = useSearch({ from: '/view/discarded' });
  const navigate = useNavigate({ from: '/view/discarded' });
  const byTask = useAsk(discardedPage, { id, by: 'TASK', first: FIRST }, { enabled: id !== '' && asked === undefined });
  // of tasks with one group each nothing can be said: lengths are shown first
  const tells = byTask.data?.policy?.discarded.some(({ groups }) => groups > 1) ?? true;
  const by = asked ?? (tells ? 'task' : 'length');
  const variables = { id, by: BY[by] ?? 'TASK', first: FIRST };
  const answer = useAsk(discardedPage, variables, { enabled: id !== '' });
  if (id === '') return <p className="empty">Name a policy in the address: ?policy=…</p>;
  return (
    <>
      <PageHead
        title={`Discarded samples of ${visible(id)}`}
        trail={
          <Link to="/view/training" search={{ policy: id }}>
            Training
          </Link>
        }
      >
        <CopyAs operation={discardedPage} variables={variables} command={`espalier ledger ${id}`} />
      </PageHead>
      <Query of={answer}>
        {({ policy }) =>
          policy ? (
            <>
              <Reasons policy={policy} />
              <div className="row">
                <h2>Is it biased?</h2>
                <Choose
                  className="faint"
                  label="counted by"
                  value={by}
                  options={Object.keys(BY)}
                  set={(value) => void navigate({ search: (all) => ({ ...all, by: value }), replace: true })}
                />
              </div>
              <Parts policy={policy} by={by} />
              <DiscardedList policy={id} reason={reason} reasons={reasonsOf(policy).map((each) => each.reason)} />
            </>
          ) : (
            <p className="empty">The policy {visible(id)} is not known at this moment of the record.</p>
          )
        }
      </Query>
    </>
  );
}

/** What is rejected, by reason, and what went down with a batch that was abandoned. */
function reasonsOf({
  ledger: { rejected, abandoned },
}: Policy): readonly { readonly reason: string; readonly samples: number }[] {
  return abandoned === 0 ? rejected : [...rejected, { reason: ABANDONED, samples: abandoned }];
}

function discardedOf(policy: Policy): number {
  return reasonsOf(policy).reduce((sum, { samples }) => sum + samples, 0);
}

function Reasons({ policy }: { readonly policy: Policy }) {
  const discarded = discardedOf(policy);
  const { produced } = policy.ledger;
  const reasons = reasonsOf(policy);
  return (
    <p>
      <b>{`${whole(discarded)} of ${count(produced, 'sample')}`}</b>{' '}
      {produced === 0 ? '' : `(${percent(discarded / produced)}) are discarded`}
      {reasons.length === 0 ? '.' : ': '}
      {reasons.map(({ reason, samples }) => `${visible(reason)} ${whole(samples)}`).join(', ')}
    </p>
  );
}

function Parts({ policy, by }: { readonly policy: Policy; readonly by: string }) {
  const { produced } = policy.ledger;
  const share = produced === 0 ? 0 : discardedOf(policy) / produced;
  if (policy.discarded.length === 0) return <p className="empty">No sample is produced yet.</p>;
  const compared = policy.discarded.map((part) => biasOf(part, share)).filter((bias) => bias !== 'cannot be said');
  const marked = compared.filter((bias) => bias !== 'as the rest').length;
  const alone = policy.discarded.length - compared.length;
  return (
    <>
      <p className="faint">
        {compared.length === 0
          ? ''
          : `${marked} of the ${compared.length} parts of several groups differ from all samples (${percent(share)}) by their interval at 95 % over groups; of parts without a bias one in twenty does.`}
        {alone === 0 ? '' : ` ${alone} parts have one group each: of these it cannot be said.`}
        {compared.length === 0 && by === 'task' ? ' Count by length or version instead.' : ''}
        {policy.discarded.length === FIRST ? ` Shown are the ${FIRST} that lose most.` : ''}
      </p>
      <Table
        label={`Discarded by ${by}`}
        tall
        rows={policy.discarded}
        keyOf={(_, at) => at}
        columns={[
          [by, (part) => <Name part={part} />],
          ['samples', (part) => whole(part.produced), 'number'],
          ['groups', (part) => whole(part.groups), 'number'],
          ['discarded', (part) => <Share successes={part.discarded} of={part.produced} />],
          ['than all', (part) => <Bias part={part} share={share} />],
          ['why', (part) => part.reasons.map(({ reason, samples }) => `${visible(reason)} ${whole(samples)}`).join(', ')],
        ]}
      />
    </>
  );
}

function Bias({ part, share }: { readonly part: Part; readonly share: number }) {
  const bias = biasOf(part, share);
  if (bias !== 'as the rest' && bias !== 'cannot be said') return <b>{bias}</b>;
  return <span className="faint">{bias === 'cannot be said' && part.groups === 1 ? 'one group: cannot be said' : bias}</span>;
}

function Name({ part: { task, tree, length, version } }: { readonly part: Part }) {
  if (length)
    return <>{length.to - length.from <= 1 ? `${length.from} actions` : `${length.from} to ${length.to - 1} actions`}</>;
  if (version !== null) return <>{`version ${version}`}</>;
  if (!tree) return <span className="faint">none</span>;
  if (!task) return <span className="faint">no version is recorded</span>;
  return (
    <Link data-item to="/view/group/$id" params={{ id: tree.id }}>
      <bdi>{visible(task.goal || task.alias || shortId(task.id)).slice(0, 100)}</bdi>
    </Link>
  );
}
