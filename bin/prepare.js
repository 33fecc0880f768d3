// Runs after `npm install` and `npm ci`: compiles the programs and the studio, so that the first start need not.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleFolder } from './bundle.js';
import { studioFolder } from './studio.js';

// An image installs its dependencies before it copies the sources.
if (existsSync(fileURLToPath(new URL('../src', import.meta.url)))) {
  await bundleFolder();
  await studioFolder();
}
