/** A collector in this process: decodes the spans and metrics that it receives by OTLP over HTTP. @see opentelemetry-proto 1.9 */
import { type ListeningServer, listen } from '@portcullis/http/node';
import { decode, type Messages } from './protobuf.ts';

const messages: Messages = {
  Traces: { 1: 'resources* ResourceSpans' },
  ResourceSpans: { 1: 'resource Resource', 2: 'scopes* ScopeSpans' },
  ScopeSpans: { 2: 'spans* Span' },
  Span: {
    1: 'traceId bytes', 2: 'spanId bytes', 3: 'traceState text', 4: 'parentSpanId bytes', 5: 'name text', 6: 'kind enum',
    9: 'attributes* KeyValue', 13: 'links* Link', 15: 'status Status',
  }, // biome-ignore format: a table
  Link: { 1: 'traceId bytes', 2: 'spanId bytes' },
  Status: { 2: 'message text', 3: 'code enum' },
  Metrics: { 1: 'resources* ResourceMetrics' },
  ResourceMetrics: { 1: 'resource Resource', 2: 'scopes* ScopeMetrics' },
  ScopeMetrics: { 2: 'metrics* Metric' },
  Metric: { 1: 'name text', 2: 'description text', 5: 'gauge Points', 7: 'sum Points', 9: 'histogram Histogram' },
  Points: { 1: 'points* Point', 2: 'temporality enum', 3: 'isMonotonic bool' },
  Point: { 4: 'value double', 7: 'attributes* KeyValue' },
  Histogram: { 1: 'points* HistogramPoint', 2: 'temporality enum' },
  HistogramPoint: { 4: 'count fixed64', 5: 'sum double', 6: 'buckets fixed64s', 7: 'bounds doubles', 9: 'attributes* KeyValue' },
  Resource: { 1: 'attributes* KeyValue' },
  KeyValue: { 1: 'key text', 2: 'value AnyValue' },
  AnyValue: { 1: 'text text', 2: 'boolean bool', 3: 'whole int', 4: 'double double' },
}; // biome-ignore format: a table

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** 2: an error. */
  readonly status: { readonly code?: bigint; readonly message?: string };
}

interface ReceivedMetric {
  readonly name: string;
  readonly kind: 'gauge' | 'sum' | 'histogram';
  readonly points: readonly Readonly<Record<string, unknown> & { attributes: object }>[];
}

export interface OtlpReceiver {
  readonly url: string;
  readonly spans: ReceivedSpan[];
  readonly metrics: ReceivedMetric[];
  /** Log records, which arrive as JSON. */
  readonly logs: unknown[];
  /** Attributes of the last resource. */
  resource: Readonly<Record<string, unknown>>;
  readonly headers: Headers[];
  /** Of its responses. */
  status: number;
  close(): Promise<void>;
}

type Parts = readonly Readonly<Record<string, unknown>>[];

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const listening: ListeningServer = await listen(async () => ({ fetch: receive }), {
    port: 0,
    host: '127.0.0.1',
  });
  const receiver: OtlpReceiver = {
    url: `http://127.0.0.1:${listening.port}`,
    spans: [],
    metrics: [],
    logs: [],
    resource: {},
    headers: [],
    status: 200,
    close: async () => void (await listening.close(0)),
  };

  async function receive(request: Request): Promise<Response> {
    receiver.headers.push(request.headers);
    const body = Buffer.from(await request.arrayBuffer());
    if (receiver.status !== 200) return new Response(null, { status: receiver.status });
    const { pathname } = new URL(request.url);
    if (pathname === '/v1/traces') receiver.spans.push(...readScopes('Traces', body, 'spans').map(toSpan));
    if (pathname === '/v1/metrics')
      receiver.metrics.push(...readScopes('Metrics', body, 'metrics').map(toMetric));
    if (pathname === '/v1/logs') receiver.logs.push(JSON.parse(body.toString()));
    return new Response(null, { status: 200 });
  }

  function readScopes(type: string, body: Buffer, member: string): Parts {
    const { resources } = decode(messages, type, body) as { readonly resources: Parts };
    const [{ resource } = {}] = resources;
    receiver.resource = attributesOf(resource as Readonly<Record<string, unknown>>);
    return resources.flatMap(({ scopes }) => (scopes as Parts).flatMap((scope) => scope[member] as Parts));
  }

  return receiver;
}

function toSpan(span: Readonly<Record<string, unknown>>): ReceivedSpan {
  const all = { parentSpanId: '', traceState: '', links: [], status: {}, ...span };
  return { ...all, attributes: attributesOf(span) } as unknown as ReceivedSpan;
}

function toMetric({ name, ...data }: Readonly<Record<string, unknown>>): ReceivedMetric {
  const kind = (['gauge', 'sum', 'histogram'] as const).find((one) => one in data) ?? 'gauge';
  const { points = [] } = data[kind] as { readonly points?: Parts };
  return {
    name: String(name),
    kind,
    points: points.map((point) => ({ ...point, attributes: attributesOf(point) })),
  };
}

function attributesOf({ attributes = [] }: { readonly attributes?: unknown }): Record<string, unknown> {
  return Object.fromEntries(
    (attributes as { readonly key: string; readonly value: object }[]).map(({ key, value }) => {
      const [one] = Object.values(value);
      return [key, typeof one === 'bigint' ? Number(one) : one];
    }),
  );
}
