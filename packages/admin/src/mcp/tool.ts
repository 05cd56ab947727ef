/** What a tool of the admin MCP server is. */
import * as z from 'zod';
import type { AdminRequest } from '../operations/administration.ts';
import { type ADMIN_READ, ADMIN_WRITE } from '../settings.ts';

type Shape = Readonly<Record<string, z.ZodType>>;

/** A tool as it is declared. */
interface ToolDefinition<I extends Shape> {
  /** In snake_case. */
  readonly name: string;
  readonly title: string;
  /** For the model: what it does, and when to use it. */
  readonly description: string;
  /** Whether what it ends does not return by undoing it. */
  readonly isDestructive?: true;
  readonly input: I;
  /** @returns what the model reads, as JSON */
  run(request: AdminRequest, input: z.output<z.ZodObject<I>>): Promise<object>;
}

/** A tool as the server registers it. */
export interface AdminTool extends Omit<ToolDefinition<Shape>, 'input' | 'run'> {
  readonly scope: typeof ADMIN_READ | typeof ADMIN_WRITE;
  readonly input: z.ZodObject;
  run(request: AdminRequest, input: unknown): Promise<object>;
}

const reason = () => z.string().min(1).max(500).describe('why, for the audit log');

/** Declares a tool. One that changes something takes a `reason`. */
export function defineTool<I extends Shape>(
  scope: AdminTool['scope'],
  { input, run, ...about }: ToolDefinition<I>,
): AdminTool {
  return {
    ...about,
    scope,
    input: z.strictObject(scope === ADMIN_WRITE ? { ...input, reason: reason() } : input),
    run(request, given) {
      const { reason: why = null, ...others } = given as { readonly reason?: string };
      return run({ ...request, reason: why }, others as Parameters<typeof run>[1]);
    },
  };
}
