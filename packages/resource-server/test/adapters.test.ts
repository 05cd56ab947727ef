/** The adapters that every other one is made of, and the two that users need most; the others are in framework-adapters.test.ts. */
import { describeAdapter } from './adapter-suite.ts';
import { startExpress, startFetch, startMcp, startNode } from './support/adapters.ts';

describeAdapter('fetch', startFetch);
describeAdapter('node:http', startNode);
describeAdapter('Express', startExpress);
describeAdapter('the MCP server package 2.x', startMcp);
