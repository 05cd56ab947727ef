/** `portcullis connect`: bridges a protected server to a stdio-only MCP host. */
import { ClientError } from '@portcullis/client';
import { readLenientScopes, type Scopes } from '@portcullis/protocol';
import type { Command } from 'commander';
import { bridge } from '../client/bridge.ts';
import { hostOf, nameOfCommand } from '../client/client-name.ts';
import { openBrowser } from '../client/client-options.ts';
import { addSignInOptions, type SignInFlags } from '../client/flags.ts';
import { hostConfiguration } from '../client/host-configuration.ts';
import { withClient } from '../client/open-client.ts';
import { signInCommand } from '../client/sign-in-command.ts';
import type { ProcessContext } from '../process-context.ts';
import { untilStopSignal } from '../server/stop-signal.ts';
import { cleanLine } from '../terminal/clean.ts';

/** Standard input carries MCP messages, so no URL can be pasted. */
const NO_BROWSER =
  'never open a browser: requests that need a sign-in fail with an error that says how to sign in';

const EXAMPLE = { name: 'example', url: 'https://mcp.example.com/mcp' };

export function defineConnect(program: Command, processContext: ProcessContext): void {
  const command = program
    .command('connect')
    .summary('bridge a protected server to a stdio-only MCP host')
    .description(
      'Bridges a protected server to a stdio-only MCP host: passes every message between standard input and output and the server.\n' +
        'Use it as the server command in the configuration of the host (below). Any number of bridges may run at the same time: ' +
        `one signs in, and the others wait for it. With --no-browser, sign in first with ${processContext.command} login.`,
    )
    .argument('<server-url>', 'URL of the protected server');
  addSignInOptions(command, NO_BROWSER).addHelpText(
    'after',
    `\nConfiguration of a host, such as Claude Desktop:\n${hostConfiguration(processContext.launch, [EXAMPLE])}`,
  );
  command.action((serverUrl: string, flags: SignInFlags) => connect(serverUrl, flags, processContext));
}

async function connect(serverUrl: string, flags: SignInFlags, processContext: ProcessContext): Promise<void> {
  const stopping = new AbortController();
  void untilStopSignal({}).then(() => stopping.abort());
  const { input, output, errors } = processContext.streams;
  let added: Scopes = [];
  let host: string | null = null;
  const tell = (line: string): void => void errors.write(`portcullis: ${cleanLine(line)}\n`);
  await withClient(
    serverUrl,
    // Standard input carries MCP messages: never prompt there.
    { ...flags, browser: true },
    processContext,
    ({ client: { server: url, fetch, fetchInBackground }, acceptEndpoint }) =>
      bridge({
        url,
        fetch,
        fetchInBackground,
        acceptEndpoint,
        input,
        output,
        tell,
        signal: stopping.signal,
        observe(message) {
          host ??= hostOf(message);
        },
      }),
    {
      registration: { clientName: () => nameOfCommand(flags, 'Portcullis connect', host) },
      browser: {
        async open(url, _redirectUri, shortUrl = url, onceUrl = url) {
          if (!flags.browser) throw signInElsewhere(serverUrl, flags, processContext, url, added);
          // Hosts write it to log files: the short address ends with the sign-in, and does not contain the state.
          tell(`Sign in in your browser. If it does not open, visit this URL: ${shortUrl}`);
          await openBrowser(onceUrl, processContext.environment);
        },
      },
      // Additional scopes are reported here and confirmed on the consent page.
      async confirmStepUp(scopes) {
        tell(`The server requires additional scopes: ${scopes.join(', ')}`);
        added = scopes;
        return true;
      },
    },
  );
  process.exit(0);
}

/** With --no-browser this process cannot sign in; it uses a session created by another. */
function signInElsewhere(
  serverUrl: string,
  { account }: SignInFlags,
  { command }: ProcessContext,
  authorizationUrl: string,
  added: Scopes,
): ClientError {
  if (added.length === 0)
    return new ClientError(
      'sign_in_needed',
      `There is no session, and no browser is opened here. Sign in: ${signInCommand(serverUrl, account, command)}`,
    );
  const requested = readLenientScopes(new URL(authorizationUrl).searchParams.get('scope') ?? added.join(' '));
  const signIn = signInCommand(serverUrl, account, command, requested);
  return new ClientError(
    'sign_in_needed',
    `The session lacks ${cleanLine(added.join(' '))}, and no browser is opened here. Sign in: ${signIn}`,
  );
}
