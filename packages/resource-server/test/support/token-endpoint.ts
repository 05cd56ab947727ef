/** The token endpoint of an authorization server, on a real socket, that answers exchanges as a test says. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Manner } from './key-server.ts';

export interface AskedExchange {
  readonly authorization: string | undefined;
  readonly form: URLSearchParams;
}

export interface TokenEndpoint {
  readonly url: string;
  readonly asked: readonly AskedExchange[];
  behave(manner: Manner): void;
  close(): Promise<void>;
}

/** Gives a new token for each exchange, whose text says for whom: `third-1-of-<subject token>`. */
export function giving(members: Readonly<Record<string, unknown>> = {}) {
  let serial = 0;
  return (response: ServerResponse, { form }: AskedExchange): void => {
    serial += 1;
    const answer = {
      access_token: `third-${serial}-of-${form.get('subject_token')?.slice(-8)}`,
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'files:read',
      ...members,
    };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  };
}

export async function startTokenEndpoint(): Promise<TokenEndpoint> {
  const asked: AskedExchange[] = [];
  let manner: (response: ServerResponse, asked: AskedExchange) => void = giving();
  const server = createServer(async (request, response) => {
    const question = {
      authorization: request.headers.authorization,
      form: new URLSearchParams(await text(request)),
    };
    asked.push(question);
    manner(response, question);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    asked,
    behave(next) {
      manner = next;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
