import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin, transformWithEsbuild, type UserConfig } from 'vite';

type Warn = NonNullable<NonNullable<NonNullable<UserConfig['build']>['rollupOptions']>['onwarn']>;
// libraries mark what runs in a browser; here all of it does
const onwarn: Warn = (warning, warn) => warning.code === 'MODULE_LEVEL_DIRECTIVE' || warn(warning);

const RENDERER = /\.ts\?renderer$/;

/** A renderer is a text, which a worker of its frame runs: `?renderer` is a module as JavaScript, its names kept. */
const renderers: Plugin = {
  name: 'renderers',
  enforce: 'pre',
  load: async (id) => {
    if (!RENDERER.test(id)) return null;
    const file = id.replace(/\?renderer$/, '');
    const options = { loader: 'ts', target: 'es2022', minifyWhitespace: true, minifySyntax: true } as const;
    const { code } = await transformWithEsbuild(await readFile(file, 'utf8'), file, options);
    return { code: `export default ${JSON.stringify(code)};`, map: null };
  },
};

/** `npm run studio` serves the sources next to the server of `npm run up`; an installation serves what `bin/studio.js` builds. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),

  plugins: [renderers],
  cacheDir: '../node_modules/.vite/studio',
  esbuild: { jsx: 'automatic' },
  build: { target: 'es2022', assetsInlineLimit: 0, sourcemap: false, reportCompressedSize: false, rollupOptions: { onwarn } },
  server: { proxy: { '/graphql': 'http://127.0.0.1:4000', '/images': 'http://127.0.0.1:4000' } },
});
