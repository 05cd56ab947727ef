/** A conversation lent to a command: begun, ended, and what goes wrong in it told with what to do about it. */
import type { Client } from '@portcullis/client';
import type { Surroundings } from '../surroundings.ts';
import { cleanLine } from '../terminal/clean.ts';
import { Refusal } from './answers.ts';
import { ServerError } from './asking.ts';
import { type Conversation, converse } from './conversation.ts';
import { adviceOn, adviceToProgram, CommandFailure, exitCodeOf, exitCodes } from './exit-codes.ts';
import type { SignInFlags } from './flags.ts';

/** @throws ClientError, or CommandFailure with what to do. */
export async function withConversation<T>(
  { server: url, fetch, extensions, session }: Pick<Client, 'server' | 'fetch' | 'extensions' | 'session'>,
  {
    account,
    application,
    clientId,
    scope,
  }: Pick<SignInFlags, 'account' | 'application' | 'clientId' | 'scope'>,
  { version, command }: Pick<Surroundings, 'version' | 'command'>,
  act: (ask: Conversation['ask']) => Promise<T>,
): Promise<T> {
  try {
    const conversation = await converse({ url, fetch, version, extensions });
    try {
      return await act(conversation.ask);
    } finally {
      await conversation.close();
    }
  } catch (error) {
    if (error instanceof Refusal) {
      const { scopes = [] } = (await session()) ?? {};
      const advice = application
        ? adviceToProgram(error, { server: url, clientId: clientId ?? '', named: scope ?? null })
        : adviceOn(error, { server: url, account, command, scopes });
      throw new CommandFailure(exitCodeOf(error), advice);
    }
    if (error instanceof ServerError)
      throw new CommandFailure(
        exitCodes.toolFailed,
        `The server refused the call: ${cleanLine(error.message)}`,
      );
    throw error;
  }
}
