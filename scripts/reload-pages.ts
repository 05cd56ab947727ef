/**
 * Reloads the pages that are open in a browser after the server has restarted. `npm run dev` preloads it, and it changes the responses
 * of node:http: the product does not know of it.
 */
import { type IncomingMessage, Server, ServerResponse } from 'node:http';

const SCRIPT = '/dev/reload.js';
const PROCESS = '/dev/process';
const thisProcess = String(Date.now());

const RESOURCES: Readonly<Record<string, { readonly type: string; readonly body: string }>> = {
  [PROCESS]: { type: 'text/plain', body: thisProcess },
  [SCRIPT]: {
    type: 'text/javascript',
    body: `
      const loadedFrom = new URL(import.meta.url).searchParams.get('process');
      setInterval(async () => {
        // It fails while the server restarts.
        const current = await fetch('${PROCESS}').then((response) => response.text(), () => loadedFrom);
        if (current !== loadedFrom) location.reload();
      }, 250);`,
  },
};
const ELEMENT = `<script type="module" src="${SCRIPT}?process=${thisProcess}"></script>`;

const { emit } = Server.prototype;
const { writeHead, end } = ServerResponse.prototype;
const pages = new WeakSet<ServerResponse>();

Object.assign(Server.prototype, {
  emit(this: Server, event: string, ...values: readonly unknown[]): boolean {
    const [request, response] = values as [IncomingMessage, ServerResponse];
    const resource = event === 'request' ? RESOURCES[request.url?.split('?')[0] ?? ''] : undefined;
    if (resource === undefined) return Reflect.apply(emit, this, [event, ...values]);
    response.writeHead(200, { 'content-type': resource.type, 'cache-control': 'no-store' });
    response.end(resource.body);
    return true;
  },
});

Object.assign(ServerResponse.prototype, {
  writeHead(this: ServerResponse, ...values: readonly unknown[]): unknown {
    const [status, fields] = values;
    if (!Array.isArray(fields) || !fields.includes('text/html; charset=utf-8'))
      return Reflect.apply(writeHead, this, values);
    pages.add(this);
    return Reflect.apply(writeHead, this, [status, fields.map(adapt)]);
  },
  end(this: ServerResponse, ...values: readonly unknown[]): unknown {
    const [body] = values;
    const isPage = pages.has(this) && typeof body === 'string';
    return Reflect.apply(end, this, isPage ? [body + ELEMENT, 'utf8'] : values);
  },
});

/** A header of a page, `fields` being names and values in turn. */
function adapt(value: string, index: number, fields: readonly string[]): string {
  const name = index % 2 === 1 ? fields[index - 1] : '';
  if (name === 'content-length') return String(Number(value) + ELEMENT.length);
  if (name !== 'content-security-policy') return value;
  const script = value.includes('script-src') ? '' : "; script-src 'self'";
  return `${value}${script}; connect-src 'self'`;
}
