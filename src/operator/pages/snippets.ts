import { type DryRun, pathShownIn } from '../../calls/explain-plan.ts'
import {
  type Change,
  changesOf,
  curlCredential,
  isOfVehicle,
  jqSteps,
  SERVER,
  SERVER_OF_VEHICLE,
  shellWord,
  UNCHOSEN,
  vinIn,
} from '../../calls/update-program.ts'
import { OBEYED } from '../../language/text/service-text.ts'

/*
 * Version-2 calls as programs that a developer takes home. Each runs as printed, without packages where its language has what it
 * takes: it reads the address and the credential from the environment, an id that the gateway does not know from its first argument.
 */

/** A version-2 request, as a dry run shows it. */
type ShownRequest = DryRun['request']

export const languages = {
  curl: 'curl',
  php: 'PHP',
  python: 'Python',
  csharp: 'C#',
  java: 'Java',
  javascript: 'JavaScript',
  perl: 'Perl',
} as const

export type Language = keyof typeof languages

/** Returns the request as a program in each language, with the language's name. */
export const programsOf = (request: ShownRequest): readonly (readonly [title: string, text: string])[] =>
  Object.entries(languages).map(([language, title]) => [title, snippet(language as Language, request)])

/** Writes the request in a language. */
export function snippet(language: Language, request: ShownRequest): string {
  const parts = partsOf(request)
  const mark = ['javascript', 'java', 'csharp', 'php'].includes(language) ? '//' : '#'
  const comments = parts.notes.map((note) => `${mark} ${note}\n`).join('')
  const text = language === 'curl' ? curl(parts, comments) : programIn(dialects[language], parts, comments)
  // Java before 18 reads its source in the encoding of the machine.
  return language === 'java' ? text.replace(/[^ -~\n]/g, escaped) : text
}

type Parts = ReturnType<typeof partsOf>

function partsOf({ method, url, headers, body, over, ifSame }: ShownRequest) {
  const bearer = headers['authorization']?.startsWith('Bearer') === true
  const whole = pathShownIn(url)
  const [, before = whole, id, after] = /^(.*?)\{(\w+) of .*\}(.*)$/s.exec(whole) ?? []
  const has = (text: string) => JSON.stringify(body ?? '').includes(text)
  const notes = [
    `${method} ${id ? `${before}{${id}}${after}` : whole}. SERVICE_URL is the service's address; ${bearer ? 'SERVICE_TOKEN is from POST /oauth2/token' : 'SERVICE_ID and SERVICE_SECRET are its credential'}.`,
    id && `The first argument is the ${id} that version 2 gave, not your own number.`,
    over &&
      'PUT replaces the whole shipment, so it is read, changed, and sent without the fields that only the service sets.',
    over &&
      has('"vehicles"') &&
      (has('"vin"')
        ? 'If there are several vehicles, this changes the one with this VIN, and nothing if none has it.'
        : 'If there are several vehicles, this changes nothing: send the VinNo of the one that you mean.'),
    has('_dttm') && 'Dates have a time and an offset without a colon: 2026-03-01T08:00:00-0500.',
    method === 'DELETE' && 'The service may refuse to cancel a shipment twice. If it does, read the status.',
    method === 'POST' && 'Keep the id in the reply: later calls need it.',
    method === 'POST' && 'After a timeout, ask the service before you send this again: it may have been done.',
  ].filter((note) => note)
  return {
    notes,
    method,
    /** The path and query, up to the id in the argument; the rest of it, if there is such an id. */
    path: [before, after] as const,
    /** The message without that argument; empty where there is none. */
    usage: id === undefined ? '' : `Usage: give the ${id} as the first argument.`,
    body: over ? undefined : body,
    /** Each value with its place in the shipment that is read first. */
    changes: over ? changesOf(body, ifSame) : undefined,
    bearer,
  }
}

const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

const TIMEOUT_S = 30
/** Printed instead of replacing a shipment by the changes alone. */
const NO_SHIPMENT = 'The reply is no shipment.'

const json = (value: unknown, space = 2): string => JSON.stringify(value, null, space)
const single = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`
const listed = (names: readonly string[], quoted: (name: string) => string = json) =>
  names.map((name) => quoted(name)).join(', ')

type ChangePlace = Change['place']

/** Puts the variable that has a place before it: the vehicle is chosen before it is changed. */
const owned = (place: ChangePlace): ChangePlace =>
  place[0] === 'vehicles' && place[1] === 0 ? ['vehicle', ...place.slice(2)] : ['shipment', ...place]

/** Writes a place as an expression. */
const at = ([owner, ...rest]: ChangePlace, quoted: (part: string) => string = json): string =>
  owner + rest.map((part) => `[${typeof part === 'number' ? part : quoted(part)}]`).join('')

interface LiteralStyle {
  readonly text: (text: string) => string
  readonly map: string
  readonly list: string
  readonly pair: string
  readonly words: readonly [no: string, yes: string, nothing: string]
}

/** Writes a value as a literal, with the brackets and names of a language. */
function literal(value: unknown, style: LiteralStyle, indent = ''): string {
  if (typeof value === 'string') return style.text(value)
  if (typeof value === 'boolean' || value === null) return style.words[value === null ? 2 : value ? 1 : 0]
  if (typeof value !== 'object') return String(value)
  const deeper = `${indent}    `
  const [open, close] = Array.isArray(value) ? style.list : style.map
  const lines = Object.entries(value).map(
    ([name, part]) => `${Array.isArray(value) ? '' : style.text(name) + style.pair}${literal(part, style, deeper)}`,
  )
  return lines.length === 0
    ? `${open}${close}`
    : `${open}\n${lines.map((line) => `${deeper}${line},\n`).join('')}${indent}${close}`
}

/** Quoted characters keep no escapes, so those that a terminal or a page changes stand in double quotes between them. */
const joined = (sequence: string) => (text: string) =>
  single(text).replace(OBEYED_RUN, (run) => {
    const codes = [...run].map((character) => `${sequence}{${character.codePointAt(0)?.toString(16)}}`)
    return `' . "${codes.join('')}" . '`
  })
const OBEYED_RUN = new RegExp(`${OBEYED.source}+`, 'gu')

const PHP: LiteralStyle = {
  text: joined('\\u'),
  map: '[]',
  list: '[]',
  pair: ' => ',
  words: ['false', 'true', 'null'],
}
const PYTHON: LiteralStyle = { text: json, map: '{}', list: '[]', pair: ': ', words: ['False', 'True', 'None'] }
const PERL: LiteralStyle = {
  ...PHP,
  text: joined('\\x'),
  map: '{}',
  words: ['JSON::PP::false', 'JSON::PP::true', 'undef'],
}

function curl({ method, path: [before, after], usage, body, changes, bearer }: Parts, comments: string): string {
  const url = `"$SERVICE_URL"${shellWord(before)}${after === undefined ? '' : `"$1"${after && shellWord(after)}`}`
  const call = (verb: string) =>
    `curl --fail-with-body --silent --show-error --max-time ${TIMEOUT_S} ${curlCredential(bearer)} --request ${verb}`
  const send = `${call(method)} --header 'Content-Type: application/json' --data-binary @- ${url}`
  const head = `#!/usr/bin/env bash\n${comments}set -euo pipefail\n${usage && `[[ \${1-} ]] || { echo '${usage}' >&2; exit 64; }\n`}`
  if (changes) {
    const steps = jqSteps(changes, false).map((step) => step.replaceAll("'", "'\\''"))
    return `${head}shipment=$(${call('GET')} ${url} | jq '\n  ${steps.join('\n  | ')}\n')\n[[ $shipment ]] || { echo '${NO_SHIPMENT}' >&2; exit 1; }\n${send} <<<"$shipment"\n`
  }
  return `${head}${body === undefined ? `${call(method)} ${url}` : `${send} <<'JSON'\n${json(body)}\nJSON`}\n`
}

/** How a language writes the parts of a program. In its texts, a name in double braces stands for another part. */
interface Dialect {
  /** The expressions of the service's address, and of the first argument, escaped. */
  readonly url: readonly [address: string, argument: string]
  /** Ends the program with a message where it has no first argument. */
  readonly guard: string
  readonly join?: '.'
  readonly text?: (text: string) => string
  /** The body of a request as an argument. */
  readonly body: (body: unknown) => string
  /** Sets a place, which begins with its variable; some only where it is empty, or the same as another place. */
  readonly change: (change: Change) => string
  /** Chooses the vehicle to change: the only one, or the one with the VIN. Ends the program if there is none. */
  readonly vehicle: string
  /** The rest of a condition that is true of the vehicle with a VIN. */
  readonly orVin: string
  /** Reads the shipment, changes it, and leaves out what the service sets. */
  readonly update: string
  /** The changed shipment as an argument. */
  readonly shipment: string
  readonly updateImport?: string
  readonly auth: readonly [basic: string, bearer: string]
  /** The whole: it ends by calling `service` with its arguments, and printing the reply. */
  readonly program: string
}

const filled = (text: string, parts: Readonly<Record<string, string>>) =>
  text.replace(/\{\{(\w+)\}\}/g, (_, name: string) => parts[name] ?? '')

function programIn(
  dialect: Dialect,
  { path: [before, after], usage, method, body, changes, bearer }: Parts,
  comments: string,
) {
  const {
    url: [address, argument],
    join = '+',
    text = json,
    updateImport = '',
  } = dialect
  const url = [address, text(before), ...(after === undefined ? [] : [argument]), ...(after ? [text(after)] : [])]
  const vin = vinIn(changes ?? [])
  const orVin = vin === undefined ? '' : ` ${filled(dialect.orVin, { vin: text(vin) })}`
  const steps = changes && [
    ...(changes.some(isOfVehicle) ? [filled(dialect.vehicle, { orVin })] : []),
    ...changes.map(({ place, value, ifSameAs }) =>
      dialect.change({ place: owned(place), value, ifSameAs: ifSameAs && owned(ifSameAs) }),
    ),
  ]
  const update = steps && filled(dialect.update, { changes: steps.join('\n') })
  return filled(dialect.program, {
    comments,
    auth: dialect.auth[bearer ? 1 : 0],
    guard: usage && `${filled(dialect.guard, { usage })}\n`,
    url: url.join(` ${join} `),
    method,
    sent: changes ? dialect.shipment : body === undefined ? '' : `, ${dialect.body(body)}`,
    ...(update && { update: `${update}\n`, updateImport }),
  })
}

const JACKSON = `// Needs jackson-databind: Java has no JSON of its own.
import com.fasterxml.jackson.databind.*;
import com.fasterxml.jackson.databind.node.*;
`

const dialects: Readonly<Record<Exclude<Language, 'curl'>, Dialect>> = {
  php: {
    url: [`getenv('SERVICE_URL')`, 'rawurlencode($argv[1])'],
    guard: `if (($argv[1] ?? '') === '') {
    fwrite(STDERR, "{{usage}}\\n");
    exit(64);
}`,
    join: '.',
    text: PHP.text,
    body: (body) => literal(body, PHP),
    change({ place, value, ifSameAs }) {
      const now = `$${at(place, single)}`
      const other = ifSameAs && `$${at(ifSameAs, single)}`
      return `${other ? `if (in_array(${now} ?? '', ['', ${other} ?? ''], true)) ` : ''}${now} = ${literal(value, PHP)};`
    },
    orVin: `|| ($one['vin'] ?? '') === {{vin}}`,
    vehicle: `foreach ($shipment['vehicles'] ?? [] as $i => $one)
    if (count($shipment['vehicles']) === 1{{orVin}}) $vehicle = &$shipment['vehicles'][$i];
if (!isset($vehicle)) throw new RuntimeException('${UNCHOSEN}.');`,
    update: `$shipment = service('GET', $url);
if (!isset($shipment['id'])) throw new RuntimeException('${NO_SHIPMENT}');
{{changes}}
$shipment = array_diff_key($shipment, array_flip([${listed(SERVER, single)}]));
foreach ($shipment['vehicles'] ?? [] as $i => $one)
    $shipment['vehicles'][$i] = array_diff_key($one, array_flip([${listed(SERVER_OF_VEHICLE, single)}]));`,
    shipment: ', $shipment',
    auth: [
      `        CURLOPT_USERPWD => getenv('SERVICE_ID') . ':' . getenv('SERVICE_SECRET'),
        CURLOPT_HTTPHEADER => ['Content-Type: application/json'],`,
      `        CURLOPT_HTTPHEADER => ['Content-Type: application/json', 'Authorization: Bearer ' . getenv('SERVICE_TOKEN')],`,
    ],
    program: `<?php
{{comments}}function service(string $method, string $url, ?array $body = null): array
{
    $call = curl_init($url);
    curl_setopt_array($call, [
        CURLOPT_CUSTOMREQUEST => $method,
{{auth}}
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_TIMEOUT => ${TIMEOUT_S},
    ]);
    if ($body !== null) curl_setopt($call, CURLOPT_POSTFIELDS, $body === [] ? '{}' : json_encode($body));
    $reply = curl_exec($call);
    $status = curl_getinfo($call, CURLINFO_RESPONSE_CODE);
    if ($reply === false || $status < 200 || $status > 299)
        throw new RuntimeException("$status " . ($reply ?: curl_error($call)));
    return json_decode($reply, true) ?? [];
}

{{guard}}$url = {{url}};
{{update}}print_r(service('{{method}}', $url{{sent}}));
`,
  },

  python: {
    url: ['os.environ["SERVICE_URL"]', 'urllib.parse.quote(sys.argv[1], safe="")'],
    guard: `if not any(sys.argv[1:2]):\n    sys.exit("{{usage}}")`,
    body: (body) => literal(body, PYTHON),
    change({ place, value, ifSameAs }) {
      const set = `${at(place)} = ${literal(value, PYTHON)}`
      const read = (of: ChangePlace) => `${at(of.slice(0, -1))}.get(${json(of.at(-1))})`
      return ifSameAs ? `if ${read(place)} in (None, "", ${read(ifSameAs)}):\n    ${set}` : set
    },
    orVin: 'or one.get("vin") == {{vin}}',
    vehicle: `vehicles = shipment.get("vehicles") or []
vehicle = next((one for one in vehicles if len(vehicles) == 1{{orVin}}), None)
if vehicle is None:
    sys.exit("${UNCHOSEN}.")`,
    update: `shipment = service("GET", url)
if "id" not in shipment:
    sys.exit("${NO_SHIPMENT}")
{{changes}}
for name in ${json(SERVER, 0)}:
    shipment.pop(name, None)
for vehicle in shipment.get("vehicles", []):
    for name in ${json(SERVER_OF_VEHICLE, 0)}:
        vehicle.pop(name, None)`,
    shipment: ', shipment',
    auth: [
      `credential = os.environ["SERVICE_ID"] + ":" + os.environ["SERVICE_SECRET"]
authorization = "Basic " + base64.b64encode(credential.encode()).decode()`,
      'authorization = "Bearer " + os.environ["SERVICE_TOKEN"]',
    ],
    program: `{{comments}}import base64, json, os, sys, urllib.error, urllib.parse, urllib.request

{{auth}}

def service(method, url, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": authorization, "Content-Type": "application/json"}
    request = urllib.request.Request(url, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=${TIMEOUT_S}) as reply:
            return json.loads(reply.read() or b"{}")
    except urllib.error.HTTPError as error:
        sys.exit(f"{error.code} {error.read().decode()}")

{{guard}}url = {{url}}
{{update}}print(service("{{method}}", url{{sent}}))
`,
  },

  javascript: {
    url: ['process.env.SERVICE_URL', 'encodeURIComponent(process.argv[2])'],
    guard: `if (!process.argv[2]) {
  console.error('{{usage}}')
  process.exit(64)
}`,
    body: (body) => json(body),
    change({ place, value, ifSameAs }) {
      const now = at(place)
      return `${ifSameAs ? `if (!${now} || ${now} === ${at(ifSameAs)}) ` : ''}${now} = ${json(value)}`
    },
    orVin: '|| one.vin === {{vin}}',
    vehicle: `const vehicle = shipment.vehicles?.find((one, _, all) => all.length === 1{{orVin}})
if (!vehicle) throw new Error('${UNCHOSEN}.')`,
    update: `const shipment = await service('GET', url)
if (!shipment.id) throw new Error('${NO_SHIPMENT}')
{{changes}}
for (const name of ${json(SERVER, 0)}) delete shipment[name]
for (const one of shipment.vehicles ?? [])
  for (const name of ${json(SERVER_OF_VEHICLE, 0)}) delete one[name]`,
    shipment: ', shipment',
    auth: [
      `const credential = process.env.SERVICE_ID + ':' + process.env.SERVICE_SECRET
const authorization = 'Basic ' + Buffer.from(credential).toString('base64')`,
      "const authorization = 'Bearer ' + process.env.SERVICE_TOKEN",
    ],
    program: `{{comments}}{{auth}}

async function service(method, url, body) {
  const reply = await fetch(url, {
    method,
    headers: { authorization, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(${TIMEOUT_S}_000),
  })
  const text = await reply.text()
  if (!reply.ok) throw new Error(reply.status + ' ' + text)
  return text ? JSON.parse(text) : {}
}

{{guard}}const url = {{url}}
{{update}}console.log(await service('{{method}}', url{{sent}}))
`,
  },

  perl: {
    url: ['$ENV{SERVICE_URL}', '$ARGV[0]'],
    guard: `die "{{usage}}\\n" unless length($ARGV[0] // '');`,
    join: '.',
    text: PERL.text,
    body: (body) => literal(body, PERL),
    change({ place, value, ifSameAs }) {
      const of = ([owner, ...rest]: ChangePlace) =>
        `$${owner}->${rest.map((part) => (typeof part === 'number' ? `[${part}]` : `{${part}}`)).join('')}`
      const now = of(place)
      const guard = ifSameAs ? ` if (${now} // '') eq '' or ${now} eq (${of(ifSameAs)} // '')` : ''
      return `${now} = ${literal(value, PERL)}${guard};`
    },
    orVin: `|| ($_->{vin} // '') eq {{vin}}`,
    vehicle: `my @vehicles = @{ $shipment->{vehicles} // [] };
my ($vehicle) = grep { @vehicles == 1{{orVin}} } @vehicles or die "${UNCHOSEN}.\\n";`,
    update: `my $shipment = service('GET', $url);
die "${NO_SHIPMENT}\\n" unless $shipment->{id};
{{changes}}
delete @$shipment{qw(${SERVER.join(' ')})};
delete @$_{qw(${SERVER_OF_VEHICLE.join(' ')})} for @{ $shipment->{vehicles} // [] };`,
    shipment: ', $shipment',
    auth: [
      `my $authorization = 'Basic ' . encode_base64("$ENV{SERVICE_ID}:$ENV{SERVICE_SECRET}", '');`,
      'my $authorization = "Bearer $ENV{SERVICE_TOKEN}";',
    ],
    program: `{{comments}}use strict;
use warnings;
use utf8;
use HTTP::Tiny;    # https needs IO::Socket::SSL
use JSON::PP;
use MIME::Base64;

{{auth}}
my $http = HTTP::Tiny->new(timeout => ${TIMEOUT_S}, verify_SSL => 1);

sub service {
    my ($method, $url, $body) = @_;
    my %request = (headers => { authorization => $authorization, 'content-type' => 'application/json' });
    $request{content} = encode_json($body) if defined $body;
    my $reply = $http->request($method, $url, \\%request);
    die "$reply->{status} $reply->{content}\\n" unless $reply->{success};
    return length $reply->{content} ? decode_json($reply->{content}) : {};
}

{{guard}}my $url = {{url}};
{{update}}print JSON::PP->new->utf8->pretty->encode(service('{{method}}', $url{{sent}}));
`,
  },

  java: {
    url: ['System.getenv("SERVICE_URL")', 'URLEncoder.encode(args[0], StandardCharsets.UTF_8)'],
    guard: `        if (args.length == 0 || args[0].isEmpty()) {
            System.err.println("{{usage}}");
            System.exit(64);
        }`,
    body: (body) => `"""\n${json(body).replaceAll('\\', '\\\\')}"""`,
    change({ place, value, ifSameAs }) {
      const [root, ...path] = place.slice(0, -1)
      const owner = root + path.map((part) => `.get(${json(part)})`).join('')
      const now = ([of, ...rest]: ChangePlace) => `${of}.at(${json(`/${rest.join('/')}`)}).asText("")`
      const guard = ifSameAs ? `if (${now(place)}.isEmpty() || ${now(place)}.equals(${now(ifSameAs)})) ` : ''
      return `        ${guard}((ObjectNode) ${owner}).put(${json(place.at(-1))}, ${json(value)});`
    },
    orVin: '|| one.path("vin").asText().equals({{vin}})',
    vehicle: `        ObjectNode vehicle = null;
        for (JsonNode one : shipment.path("vehicles"))
            if (shipment.path("vehicles").size() == 1{{orVin}}) vehicle = (ObjectNode) one;
        if (vehicle == null) throw new RuntimeException("${UNCHOSEN}.");`,
    update: `        ObjectMapper mapper = new ObjectMapper();
        ObjectNode shipment = (ObjectNode) mapper.readTree(service("GET", url));
        if (!shipment.has("id")) throw new RuntimeException("${NO_SHIPMENT}");
{{changes}}
        shipment.remove(List.of(${listed(SERVER)}));
        for (JsonNode one : shipment.path("vehicles")) ((ObjectNode) one).remove(List.of(${listed(SERVER_OF_VEHICLE)}));`,
    shipment: ', mapper.writeValueAsString(shipment)',
    updateImport: JACKSON,
    auth: [
      `        String credential = System.getenv("SERVICE_ID") + ":" + System.getenv("SERVICE_SECRET");
        String authorization = "Basic " + Base64.getEncoder().encodeToString(credential.getBytes(StandardCharsets.UTF_8));`,
      '        String authorization = "Bearer " + System.getenv("SERVICE_TOKEN");',
    ],
    program: `{{comments}}{{updateImport}}import java.net.*;
import java.net.http.*;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.*;

class Call {
    static final HttpClient client = HttpClient.newHttpClient();

    static String service(String method, String url, String... body) throws Exception {
{{auth}}
        HttpRequest request = HttpRequest.newBuilder(URI.create(url))
            .timeout(Duration.ofSeconds(${TIMEOUT_S}))
            .header("Authorization", authorization)
            .header("Content-Type", "application/json")
            .method(method, body.length == 0 ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body[0]))
            .build();
        HttpResponse<String> reply = client.send(request, HttpResponse.BodyHandlers.ofString());
        if (reply.statusCode() < 200 || reply.statusCode() > 299) throw new RuntimeException(reply.statusCode() + " " + reply.body());
        return reply.body();
    }

    public static void main(String[] args) throws Exception {
{{guard}}        String url = {{url}};
{{update}}        System.out.println(service("{{method}}", url{{sent}}));
    }
}
`,
  },

  csharp: {
    url: ['Environment.GetEnvironmentVariable("SERVICE_URL")', 'Uri.EscapeDataString(args[0])'],
    guard: `if (args.Length == 0 || args[0] == "")
{
    Console.Error.WriteLine("{{usage}}");
    Environment.Exit(64);
}`,
    body: (body) => `"""\n${json(body)}\n"""`,
    change({ place, value, ifSameAs }) {
      const of = ([owner, ...rest]: ChangePlace) => owner + rest.map((part) => `[${json(part)}]`).join('!')
      const guard = ifSameAs
        ? `if (string.IsNullOrEmpty((string?)${of(place)}) || (string?)${of(place)} == (string?)${of(ifSameAs)}) `
        : ''
      return `${guard}${of(place)} = ${json(value)};`
    },
    orVin: '|| (string?)one!["vin"] == {{vin}}',
    vehicle: `var vehicles = shipment["vehicles"]?.AsArray() ?? new JsonArray();
var vehicle = vehicles.FirstOrDefault(one => vehicles.Count == 1{{orVin}}) ?? throw new Exception("${UNCHOSEN}.");`,
    update: `var shipment = JsonNode.Parse(await Service("GET", url))!.AsObject();
if (shipment["id"] == null) throw new Exception("${NO_SHIPMENT}");
{{changes}}
foreach (var name in new[] { ${listed(SERVER)} }) shipment.Remove(name);
foreach (var one in shipment["vehicles"]?.AsArray() ?? new JsonArray())
    foreach (var name in new[] { ${listed(SERVER_OF_VEHICLE)} }) one!.AsObject().Remove(name);`,
    shipment: ', shipment.ToJsonString()',
    auth: [
      `var credential = Environment.GetEnvironmentVariable("SERVICE_ID") + ":" + Environment.GetEnvironmentVariable("SERVICE_SECRET");
client.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Basic", Convert.ToBase64String(Encoding.UTF8.GetBytes(credential)));`,
      'client.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", Environment.GetEnvironmentVariable("SERVICE_TOKEN"));',
    ],
    program: `{{comments}}using System.Net.Http.Headers;
using System.Text;
using System.Text.Json.Nodes;

var client = new HttpClient { Timeout = TimeSpan.FromSeconds(${TIMEOUT_S}) };
{{auth}}

async Task<string> Service(string method, string url, string? body = null)
{
    var request = new HttpRequestMessage(new HttpMethod(method), url);
    if (body != null) request.Content = new StringContent(body, Encoding.UTF8, "application/json");
    var reply = await client.SendAsync(request);
    var text = await reply.Content.ReadAsStringAsync();
    if (!reply.IsSuccessStatusCode) throw new Exception($"{(int)reply.StatusCode} {text}");
    return text;
}

{{guard}}var url = {{url}};
{{update}}Console.WriteLine(await Service("{{method}}", url{{sent}}));
`,
  },
}
