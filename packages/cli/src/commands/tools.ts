/** `portcullis tools`: lists the tools of a protected server. */
import type { Command } from 'commander';
import { addJsonOption, addSignInOptions, type SignInFlags } from '../client/flags.ts';
import type { McpRequest } from '../client/mcp-client.ts';
import { withMcpConnection } from '../client/mcp-connection.ts';
import { withClient } from '../client/open-client.ts';
import { WAITING } from '../client/progress-messages.ts';
import { isObject } from '../json.ts';
import type { ProcessContext } from '../process-context.ts';
import { cleanJson, cleanLine, cleanText } from '../terminal/clean.ts';
import type { Styles } from '../terminal/terminal.ts';

/** Maximum pages of a list, in case a server repeats its cursors. */
const MAX_PAGES = 100;

export function defineTools(program: Command, processContext: ProcessContext): void {
  const command = program
    .command('tools')
    .summary('list the tools of a protected server')
    .description('Lists the tools of a protected server, signing in first if necessary.')
    .argument('<server-url>', 'URL of the protected server');
  addJsonOption(addSignInOptions(command)).action((serverUrl: string, flags: SignInFlags) =>
    withClient(serverUrl, flags, processContext, async ({ terminal, ...opened }) => {
      terminal.during(WAITING);
      const tools = await withMcpConnection(opened, flags, processContext, listTools);
      terminal.print(flags.json ? `${cleanJson({ tools })}\n` : describe(tools, terminal.styles));
    }),
  );
}

/** All pages of the list. */
async function listTools(request: McpRequest): Promise<readonly unknown[]> {
  const tools: unknown[] = [];
  let cursor: unknown;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const result = await request('tools/list', cursor === undefined ? {} : { cursor });
    if (!isObject(result) || !Array.isArray(result['tools'])) break;
    // Not as arguments of one call: their number is limited, and that of a server's tools is not.
    for (const tool of result['tools']) tools.push(tool);
    cursor = result['nextCursor'];
    if (typeof cursor !== 'string' || cursor === '') break;
  }
  return tools;
}

function describe(tools: readonly unknown[], styles: Styles): string {
  const known = tools.filter(isObject);
  if (known.length === 0) return 'The server offers no tools to you.\n';
  return known.map((tool) => describeTool(tool, styles)).join('\n');
}

function describeTool(tool: Readonly<Record<string, unknown>>, { bold, faint }: Styles): string {
  const { name, description, inputSchema } = tool;
  const lines = [bold(cleanLine(String(name)))];
  if (typeof description === 'string')
    lines.push(
      ...cleanText(description)
        .trim()
        .split('\n')
        .map((line) => `  ${line}`),
    );
  const schema = isObject(inputSchema) ? inputSchema : {};
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  for (const [parameter, its] of Object.entries(isObject(schema['properties']) ? schema['properties'] : {})) {
    const type = isObject(its) && typeof its['type'] === 'string' ? its['type'] : 'any';
    const need = required.includes(parameter) ? '' : ', optional';
    // As `portcullis call` expects them.
    const sign = type === 'string' ? '=' : ':=';
    lines.push(faint(`  ${cleanLine(parameter)}${sign}${cleanLine(type)}${need}`));
  }
  return `${lines.join('\n')}\n`;
}
