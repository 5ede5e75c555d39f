/** The sessions of a run that access rules bind: those with albums, with boards, and with notes. */
import type { AnyMessage } from '@isochron/core';
import type { AlbumObservations, BoardObservations } from '../checks/evidence/observations.js';
import type { AlbumSessionPlan, AlbumsPlan, BoardSessionPlan, NoteSessionPlan } from '../plan/plan.js';
import { AlbumActor } from './album-actor.js';
import { BoardActor } from './board-actor.js';
import type { Client } from './client.js';
import { NoteActor } from './note-actor.js';

export type RuledActor<M extends AnyMessage> = AlbumActor<M> | BoardActor<M> | NoteActor<M>;
export type RuledPlan = AlbumSessionPlan | BoardSessionPlan | NoteSessionPlan;

interface RuledWorld {
  readonly observer: AlbumObservations & BoardObservations;
  note(session: string, what: () => string): void;
}

/** Creates them; none in runs without access rules. */
export function createRuledActors<M extends AnyMessage>(
  albums: AlbumsPlan | undefined,
  world: RuledWorld,
  clientOf: (plan: RuledPlan) => Client<M>,
): RuledActor<M>[] {
  if (albums === undefined) return [];
  const { keyspace, sessions, boards, notes } = albums;
  const shared = { ...world, keyspace, photos: new Map<string, string[]>() };
  const opened = (plan: RuledPlan) => {
    const client = clientOf(plan);
    return [client, client.open(plan.name.padEnd(16, '_'), {})] as const;
  };
  return [
    ...sessions.map((plan) => {
      const [client, session] = opened(plan);
      return new AlbumActor(plan, client, shared, session);
    }),
    ...(boards?.sessions ?? []).map((plan) => {
      const [client, session] = opened(plan);
      return new BoardActor(plan, client, shared, session);
    }),
    ...(notes?.sessions ?? []).map((plan) => {
      const [client, session] = opened(plan);
      return new NoteActor(plan, client, shared, session);
    }),
  ];
}
