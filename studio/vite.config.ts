import { fileURLToPath } from 'node:url';
import { defineConfig, type UserConfig } from 'vite';

type Warn = NonNullable<NonNullable<NonNullable<UserConfig['build']>['rollupOptions']>['onwarn']>;
// libraries mark what runs in a browser; here all of it does
const onwarn: Warn = (warning, warn) => warning.code === 'MODULE_LEVEL_DIRECTIVE' || warn(warning);

/** `npm run studio` serves the sources next to the server of `npm run up`; an installation serves what `bin/studio.js` builds. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),

  cacheDir: '../node_modules/.vite/studio',
  esbuild: { jsx: 'automatic' },
  build: { target: 'es2022', assetsInlineLimit: 0, sourcemap: false, reportCompressedSize: false, rollupOptions: { onwarn } },
  server: { proxy: { '/graphql': 'http://127.0.0.1:4000', '/images': 'http://127.0.0.1:4000' } },
});
