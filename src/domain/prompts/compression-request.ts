import type { TemplateName } from './prompt-template.ts';

/**
 * Asks for the factor of the next image, worded for one world (specification of AgentOCR, §2.1; in our own words). A changed text
 * raises the template's version.
 */
export function compressionRequest(name: TemplateName): string {
  return name === 'search-qa' ? SEARCH : COMMON;
}

const COMMON = `Last, choose how strongly the next history image is to be compressed: a number larger than 1.0 between <compression> and </compression>. A larger number makes the image smaller and cheaper, but too large a number makes its text hard to read. Example: <compression>1.1</compression>`;

const SEARCH = `${COMMON}

Give your answer in this order:
1. your reasoning inside <think> </think>, where you first state what you could read in the image, if there is one;
2. the search inside <search> </search>, or the answer inside <answer> </answer>;
3. the factor inside <compression> </compression>.`;
