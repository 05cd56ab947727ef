/** The everything server on standard input and output, for `portcullis protect -- node tests/conformance/server/stdio.ts`. */
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { createSessionServer } from './everything-server.ts';

await createSessionServer().connect(new StdioServerTransport());
