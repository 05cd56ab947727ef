/** The configuration that a stdio-only MCP host needs to start the bridge to a server. */

import type { LaunchCommand } from '../process-context.ts';

/**
 * Formats the `mcpServers` member that Claude Desktop, Cursor, Windsurf and most other hosts read.
 * @returns a complete JSON document
 */
export function hostConfiguration(
  [program, ...args]: LaunchCommand,
  servers: readonly { readonly name: string; readonly url: string }[],
): string {
  const mcpServers: Record<string, object> = {};
  for (const { name, url } of servers)
    mcpServers[freeName(name, mcpServers)] = { command: program, args: [...args, 'connect', url] };
  return JSON.stringify({ mcpServers }, null, 2);
}

/** Hosts derive tool names from it, with a restricted character set. */
function freeName(name: string, used: Readonly<Record<string, object>>): string {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40);
  const base = plain === '' ? 'server' : plain;
  let free = base;
  for (let number = 2; Object.hasOwn(used, free); number += 1) free = `${base}-${number}`;
  return free;
}
