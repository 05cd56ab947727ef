import { type AccessPrincipal, locateRule, NO_ARGUMENTS, type ToolAnnotations } from '@portcullis/policy';
import { type McpOperation, OAuthError } from '@portcullis/protocol';
import type { Principal } from '@portcullis/resource-server';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { scanBody } from '../../src/messages/body-scanner.ts';
import { MessageError } from '../../src/messages/message-error.ts';
import { checkMessages, type Sender } from '../../src/policy/check-messages.ts';
import { compilePolicy, compileRules } from '../../src/policy/compile-policy.ts';
import type { AccessRules, RuleTable } from '../../src/servers/server.ts';

const scopes = ['files:read', 'files:write'];
const caller = (granted: readonly string[], more: object = {}): AccessPrincipal => ({
  subject: 'ada',
  clientId: 'app',
  scopes: granted,
  groups: [],
  claims: {},
  ...more,
});

const policyOf = (
  rules: Partial<AccessRules>,
  unknownMethods: 'pass' | 'refuse' = 'pass',
  offered = scopes,
) =>
  decidesFor(
    {
      index: 0,
      id: 'files',
      unknownMethods,
      rules: { tools: null, resources: null, prompts: null, methods: null, ...rules },
    },
    { offered },
  );

/** A policy that decides about an operation of a caller. */
function decidesFor(...compiled: Parameters<typeof compilePolicy>) {
  const policy = compilePolicy(...compiled);
  return {
    ...policy,
    of: (operation: McpOperation, principal: AccessPrincipal | null, annotations: ToolAnnotations | null) =>
      policy.decide({
        ...{ operation, principal, annotations, server: '/mcp', arguments: NO_ARGUMENTS },
        ...{ now: 1_800_000_000, network: '192.0.2.1' },
      }),
  };
}

const operation = (of: object) => ({ method: 'x', tool: null, prompt: null, resource: null, ...of });
const tool = (name: string) => operation({ method: 'tools/call', tool: name });
const resource = (uri: string) => operation({ method: 'resources/read', resource: uri });

const example: RuleTable = { 'read_*': ['files:read'], 'delete_*': false, '*': ['files:write'] };

describe('a policy', () => {
  it('decides by the most specific pattern', () => {
    const policy = policyOf({
      tools: { ...example, delete_draft: ['files:write'], '*_file': ['files:read'] },
    });
    const kinds = (name: string, granted: readonly string[]) =>
      policy.of(tool(name), caller(granted), null).kind;
    expect(kinds('read_text', ['files:read'])).toBe('allow');
    expect(kinds('move', ['files:read'])).toBe('insufficient_scope');
    expect(kinds('move', ['files:write'])).toBe('allow');
    expect(kinds('delete_all', scopes)).toBe('deny');
    expect(kinds('delete_file', scopes)).toBe('deny');
    expect(kinds('delete_draft', scopes)).toBe('allow');
  });

  it('names the scopes that the token has together with those that it needs', () => {
    const decision = policyOf({ tools: example }).of(tool('move'), caller(['files:read']), null);
    expect(decision).toMatchObject({ kind: 'insufficient_scope', needed: ['files:read', 'files:write'] });
  });

  const hinted: readonly [ToolAnnotations | null, string][] = [
    [{ readOnly: true, destructive: false }, 'files:read'],
    [{ readOnly: true, destructive: true }, 'files:write'],
    [{ readOnly: false, destructive: false }, 'files:write'],
    [null, 'files:write'],
  ];

  it.each(hinted)('takes the scope of a tool without a rule from its hints %o', (hints, scope) => {
    const decision = policyOf({}).of(tool('any'), caller([]), hints);
    expect(decision).toMatchObject({ kind: 'insufficient_scope', needed: [scope] });
    expect(policyOf({}).of(tool('any'), caller([scope]), hints)).toEqual({ kind: 'allow' });
  });

  it('needs all scopes for an operation without a rule where the proposed ones are not offered', () => {
    const policy = policyOf({}, 'pass', ['a', 'b']);
    expect(policy.of(tool('any'), caller(['a']), null)).toMatchObject({ needed: ['a', 'b'] });
    expect(policy.of(tool('any'), caller(['a', 'b']), null).kind).toBe('allow');
  });

  it('asks for no scope that the caller cannot be granted', () => {
    const limits = { 'files:write': { groups: ['staff'] } };
    const rules = { tools: example, resources: null, prompts: null, methods: null };
    const policy = decidesFor(
      { index: 0, id: 'files', unknownMethods: 'pass', rules },
      { offered: scopes, limits },
    );
    const kind = (granted: readonly string[], groups: readonly string[]) =>
      policy.of(tool('move'), caller(granted, { groups }), null).kind;
    expect(kind(['files:read'], [])).toBe('deny');
    expect(kind(['files:read'], ['staff'])).toBe('insufficient_scope');
    expect(kind(['files:write'], [])).toBe('allow');
    expect(policy.of(tool('read_a'), caller([]), null).kind).toBe('insufficient_scope');
  });

  it('lets rules name clients, groups and claims, all of which have to match', () => {
    const rule = { scopes: ['files:read'], clients: ['app'], groups: ['staff'], claims: { org: ['7', '8'] } };
    const policy = policyOf({ tools: { '*': rule } });
    const good = { groups: ['x', 'staff'], claims: { org: 7 } };
    const decide = (more: object) =>
      policy.of(tool('a'), caller(['files:read'], { ...good, ...more }), null).kind;
    expect(decide({})).toBe('allow');
    expect(decide({ claims: { org: ['6', '8'] } })).toBe('allow');
    expect(decide({ clientId: 'other' })).toBe('deny');
    expect(decide({ groups: [] })).toBe('deny');
    expect(decide({ claims: {} })).toBe('deny');
    expect(decide({ claims: { org: { 7: 7 } } })).toBe('deny');
    expect(decide({ scopes: [] })).toBe('insufficient_scope');
  });

  const lookAlikes = [
    'delete_ﬁle',
    'ｄelete_file',
    'delete_file\u200b',
    'delete\u00ad_file',
    'delete_file\u202e',
  ];

  it.each(lookAlikes)('does not let the look-alike %j around the rule of a tool', (name) => {
    const policy = policyOf({ tools: { delete_file: false, '*': ['files:read'] } });
    expect(policy.of(tool(name), caller(scopes), null).kind).toBe('deny');
    expect(policy.of(tool('größe'), caller(scopes), null).kind).toBe('allow');
  });

  it('allows no look-alike by the rule of another tool', () => {
    const policy = policyOf({ tools: { read_file: ['files:read'], '*': false } });
    expect(policy.of(tool('read_file'), caller(scopes), null).kind).toBe('allow');
    for (const name of ['reаd_file', 'read_ﬁle', 'Read_file', 'read_file ', 'read_file\u0000', '__proto__'])
      expect(policy.of(tool(name), caller(scopes), null).kind).toBe('deny');
  });

  const escapes = [
    'file:///srv/../etc/passwd',
    'file:///srv/%2e%2e/etc/passwd',
    'file:///srv/..%2fetc/passwd',
  ];

  it.each(escapes)('does not let %s out of the pattern that allows a folder', (uri) => {
    const policy = policyOf({ resources: { 'file:///srv/*': ['files:read'], '*': false } });
    expect(policy.of(resource(uri), caller(scopes), null).kind).toBe('deny');
    expect(policy.of(resource('file:///srv/a%20b/c'), caller(scopes), null).kind).toBe('allow');
  });

  it.each([
    ['file:///srv/private/*', 'file:///srv//private/a'],
    ['file:///srv/private/*', 'file:////srv/private/a'],
    ['file:///srv/private/*', 'file://127.0.0.1/srv/private/a'],
    ['file:///srv/private/*', 'file://localhost/srv/private/a'],
    ['file:///srv/private/*', 'FILE:/srv/private/a'],
    ['file:///srv/private/*', 'file:///srv\\private\\a'],
    ['file:///srv/private/*', 'file:///srv/private%2fa%zz'],
    ['file:///srv/private/*', 'file:///srv/%2570rivate/a'],
    ['file:///srv/private/*', 'file:///srv/private\u0000/a'],
    ['file:///srv/private/a', 'file:///srv/private/a?x'],
    ['file:///srv/private/a', 'file:///srv/private/a#x'],
    ['file:///srv//private/*', 'file:///srv/private/a'],
    ['wiki://private/*', 'wiki://x@private/a'],
    ['wiki://private/*', 'wiki://private:80/a'],
    ['wiki://private/*', 'wiki://private:/a'],
    ['wiki://private/*', 'wiki://private./a'],
    ['wiki://private/*', 'wiki://PRIVATE/a'],
    ['wiki://private/*', 'WIKI://private/a'],
    ['wiki://Private/*', 'wiki://private/a'],
    ['wiki://private/*', 'wiki://private?a'],
    ['wiki://private/*', 'wiki://private#a'],
    ['wiki://private/*', 'wiki://private'],
    ['wiki://private/*', 'wiki:///private/a'],
    ['wiki://private/*', 'wiki:/private/a'],
  ])('forbids what `%s: false` means although it is written as %j', (pattern, uri) => {
    const policy = policyOf({ resources: { [pattern]: false, '*': [] } });
    const decide = (one: string) => policy.of(resource(one), caller([]), null).kind;
    expect(decide(uri)).toBe('deny');
    for (const other of ['file:///srv/public/a', 'wiki://public/private/a'])
      expect(decide(other)).toBe('allow');
  });

  it.each([
    ['wiki://*', 'wiki://Page@host:80/a//b?x#y'],
    ['wiki://search*', 'wiki://search?q=1'],
    ['wiki://Search*', 'wiki://Search?q=1'],
    ['wiki://search?q=*', 'wiki://search?q=1'],
    ['https://host:*/x/*', 'https://host:8443/x/y'],
    ['https://Host:8443/*', 'https://Host:8443/a?b=c'],
    ['https://*.example.com/*', 'https://a.example.com/'],
    ['urn:isbn:*', 'urn:isbn:9780134685991'],
    ['file:///srv/a%3Fb', 'file:///srv/a%3Fb'],
    ['file:///srv/*', 'file:///srv/a/./b/?c'],
    ['db:/main/*', 'db:/main/a'],
    ['note', 'note'],
  ])('allows by an allow-list with %j what is written as %j', (pattern, uri) => {
    const policy = policyOf({ resources: { [pattern]: [], '*': false } });
    expect(policy.of(resource(uri), caller([]), null).kind).toBe('allow');
    expect(policy.of(resource(`other-${uri}`), caller([]), null).kind).toBe('deny');
  });

  it.each([
    ['tools', 'Lies Datei', 'Lies Datei'],
    ['tools', 'Lies *', 'Lies Datei'],
    ['tools', 'donne\u0301es', 'donne\u0301es'],
    ['prompts', 'Code review', 'Code review'],
    ['prompts', 'ｈｅｌｌｏ*', 'ｈｅｌｌｏ world'],
    ['resources', 'file:///srv/My Files/*', 'file:///srv/My Files/a'],
    ['resources', 'file:///srv/My%20Files/*', 'file:///srv/My%20Files/a'],
    ['resources', 'note://büro/*', 'note://büro/a b'],
    ['resources', 'https://Example.com:443/*', 'https://Example.com:443/a'],
    ['resources', 'https://example.com', 'https://example.com'],
  ] as const)('finds the rule of %s that is written as %j for %j', (kind, pattern, name) => {
    const one = kind.slice(0, -1);
    const decide = (rules: RuleTable, wanted: string) =>
      policyOf({ [kind]: rules }).of(operation({ [one]: wanted }), caller([]), null).kind;
    expect(decide({ [pattern]: [], '*': false }, name)).toBe('allow');
    expect(decide({ [pattern]: false, '*': [] }, name)).toBe('deny');
    expect(decide({ '*': false }, name)).toBe('deny');
  });

  it.each([
    ['', '文'.repeat(256)],
    ['of escapes', '%E6%96%87'.repeat(256)],
    ['of what the parser ignores', `docs.example${'\u00ad'.repeat(250)}`],
    ['behind a user', `a@${'文'.repeat(256)}`],
  ])('resolves no URI with a long host %s, and refuses it', (_what, host) => {
    const parse = vi.spyOn(URL, 'parse');
    onTestFinished(() => parse.mockRestore());
    const policies = [policyOf({ resources: { 'https://docs.example/*': false, '*': [] } }), policyOf({})];
    const spellings = [
      'https://',
      'HTTP:',
      'wss:\\\\',
      'file:\\\\',
      ' \0https://',
      'ht\ntps:/\t/',
      'https%3A//',
    ];
    for (const policy of policies) {
      parse.mockClear();
      for (const spelling of spellings)
        expect(policy.of(resource(`${spelling}${host}/a`), caller(scopes), null).kind).toBe('deny');
      expect(parse).not.toHaveBeenCalled();
      for (const uri of [
        `https://${'文'.repeat(60)}/${host}`,
        `wiki://${host}/a`,
        `file:///${host}/a`,
        `https://${'a'.repeat(256)}/`,
      ])
        expect(policy.of(resource(uri), caller(scopes), null).kind).toBe('allow');
    }
  });

  it('takes a rule for no other name than its own, however alike', () => {
    const rules = { 'a b': [], 'file:///srv/%2A/*': [], 'file:///srv/x y/*': [], '*': false } as const;
    const policy = policyOf({ tools: rules, resources: rules });
    for (const name of ['ab', 'a\u00a0b', 'a\u200b b', 'ａ b'])
      expect(policy.of(tool(name), caller(scopes), null).kind).toBe('deny');
    for (const uri of [
      'file:///srv/x/y',
      'file:///srv/%2A/../x/y',
      'file:///srv/x y/../z',
      'file:///srv/x%20y/z',
    ])
      expect(policy.of(resource(uri), caller(scopes), null).kind).toBe('deny');
    expect(policy.of(resource('file:///srv/x y/z'), caller(scopes), null).kind).toBe('allow');
  });

  it('asks a more specific rule of another form as well', () => {
    const tools = { 'a b': ['files:read'], ab: ['files:write'], '*': [] };
    const policy = policyOf({ tools });
    expect(policy.of(tool('a b'), caller(['files:read']), null).kind).toBe('insufficient_scope');
    expect(policy.of(tool('a b'), caller(scopes), null).kind).toBe('allow');
    expect(policy.of(tool('ab'), caller(['files:write']), null).kind).toBe('allow');
  });

  it('applies rules of methods beside those of tools', () => {
    const policy = policyOf({
      methods: { 'logging/*': false, 'tools/call': ['files:write'] },
      tools: { '*': ['files:read'] },
    });
    expect(policy.of(operation({ method: 'logging/setLevel' }), caller(scopes), null).kind).toBe('deny');
    expect(policy.of(operation({ method: 'ping' }), caller([]), null).kind).toBe('allow');
    expect(policy.of(tool('a'), caller([]), null)).toMatchObject({
      needed: ['files:write', 'files:read'],
    });
  });

  it.each([
    'Tools/Call',
    'tools/call ',
    ' tools/call',
    'tools/call\u200b',
    'tools\uff0fcall',
    'tools\u2044call',
    'tools//call',
    'tools/call/',
    'TOOLS/LIST',
  ])('refuses the method %j, which a lenient backend may take for another', (method) => {
    expect(policyOf({}).of(operation({ method }), caller(scopes), null).kind).toBe('deny');
  });

  it('refuses methods that no revision knows only when told so', () => {
    expect(policyOf({}).of(operation({ method: 'x/y' }), caller([]), null).kind).toBe('allow');
    expect(policyOf({}, 'refuse').of(operation({ method: 'x/y' }), caller(scopes), null).kind).toBe('deny');
    expect(policyOf({}, 'refuse').of(operation({ method: 'ping' }), caller([]), null).kind).toBe('allow');
  });
});

describe('patterns', () => {
  it('match as a regular expression would', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 });
    const name = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 12 });
    fc.assert(
      fc.property(word, name, (pattern, text) => {
        const expression = new RegExp(`^${pattern.replaceAll('*', '.*')}$`);
        expect(compileRules({ [pattern]: locateRule('', [], null) })(text)[0] !== null).toBe(
          expression.test(text),
        );
      }),
    );
  });
});

describe('checkMessages', () => {
  const call = (id: number, name: string) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } });
  const sender = (granted: readonly string[]): Sender => ({
    principal: caller(granted) as unknown as Principal,
    network: '192.0.2.1',
    server: { path: '/mcp' },
  });
  const scanned = (body: unknown) => {
    const bytes = Buffer.from(JSON.stringify(body));
    return { ...scanBody(bytes), bytes };
  };
  const check = (body: unknown, granted: readonly string[]) =>
    checkMessages(policyOf({ tools: example }), scanned(body), sender(granted), () => null);

  it('refuses a batch with one forbidden call whole', () => {
    expect(() => check([call(1, 'read_a'), call(2, 'read_b')], scopes)).not.toThrow();
    const refused = () => check([call(1, 'read_a'), call(2, 'delete_b')], scopes);
    expect(refused).toThrow(MessageError);
    expect(refused).toThrow(expect.objectContaining({ status: 403, id: '2' }));
  });

  it('asks for the scopes of all messages of a batch at once', () => {
    const refused = () => check([call(1, 'read_a'), call(2, 'move')], []);
    expect(refused).toThrow(OAuthError);
    expect(refused).toThrow(expect.objectContaining({ code: 'insufficient_scope', scopes: scopes }));
  });

  it('decides about each resource of a subscription', () => {
    const policy = policyOf({ resources: { 'file:///a': ['files:read'], '*': false } });
    const listen = (...uris: readonly string[]) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'subscriptions/listen',
      params: { notifications: { resourceSubscriptions: uris } },
    });
    const run = (...uris: readonly string[]) =>
      checkMessages(policy, scanned(listen(...uris)), sender(scopes), () => null);
    expect(() => run('file:///a')).not.toThrow();
    expect(() => run('file:///a', 'file:///b')).toThrow(MessageError);
  });
});
