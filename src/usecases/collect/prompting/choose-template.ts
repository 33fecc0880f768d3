import { TEMPLATE_VERSIONS } from '../../../domain/prompts/compose-prompt.ts';
import type { TemplateName } from '../../../domain/prompts/prompt-template.ts';
import type { RenderProfile } from '../../../images/render-spec.ts';

/** The wordings of prompts by name. */
export const TEMPLATES = Object.keys(TEMPLATE_VERSIONS) as readonly TemplateName[]; // the keys of a record over it

/** Finds the template worded for an environment. */
export function templateFor(environment: string): TemplateName | undefined {
  return TEMPLATES.find(
    (name) =>
      [name, `${name}-generated`].includes(environment.split(':', 1)[0] ?? '') || environment.startsWith(`agentgym:${name}`),
  );
}

/** Describes what a first step shows: as published a blank image, otherwise none. */
export function emptyHistoryOf(profile: RenderProfile): 'no-image' | 'blank-image' {
  return profile === 'crisp' ? 'no-image' : 'blank-image';
}
