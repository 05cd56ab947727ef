/** The pages of a list: each result names the cursor of the next one. @see MCP, pagination */
import { isMembers, type JsonFields, type Message, type RequestMessage } from '@portcullis/http';
import { MAX_LIST_PAGES } from '../limits.ts';

/** Whether no page follows: cursors are strings. */
export function isLastPage({ nextCursor }: JsonFields): boolean {
  return typeof nextCursor !== 'string' || nextCursor === '';
}

/** The responses with the pages of a list, up to the last one or an error; at most `MAX_LIST_PAGES`. */
export async function* listPages(
  send: (request: RequestMessage) => Promise<Message>,
  method: string,
): AsyncGenerator<Message> {
  let params = {};
  for (let page = 1; page <= MAX_LIST_PAGES; page += 1) {
    const response = await send({ jsonrpc: '2.0', id: page, method, params });
    yield response;
    const { result } = response;
    if (!isMembers(result) || isLastPage(result)) return;
    params = { cursor: result['nextCursor'] };
  }
}
