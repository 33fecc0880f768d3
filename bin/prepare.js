// Runs after `npm install` and `npm ci`, and before `npm pack`: compiles the programs and the studio.
import { bundleFolder } from './bundle.js';
import { studioFolder } from './studio.js';

await bundleFolder();
await studioFolder();
