/** Sets a server up: address, who may use it, what it offers, and the configuration that protects it with the links for apps. */
import { html, type Markup } from '@portcullis/authorization-server/pages';
import type { OperationError } from '../../operations/errors.ts';
import { type TriedServer, tryServer } from '../../operations/try-server.ts';
import { defineForm } from '../action.ts';
import { links } from '../links.ts';
import type { ConsolePage, ConsoleRequest, ConsoleRoute } from '../page.ts';
import { connectInstructions } from '../servers/connect.ts';
import { countOf, errorNotice, field, postForm, section } from '../ui/parts.ts';
import { exportSection } from './export.ts';

const PATH = links.setup;

function steps(current: 1 | 2): Markup {
  const names = ['Address and access', 'What it offers, export, and links'];
  return html`<ol class="steps">${names.map((name, index) => html`<li${index + 1 === current && html` aria-current="step"`}>${name}</li>`)}</ol>`;
}

async function formPage(request: ConsoleRequest, error: OperationError | null): Promise<ConsolePage> {
  const value = (name: string) => request.form[name] ?? '';
  const content = html`${field({ name: 'url', label: 'Address of the MCP server', type: 'url', isRequired: true, maxLength: 2000, value: value('url'), hint: 'Its Streamable HTTP endpoint, as this computer reaches it: https://mcp.internal.example.com/mcp' })}
${field({ name: 'name', label: 'Name', isRequired: true, maxLength: 100, value: value('name'), hint: 'Users see it when they allow an app something.' })}
${field({ name: 'path', label: 'Path', isRequired: true, maxLength: 200, value: value('path'), hint: `Where apps reach it, such as /files. The whole address begins with ${new URL(request.admin.issuer).origin}` })}
${field({ name: 'groups', label: 'Who may use it', maxLength: 1000, value: value('groups'), hint: 'Groups, separated by commas. Empty: every user who can sign in.' })}
<p class="buttons"><button class="button main">Try the server</button><a class="button" href="${links.servers}">Cancel</a></p>`;
  return {
    title: 'Protect a server',
    lead: 'Nothing changes until you add the exported configuration to your file.',
    status: error === null ? 200 : 400,
    body: html`${steps(1)}${errorNotice(error)}${postForm(request, PATH, content)}`,
  };
}

function resultPage(
  { admin }: ConsoleRequest,
  { entry, server, tools, revision }: TriedServer,
  groups: readonly string[],
): ConsolePage {
  const offers =
    tools === null
      ? 'It responds. Its tools are known only with the account of a user.'
      : `It responds with ${countOf(tools, 'tool')}${revision !== '' && ` in revision ${revision} of the protocol`}.`;
  const who = groups.length === 0 ? 'Every user who can sign in' : `Users in ${groups.join(', ')}`;
  return {
    title: `${server.name} works`,
    back: { label: 'Start again', href: PATH },
    body: html`${steps(2)}
<div class="columns"><div>
${section('What it offers', html`<p>${offers} ${who} may allow apps to read with it, and to change something, as far as its tools say which they do.</p>`)}
${exportSection(admin, 'servers', entry, 'Running processes notice a change of the file, and protect the server at once.')}
</div><div>
${section('Connect an app', connectInstructions(server.name, server.resource))}
</div></div>`,
  };
}

export const serverSetupRoutes: readonly ConsoleRoute[] = defineForm(
  PATH,
  ['url', 'name', 'path', 'groups'],
  formPage,
  async (request) => {
    const { url = '', name = '', path = '' } = request.form;
    const groups = (request.form['groups'] ?? '')
      .split(',')
      .map((group) => group.trim())
      .filter(Boolean);
    return resultPage(request, await tryServer(request.admin, { url, name, path, groups }), groups);
  },
);
