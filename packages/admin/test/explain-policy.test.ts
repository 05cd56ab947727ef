/** `POST /policy/explain`: what is decided about a supposed call. */
import { expect, it, onTestFinished } from 'vitest';
import { call, startInstallation } from './installation.ts';

it('a tool without an approved definition is refused, once the gateway knows the tools of the server', async () => {
  const url = 'http://127.0.0.1:9/mcp';
  const t = await startInstallation({ servers: [{ path: '/files', name: 'Files', backend: { url } }] });
  onTestFinished(() => t.stop());
  const token = await t.machineToken('ops');
  const explain = async (tool: string) => {
    const about = { server: '/files', tool, user: 'ada@example.com' };
    return (await call(t, token, 'POST /policy/explain', about)).body;
  };
  expect(await explain('unseen')).toMatchObject({ decision: 'allow' });
  const list = { server: '/files', backend: url, kind: 'tool' } as const;
  const seen = { name: 'seen', hash: 'a', definition: '{"name":"seen"}' };
  await t.onStore((store) => store.saveFirstPins(list, [seen], 1));
  expect(await explain('unseen')).toMatchObject({
    decision: 'deny',
    because: { rule: 'servers[0].review', reason: 'no definition of this tool is approved' },
  });
  expect(await explain('seen')).toMatchObject({ decision: 'allow', because: null });
});
