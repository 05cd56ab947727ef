/** A process of its own that calls a protected server whenever it is told to, with credentials that others use too. */
import { createClient } from '../../src/index.ts';
import { openFileStore } from '../../src/node.ts';

const task = JSON.parse(process.argv[2] ?? '{}') as { path: string; serverUrl: string };
const store = openFileStore(task.path);
const limits = { retryDelays: [5, 20, 50] };
// It has no browser: a lost session is an error.
const client = createClient({ serverUrl: task.serverUrl, store, limits });

process.on('message', async (word) => {
  if (word === 'end') {
    store.close();
    process.disconnect();
    return;
  }
  try {
    const response = await client.fetch(task.serverUrl);
    await response.text();
    process.send?.(response.status);
  } catch (error) {
    process.send?.(error instanceof Error ? error.message : 'something was thrown');
  }
});
process.send?.('ready');
