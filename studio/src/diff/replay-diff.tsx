import { diffPath, diffReplays } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { count, instant, whole } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';
import { replayedPairs } from './replayed.ts';
import { Cut, LONGEST, Name, Rows } from './rows.tsx';
import type { Side } from './sides.ts';

/** A trajectory next to what came out when its actions were executed again. */
export function ReplayDiff({ of }: { readonly of: Side }) {
  const path = useAsk(diffPath, { leaf: of.leafId ?? '', tree: of.treeId }, { enabled: of.leafId !== null });
  const answer = useAsk(diffReplays, { tree: of.tree?.id ?? '' }, { enabled: of.tree !== null });
  if (of.leafId === null) return <p className="empty">The rollout has not ended yet.</p>;
  return (
    <Query of={answer}>
      {({ tree }) => {
        const replays = tree?.run?.replays.filter(({ mode }) => mode === 'environment') ?? [];
        const last = replays.at(-1);
        const pairs = path.data && tree ? replayedPairs(path.data.path, tree.divergences, last) : [];
        const differing = pairs.filter(({ equal }) => !equal);
        if (!last && differing.length === 0)
          return (
            <p className="empty">
              Its actions were not executed again yet: <code>{`espalier replay environment --run ${of.run?.id ?? 'RUN'}`}</code>{' '}
              does.
            </p>
          );
        return (
          <>
            <p>
              {differing.length === 0
                ? 'Every step came out as it is recorded.'
                : `${whole(differing.length)} of ${count(pairs.length, 'step')} came out otherwise, the first at step ${differing[0]?.a?.depth}.`}
              {last
                ? ` The last replay of its run compared ${whole(last.compared)} things, ${whole(last.differing)} of which differ, and ended ${instant(last.finishedAt)}. `
                : ' '}
              <Link to="/view/operations">All replays</Link>
            </p>
            <CopyAs
              operation={diffReplays}
              variables={{ tree: of.tree?.id ?? '' }}
              {...(of.run ? { command: `espalier replay environment --run ${of.run.id}` } : {})}
            />
            {last?.notes.map((note) => (
              <p key={note} className="notice">
                {visible(note).slice(0, 2_000)}
              </p>
            ))}
            {path.data && path.data.path.length >= LONGEST ? <Cut /> : null}
            <div className="diff">
              <Name side={of} />
              <div>
                <b>as replayed</b>
                <div className="faint">what no replay showed otherwise is as it is recorded</div>
              </div>
              <Rows pairs={pairs} names={[`rollout ${of.ordinal}`, 'as replayed']} />
            </div>
          </>
        );
      }}
    </Query>
  );
}
