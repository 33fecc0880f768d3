import { type DiffCandidatesQuery, diffCandidates } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { isPage } from '../page/stored-page.ts';
import { decimal, shortId, whole } from '../parts/format.ts';
import { visible } from '../parts/plain-text.tsx';
import { REPLAY } from './replayed.ts';
import type { Side } from './sides.ts';

type Candidate = DiffCandidatesQuery['rollouts']['nodes'][number];
const FIRST = 200;

/** What a trajectory can be laid next to: siblings, other versions and runs, forks of its run, and what replays of it showed. */
export function Candidates({
  of,
  chosen,
  inTree,
  choose,
}: {
  readonly of: Side;
  readonly chosen: string;
  /** The tree of what is chosen, where the address names it. */
  readonly inTree: string | undefined;
  readonly choose: (id: string, tree?: string) => void;
}) {
  const task = of.tree?.task.id;
  const answer = useAsk(diffCandidates, { task: task ?? '', first: FIRST }, { enabled: task !== undefined && !isPage() });
  if (!answer.data) return null;
  const { nodes, totalCount } = answer.data.rollouts;
  const others = nodes.filter(({ id, treeId }) => id !== of.id || treeId !== of.treeId);
  const groups = [...Map.groupBy(others, (each) => kinship(of, each))].sort(([a], [b]) => ORDER.indexOf(a) - ORDER.indexOf(b));
  const named = others.find(({ id, treeId }) => id === chosen && treeId === (inTree ?? treeId));
  const value = named ? keyOf(named) : chosen;
  const choice = (key: string) => choose(...(key.split(' ') as [string, string?]));
  return (
    <label className="faint">
      next to{' '}
      <select value={value} onChange={(event) => choice(event.target.value)}>
        {chosen === '' ? <option value="">choose a trajectory</option> : null}
        {named || chosen === '' || chosen === REPLAY ? null : <option value={chosen}>{`rollout ${shortId(chosen)}`}</option>}
        <option value={REPLAY}>what replays of it showed</option>
        {groups.map(([name, each]) => (
          <optgroup key={name} label={name}>
            {each.map((candidate) => (
              <option key={keyOf(candidate)} value={keyOf(candidate)}>
                {said(candidate)}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
      {totalCount > nodes.length ? ` the last ${whole(nodes.length)} of ${whole(totalCount)} of this task` : ''}
    </label>
  );
}

const ORDER = ['siblings', 'forks of its run', 'the run that it goes on from', 'other versions', 'other runs'] as const;

/** How a trajectory of the same task is related to one. */
function kinship(of: Side, { treeId, run, policy }: Candidate): (typeof ORDER)[number] {
  if (treeId === of.treeId) return 'siblings';
  if (run?.forkOf?.run && run.forkOf.run.id === of.run?.id) return 'forks of its run';
  if (run && of.run?.forkOf?.run?.id === run.id) return 'the run that it goes on from';
  return policy.id === of.policy.id && policy.version !== of.policy.version ? 'other versions' : 'other runs';
}

function keyOf({ id, treeId }: Candidate): string {
  return `${id} ${treeId}`;
}

function said({ ordinal, run, policy, outcome, return: earned }: Candidate): string {
  return `rollout ${ordinal} of ${visible(run?.name ?? '?').slice(0, 60)} · ${visible(policy.id).slice(0, 60)}@${policy.version} · ${outcome}, return ${decimal(earned)}`;
}
