/** A call, its user and its approver in two real Chromium sessions: the pages notice each other, and the call continues. */
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { listen } from '@portcullis/http/node';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { findViolations } from '../../../tests/support/axe.ts';
import { launchChromium } from '../../../tests/support/browser.ts';
import { browserOf, emailOf, PASSWORD, registerClient, startSide } from './support/connections.ts';
import { defineTestServers } from './support/gateway.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await launchChromium();
});

afterAll(() => browser.close());

function greeter(executed: string[]): McpServer {
  const server = new McpServer({ name: 'greeter', version: '1' });
  server.registerTool('greet', { description: 'Greets everyone.' }, async () => {
    executed.push('greet');
    return { content: [{ type: 'text', text: 'greeted' }] };
  });
  return server;
}

async function setScene() {
  const executed: string[] = [];
  const handler = createMcpHandler(() => greeter(executed));
  const backend = await listen(async () => ({ fetch: handler.fetch }), { port: 0, host: '127.0.0.1' });
  onTestFinished(async () => void (await backend.close(0)));
  const gateway = await startSide({
    users: ['ada', 'lead'],
    pins: true,
    servers: (origin) =>
      defineTestServers(
        [
          {
            path: '/mcp',
            name: 'Greeter',
            backend: { url: `http://127.0.0.1:${backend.port}/mcp` },
            scopes: { call: 'Call it' },
            tools: { '*': { scopes: ['call'], approval: { by: { groups: ['leads'] } } } },
          },
        ],
        origin,
      ),
    options: () => ({ approvals: true }),
  });
  await gateway.server.accounts.describe(emailOf('lead'), { groups: ['leads'] });
  const app = await registerClient(gateway, 'App');
  const { access_token: token } = await app.redeem(await browserOf('ada').allow(app.authorizationUrl()));
  const call = () =>
    fetch(`${gateway.origin}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{}}}',
    });
  return { gateway, executed, call };
}

/** Sends a call again that has waited for too long, as clients do on a busy computer. */
async function callAgain(call: () => Promise<Response>): Promise<string> {
  const text = await (await call()).text();
  return text.includes('/approvals/') ? callAgain(call) : text;
}

/** Opens a page in a browser of its own, and signs in. */
async function open(url: string, name: string): Promise<Page> {
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(url);
  await page.fill('[name=email]', emailOf(name));
  await page.fill('[name=password]', PASSWORD);
  await page.click('form[action="/login"] button.main');
  await page.waitForURL(({ pathname }) => pathname === new URL(url).pathname);
  return page;
}

describe('a call that another user approves', () => {
  it('appears in the open queue, is allowed there, and continues, while the page of its user shows the decision', async () => {
    const { gateway, executed, call } = await setScene();
    const queue = await open(`${gateway.origin}/connections`, 'lead');
    await queue.getByRole('link', { name: 'Approvals' }).click();
    await queue.getByRole('heading', { name: 'Calls waiting for you' }).waitFor();
    expect(await findViolations(queue)).toEqual([]);
    const result = callAgain(call);
    await queue.locator('a.button', { hasText: 'Review' }).waitFor();
    const [pending] = await gateway.store.listPendingApprovals({ all: true }, 0, 1);
    const waiting = await open(`${gateway.origin}/approvals/${pending?.id}`, 'ada');
    await waiting.getByText('Waiting for a decision').waitFor();
    expect(await findViolations(waiting)).toEqual([]);
    expect(await waiting.locator('button[name=decision]').count()).toBe(0);
    await queue.getByRole('link', { name: 'Review' }).click();
    await queue.getByRole('heading', { name: 'App wants to use greet at Server' }).waitFor();
    expect(await findViolations(queue)).toEqual([]);
    expect(executed).toEqual([]);
    await queue.getByRole('button', { name: 'Allow once' }).click();
    await queue.getByText('The call is allowed').waitFor();
    await waiting.getByText('The call is allowed').waitFor();
    expect(await result).toContain('greeted');
    expect(executed).toEqual(['greet']);
  });

  it('outlasts a restart of the server: the open pages keep what was typed, and show the decision later', async () => {
    const { gateway, call } = await setScene();
    const result = callAgain(call);
    const queue = await open(`${gateway.origin}/approvals`, 'lead');
    await queue.getByRole('link', { name: 'Review' }).click();
    await queue.fill('[name=reason]', 'Because');
    await queue.route('**/approvals/*', (route) => route.fulfill({ status: 503, body: 'restarting' }));
    const isRestarting = () => queue.waitForResponse((response) => response.status() === 503);
    await isRestarting();
    // The page has looked again after it saw the error.
    await isRestarting();
    expect(await queue.inputValue('[name=reason]')).toBe('Because');
    await queue.unroute('**/approvals/*');
    const [pending] = await gateway.store.listPendingApprovals({ all: true }, 0, 1);
    const other = await open(`${gateway.origin}/approvals/${pending?.id}`, 'lead');
    await other.getByRole('button', { name: 'Allow once' }).click();
    await queue.getByText('The call is allowed').waitFor();
    expect(await result).toContain('greeted');
  });
});
