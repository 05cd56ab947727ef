/** The names of the client commands at authorization servers, with the MCP host that runs a bridge. */
import { composeClientName } from '@portcullis/client/node';
import { CLIENT_INFO_KEY, type Message, parameter } from '@portcullis/http';
import { isObject } from '../json.ts';

/** Display names of hosts whose `clientInfo` contains an identifier. */
const KNOWN_HOSTS: Readonly<Record<string, string>> = {
  'claude-ai': 'Claude Desktop',
  'claude-code': 'Claude Code',
  'codex-mcp-client': 'Codex',
  'cursor-vscode': 'Cursor',
  'gemini-cli-mcp-client': 'Gemini CLI',
  'inspector-client': 'MCP Inspector',
  'windsurf-client': 'Windsurf',
};

/**
 * The name of a command, unless --client-name sets another.
 * @param host the MCP host that started it, if known
 */
export function nameOfCommand(
  { clientName }: { readonly clientName?: string },
  program: string,
  host: string | null = null,
): string {
  return clientName ?? composeClientName({ program, host });
}

/** The host that sent a message, by the `clientInfo` of `initialize` or of a stateless request; `null` if absent. */
export function hostOf(message: Message): string | null {
  const info = parameter(message, 'clientInfo') ?? parameter(message, '_meta', CLIENT_INFO_KEY);
  const { title, name } = isObject(info) ? info : {};
  if (typeof title === 'string' && title !== '') return title;
  if (typeof name !== 'string' || name === '') return null;
  return Object.hasOwn(KNOWN_HOSTS, name) ? (KNOWN_HOSTS[name] ?? null) : name;
}
