/** `portcullis login`: signs a person in at a server, and says what was got. */
import type { Session } from '@portcullis/client';
import type { Command } from 'commander';
import { addJsonOption, addSignInOptions, type SignInFlags } from '../client/flags.ts';
import { withClient } from '../client/open-client.ts';
import { sessionLines, sessionShape } from '../client/session-text.ts';
import type { ProcessContext } from '../process-context.ts';
import { cleanJson } from '../terminal/clean.ts';
import type { Terminal } from '../terminal/terminal.ts';

type Flags = SignInFlags & { readonly prompt?: string; readonly newRegistration?: true };

export function defineLogin(program: Command, processContext: ProcessContext): void {
  const command = program
    .command('login')
    .summary('sign in at a protected server')
    .description(
      'Signs in at a protected server. Later commands use the session, and renew it by themselves.',
    )
    .argument('<server-url>', 'address of the protected server')
    .option('--prompt <word>', 'sent along, for example select_account')
    .option(
      '--new-registration',
      'register the client anew: for when the sign-in page says that it does not know it',
    );
  addJsonOption(addSignInOptions(command)).action((serverUrl: string, flags: Flags) =>
    login(serverUrl, flags, processContext),
  );
}

function login(serverUrl: string, flags: Flags, processContext: ProcessContext): Promise<void> {
  return withClient(serverUrl, flags, processContext, async ({ client, terminal }) => {
    terminal.during('Asking the server how it is authorized');
    const { prompt, newRegistration } = flags;
    const session = await client.signIn({
      ...(prompt !== undefined && { prompt }),
      ...(newRegistration && { newRegistration: true }),
    });
    show(session, flags, terminal);
  });
}

function show(session: Session, { json }: Flags, terminal: Terminal): void {
  const words = `${terminal.styles.good('Signed in.')}\n${sessionLines(session).join('\n')}\n`;
  terminal.print(json ? `${cleanJson(sessionShape(session))}\n` : words);
}
