/** What a caller may call at each server, and what refuses the rest. */
import { type GatewayServer, mergedName } from '@portcullis/gateway/options';
import type { AccessPrincipal, ToolAnnotations } from '@portcullis/policy';
import * as z from 'zod';
import {
  createPolicyFinder,
  type ExplainedDecision,
  explainOperation,
  type FindPolicy,
  findServerAt,
  outcomeText,
} from './operation.ts';
import type { SupposedToken } from './principal.ts';

export const accessSchema = z
  .object({
    server: z.string(),
    tools: z.array(
      z.object({
        // A name, or a pattern of the configuration, for tools that the gateway has not seen.
        tool: z.string(),
        outcome: z.string().nullable().describe('what remains to be done or met; null: refused'),
        because: z.string().nullable().describe('why it is refused'),
        rules: z.array(z.string()).describe('those that the caller meets'),
      }),
    ),
  })
  .meta({ id: 'ServerAccess' });

/** What is decided about the tools of a server. */
export type ServerAccess = z.infer<typeof accessSchema>;

type Hints = ReadonlyMap<string, ToolAnnotations | null>;

/** What decisions are about. */
interface AccessContext {
  readonly servers: readonly GatewayServer[];
  /** The tools of a server that the gateway has approved. */
  readonly findHints: (server: GatewayServer) => Promise<Hints>;
  /** The caller with a token; `null`: one without. */
  readonly principalAt: (token: SupposedToken) => Promise<AccessPrincipal | null>;
  /** `client_id`; empty: none is named. */
  readonly client: string;
  /** Epoch seconds. */
  readonly now: number;
}

/** Tools are those that the gateway has seen, and the patterns of the configuration for others. */
export async function listAccess(context: AccessContext): Promise<readonly ServerAccess[]> {
  const { servers, principalAt, client, now } = context;
  const findPolicy = await createPolicyFinder({ servers });
  const found: ServerAccess[] = [];
  for (const server of servers) {
    const token = { server: server.path, client, scopes: null, claims: {} };
    const caller = { principal: await principalAt(token), findPolicy, now };
    const hints = await findTools(server, context);
    found.push({ server: server.path, tools: [...hints].map((tool) => decide(server, tool, caller)) });
  }
  return found;
}

/** The names of tools with their hints. At a merged server, names begin with the name of a member. */
async function findTools(server: GatewayServer, context: AccessContext): Promise<Hints> {
  if (server.merges !== null) {
    const members = Object.entries(server.merges).map(async ([prefix, path]) => {
      const found = await findTools(findServerAt(context.servers, path), context);
      return [...found].map(([name, hints]) => [mergedName(prefix, name), hints] as const);
    });
    return new Map((await Promise.all(members)).flat());
  }
  const configured = Object.keys(server.rules.tools ?? { '*': true }).map((name) => [name, null] as const);
  return new Map([...configured, ...(await context.findHints(server))]);
}

interface Caller {
  readonly principal: AccessPrincipal | null;
  readonly findPolicy: FindPolicy;
  readonly now: number;
}

/** A pattern is decided about as a tool of this very name, which it matches. */
function decide(
  { path }: GatewayServer,
  [tool, hints]: readonly [string, ToolAnnotations | null],
  { principal, findPolicy, now }: Caller,
): ServerAccess['tools'][number] {
  const explained = explainOperation(findPolicy({ server: path, tool }), principal, hints, now);
  const outcome = outcomeText(explained);
  const rules = explained.considered.flatMap(({ rule, outcome: its }) => (its === 'met' ? [rule] : []));
  return { tool, outcome, because: outcome === null ? refusalText(explained) : null, rules };
}

function refusalText({ decision }: ExplainedDecision): string {
  // Without a token it is no rule of the configuration that refuses.
  if (decision.kind === 'challenge') return 'needs a sign-in';
  return decision.kind === 'allow' ? '' : `${decision.because.rule}: ${decision.because.reason}`;
}
