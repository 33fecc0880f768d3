// Runs after `npm install` and `npm ci`: compiles the programs, so that the first start need not.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleFolder } from './bundle.js';

// An image installs its dependencies before it copies the sources.
if (existsSync(fileURLToPath(new URL('../src', import.meta.url)))) await bundleFolder();
