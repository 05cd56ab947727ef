/** The adapters of more frameworks and packages; `npm run test:full`. */
import { describeAdapter } from './adapter-suite.ts';
import {
  startFastify,
  startGuardedHono,
  startHono,
  startHonoOnNode,
  startKoa,
  startMcpOnNode,
} from './support/adapters.ts';

describeAdapter('Fastify', startFastify);
describeAdapter('Koa', startKoa);
describeAdapter('Hono', startHono);
describeAdapter('Hono on node:http', startHonoOnNode);
describeAdapter('Hono, one handler', startGuardedHono);
describeAdapter('the MCP server package 1.x', startMcpOnNode);
