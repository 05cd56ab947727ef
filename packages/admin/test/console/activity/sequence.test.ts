/** The sequence diagram of an authorization: which messages, where they are drawn, and the same as text. */
import { describe, expect, it } from 'vitest';
import { formatDuration, positionMessages } from '../../../src/console/activity/diagram/layout.ts';
import { drawSequence } from '../../../src/console/activity/diagram/model.ts';
import { sequenceSvg } from '../../../src/console/activity/diagram/svg.ts';
import { sequenceText } from '../../../src/console/activity/diagram/text.ts';
import { eventOf } from './events.ts';

const allowed = {
  decision: 'allowed',
  outcome: 'answered',
  method: 'tools/call',
  tool: 'read_page',
  server: '/files',
};
const denied = {
  ...allowed,
  decision: 'denied',
  outcome: 'refused',
  rule: 'tools.delete_page',
  reason: 'group editors is missing',
};

const authorization = [
  eventOf('authorization.started', 2000, {
    details: { discovery: { path: '/.well-known/oauth-protected-resource/files', version: null, before: 2 } },
  }),
  eventOf('login.succeeded', 8000),
  eventOf('consent.allowed', 12_000),
  eventOf('authorization_code.issued', 12_001),
  eventOf('token.issued', 12_200, { details: { grantType: 'authorization_code' } }),
  eventOf('call.finished', 12_500, { details: { ...allowed, duration: 120, backendDuration: 100 } }),
  eventOf('call.finished', 3_612_500, { details: { ...denied, duration: 2, backendDuration: 0 } }),
];

describe('the messages of a sequence', () => {
  it.each([
    {
      description: 'a whole authorization',
      given: authorization.toReversed(),
      expect: [
        ['app', 'portcullis', 'Protected resource metadata request', false],
        ['browser', 'portcullis', 'Authorization request', false],
        ['browser', 'portcullis', 'End-user authentication', false],
        ['browser', 'portcullis', 'Resource owner authorizes', false],
        ['portcullis', 'app', 'Authorization response', false],
        ['app', 'portcullis', 'Access token request', false],
        ['app', 'portcullis', 'tools/call', false],
        ['portcullis', 'backend', 'tools/call', false],
        ['app', 'portcullis', 'tools/call', true],
      ],
    },
    {
      description: 'a federated sign-in',
      given: [
        eventOf('federated_login.started', 0, { details: { identityProvider: 'acme' } }),
        eventOf('login.succeeded', 10, { details: { identityProvider: 'acme' } }),
        eventOf('provider_token.stored', 20, { details: { identityProvider: 'acme' } }),
      ],
      expect: [
        ['portcullis', 'identityProvider', 'Authentication request', false],
        ['identityProvider', 'portcullis', 'Authentication response', false],
        ['identityProvider', 'portcullis', 'Token response', false],
      ],
    },
    {
      description: 'tokens of a backend',
      given: [eventOf('provider_token.refreshed', 0, { details: { backend: '/files' } })],
      expect: [['portcullis', 'backend', 'Refresh request', false]],
    },
    {
      description: 'an error for the browser, and one for the app',
      given: [
        eventOf('request.rejected', 0, { details: { endpoint: '/authorize', error: 'invalid_scope' } }),
        eventOf('request.rejected', 10, { details: { endpoint: '/token', error: 'invalid_grant' } }),
      ],
      expect: [
        ['portcullis', 'browser', 'Error response', true],
        ['portcullis', 'app', 'Error response', true],
      ],
    },
    {
      description: 'a backend that is down',
      given: [
        eventOf('call.finished', 0, {
          details: { ...allowed, outcome: 'timeout', duration: 30, backendDuration: 29 },
        }),
      ],
      expect: [
        ['app', 'portcullis', 'tools/call', false],
        ['portcullis', 'backend', 'tools/call', true],
      ],
    },
    {
      description: 'the introspection of a first token',
      given: [eventOf('token.first_used', 0, { details: { introspected: true } })],
      expect: [['backend', 'portcullis', 'Introspection request', false]],
    },
    {
      description: 'a first token that the gateway checks in the process',
      given: [eventOf('token.first_used')],
      expect: [],
    },
    { description: 'nothing of an authorization', given: [eventOf('key.rotated')], expect: [] },
  ])('are those of $description', ({ given, expect: expected }) => {
    const { messages } = drawSequence(given);
    expect(messages.map(({ from, to, term, isRefused }) => [from, to, term, isRefused])).toEqual(expected);
  });

  it('say who refused, and by which rule', () => {
    expect(drawSequence(authorization).messages.at(-1)).toMatchObject({
      isRefused: true,
      because: 'denied: tools.delete_page: group editors is missing',
    });
  });

  it('take part only in lanes that they use, from left to right', () => {
    expect(drawSequence(authorization).lanes).toEqual(['browser', 'app', 'portcullis', 'backend']);
    expect(drawSequence([]).lanes).toEqual([]);
  });
});

describe('the layout of a sequence', () => {
  it('draws durations to scale, and cuts long waits out', () => {
    const { positioned, cuts, height } = positionMessages(drawSequence(authorization));
    const heights = positioned.flatMap(({ message, height: own }) =>
      message.duration === null ? [] : [own],
    );
    const [call = 0, forwarded = 0] = heights;
    expect(call / forwarded).toBeCloseTo(1.2, 1);
    expect(cuts.map(({ duration }) => formatDuration(duration))).toEqual(['2 s', '6 s', '4 s', '1 h']);
    expect(positioned.every(({ y }, index) => index === 0 || y - (positioned[index - 1]?.y ?? 0) >= 44)).toBe(
      true,
    );
    expect(height).toBeLessThan(1500);
  });

  it.each([
    [0, '0 ms'],
    [12.345, '12.3 ms'],
    [999, '999 ms'],
    [1400, '1.4 s'],
    [75_000, '1.3 min'],
    [3 * 3_600_000, '3 h'],
    [49 * 3_600_000, '2 d'],
  ])('says %d milliseconds as %s', (duration, said) => {
    expect(formatDuration(duration)).toBe(said);
  });
});

describe('a sequence as text and as SVG', () => {
  it('has one line for each message, with its time, its RFC and who refused it', () => {
    const text = sequenceText(drawSequence(authorization));
    expect(text.split('\n')).toHaveLength(10);
    expect(text).toContain('\n+12 s  App → Portcullis');
    expect(text).toMatch(/Browser → Portcullis +Authorization request \(RFC 6749 §4\.1\.1\)/);
    expect(text).toMatch(
      /✗ tools\/call read_page \(MCP\) took 2 ms — denied: tools\.delete_page: group editors/,
    );
  });

  it('shows each label whole, within the drawing', async () => {
    const diagram = drawSequence(authorization);
    const svg = String(await sequenceSvg(diagram));
    const labels = [
      ...svg.matchAll(
        /class="(?:term|source)" font-size="(\d+)" x="([\d.]+)".*?text-anchor="(\w+)".*?>([^<]*)</g,
      ),
    ];
    expect(labels).toHaveLength(2 * diagram.messages.length);
    for (const [, size, x, anchor, text = ''] of labels) {
      const width = text.length * Number(size) * 0.5;
      const start = Number(x) - (anchor === 'middle' ? width / 2 : anchor === 'end' ? width : 0);
      expect([text, start >= 0, start + width <= 960, text.includes('…')]).toEqual([text, true, true, false]);
    }
  });

  it('escapes what others chose, and keeps it on its line', async () => {
    const evil = '<script>alert(1)</script>"\n\u202e';
    const diagram = drawSequence([
      eventOf('call.finished', 0, { details: { ...denied, tool: evil, reason: evil } }),
    ]);
    const svg = String(await sequenceSvg(diagram));
    expect(svg).not.toContain('<script');
    expect(svg).not.toContain('alert(1)"');
    expect(svg).toContain('&lt;script&gt;');
    expect(sequenceText(diagram).trimEnd().split('\n')).toHaveLength(1);
    expect(sequenceText(diagram)).not.toContain('\u202e');
  });
});
