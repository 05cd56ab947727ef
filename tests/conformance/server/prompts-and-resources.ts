/** The prompts and resources that the scenarios of the suite name, with completion, subscriptions and log levels. */
import { fromJsonSchema, type McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { PNG } from './fixtures.ts';

const IMAGE = { type: 'image', data: PNG, mimeType: 'image/png' } as const;

/** Registers the prompts. */
export function registerPrompts(server: McpServer): void {
  const say = (text: string) => ({ role: 'user' as const, content: { type: 'text' as const, text } });
  server.registerPrompt('test_simple_prompt', { description: 'Has no arguments' }, async () => ({
    messages: [say('This is a simple prompt for testing.')],
  }));
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'Has two arguments', argsSchema: texts<'arg1' | 'arg2'>('arg1', 'arg2') },
    async ({ arg1, arg2 }) => ({
      messages: [say(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
    }),
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'Embeds a resource', argsSchema: texts<'resourceUri'>('resourceUri') },
    async ({ resourceUri: uri }) => {
      const resource = { uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' };
      const embedded = { role: 'user' as const, content: { type: 'resource' as const, resource } };
      return { messages: [embedded, say('Please process the embedded resource above.')] };
    },
  );
  server.registerPrompt('test_prompt_with_image', { description: 'Contains an image' }, async () => ({
    messages: [{ role: 'user', content: IMAGE }, say('Please analyze the image above.')],
  }));
  server.server.setRequestHandler('completion/complete', async () => ({
    completion: { values: [], total: 0, hasMore: false },
  }));
}

function texts<Name extends string>(...names: readonly Name[]) {
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
  return fromJsonSchema<Record<Name, string>>({ type: 'object', properties, required: [...names] });
}

/** Registers the resources. */
export function registerResources(server: McpServer): void {
  const readText = (text: string) => async (uri: URL) => ({
    contents: [{ uri: uri.href, mimeType: 'text/plain', text }],
  });
  const plain = { mimeType: 'text/plain' };
  server.registerResource(
    'static-text',
    'test://static-text',
    plain,
    readText('This is the content of the static text resource.'),
  );
  server.registerResource('watched-resource', 'test://watched-resource', plain, readText('Watched content'));
  server.registerResource(
    'static-binary',
    'test://static-binary',
    { mimeType: 'image/png' },
    async ({ href: uri }) => ({ contents: [{ uri, mimeType: 'image/png', blob: PNG }] }),
  );
  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { mimeType: 'application/json' },
    async ({ href: uri }, { id }) => {
      const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
      return { contents: [{ uri, mimeType: 'application/json', text }] };
    },
  );
  server.server.setRequestHandler('resources/subscribe', async () => ({}));
  server.server.setRequestHandler('resources/unsubscribe', async () => ({}));
  server.server.setRequestHandler('logging/setLevel', async () => ({}));
}
