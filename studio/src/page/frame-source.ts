import document from '../../frame.html?raw';

/** Where the frame of renderers comes from in a page without a server: the page itself, whose rules name its script. */
export const frameSource: { readonly src?: string; readonly srcDoc?: string } = { srcDoc: document };
