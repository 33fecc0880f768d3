/** Where the frame of renderers comes from: a document of the server with rules of its own. */
export const frameSource: { readonly src?: string; readonly srcDoc?: string } = { src: '/frame.html' };
