/** Lists the tools of a backend for the catalogue, in a session of the user. */

import { isMembers } from '@portcullis/http';
import { BackendError, type BackendSession, type InitializeParams } from './backends/backend.ts';
import { MAX_LIST_PAGES } from './limits/bounds.ts';
import type { ListTools } from './review/catalogue.ts';
import { readToolDefinition, type ToolDefinition } from './review/tool-definition.ts';
import type { OwnedRequest } from './servers/request.ts';

/** A session, and whether it was opened for this list only. */
export interface GatewaySession {
  readonly session: BackendSession;
  readonly isOwn: boolean;
}

/** The gateway supports no client capability. */
export const ownInitialize: InitializeParams = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'portcullis', version: '1' },
};

const METHOD_NOT_FOUND = -32_601;

export function createListTools(open: (request: OwnedRequest) => Promise<GatewaySession>): ListTools {
  return async (request) => {
    const { session, isOwn } = await open(request);
    try {
      return await listAll(session, request.server.name);
    } finally {
      if (isOwn) await session.close().catch(() => undefined);
    }
  };
}

async function listAll(session: BackendSession, name: string): Promise<readonly ToolDefinition[]> {
  const tools: ToolDefinition[] = [];
  let cursor: unknown;
  for (let page = 0; page < MAX_LIST_PAGES; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const message = { jsonrpc: '2.0', id: page + 1, method: 'tools/list', params } as const;
    const signal = new AbortController().signal;
    const { result, error } = await session.request(message, { signal, receive: () => {} });
    if (isMembers(error) && error['code'] === METHOD_NOT_FOUND) return [];
    if (!isMembers(result) || !Array.isArray(result['tools']))
      throw new BackendError(
        'unavailable',
        `${name} does not list its tools at the moment. Try again later.`,
      );
    tools.push(...result['tools'].map(readToolDefinition).filter((tool) => tool !== null));
    cursor = result['nextCursor'];
    if (cursor === undefined || cursor === null || cursor === '') return tools;
  }
  throw new BackendError('unavailable', `${name} lists its tools without end.`);
}
