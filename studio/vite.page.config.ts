import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';
import studio from './vite.config.ts';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Views ask the router for links: those of a page know what the page holds. The frame of renderers is in the page. */
const linksOfPage: Plugin = {
  name: 'links-of-page',
  enforce: 'pre',
  resolveId: (source, importer) => {
    if (!importer?.startsWith(at('src/')) || importer.startsWith(at('src/page/'))) return null;
    if (source === '@tanstack/react-router') return at('src/page/router-of-page.tsx');
    return source === './frame-source.ts' ? at('src/page/frame-source.ts') : null;
  },
};

/** One script and one style sheet, which `bin/studio-page.js` writes into `page.html`: a page that opens without a server. */
export default defineConfig({
  ...studio,
  plugins: [...(studio.plugins ?? []), linksOfPage],
  build: {
    ...studio.build,
    modulePreload: false,
    cssCodeSplit: false,
    rollupOptions: {
      ...studio.build?.rollupOptions,
      input: at('page.html'),
      output: { inlineDynamicImports: true },
    },
  },
});
