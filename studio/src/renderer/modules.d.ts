/** The text of a module that exports `render`, as JavaScript: `vite.config.ts` makes it. */
declare module '*?renderer' {
  const source: string;
  // biome-ignore lint/style/noDefaultExport: as Vite makes modules of texts
  export default source;
}
