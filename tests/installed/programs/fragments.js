/**
 * Runs the snippets of the READMEs that need a server and a user around them. Arguments: the folder of the snippets, their ending.
 * Environment: `ORIGIN` of the authorization server that protects `/mcp`, `KEY` of its client `robot`. Prints what each of them made.
 */
import { execFileSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { readSigningKey } from '@portcullis/client';
import { createNodeClient } from '@portcullis/client/node';

const [, , folder, kind] = process.argv;
const run = (name) => import(pathToFileURL(`${folder}/${name}.${kind}`).href);
const { ORIGIN, KEY } = process.env;
const serverUrl = `${ORIGIN}/mcp`;
const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
Object.assign(globalThis, { masterKey: new Uint8Array(32), serverUrl, headers, body, pem: KEY });
Object.assign(globalThis, { StreamableHTTPClientTransport, createNodeClient, readSigningKey });

/** A page whose user follows the link at once. */
let page = '';
Object.defineProperty(globalThis, 'location', {
  value: {
    get href() {
      return page;
    },
    set href(url) {
      page = String(execFileSync('xdg-open', [url]));
    },
  },
});

const made = {};

const { client, store, response } = await run('client-1');
made.fetch = response.status;
Object.assign(globalThis, { client, store });

const { transport } = await run('client-2');
const host = new Client({ name: 'host', version: '1.0.0' });
await host.connect(transport);
made.tools = (await host.listTools()).tools.length;
await host.close();

const { work } = await run('client-3');
made.signedOut = await work.session();

const { robot } = await run('client-4');
made.robot = [
  (await robot.fetch(serverUrl, { method: 'POST', headers, body })).status,
  (await robot.session()).scopes,
];

globalThis.ask = async () => true;
const { careful } = await run('client-5');
made.careful = (await careful.fetch(serverUrl, { method: 'POST', headers, body })).status;

await run('client-6');
made.page = [new URL(page).origin, (await client.session()).kind];

const [record] = await store.list(client.server, 'default');
const { tokens, registration, key } = record;
const mySend = async (url, method, fields, form) => {
  const answer = await fetch(url, { method, headers: fields, body: form });
  return { status: answer.status, headers: answer.headers, body: await answer.text() };
};
Object.assign(globalThis, { tokens, registration, issuer: key.issuer, mySend });
const { result } = await run('client-7');
made.steps = result.kind;

const { server } = await run('authorization-server-1');
globalThis.server = server;
const { verifier } = await run('authorization-server-2');
made.verifier = verifier.issuers;

console.log(`made ${JSON.stringify(made)}`);
process.exit();
