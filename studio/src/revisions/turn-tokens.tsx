import type { RevisionPageQuery } from '../../../graphql/studio/generated/operations.ts';
import { count, whole } from '../parts/format.ts';
import { showWhitespace } from '../parts/plain-text.tsx';

type Turn = NonNullable<NonNullable<RevisionPageQuery['revision']>['turns']>[number];

const SHOWN = 2_000;

/** The tokens of a turn, those that are trained on underlined; nothing where they are not known. */
export function TurnTokens({ turn }: { readonly turn: Turn }) {
  const tokens = tokensOf(turn);
  if (tokens.length === 0) return null;
  const trained = tokens.filter((token) => token.trained).length;
  return (
    <details>
      <summary>{`${count(tokens.length, 'token')}, ${whole(trained)} trained on`}</summary>
      <ol className="tokens">
        {tokens.slice(0, SHOWN).map(({ text, trained: is }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the tokens of a turn never change
          <li key={at} className={is ? 'token-trained' : 'token-given'} title={is ? 'trained' : 'masked'}>
            <bdi>{showWhitespace(text)}</bdi>
          </li>
        ))}
      </ol>
      {tokens.length > SHOWN ? <p className="faint">{`the first ${whole(SHOWN)} of ${whole(tokens.length)}`}</p> : null}
    </details>
  );
}

/** What is known of the tokens of a turn, in their order; an answer whose tokens are not known is left out. */
function tokensOf({ responseTokens, observationTokens, loss }: Turn): readonly { text: string; trained: boolean }[] {
  if (responseTokens === null) return [];
  return [
    ...responseTokens.map((text) => ({ text, trained: loss })),
    ...(observationTokens ?? []).map((text) => ({ text, trained: false })),
  ];
}
