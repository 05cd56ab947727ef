/** What a consent page asks, in words of people. */
import type { ResourceDefinition } from '../configuration.ts';
import type { ConsentPage } from '../pages/consent.ts';
import { presentable } from '../pages/names.ts';
import type { Deliberation } from './deliberation.ts';
import { describeResource } from './describe-resource.ts';

type Described = Pick<ConsentPage, 'server' | 'asked' | 'kept' | 'isKnown' | 'workspace'>;

export function describeAsked(deliberation: Deliberation): Described {
  const { resource, question, workspace, choices } = deliberation;
  const { name, place } = describeResource(resource, resource.resource, []);
  const describe = (scope: string) => describeScope(resource, scope);
  const named = (one: { readonly id: string; readonly name: string }) => ({
    id: one.id,
    name: presentable(one.name) || one.id,
  });
  return {
    server: { name, place },
    asked: question.asked.map((asked) => ({
      ...asked,
      sentence: describe(asked.scope),
      includes: asked.includes.map(describe),
    })),
    kept: question.kept.map(describe),
    isKnown: question.isKnown,
    workspace: workspace === null ? { choices: choices.map(named) } : { chosen: named(workspace) },
  };
}

function describeScope({ scopes }: ResourceDefinition, scope: string): string {
  return Object.hasOwn(scopes, scope) ? (scopes[scope] ?? scope) : scope;
}
