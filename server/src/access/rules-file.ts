/** The file with the access rules of a cluster, and the cases that show what they allow. */
import { ROLES } from '@isochron/core';
import { Policy, RuleFault, VERBS } from '@isochron/sessions';
import { type Static, Type } from '@sinclair/typebox';
import { readYaml } from '../config/yaml-file.js';

const strict = { additionalProperties: false } as const;
const oneOf = <const T extends readonly string[]>(values: T) =>
  Type.Union(
    values.map((value) => Type.Literal(value as T[number])),
    { description: `one of ${values.join(', ')}` },
  );
const text = (description: string) => Type.String({ minLength: 1, maxLength: 2_000, description });

const RuleSchema = Type.Object(
  {
    name: text('the name of the rule'),
    match: text('a pattern, such as albums/{album}/photos/{photo}'),
    allow: Type.Array(oneOf(VERBS), { description: `operations: ${VERBS.join(', ')}` }),
    when: Type.Optional(text('a condition')),
    filter: Type.Optional(Type.Boolean({ description: 'true or false' })),
  },
  strict,
);

const documents = Type.Record(Type.String(), Type.Any(), { description: 'documents by their keys' });
const key = Type.Optional(text('a key, with its keyspace'));

const CaseSchema = Type.Object(
  {
    name: text('what the case shows'),
    as: Type.Object(
      {
        id: text('the id of a principal'),
        roles: Type.Optional(Type.Array(oneOf(ROLES), { description: `roles: ${ROLES.join(', ')}` })),
        claims: Type.Optional(Type.Record(Type.String(), Type.Any(), { description: 'claims by their names' })),
      },
      { ...strict, description: 'a principal: { id, roles, claims }' },
    ),
    get: key,
    /** The prefix of a range. */
    list: key,
    /** A document of a filtered list. */
    listed: key,
    create: key,
    update: key,
    delete: key,
    /** The document that a create or update makes. */
    incoming: Type.Optional(Type.Any()),
    /** Beside those of the file, or instead of them; null for none. */
    documents: Type.Optional(documents),
    /** What the same transaction makes of other documents, for getAfter(); null where it deletes one. */
    after: Type.Optional(documents),
    expect: oneOf(['allowed', 'refused', 'filtered']),
    /** The rule that allows or refuses it. */
    rule: Type.Optional(text('the name of a rule')),
  },
  strict,
);
export type RuleCase = Static<typeof CaseSchema>;

const RulesFileSchema = Type.Object(
  {
    rules: Type.Array(RuleSchema, {
      minItems: 1,
      description: 'at least one rule: no file stands for no rules',
    }),
    documents: Type.Optional(documents),
    cases: Type.Optional(Type.Array(CaseSchema, { description: 'a list of cases' })),
  },
  strict,
);
export type RulesFile = Static<typeof RulesFileSchema>;

/** A file whose rules can be used. */
export interface ParsedRules {
  readonly file: RulesFile;
  readonly policy: Policy;
}

/**
 * Reads a file of access rules.
 * @param filename only for messages
 * @param keyspaces those of the cluster; undefined to accept all that the rules name
 * @throws IsochronError `CONFIG_INVALID`, with `file:line` and the reason
 */
export function parseRulesFile(text: string, filename: string, keyspaces?: readonly string[]): ParsedRules {
  const { file, refuse } = readYaml(RulesFileSchema, text, filename, 'a file of access rules');
  try {
    return { file, policy: new Policy(file.rules, keyspaces ?? keyspacesIn(file)) };
  } catch (error) {
    if (error instanceof RuleFault) return refuse(['rules', ...error.path], error.message);
    throw error;
  }
}

const keyspacesIn = ({ rules }: RulesFile): string[] => [...new Set(rules.map(({ match }) => match.split('/')[0]!))];
