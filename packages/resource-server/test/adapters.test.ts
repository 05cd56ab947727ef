import { describeAdapter } from './adapter-suite.ts';
import {
  startExpress,
  startFastify,
  startFetch,
  startGuardedHono,
  startHono,
  startHonoOnNode,
  startKoa,
  startMcp,
  startMcpOnNode,
  startNode,
} from './support/adapters.ts';

describeAdapter('fetch', startFetch);
describeAdapter('node:http', startNode);
describeAdapter('Express', startExpress);
describeAdapter('Fastify', startFastify);
describeAdapter('Koa', startKoa);
describeAdapter('Hono', startHono);
describeAdapter('Hono on node:http', startHonoOnNode);
describeAdapter('Hono, one handler', startGuardedHono);
describeAdapter('the MCP server package 2.x', startMcp);
describeAdapter('the MCP server package 1.x', startMcpOnNode);
