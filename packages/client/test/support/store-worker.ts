/** A process of its own that calls a protected server again and again, with credentials that others use too. */
import { createClient } from '../../src/index.ts';
import { openFileStore } from '../../src/node.ts';

const task = JSON.parse(process.argv[2] ?? '{}') as { path: string; serverUrl: string; rounds: number };
const store = openFileStore(task.path);
const client = createClient({ serverUrl: task.serverUrl, store });
let answers = 0;
for (let round = 0; round < task.rounds; round += 1) {
  const response = await client.fetch(task.serverUrl);
  if (response.status === 200) answers += 1;
  await response.text();
  await new Promise((resolve) => setTimeout(resolve, 60 + Math.random() * 60));
}
store.close();
process.send?.({ answers });
