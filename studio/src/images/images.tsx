import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import {
  type HistoryImageOrder,
  type ImagesPageQuery,
  imagesPage,
  runImages,
} from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { Choose } from '../parts/choose.tsx';
import { CopyAs } from '../parts/copy-as.tsx';
import { Figures } from '../parts/facts.tsx';
import { decimal, percent, whole } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { RunTrail } from '../parts/links.tsx';
import { OfTree } from '../parts/of-tree.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Paging, usePages } from '../parts/paging.tsx';
import { Found, Query } from '../parts/query.tsx';
import { RecordImage } from '../parts/record-image.tsx';
import { AtFactors } from './at-factors.tsx';
import { Compression } from './compression.tsx';

/** The histories that a run showed as images: what they cost by version of the policy, all of them, and one at other factors. */
export function ImagesPage() {
  const { id } = useParams({ from: '/view/images/$id' });
  const { step, tree, order } = useSearch({ from: '/view/images/$id' });
  const navigate = useNavigate({ from: '/view/images/$id' });
  const answer = useAsk(imagesPage, { id });
  const orderBy: HistoryImageOrder = ORDERS.find((each) => each.order === order)?.order ?? 'TREE';
  return (
    <Found of={answer} what="run" id={id} one={({ run, aggregate }) => run && { ...run, aggregate }}>
      {({ aggregate, ...run }) => (
        <>
          <PageHead title="Images" trail={<RunTrail run={run} />}>
            <CopyAs operation={imagesPage} variables={{ id }} command={`espalier compression-sweep --run ${id}`} />
          </PageHead>
          {run.imageTotals.steps === 0 ? (
            <p className="empty">No step of this run was shown its history as an image.</p>
          ) : (
            <>
              <Totals of={run.imageTotals} />
              <Compression versions={aggregate} run={id} />
              {step === undefined ? null : (
                <section className="panel" aria-labelledby="at-factors">
                  <div className="row">
                    <h2 id="at-factors">The same history at other factors</h2>
                    <button
                      type="button"
                      className="quiet"
                      onClick={() => void navigate({ search: (all) => ({ ...all, step: undefined, tree: undefined }) })}
                    >
                      Close
                    </button>
                  </div>
                  <OfTree value={tree}>
                    <AtFactors key={step} step={step} />
                  </OfTree>
                </section>
              )}
              <ContactSheet
                run={id}
                order={orderBy}
                chosen={step}
                setOrder={(next) => void navigate({ search: (all) => ({ ...all, order: next }), replace: true })}
              />
            </>
          )}
        </>
      )}
    </Found>
  );
}

function Totals({ of }: { readonly of: NonNullable<ImagesPageQuery['run']>['imageTotals'] }) {
  return (
    <Figures
      of={[
        ['steps with an image', whole(of.steps)],
        ['images that differ', whole(of.images)],
        ['tokens as images', whole(of.visionTokens)],
        ['tokens as text', whole(of.textTokens)],
        ['saved', `${whole(of.saved)}${of.textTokens > 0 ? ` (${percent(of.saved / of.textTokens)})` : ''}`],
        ['mean factor', decimal(of.meanFactor)],
        ['segments from a cache', percent(of.hitRate)],
        of.cutSegments > 0 && ['segments left out by limits', whole(of.cutSegments)],
      ]}
    />
  );
}

const FIRST = 24;

/** The orders in which a sheet can be looked at. */
const ORDERS: readonly { readonly order: HistoryImageOrder; readonly name: string }[] = [
  { order: 'TREE', name: 'as they were recorded' },
  { order: 'VISION_TOKENS_DESC', name: 'the most tokens first' },
  { order: 'FACTOR_DESC', name: 'the largest factor first' },
];

/** The history images of a run on sheets; each opens at other factors. */
function ContactSheet({
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
