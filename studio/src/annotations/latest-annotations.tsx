import { type LatestAnnotationsQuery, latestAnnotations } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { whole } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { RolloutLink, taskName } from '../parts/links.tsx';
import { Query } from '../parts/query.tsx';
import { AnnotationText } from './annotations.tsx';

const FIRST = 30;

/** The last annotations, each with a link to what it is of. */
export function LatestAnnotations() {
  const answer = useAsk(latestAnnotations, { filter: {}, first: FIRST });
  return (
    <section className="panel" aria-labelledby="latest-annotations">
      <h2 id="latest-annotations">Latest annotations</h2>
      <Query of={answer}>
        {({ annotations }) =>
          annotations.nodes.length === 0 ? (
            <p className="empty">Nothing is annotated yet.</p>
          ) : (
            <>
              <ul className="plain">
                {annotations.nodes.map((annotation) => (
                  <li key={`${annotation.treeId} ${annotation.id}`} className="row">
                    <Of annotation={annotation} />
                    <AnnotationText annotation={annotation} />
                  </li>
                ))}
              </ul>
              {annotations.totalCount > FIRST ? (
                <p className="faint">{`the last ${FIRST} of ${whole(annotations.totalCount)}`}</p>
              ) : null}
            </>
          )
        }
      </Query>
    </section>
  );
}

function Of({ annotation }: { readonly annotation: LatestAnnotationsQuery['annotations']['nodes'][number] }) {
  const { kind, step, rolloutId, revisionId, datasetId, line, treeId, tree } = annotation;
  const task = <bdi>{taskName(tree, 60)}</bdi>;
  if (step?.rolloutId)
    return (
      <Link to="/view/trajectory/$id" params={{ id: step.rolloutId }} search={{ step: step.id, tree: treeId }}>
        {`step ${step.depth} of `}
        {task}
      </Link>
    );
  if (rolloutId) return <RolloutLink rollout={{ id: rolloutId, treeId }}>rollout of {task}</RolloutLink>;
  if (revisionId)
    return (
      <Link to="/view/revision/$id" params={{ id: revisionId }} search={{ tree: treeId }}>
        revision of {task}
      </Link>
    );
  if (datasetId) return <Link to="/view/dataset/$id" params={{ id: datasetId }}>{`row ${line}`}</Link>;
  return (
    <Link to="/view/tree/$id" params={{ id: treeId }} search={step ? { step: step.id } : {}}>
      {`${kind} of `}
      {task}
    </Link>
  );
}
