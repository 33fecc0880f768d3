import { type HistoryImageOrder, runImages } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { Choose } from '../parts/choose.tsx';
import { decimal, whole } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { Paging, usePages } from '../parts/paging.tsx';
import { Query } from '../parts/query.tsx';
import { RecordImage } from '../parts/record-image.tsx';

const FIRST = 24;

/** The orders in which a sheet can be looked at. */
export const ORDERS: readonly { readonly order: HistoryImageOrder; readonly name: string }[] = [
  { order: 'TREE', name: 'as they were recorded' },
  { order: 'VISION_TOKENS_DESC', name: 'the most tokens first' },
  { order: 'FACTOR_DESC', name: 'the largest factor first' },
];

/** The history images of a run on sheets; each opens at other factors. */
export function ContactSheet({
  run,
  order,
  chosen,
  setOrder,
}: {
  readonly run: string;
  readonly order: HistoryImageOrder;
  readonly chosen: string | undefined;
  readonly setOrder: (order: HistoryImageOrder) => void;
}) {
  const pages = usePages(`${run} ${order}`);
  const answer = useAsk(runImages, { id: run, first: FIRST, orderBy: order, ...pages.variables });
  return (
    <section aria-labelledby="sheet">
      <div className="row">
        <h2 id="sheet">{`Contact sheet${answer.data?.run ? `: ${whole(answer.data.run.historyImages.totalCount)}` : ''}`}</h2>
        <Choose
          className="faint"
          label="in order"
          value={order}
          options={ORDERS.map(({ order: value, name }) => [value, name])}
          set={(value) => setOrder(value as HistoryImageOrder)}
        />
      </div>
      <Query of={answer}>
        {({ run: found }) =>
          found ? (
            <>
              <ul className="sheet">
                {found.historyImages.nodes.map((image) => (
                  <li key={image.stepId}>
                    <Link
                      data-item
                      to="/view/images/$id"
                      params={{ id: run }}
                      search={(all) => ({ ...all, step: image.stepId, tree: image.step?.treeId })}
                      aria-current={image.stepId === chosen ? 'true' : undefined}
                    >
                      <span className="sheet-image">
                        <RecordImage url={image.url} width={image.width} height={image.height} alt="" />
                      </span>
                      <span>{image.step ? `step ${image.step.depth}` : 'a step'}</span>
                      {image.history === 'segments' ? '' : <span className="faint"> · no history yet</span>}
                      <span className="faint">{` · factor ${decimal(image.factor)} · ${whole(image.visionTokens)} tokens for ${whole(image.textTokens)} of text`}</span>
                    </Link>
                  </li>
                ))}
              </ul>
              <Paging pages={pages} info={found.historyImages.pageInfo} of="images" />
            </>
          ) : null
        }
      </Query>
    </section>
  );
}
