import { describe } from '@jest/globals';
import { browserIsThere } from './studio-browser.ts';

/** Describes what needs a browser; where there is none the whole is reported as skipped. */
export function describeWithBrowser(name: string, body: () => void): void {
  (browserIsThere ? describe : describe.skip)(name, body);
}
