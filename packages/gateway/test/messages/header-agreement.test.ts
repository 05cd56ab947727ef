import { describe, expect, it } from 'vitest';
import { checkHeaderAgreement, checkProtocolVersion, checkRequestFields } from '../../src/http/headers.ts';
import { scanBody } from '../../src/messages/body-scanner.ts';

const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const call = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'read_file', _meta: meta } };
const complete = {
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'read_file',
};
const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;

const table = [
  { what: 'headers that repeat the body', body: call, headers: complete, isAccepted: true },
  { what: 'no headers', body: call, headers: {}, isAccepted: false },
  ...Object.keys(complete).map((name) => ({
    what: `all headers but ${name}`,
    body: call,
    headers: { ...complete, [name]: undefined },
    isAccepted: false,
  })),
  ...[
    { what: 'another method', headers: { 'mcp-method': 'tools/list' }, isAccepted: false },
    { what: 'another name', headers: { 'mcp-name': 'delete_file' }, isAccepted: false },
    { what: 'the name in other case', headers: { 'mcp-name': 'Read_file' }, isAccepted: false },
    { what: 'two names', headers: { 'mcp-name': 'read_file, read_file' }, isAccepted: false },
    { what: 'the name in base64', headers: { 'mcp-name': base64('read_file') }, isAccepted: true },
    { what: 'another name in base64', headers: { 'mcp-name': base64('x') }, isAccepted: false },
    { what: 'broken base64', headers: { 'mcp-name': '=?base64?!?=' }, isAccepted: false },
    { what: 'another version', headers: { 'mcp-protocol-version': '2025-06-18' }, isAccepted: false },
  ].map((one) => ({ ...one, body: call, headers: { ...complete, ...one.headers } })),
  {
    what: 'a list without a name',
    body: { ...call, method: 'tools/list', params: { _meta: meta } },
    headers: { ...complete, 'mcp-method': 'tools/list', 'mcp-name': undefined },
    isAccepted: true,
  },
  {
    what: 'a notification without headers',
    body: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { _meta: meta } },
    headers: { 'mcp-protocol-version': '2026-07-28' },
    isAccepted: true,
  },
  {
    what: 'a call in a session, without headers',
    body: { ...call, params: { name: 'read_file' } },
    headers: { 'mcp-protocol-version': '2025-11-25' },
    isAccepted: true,
  },
  {
    what: 'a version beside a message without one',
    body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    headers: { 'mcp-protocol-version': '2025-06-18' },
    isAccepted: true,
  },
  { what: 'a batch', body: [call], headers: complete, isAccepted: false },
  {
    what: 'a resource',
    body: { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: 'file:///ä' } },
    headers: { 'mcp-name': base64('file:///ä') },
    isAccepted: true,
  },
];

describe('checkHeaderAgreement', () => {
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

  it.each([
    ['2025-03-26', [list], true],
    ['2025-06-18', [list], false],
    ['2025-11-25', [list], false],
    ['2025-11-25', list, true],
    ['2024-11-05', list, true],
    ['2099-01-01', list, false],
    ['latest', list, false],
    ['', list, false],
    // Its error lists what the backend supports.
    [
      '2099-01-01',
      { ...call, params: { name: 'a', _meta: { 'io.modelcontextprotocol/protocolVersion': '2099-01-01' } } },
      true,
    ],
  ])('decides about MCP-Protocol-Version %j of %j', (version, body, isAccepted) => {
    const check = () =>
      checkProtocolVersion(scanBody(Buffer.from(JSON.stringify(body))), { 'mcp-protocol-version': version });
    if (isAccepted) expect(check).not.toThrow();
    else expect(check).toThrow(expect.objectContaining({ status: 400, code: -32_600 }));
  });

  it.each([
    ['alone', (message: object) => message, {}, true],
    ['in a batch', (message: object) => [message], {}, false],
    ['in a batch with others', (message: object) => [list, message], {}, false],
    ['in a session', (message: object) => message, { 'mcp-session-id': 'known' }, false],
  ])('decides about an initialize %s', (_what, wrap, headers, isAccepted) => {
    const body = wrap({ jsonrpc: '2.0', id: 2, method: 'initialize', params: {} });
    const check = () => checkProtocolVersion(scanBody(Buffer.from(JSON.stringify(body))), headers);
    if (isAccepted) expect(check).not.toThrow();
    else expect(check).toThrow(expect.objectContaining({ status: 400, code: -32_600, id: '2' }));
  });

  it.each([
    [{ ...meta, [CAPABILITIES]: {} }, null],
    [undefined, 'protocolVersion'],
    [{ [CAPABILITIES]: {} }, 'protocolVersion'],
    [meta, 'clientCapabilities'],
    [{ ...meta, [CAPABILITIES]: 'all' }, 'clientCapabilities'],
    [{ ...meta, [CAPABILITIES]: [] }, 'clientCapabilities'],
    [{ ...meta, [CAPABILITIES.toUpperCase()]: {} }, 'clientCapabilities'],
  ])('decides about a request with the metadata %j', (_meta, missing) => {
    const body = { ...call, params: { name: 'read_file', ...(_meta && { _meta }) } };
    const scanned = scanBody(Buffer.from(JSON.stringify(body)));
    const check = () => checkRequestFields(scanned, complete);
    if (missing === null) expect(check).not.toThrow();
    else
      expect(check).toThrow(
        expect.objectContaining({ status: 400, code: -32_602, message: expect.stringContaining(missing) }),
      );
  });

  it('demands no metadata of a request in a session', () => {
    const scanned = scanBody(Buffer.from(JSON.stringify(list)));
    expect(() => checkRequestFields(scanned, { 'mcp-protocol-version': '2025-11-25' })).not.toThrow();
  });

  it.each(table)('decides about $what', ({ body, headers, isAccepted }) => {
    const check = () => checkHeaderAgreement(scanBody(Buffer.from(JSON.stringify(body))), headers);
    if (isAccepted) expect(check).not.toThrow();
    else expect(check).toThrow(expect.objectContaining({ status: 400, code: -32_020 }));
  });
});
