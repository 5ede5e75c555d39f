/** Option values: parsed from text, or refused with a reason. */
import { isIP } from 'node:net';
import { InvalidArgumentError } from 'commander';
import { DEFAULT_NODE_LIMITS, isLimit, type LimitName, type NodeLimits } from '../http/limits/limits.js';
import { PORTS, type Port } from '../tls/exposure.js';

/** A parser of whole numbers between two bounds, for commander. */
export const integer =
  (minimum: number, maximum: number) =>
  (text: string): number => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= minimum && value <= maximum) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${minimum} to ${maximum}.`);
  };

/** A parser of numbers above zero, fractions too. */
export function positive(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError('Expected a number above 0.');
}

/** A whole number that may be negative. */
export function signedInteger(text: string): number {
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a whole number.');
}

/** Pattern of a region's name: at most 28 characters, as its nodes' names are longer and have at most 32. */
const REGION = /^[a-z0-9][a-z0-9-]{0,27}$/;

/** Names of regions with commas between them, without repetitions. */
export function regionList(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  const wrong = names.find((name) => !REGION.test(name));
  if (wrong !== undefined) {
    throw new InvalidArgumentError(`"${wrong}" is not a name: 1 to 28 lower-case letters, digits and dashes.`);
  }
  if (new Set(names).size < names.length) throw new InvalidArgumentError('A region occurs twice.');
  return names;
}

/** The base URL of a node; called once per occurrence of the option. */
export function endpoint(text: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), ...text.split(',').map(checkedEndpoint)];
}

/** The endpoints of a comma-separated list, such as that of ISOCHRON_ENDPOINT. */
export const endpointList = (text: string): string[] => text.split(',').map(checkedEndpoint);

function checkedEndpoint(text: string): string {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  if (url === undefined || !/^(http|ws)s?:$/.test(url.protocol)) {
    throw new InvalidArgumentError('Expected a URL such as http://127.0.0.1:7101.');
  }
  return text.trim().replace(/\/+$/, '');
}

/** An origin of web pages, or several with commas between them; called once per occurrence of the option. */
export function origins(text: string, before: readonly string[] = []): string[] {
  const given = listed(text);
  for (const origin of given) {
    if (origin !== '*' && !(/^https?:\/\//.test(origin) && URL.canParse(origin) && new URL(origin).origin === origin)) {
      throw new InvalidArgumentError('Expected an origin such as https://app.example, or *.');
    }
  }
  return [...before, ...given];
}

/** A host name or several with commas between them; called once per occurrence of the option. */
export function hostNames(text: string, before: readonly string[] = []): string[] {
  const given = listed(text);
  const isName = (name: string) => name === '*' || /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]+\])$/.test(name);
  if (!given.every(isName)) throw new InvalidArgumentError('Expected a host name without a port, or *.');
  return [...before, ...given];
}

/** The id of a node, or several with commas between them. The last occurrence of the option counts. */
export function nodeIds(text: string): readonly string[] {
  const given = listed(text);
  if (given.length > 0 && new Set(given).size === given.length) return given;
  throw new InvalidArgumentError('Expected the id of a node, or different ids with commas between them.');
}

/** Ports with commas between them; all of them without a value. */
export function insecurePorts(text: string): readonly Port[] {
  const given = listed(text);
  const ports = PORTS.filter((port) => given.includes(port));
  if (given.length > 0 && ports.length === new Set(given).size) return ports;
  throw new InvalidArgumentError(`Expected ${PORTS.join(', ')}, or some of them with commas between them.`);
}

/** A host name or address of a certificate, or several with commas; called once per occurrence of the option. */
export function certificateHosts(text: string, before: readonly string[] = []): string[] {
  const given = listed(text);
  const isName = (name: string) =>
    isIP(name) !== 0 || /^(?:\*\.)?[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(name);
  if (!given.every(isName)) throw new InvalidArgumentError('Expected a host name such as api.example, or an address.');
  return [...before, ...given];
}

/**
 * Limits of a node by their names, from `name=number` pairs with commas between them; called once per occurrence of the
 * option.
 */
export function nodeLimits(text: string, before: Partial<NodeLimits> = {}): Partial<NodeLimits> {
  const given = listed(text).map((pair): [LimitName, number] => {
    const [, name = '', number = ''] = /^([A-Za-z]+)=(\d{1,15})$/.exec(pair) ?? [];
    if (!isLimit(name)) {
      throw new InvalidArgumentError(
        `Expected NAME=NUMBER, with one of ${Object.keys(DEFAULT_NODE_LIMITS).join(', ')}.`,
      );
    }
    if (Number(number) === 0) throw new InvalidArgumentError(`${name} is a whole number from 1 on.`);
    return [name, Number(number)];
  });
  return { ...before, ...Object.fromEntries(given) };
}

const listed = (text: string): string[] =>
  text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');

type PeerUrls = Readonly<Record<string, string>>;

/**
 * URLs of peers by their nodes, from `node=url` pairs with commas between them; called once per occurrence of the
 * option.
 */
export function peerDial(text: string, before: PeerUrls = {}): PeerUrls {
  // Environments often set a variable to an empty value instead of removing it.
  if (text.trim() === '') return before;
  const pairs = text.split(',').map((pair) => /^\s*([^=\s]+)=(\S+)\s*$/.exec(pair));
  if (pairs.includes(null)) throw new InvalidArgumentError('Expected NODE=URL, such as ireland-1=ws://10.0.0.7:7201.');
  const given = pairs.map((pair): [string, string] => [pair![1]!, pair![2]!]);
  const all = [...Object.entries(before), ...given];
  if (new Set(all.map(([node]) => node)).size < all.length) throw new InvalidArgumentError('A node occurs twice.');
  return Object.fromEntries(all);
}
