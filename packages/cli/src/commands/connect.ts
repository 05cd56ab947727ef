/** `portcullis connect`: lets a program that only speaks stdio reach a protected server. */
import type { Command } from 'commander';
import { bridge } from '../client/bridge.ts';
import { openBrowser } from '../client/client-options.ts';
import { addSignInOptions, type SignInFlags } from '../client/flags.ts';
import { signInNeeded, withClient } from '../client/open-client.ts';
import type { ProcessContext } from '../process-context.ts';
import { untilStopSignal } from '../server/stop-signal.ts';
import { cleanLine } from '../terminal/clean.ts';

/** Standard input is the protocol's: there is nobody to paste an address. */
const NOBODY =
  'ask nobody: without a session every message is answered with an error that says how to sign in';

export function defineConnect(program: Command, processContext: ProcessContext): void {
  const command = program
    .command('connect')
    .summary('lend a protected server to a program that speaks stdio')
    .description(
      'Speaks MCP on standard input and output, and passes every message on to a protected server.\n' +
        'For the configuration of programs that start their servers themselves. Any number may run at once: ' +
        `one signs in, the others wait for it. With --no-browser nobody is asked: sign in by ${processContext.command} login before.`,
    )
    .argument('<server-url>', 'address of the protected server');
  addSignInOptions(command, NOBODY).action((serverUrl: string, flags: SignInFlags) =>
    connect(serverUrl, flags, processContext),
  );
}

async function connect(serverUrl: string, flags: SignInFlags, processContext: ProcessContext): Promise<void> {
  const stopping = new AbortController();
  void untilStopSignal({}).then(() => stopping.abort());
  const { input, output, errors } = processContext.streams;
  const tell = (line: string): void => void errors.write(`portcullis: ${cleanLine(line)}\n`);
  await withClient(
    serverUrl,
    // Standard input is the protocol's: no question may be asked there.
    { ...flags, browser: true },
    processContext,
    ({ client }) =>
      bridge({ url: client.server, fetch: client.fetch, input, output, tell, signal: stopping.signal }),
    {
      browser: {
        async open(url) {
          if (!flags.browser) throw signInNeeded(serverUrl, flags.account, processContext);
          tell(`Sign in in the browser. If none opens, open this address yourself: ${url}`);
          await openBrowser(url, processContext.environment);
        },
      },
      // What is added is told here, and asked on the consent page.
      async confirmStepUp(added) {
        tell(`The server asks for more: ${added.join(', ')}`);
        return true;
      },
    },
  );
  process.exit(0);
}
