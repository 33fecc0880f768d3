/**
 * Runs in a page of others, and resolves with what that could read of the answer: it tries one way by which a browser sends a
 * request, at an address and with a body. Plain JavaScript: it is sent to the browser as text.
 */
globalThis.tryInPage = async ({ way, url, body }) => {
  const element = (name, set) =>
    new Promise((resolve) => {
      const made = document.createElement(name);
      made.onload = () => resolve(made);
      made.onerror = () => resolve(made);
      setTimeout(resolve, 1_500, made); // some ways end in neither
      Object.assign(made, set);
      document.body.append(made);
    });
  const read = async (init) => {
    try {
      const answer = await fetch(url, { credentials: 'include', ...init });
      return answer.type === 'opaque' ? '' : await answer.text();
    } catch {
      return '';
    }
  };
  const form = async (target) => {
    const made = document.createElement('form');
    Object.assign(made, { action: url, method: 'post', enctype: 'text/plain', target });
    const field = document.createElement('input');
    Object.assign(field, { name: body, value: '' });
    made.append(field);
    document.body.append(made);
    made.submit();
    await new Promise((resolve) => setTimeout(resolve, 300));
  };
  const documentOf = (of) => {
    try {
      return of?.document.body?.textContent ?? '';
    } catch {
      return '';
    }
  };
  switch (way) {
    case 'cors':
      return read({});
    case 'no-cors':
      return read({ mode: 'no-cors', method: 'POST', body });
    case 'json':
      return read({ method: 'POST', body, headers: { 'content-type': 'application/json' } });
    case 'image': {
      const { naturalWidth } = await element('img', { src: url });
      return naturalWidth > 0 ? 'a picture' : '';
    }
    case 'script':
      await element('script', { src: url });
      return '';
    case 'style': {
      const { sheet } = await element('link', { rel: 'stylesheet', href: url });
      try {
        return (sheet?.cssRules.length ?? 0) > 0 ? 'a style' : '';
      } catch {
        return ''; // of another site
      }
    }
    case 'frame':
      return documentOf((await element('iframe', { src: url })).contentWindow);
    case 'object':
      return documentOf((await element('object', { data: url })).contentWindow);
    case 'form in a frame': {
      const frame = document.createElement('iframe');
      frame.name = 'inner';
      document.body.append(frame);
      await form('inner');
      return documentOf(frame.contentWindow);
    }
    case 'form':
      await form('_blank');
      return '';
    case 'beacon':
      navigator.sendBeacon(url, body);
      await new Promise((resolve) => setTimeout(resolve, 300));
      return '';
    case 'events':
      return new Promise((resolve) => {
        const source = new EventSource(url, { withCredentials: true });
        source.onmessage = ({ data }) => resolve(String(data));
        source.onerror = () => {
          source.close();
          resolve('');
        };
      });
    case 'link': {
      const opened = window.open(url);
      await new Promise((resolve) => setTimeout(resolve, 300));
      return documentOf(opened);
    }
    default:
      throw new Error(`there is no way ${way}`);
  }
};
