import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type HistoryImageOrder, type ImagesPageQuery, imagesPage } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { Figures } from '../parts/facts.tsx';
import { decimal, percent, whole } from '../parts/format.ts';
import { RunTrail } from '../parts/links.tsx';
import { OfTree } from '../parts/of-tree.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Found } from '../parts/query.tsx';
import { AtFactors } from './at-factors.tsx';
import { Compression } from './compression.tsx';
import { ContactSheet, ORDERS } from './contact-sheet.tsx';

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
