import { describeAdapter } from './adapter-suite.ts';
import { startFetch, startNode } from './support/adapters.ts';

describeAdapter('fetch', startFetch);
describeAdapter('node:http', startNode);
