/**
 * The MCP server of the documents, on standard input and output: its tools answer with the values of their arguments, `echo` as that of
 * server-everything does. With an argument, it describes its tools otherwise each time.
 */
import { createInterface } from 'node:readline';

const changes = process.argv.length > 2;
const describe = () => (changes ? `A tool at ${process.hrtime.bigint()}` : 'A tool');

const NAMES = ['echo', 'get-sum', 'greet', 'add_note', 'list_notes', 'whoami', 'get_page', 'delete_page'];

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: {
    readonly protocolVersion?: string;
    readonly name?: string;
    readonly arguments?: object;
  };
}

const results: Readonly<Record<string, (params: NonNullable<Message['params']>) => object>> = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'documents', version: '1' },
  }),
  'tools/list': () => ({
    tools: NAMES.map((name) => ({ name, description: describe(), inputSchema: { type: 'object' } })),
  }),
  'tools/call': ({ name, arguments: given = {} }) => ({
    content: [{ type: 'text', text: `${name === 'echo' ? 'Echo: ' : ''}${Object.values(given).join(' ')}` }],
  }),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method = '', params = {} }: Message = JSON.parse(line);
  if (id === undefined) return;
  const result = results[method]?.(params);
  const answer = result === undefined ? { error: { code: -32601, message: method } } : { result };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`);
});
