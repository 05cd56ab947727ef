// The client in any runtime: signs a user in, whose browser is the test, and calls the server; then as an application, with the
// parts that need Node: the credential file and the SSRF guard. client.js SERVER FILE
import { createInterface } from 'node:readline';
import { createClient } from '@portcullis/client';
import { createNodeClient, openCredentialStore } from '@portcullis/client/node';

const [serverUrl, file] = process.argv.slice(2);
const redirectUri = 'http://127.0.0.1:9/callback';
const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
const call = (client) =>
  client.fetch(serverUrl, { method: 'POST', body }).then((response) => response.text());

const client = createClient({ serverUrl });
console.log(`open ${await client.begin({ redirectUri })}`);
for await (const line of createInterface({ input: process.stdin })) {
  await client.complete(line);
  break;
}
const user = await call(client);
const application = createNodeClient({
  serverUrl,
  store: await openCredentialStore(file),
  grant: { kind: 'application' },
  registration: {
    preregistered: [
      {
        issuer: new URL(serverUrl).origin,
        clientId: 'machine',
        clientSecret: 'a secret that only tests know',
        authentication: 'client_secret_post',
      },
    ],
  },
});
console.log(`results ${JSON.stringify([user, await call(application)])}`);
process.exit();
