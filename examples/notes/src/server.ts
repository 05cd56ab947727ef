/** An MCP server with four tools for one signed-in user. It never sees tokens. */
import { type CallToolResult, McpServer } from '@modelcontextprotocol/server';
import type { Principal } from '@portcullis/resource-server';
import * as z from 'zod';
import type { Notes } from './notes.ts';

/** The scopes of each tool. The guard rejects calls without them before they reach the server below. */
export const scopesOfTools: ReadonlyMap<string, readonly string[]> = new Map([
  ['whoami', []],
  ['list_notes', ['notes:read']],
  ['add_note', ['notes:write']],
  ['delete_note', ['notes:write']],
]);

const note = z.object({ id: z.number().int(), text: z.string() });

/** Creates the server for requests of this principal. */
export function createNotesServer(notes: Notes, principal: Principal): McpServer {
  const server = new McpServer({ name: 'notes', version: '1.0.0' });
  // A subject is unique within its issuer only.
  const owner = `${principal.issuer} ${principal.subject}`;

  server.registerTool(
    'list_notes',
    {
      description: 'Lists your notes, oldest first.',
      outputSchema: z.object({ notes: z.array(note) }),
      annotations: { readOnlyHint: true },
    },
    () => {
      const found = notes.list(owner);
      const lines = found.map(({ id, text }) => `${id}. ${text}`);
      return say(lines.join('\n') || 'You have no notes.', { notes: found });
    },
  );

  server.registerTool(
    'add_note',
    {
      description: 'Adds a note.',
      inputSchema: z.object({ text: z.string().trim().min(1).max(10_000) }),
      outputSchema: note,
    },
    ({ text }) => {
      const added = notes.add(owner, text);
      return say(`Added note ${added.id}.`, { ...added });
    },
  );

  server.registerTool(
    'delete_note',
    {
      description: 'Deletes one of your notes by its number.',
      inputSchema: z.object({ id: z.number().int() }),
      annotations: { destructiveHint: true, idempotentHint: true },
    },
    ({ id }) =>
      notes.delete(owner, id)
        ? say(`Deleted note ${id}.`)
        : { ...say(`You have no note ${id}.`), isError: true },
  );

  server.registerTool(
    'whoami',
    {
      description: 'Says who you are to this server, by which client you came, and what it may do.',
      outputSchema: z.object({
        subject: z.string(),
        issuer: z.string(),
        clientId: z.string(),
        scopes: z.array(z.string()),
      }),
      annotations: { readOnlyHint: true },
    },
    () => {
      const { subject, issuer, clientId, scopes, name, email } = principal;
      const me = { subject, issuer, clientId, scopes: [...scopes] };
      const greeting = `Hello ${name ?? email ?? subject}!`;
      return say(
        `${greeting} You are ${subject} of ${issuer}, here by ${clientId} with: ${scopes.join(' ')}`,
        me,
      );
    },
  );

  return server;
}

function say(text: string, structuredContent?: Record<string, unknown>): CallToolResult {
  return {
    content: [{ type: 'text', text }],
    ...(structuredContent !== undefined && { structuredContent }),
  };
}
