/** What a tool of the admin MCP server is. */
import * as z from 'zod';
import type { AdminRequest } from '../operations/administration.ts';
import type { ADMIN_READ, ADMIN_WRITE } from '../settings.ts';

type Shape = Readonly<Record<string, z.ZodType>>;

/** A tool as it is declared. */
interface ToolDefinition<I extends Shape> {
  /** In snake_case. */
  readonly name: string;
  readonly title: string;
  /** For the model: what it does, and when to use it. */
  readonly description: string;
  readonly scope: typeof ADMIN_READ | typeof ADMIN_WRITE;
  /** Whether what it ends does not return by undoing it. */
  readonly isDestructive?: true;
  readonly input: I;
  /** @returns what the model reads, as JSON */
  run(request: AdminRequest, input: z.output<z.ZodObject<I>>): Promise<object>;
}

/** A tool as the server registers it. */
export interface AdminTool extends Omit<ToolDefinition<Shape>, 'input' | 'run'> {
  readonly input: z.ZodObject;
  run(request: AdminRequest, input: unknown): Promise<object>;
}

/** Declares a tool. */
export function defineTool<I extends Shape>({ input, run, ...about }: ToolDefinition<I>): AdminTool {
  return {
    ...about,
    input: z.strictObject(input),
    run: (request, given) => run(request, given as Parameters<typeof run>[1]),
  };
}
