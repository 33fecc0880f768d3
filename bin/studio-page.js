// Builds the page that opens without a server: the studio as one script and one style sheet, in one HTML file.
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Writes `page.html` into a built studio. What is shown is written into it for each page: `%RULES%` is its content security
 * policy, `%RECORD%` its data (`graphql/pages/write-page.ts`).
 */
export async function buildPage(bundle, sources, folder) {
  const made = await mkdtemp(join(folder, 'page-'));
  try {
    await bundle({
      configFile: join(sources, 'vite.config.ts'),
      logLevel: 'error',
      build: {
        outDir: made,
        emptyOutDir: true,
        modulePreload: false,
        cssCodeSplit: false,
        rollupOptions: { output: { inlineDynamicImports: true } },
      },
    });
    const assets = await readdir(join(made, 'assets'));
    const read = async (ending) => {
      const found = assets.filter((name) => name.endsWith(ending));
      if (found.length !== 1) throw new Error(`a page has one file ${ending}, not ${found.length}: ${found.join(', ')}`);
      return readFile(join(made, 'assets', found[0]), 'utf8');
    };
    const [script, style] = [await read('.js'), await read('.css')];
    const html = (await readFile(join(made, 'index.html'), 'utf8'))
      .replace(
        /(?=\s*<title>)/,
        '\n    <meta http-equiv="Content-Security-Policy" content="%RULES%" />\n    <meta name="referrer" content="no-referrer" />',
      )
      .replace(/\s*<script type="module"[^>]*><\/script>/, '')
      .replace(/\s*<link rel="stylesheet"[^>]*>/, () => `\n    <style>${style.replaceAll('</', '<\\/')}</style>`)
      .replace(
        /\s*<\/body>/,
        () =>
          `\n    <script id="record" type="application/json">"%RECORD%"</script>\n    <script type="module">${inScript(script)}</script>\n  </body>`,
      );
    await writeFile(join(folder, 'page.html'), html);
  } finally {
    await rm(made, { recursive: true, force: true });
  }
}

/** Hides what would end a script element or begin a comment in it: texts and patterns, where a backslash changes nothing. */
function inScript(script) {
  return script.replace(/<\/(?=script)/gi, '<\\/').replaceAll('<!--', '<\\!--');
}
