import type { RevisionPageQuery } from '../../../graphql/studio/generated/operations.ts';
import { percent, whole } from '../parts/format.ts';

type Turn = NonNullable<RevisionPageQuery['revision']>['turns'][number];

interface Part {
  readonly characters: number;
  readonly trained: boolean;
  readonly what: string;
}

/** The mask of a row over its length: what of it is trained on, and what is context alone. */
export function MaskBar({ opening, turns }: { readonly opening: string; readonly turns: readonly Turn[] }) {
  const parts = partsOf(opening, turns);
  const all = parts.reduce((sum, { characters }) => sum + characters, 0);
  const trained = parts.reduce((sum, part) => sum + (part.trained ? part.characters : 0), 0);
  const said = `Mask: ${whole(trained)} of ${whole(all)} characters are trained on (${percent(all === 0 ? null : trained / all)}), the rest is context`;
  return (
    <figure className="history" aria-label={said}>
      <figcaption className="faint">{said}</figcaption>
      <div className="mask-bar" aria-hidden="true">
        {parts.map(({ characters, trained: is, what }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a row never change
          <i key={at} className={is ? 'mask-trained' : ''} style={{ flexGrow: characters }} title={what} />
        ))}
      </div>
    </figure>
  );
}

function partsOf(opening: string, turns: readonly Turn[]): readonly Part[] {
  const parts = [
    { characters: opening.length, trained: false, what: 'instruction and first observation: context' },
    ...turns.flatMap(({ response, observation, loss }, at) => [
      { characters: response.length, trained: loss, what: `reply ${at + 1}: ${loss ? 'trained' : 'context'}` },
      { characters: observation?.length ?? 0, trained: false, what: `observation ${at + 1}: context` },
    ]),
  ];
  return parts.filter(({ characters }) => characters > 0);
}
