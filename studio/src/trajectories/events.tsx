import { stepEvents } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { instant, shortId, whole } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { useTree } from '../parts/of-tree.tsx';
import { PlainText, visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';

/** The events that made a step, what it was made of, and what resulted from it. */
export function Events({ step }: { readonly step: string }) {
  const answer = useAsk(stepEvents, { id: step, tree: useTree() });
  return (
    <Query of={answer}>
      {({ trace }) =>
        trace ? (
          <>
            <h3>{`Events: ${whole(trace.madeBy.total)}`}</h3>
            <ul className="plain">
              {trace.madeBy.first.map((event) => (
                <li key={event.eventId}>
                  <details>
                    <summary>
                      {event.type} <code>{event.place}</code> <span className="faint">{instant(event.occurredAt)}</span>
                    </summary>
                    <PlainText className="raw" text={JSON.stringify(event.envelope, null, 2)} />
                  </details>
                </li>
              ))}
            </ul>
            {[...trace.from, ...trace.usedBy].map((links) => (
              <section key={links.relation}>
                <h3>{`${visible(links.relation)}: ${whole(links.total)}`}</h3>
                <ul className="plain">
                  {links.first.map((link) => (
                    <li key={link.id}>
                      <Link to="/view/lineage/$id" params={{ id: link.id }}>
                        {visible(link.text) || visible(shortId(link.id))}
                      </Link>
                    </li>
                  ))}
                </ul>
              </section>
            ))}
          </>
        ) : (
          <p className="faint">Nothing on record has this id.</p>
        )
      }
    </Query>
  );
}
