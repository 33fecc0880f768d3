import type { RevisionPageQuery } from '../../../graphql/studio/generated/operations.ts';
import { percent, whole } from '../parts/format.ts';

type Turn = NonNullable<NonNullable<RevisionPageQuery['revision']>['turns']>[number];

interface Part {
  readonly size: number;
  readonly trained: boolean;
  readonly what: string;
}

/** The mask of a row over its length: what of it is trained on, and what is context alone. */
export function MaskBar({ opening, turns }: { readonly opening: string; readonly turns: readonly Turn[] }) {
  const parts = partsOf(opening, turns);
  const all = parts.reduce((sum, { size }) => sum + size, 0);
  const trained = parts.reduce((sum, part) => sum + (part.trained ? part.size : 0), 0);
  const units = inTokens(turns) ? 'tokens of its turns' : 'characters';
  const said = `Mask: ${whole(trained)} of ${whole(all)} ${units} are trained on (${percent(all === 0 ? null : trained / all)}), the rest is context`;
  return (
    <figure className="history" aria-label={said}>
      <figcaption className="faint">{said}</figcaption>
      <div className="mask-bar" aria-hidden="true">
        {parts.map(({ size, trained: is, what }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a row never change
          <i key={at} className={is ? 'mask-trained' : ''} style={{ flexGrow: size }} title={what} />
        ))}
      </div>
    </figure>
  );
}

/** Whether the tokens of all turns are known: then the bar counts them, else characters. */
function inTokens(turns: readonly Turn[]): boolean {
  return turns.every(
    ({ responseTokens, observation, observationTokens }) => responseTokens && (observationTokens || !observation),
  );
}

function partsOf(opening: string, turns: readonly Turn[]): readonly Part[] {
  const tokens = inTokens(turns);
  const parts = [
    { size: tokens ? 0 : opening.length, trained: false, what: 'instruction and first observation: context' },
    ...turns.flatMap(({ response, observation, loss, responseTokens, observationTokens }, at) => [
      {
        size: tokens ? (responseTokens?.length ?? 0) : response.length,
        trained: loss,
        what: `reply ${at + 1}: ${loss ? 'trained' : 'context'}`,
      },
      {
        size: tokens ? (observationTokens?.length ?? 0) : observation.length,
        trained: false,
        what: `observation ${at + 1}: context`,
      },
    ]),
  ];
  return parts.filter(({ size }) => size > 0);
}
