import { findSearchAction } from '../../domain/prompts/project-response.ts';

/** What an action text asks for. */
export type SearchAction =
  | { readonly kind: 'search'; readonly query: string }
  | { readonly kind: 'answer'; readonly text: string }
  | { readonly kind: 'nothing' };

/** Reads an action as a response is read, so that the environment may be given either. A blank query is no search. */
export function readAction(text: string): SearchAction {
  const { action } = findSearchAction(text);
  const [, tag, content = ''] = /^<(search|answer)>([\s\S]*)<\/\1>$/.exec(action) ?? [];
  if (tag === 'search' && content !== '') return { kind: 'search', query: content };
  return tag === 'answer' ? { kind: 'answer', text: content } : { kind: 'nothing' };
}
