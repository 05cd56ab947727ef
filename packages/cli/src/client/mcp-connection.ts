/** An MCP connection for one command: opens and closes it, and reports its errors with advice. */
import type { ProcessContext } from '../process-context.ts';
import { cleanLine } from '../terminal/clean.ts';
import { adviceFor } from './advice.ts';
import { CommandFailure, exitCodeOf, exitCodes, mayRecover } from './exit-codes.ts';
import type { SignInFlags } from './flags.ts';
import { connectMcp, type McpRequest, NoResponse, ServerError } from './mcp-client.ts';
import type { OpenClient } from './open-client.ts';
import { HttpResponseError } from './transport/responses.ts';

/** The code of a gateway whose rules do not allow a call. */
const GATEWAY_REFUSAL = -32_003;
const ASK_OPERATOR = ' Its operator sees which rule decided: portcullis events --decision denied';

/** Opens a connection for `act`, and closes it. @throws ClientError, or CommandFailure with advice. */
export async function withMcpConnection<T>(
  { client, acceptEndpoint }: Pick<OpenClient, 'client' | 'acceptEndpoint'>,
  flags: SignInFlags,
  { version, command }: Pick<ProcessContext, 'version' | 'command'>,
  act: (request: McpRequest) => Promise<T>,
): Promise<T> {
  const { server: url, fetch, extensions } = client;
  try {
    const connection = await connectMcp({ url, fetch, version, extensions, acceptEndpoint });
    try {
      return await act(connection.request);
    } finally {
      await connection.close();
    }
  } catch (error) {
    if (error instanceof HttpResponseError) {
      const { scopes = [] } = (await client.session()) ?? {};
      const advice = adviceFor(error, { server: url, flags, command, scopes });
      throw new CommandFailure(exitCodeOf(error), advice);
    }
    if (error instanceof NoResponse) throw new CommandFailure(exitCodes.temporary, error.message);
    if (error instanceof ServerError && mayRecover(error.status))
      throw new CommandFailure(exitCodes.temporary, cleanLine(error.message));
    if (error instanceof ServerError)
      throw new CommandFailure(
        exitCodes.toolFailed,
        `The server refused the call: ${cleanLine(error.message)}${error.rpc.code === GATEWAY_REFUSAL ? ASK_OPERATOR : ''}`,
      );
    throw error;
  }
}
