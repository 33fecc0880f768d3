import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type HistoryImageOrder, type ImagesPageQuery, imagesPage } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { decimal, percent, shortId, whole } from '../parts/format.ts';
import { PageHead } from '../parts/page-head.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Shown } from '../parts/shown.tsx';
import { AtFactors } from './at-factors.tsx';
import { Compression } from './compression.tsx';
import { ContactSheet, ORDERS } from './contact-sheet.tsx';

/** The histories that a run showed as images: what they cost by version of the policy, all of them, and one at other factors. */
export function ImagesPage() {
  const { id } = useParams({ from: '/view/images/$id' });
  const { step, order } = useSearch({ from: '/view/images/$id' });
  const navigate = useNavigate({ from: '/view/images/$id' });
  const answer = useAsk(imagesPage, { id });
  const orderBy: HistoryImageOrder = ORDERS.find((each) => each.order === order)?.order ?? 'TREE';
  return (
    <Shown of={answer}>
      {({ run, aggregate }) =>
        run ? (
          <>
            <PageHead
              title="Images"
              trail={
                <>
                  <Link to="/">Runs</Link> ›{' '}
                  <Link to="/view/run/$id" params={{ id }}>
                    <bdi>{visible(run.name) || shortId(run.id)}</bdi>
                  </Link>
                </>
              }
            >
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
                        onClick={() => void navigate({ search: (all) => ({ ...all, step: undefined }) })}
                      >
                        Close
                      </button>
                    </div>
                    <AtFactors key={step} step={step} />
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
        ) : (
          <p className="empty">No run has the id {id} at this moment of the record.</p>
        )
      }
    </Shown>
  );
}

function Totals({ of }: { readonly of: NonNullable<ImagesPageQuery['run']>['imageTotals'] }) {
  const figures = [
    ['steps with an image', whole(of.steps)],
    ['images that differ', whole(of.images)],
    ['tokens as images', whole(of.visionTokens)],
    ['tokens as text', whole(of.textTokens)],
    ['saved', `${whole(of.saved)}${of.textTokens > 0 ? ` (${percent(of.saved / of.textTokens)})` : ''}`],
    ['mean factor', decimal(of.meanFactor)],
    ['segments from a cache', percent(of.hitRate)],
    ...(of.cutSegments > 0 ? [['segments left out by limits', whole(of.cutSegments)] as const] : []),
  ] as const;
  return (
    <div className="figures">
      {figures.map(([name, value]) => (
        <div key={name} className="figure">
          <span className="faint">{name}</span>
          <b>{value}</b>
        </div>
      ))}
    </div>
  );
}
