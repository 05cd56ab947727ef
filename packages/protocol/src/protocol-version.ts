/** The header that names the protocol revision that a client uses. */

/** Both spellings are read: the deployed one and that of the seed. Which one is sent is configurable. */
export const PROTOCOL_VERSION_HEADERS = ['MCP-Protocol-Version', 'Ctx-Protocol-Version'] as const;

export type ProtocolVersionHeader = (typeof PROTOCOL_VERSION_HEADERS)[number];

/** The revision that a request names in either spelling; `null` if it names none. @see seed 9(2) */
export function readProtocolVersion(headers: Pick<Headers, 'get'>): string | null {
  for (const name of PROTOCOL_VERSION_HEADERS) {
    const value = headers.get(name);
    if (value !== null && /^\d{4}-\d{2}-\d{2}$/.test(value)) return value;
  }
  return null;
}
