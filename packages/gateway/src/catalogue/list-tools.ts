/** Lists the tools of a backend for the catalogue, in sessions of the user's owner that declare every capability. */

import {
  errorCodes,
  errorResponse,
  isMembers,
  isRequest,
  type Message,
  type RequestMessage,
} from '@portcullis/http';
import {
  BackendError,
  type BackendSession,
  type InitializeParams,
  orInNewSession,
} from '../backends/backend.ts';
import { isLastPage, listPages } from '../backends/list-pages.ts';
import { GATEWAY_CLIENT } from '../backends/revisions.ts';
import { CATALOGUE_READ_TIMEOUT } from '../limits.ts';
import type { OwnedRequest } from '../servers/request.ts';
import { readToolDefinition, type ToolDefinition } from './tool-definition.ts';

/** `every` revision that the backend speaks, or the newest of each transport. */
export type ListedRevisions = 'every' | 'newest';

/** Lists all pages of a backend's tools, a list for each revision. @throws BackendError */
export type ListTools = (
  request: OwnedRequest,
  revisions: ListedRevisions,
) => Promise<readonly (readonly ToolDefinition[])[]>;

/** @returns a session in which a list is read; `isOwn`: opened for this list, otherwise a client of the user has it */
type OpenListSession = () => Promise<{ readonly session: BackendSession; readonly isOwn: boolean }>;

/** The sessions in which lists are read, one after the other: of the newest revision first. At least one. @throws BackendError */
export type OwnSessions = (
  request: OwnedRequest,
  revisions: ListedRevisions,
) => Promise<readonly OpenListSession[]>;

/**
 * Parameters of `initialize` for lists: backends have tools that they offer only to clients with a capability.
 * @see MCP 2025-11-25, ClientCapabilities
 */
export function ownInitialize(protocolVersion: string): InitializeParams {
  return {
    protocolVersion,
    capabilities: {
      roots: { listChanged: true },
      sampling: { context: {}, tools: {} },
      elicitation: { form: {}, url: {} },
      tasks: {
        list: {},
        cancel: {},
        requests: { sampling: { createMessage: {} }, elicitation: { create: {} } },
      },
      extensions: {
        'io.modelcontextprotocol/tasks': {},
        'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] },
      },
    },
    clientInfo: GATEWAY_CLIENT,
  };
}

export function createListTools(open: OwnSessions): ListTools {
  // The session may be a client's.
  return (request, revisions) => orInNewSession(() => listEach(request, revisions));

  async function listEach(request: OwnedRequest, revisions: ListedRevisions) {
    const lists: (readonly ToolDefinition[])[] = [];
    const failures: unknown[] = [];
    for (const openOne of await open(request, revisions)) {
      try {
        lists.push(await listOnce(openOne, request.server.name));
      } catch (error) {
        // A backend need not speak every revision, and may refuse a second session of a user.
        failures.push(error);
      }
    }
    if (lists.length === 0) throw failures[0];
    return lists;
  }
}

async function listOnce(open: OpenListSession, name: string): Promise<readonly ToolDefinition[]> {
  const { session, isOwn } = await open();
  if (!isOwn) return listAll(session, name);
  session.listen((message) => void refuseRequest(session, message));
  try {
    return await listAll(session, name);
  } finally {
    await session.close().catch(() => undefined);
  }
}

/** A backend may ask for roots before it answers. */
async function refuseRequest(session: BackendSession, message: Message): Promise<void> {
  if (!isRequest(message)) return;
  const text = 'The gateway only lists the tools of this server.';
  await session.notify(errorResponse(message.id, errorCodes.methodNotFound, text)).catch(() => undefined);
}

async function listAll(session: BackendSession, name: string): Promise<readonly ToolDefinition[]> {
  const tools: ToolDefinition[] = [];
  const signal = AbortSignal.timeout(CATALOGUE_READ_TIMEOUT);
  const send = (page: RequestMessage) =>
    session.request(page, { signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
      const text = `${name} did not list its tools within ${CATALOGUE_READ_TIMEOUT / 1000} seconds.`;
      throw new BackendError('timeout', text);
    });
  for await (const { result, error } of listPages(send, 'tools/list')) {
    if (isMembers(error) && error['code'] === errorCodes.methodNotFound) return [];
    if (!isMembers(result) || !Array.isArray(result['tools']))
      throw new BackendError(
        'unavailable',
        `${name} does not list its tools at the moment. Try again later.`,
      );
    tools.push(...result['tools'].map(readToolDefinition).filter((tool) => tool !== null));
    if (isLastPage(result)) return tools;
  }
  throw new BackendError('unavailable', `${name} lists its tools without end.`);
}
