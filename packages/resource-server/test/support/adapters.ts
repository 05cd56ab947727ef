/** The adapters, each as something that the shared suite can start. */
import { protect } from '../../src/fetch.ts';
import { protectNode } from '../../src/node.ts';
import { listen, received, type Start } from './server.ts';

export const startFetch: Start = async (guard, application) => {
  const handle = protect(guard, async (request, principal) => {
    const fields = JSON.stringify([...request.headers]);
    const body = await request.text();
    const reply = await application({ method: request.method, body, principal, fields });
    return new Response(reply.body, {
      status: reply.status,
      ...(reply.headers && { headers: reply.headers }),
    });
  });
  return {
    async send({ method = 'GET', path = '/mcp', headers = [], body }) {
      const text = typeof body === 'object' ? body.join('') : body;
      const request = new Request(new URL(path, 'https://internal.example'), {
        method,
        headers: headers.map(([name, value]) => [name, value] as [string, string]),
        ...(text !== undefined && { body: text }),
      });
      const response = await handle(request);
      return received(response.status, response.headers, await response.text());
    },
    async close() {},
  };
};

export const startNode: Start = (guard, application) =>
  listen(
    protectNode(guard, async (request, response, principal) => {
      const fields = JSON.stringify([request.headers, request.rawHeaders, request.headersDistinct]);
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const reply = await application({ method: request.method ?? '', body, principal, fields });
      response.writeHead(reply.status, reply.headers).end(reply.body);
    }),
  );
