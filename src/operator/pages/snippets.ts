import { type Change, changesOf, jqSteps, SERVER, SERVER_OF_VEHICLE } from '../../calls/update-program.ts'

/*
 * Version-2 calls as programs that a developer takes home. Each runs as printed, without packages where its language has what it
 * takes: it reads the address and the credential from the environment, an id that the gateway does not know from its first argument.
 */

/** A version-2 request, as a dry run shows it. */
interface ShownRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
  /** The read whose result the body is merged into. */
  readonly over?: string
  /** Places that change only where they are absent or the same as another place. */
  readonly ifSame?: Readonly<Record<string, string>>
}

export const languages = {
  curl: 'curl',
  php: 'PHP',
  python: 'Python',
  csharp: 'C#',
  java: 'Java',
  javascript: 'JavaScript',
  go: 'Go',
  perl: 'Perl',
} as const

export type Language = keyof typeof languages

/** The facts of a call that the writers of all languages need. */
interface Parts {
  readonly method: string
  /** The path and query, up to the id in the argument; the rest of it, if there is such an id. */
  readonly path: readonly [before: string, after: string | undefined]
  readonly body: unknown
  /** Each value with its place in the shipment that is read first. */
  readonly changes: readonly Change[] | undefined
  readonly bearer: boolean
  readonly notes: readonly string[]
}

/** Writes the request in a language. */
export function snippet(language: Language, request: ShownRequest): string {
  const { method, url, headers, body, over, ifSame } = request
  const path = url.slice(url.indexOf('/v2/'))
  const bearer = headers['authorization']?.startsWith('Bearer') === true
  const [, before, id, name, after] = /^(.*?)\{(\w+) of (.*)\}(.*)$/s.exec(path) ?? []
  const notes = [
    `${method} ${id ? `${before}{${id}}${after}` : path}. SERVICE_URL is the service's address; ${bearer ? 'SERVICE_TOKEN is from POST /oauth2/token' : 'SERVICE_ID and SERVICE_SECRET are its credential'}.`,
    ...(id
      ? [
          `The first argument is the ${id} that version 2 gave${name && name.length < 60 ? `, not ${plain(name)}` : ''}.`,
        ]
      : []),
    ...(over
      ? [
          'PUT replaces the whole shipment: it is read, changed, and sent without what the service sets itself.',
          ...(JSON.stringify(body ?? '').includes('"vehicles"')
            ? ['Of several vehicles, this changes the first one; take the index of the one that you mean.']
            : []),
        ]
      : []),
    ...(JSON.stringify(body ?? '').includes('_dttm')
      ? ['Dates have a time and an offset without a colon: 2026-03-01T08:00:00-0500.']
      : []),
    ...(method === 'POST'
      ? [
          'Keep the id in the reply: later calls name the thing by it.',
          'After a timeout, ask the service before you send this again: it may be done already.',
        ]
      : []),
  ]
  const changes = over ? changesOf(body, ifSame) : undefined
  const parts: Parts = {
    method,
    path: id ? [before ?? '', after] : [path, undefined],
    body: over ? undefined : body,
    changes,
    bearer,
    notes,
  }
  const text = `${writers[language](parts).join('\n')}\n`
  // Java before 18 reads its source in the encoding of the machine.
  return language === 'java' ? text.replace(/[^ -~\n]/g, escaped) : text
}

/** Text that cannot end a comment of any language. */
const plain = (text: string) => JSON.stringify(text).replace(/[^\x20-\x7e]|[*?/\\]/g, '.')

const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

const TIMEOUT_S = 30

const json = (value: unknown, space = 2): string => JSON.stringify(value, null, space)
const single = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`
const keys = (place: readonly (string | number)[], literal: (part: string) => string) =>
  place.map((part) => `[${typeof part === 'number' ? part : literal(part)}]`).join('')

/** Writes a value as a literal, with the brackets and names of a language. */
function literal(
  value: unknown,
  style: { text: (text: string) => string; map: string; list: string; pair: string; words: readonly string[] },
  indent = '',
): string {
  if (typeof value === 'string') return style.text(value)
  if (typeof value === 'boolean' || value === null) return style.words[value === null ? 2 : Number(value)] ?? ''
  if (typeof value !== 'object') return String(value)
  const deeper = `${indent}    `
  const [open, close] = Array.isArray(value) ? style.list : style.map
  const lines = Array.isArray(value)
    ? value.map((part) => literal(part, style, deeper))
    : Object.entries(value).map(([name, part]) => `${style.text(name)}${style.pair}${literal(part, style, deeper)}`)
  return lines.length === 0
    ? `${open}${close}`
    : `${open}\n${lines.map((line) => `${deeper}${line},\n`).join('')}${indent}${close}`
}

const PHP = { text: single, map: '[]', list: '[]', pair: ' => ', words: ['false', 'true', 'null'] }
const PYTHON = { text: json, map: '{}', list: '[]', pair: ': ', words: ['False', 'True', 'None'] }
const PERL = {
  text: single,
  map: '{}',
  list: '[]',
  pair: ' => ',
  words: ['JSON::PP::false', 'JSON::PP::true', 'undef'],
}

const comments = (mark: string, { notes }: Parts) => notes.map((note) => `${mark} ${note}`)

/** The path as an expression: a literal, or two around the argument. */
function pathIn(
  [before, after]: Parts['path'],
  join: string,
  argument: string,
  quoted: (text: string) => string = json,
) {
  if (after === undefined) return quoted(before)
  return [quoted(before), argument, ...(after ? [quoted(after)] : [])].join(` ${join} `)
}

const writers: Readonly<Record<Language, (parts: Parts) => readonly string[]>> = {
  curl(parts) {
    const { method, path, body, changes, bearer } = parts
    const [before, after] = path
    const auth = bearer ? `--header "Authorization: Bearer $SERVICE_TOKEN"` : `--user "$SERVICE_ID:$SERVICE_SECRET"`
    const url =
      after === undefined ? `"$SERVICE_URL"${shell(before)}` : `"$SERVICE_URL"${shell(before)}"$1"${shell(after)}`
    const call = (verb: string) =>
      `curl --fail-with-body --silent --show-error --max-time ${TIMEOUT_S} ${auth} --request ${verb}`
    const send = body === undefined && !changes ? '' : ` --header 'Content-Type: application/json' --data-binary @-`
    const head = ['#!/usr/bin/env bash', ...comments('#', parts), 'set -euo pipefail']
    if (!changes)
      return [...head, `${call(method)}${send} ${url}${body === undefined ? '' : ` <<'JSON'\n${json(body)}\nJSON`}`]
    return [
      ...head,
      `shipment=$(${call('GET')} ${url})`,
      `jq '`,
      ...jqSteps(changes).map((step, at) => `  ${at > 0 ? '| ' : ''}${step.replaceAll("'", "'\\''")}`),
      `' <<<"$shipment" | ${call(method)}${send} ${url}`,
    ]
  },

  php(parts) {
    const { method, path, body, changes, bearer } = parts
    const url = `getenv('SERVICE_URL') . ${pathIn(path, '.', 'rawurlencode($argv[1])', single)}`
    return [
      '<?php',
      ...comments('//', parts),
      'function service(string $method, string $url, ?array $body = null): array',
      '{',
      '    $call = curl_init($url);',
      '    curl_setopt_array($call, [',
      '        CURLOPT_CUSTOMREQUEST => $method,',
      bearer
        ? `        CURLOPT_HTTPHEADER => ['Content-Type: application/json', 'Authorization: Bearer ' . getenv('SERVICE_TOKEN')],`
        : `        CURLOPT_USERPWD => getenv('SERVICE_ID') . ':' . getenv('SERVICE_SECRET'),\n        CURLOPT_HTTPHEADER => ['Content-Type: application/json'],`,
      '        CURLOPT_RETURNTRANSFER => true,',
      `        CURLOPT_TIMEOUT => ${TIMEOUT_S},`,
      '    ]);',
      `    if ($body !== null) curl_setopt($call, CURLOPT_POSTFIELDS, $body === [] ? '{}' : json_encode($body));`,
      '    $reply = curl_exec($call);',
      '    $status = curl_getinfo($call, CURLINFO_RESPONSE_CODE);',
      '    if ($reply === false || $status < 200 || $status > 299)',
      '        throw new RuntimeException("$status " . ($reply ?: curl_error($call)));',
      '    return json_decode($reply, true) ?? [];',
      '}',
      '',
      `$url = ${url};`,
      ...(changes
        ? [
            `$shipment = service('GET', $url);`,
            ...changes.map(({ place, value, ifSameAs }) => {
              const now = `$shipment${keys(place, single)}`
              const guard = ifSameAs
                ? `if (in_array(${now} ?? '', ['', $shipment${keys(ifSameAs, single)} ?? ''], true)) `
                : ''
              return `${guard}${now} = ${literal(value, PHP)};`
            }),
            `$shipment = array_diff_key($shipment, array_flip([${SERVER.map(single).join(', ')}]));`,
            `foreach ($shipment['vehicles'] ?? [] as $i => $vehicle)`,
            `    $shipment['vehicles'][$i] = array_diff_key($vehicle, array_flip([${SERVER_OF_VEHICLE.map(single).join(', ')}]));`,
            `print_r(service('${method}', $url, $shipment));`,
          ]
        : [`print_r(service('${method}', $url${body === undefined ? '' : `, ${literal(body, PHP)}`}));`]),
    ]
  },

  python(parts) {
    const { method, path, body, changes, bearer } = parts
    return [
      ...comments('#', parts),
      `import ${bearer ? '' : 'base64, '}json, os, sys, urllib.error, urllib.parse, urllib.request`,
      '',
      ...(bearer
        ? ['authorization = "Bearer " + os.environ["SERVICE_TOKEN"]']
        : [
            'credential = os.environ["SERVICE_ID"] + ":" + os.environ["SERVICE_SECRET"]',
            'authorization = "Basic " + base64.b64encode(credential.encode()).decode()',
          ]),
      '',
      'def service(method, url, body=None):',
      '    data = None if body is None else json.dumps(body).encode()',
      '    headers = {"Authorization": authorization, "Content-Type": "application/json"}',
      '    request = urllib.request.Request(url, data, headers, method=method)',
      '    try:',
      `        with urllib.request.urlopen(request, timeout=${TIMEOUT_S}) as reply:`,
      '            return json.loads(reply.read() or b"{}")',
      '    except urllib.error.HTTPError as error:',
      '        sys.exit(f"{error.code} {error.read().decode()}")',
      '',
      `url = os.environ["SERVICE_URL"] + ${pathIn(path, '+', 'urllib.parse.quote(sys.argv[1], safe="")')}`,
      ...(changes
        ? [
            'shipment = service("GET", url)',
            ...changes.flatMap(({ place, value, ifSameAs }) => {
              const set = `shipment${keys(place, json)} = ${literal(value, PYTHON)}`
              const read = (at: Change['place']) => `shipment${keys(at.slice(0, -1), json)}.get(${json(at.at(-1))})`
              return ifSameAs ? [`if ${read(place)} in (None, "", ${read(ifSameAs)}):`, `    ${set}`] : [set]
            }),
            `for name in ${json(SERVER, 0)}:`,
            '    shipment.pop(name, None)',
            'for vehicle in shipment.get("vehicles", []):',
            `    for name in ${json(SERVER_OF_VEHICLE, 0)}:`,
            '        vehicle.pop(name, None)',
            `print(service("${method}", url, shipment))`,
          ]
        : [`print(service("${method}", url${body === undefined ? '' : `, ${literal(body, PYTHON)}`}))`]),
    ]
  },

  javascript(parts) {
    const { method, path, body, changes, bearer } = parts
    return [
      ...comments('//', parts),
      bearer
        ? "const authorization = 'Bearer ' + process.env.SERVICE_TOKEN"
        : "const credential = process.env.SERVICE_ID + ':' + process.env.SERVICE_SECRET\nconst authorization = 'Basic ' + Buffer.from(credential).toString('base64')",
      '',
      'async function service(method, url, body) {',
      '  const reply = await fetch(url, {',
      '    method,',
      "    headers: { authorization, 'content-type': 'application/json' },",
      '    body: body && JSON.stringify(body),',
      `    signal: AbortSignal.timeout(${TIMEOUT_S}_000),`,
      '  })',
      '  const text = await reply.text()',
      "  if (!reply.ok) throw new Error(reply.status + ' ' + text)",
      '  return text ? JSON.parse(text) : {}',
      '}',
      '',
      `const url = process.env.SERVICE_URL + ${pathIn(path, '+', 'encodeURIComponent(process.argv[2])')}`,
      ...(changes
        ? [
            "const shipment = await service('GET', url)",
            ...changes.map(({ place, value, ifSameAs }) => {
              const now = `shipment${keys(place, json)}`
              const guard = ifSameAs ? `if (!${now} || ${now} === shipment${keys(ifSameAs, json)}) ` : ''
              return `${guard}${now} = ${json(value)}`
            }),
            `for (const name of ${json(SERVER, 0)}) delete shipment[name]`,
            'for (const vehicle of shipment.vehicles ?? [])',
            `  for (const name of ${json(SERVER_OF_VEHICLE, 0)}) delete vehicle[name]`,
            `console.log(await service('${method}', url, shipment))`,
          ]
        : [`console.log(await service('${method}', url${body === undefined ? '' : `, ${json(body)}`}))`]),
    ]
  },

  perl(parts) {
    const { method, path, body, changes, bearer } = parts
    return [
      ...comments('#', parts),
      'use strict;',
      'use warnings;',
      'use utf8;',
      'use HTTP::Tiny;    # https needs IO::Socket::SSL',
      'use JSON::PP;',
      ...(bearer ? [] : ['use MIME::Base64;']),
      '',
      bearer
        ? `my $authorization = "Bearer $ENV{SERVICE_TOKEN}";`
        : `my $authorization = 'Basic ' . encode_base64("$ENV{SERVICE_ID}:$ENV{SERVICE_SECRET}", '');`,
      `my $http = HTTP::Tiny->new(timeout => ${TIMEOUT_S}, verify_SSL => 1);`,
      '',
      'sub service {',
      '    my ($method, $url, $body) = @_;',
      `    my %request = (headers => { authorization => $authorization, 'content-type' => 'application/json' });`,
      '    $request{content} = encode_json($body) if defined $body;',
      '    my $reply = $http->request($method, $url, \\%request);',
      '    die "$reply->{status} $reply->{content}\\n" unless $reply->{success};',
      '    return length $reply->{content} ? decode_json($reply->{content}) : {};',
      '}',
      '',
      `my $url = $ENV{SERVICE_URL} . ${pathIn(path, '.', '$ARGV[0]', single)};`,
      ...(changes
        ? [
            `my $shipment = service('GET', $url);`,
            ...changes.map(({ place, value, ifSameAs }) => {
              const at = (of: Change['place']) =>
                `$shipment->${of.map((part) => (typeof part === 'number' ? `[${part}]` : `{${part}}`)).join('')}`
              const now = at(place)
              const guard = ifSameAs ? ` if (${now} // '') eq '' or ${now} eq (${at(ifSameAs)} // '')` : ''
              return `${now} = ${literal(value, PERL)}${guard};`
            }),
            `delete @$shipment{qw(${SERVER.join(' ')})};`,
            `delete @$_{qw(${SERVER_OF_VEHICLE.join(' ')})} for @{ $shipment->{vehicles} // [] };`,
            `print JSON::PP->new->utf8->pretty->encode(service('${method}', $url, $shipment));`,
          ]
        : [
            `print JSON::PP->new->utf8->pretty->encode(service('${method}', $url${body === undefined ? '' : `, ${literal(body, PERL)}`}));`,
          ]),
    ]
  },

  go(parts) {
    const { method, path, body, changes, bearer } = parts
    const url = `os.Getenv("SERVICE_URL") + ${pathIn(path, '+', 'url.PathEscape(os.Args[1])')}`
    const sent = body === undefined ? 'nil' : `[]byte(\`${json(body).replaceAll('`', '\\u0060')}\`)`
    const imports = [
      'bytes',
      ...(changes ? ['encoding/json'] : []),
      'fmt',
      'io',
      'net/http',
      ...(path[1] !== undefined ? ['net/url'] : []),
      'os',
      'time',
    ]
    return [
      ...comments('//', parts),
      'package main',
      '',
      'import (',
      ...imports.map((name) => `\t"${name}"`),
      ')',
      '',
      `var client = http.Client{Timeout: ${TIMEOUT_S} * time.Second}`,
      '',
      'func service(method string, url string, body []byte) []byte {',
      '\trequest, err := http.NewRequest(method, url, bytes.NewReader(body))',
      '\tcheck(err)',
      bearer
        ? '\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("SERVICE_TOKEN"))'
        : '\trequest.SetBasicAuth(os.Getenv("SERVICE_ID"), os.Getenv("SERVICE_SECRET"))',
      '\trequest.Header.Set("Content-Type", "application/json")',
      '\treply, err := client.Do(request)',
      '\tcheck(err)',
      '\tdefer reply.Body.Close()',
      '\ttext, err := io.ReadAll(reply.Body)',
      '\tcheck(err)',
      '\tif reply.StatusCode < 200 || reply.StatusCode > 299 {',
      '\t\tcheck(fmt.Errorf("%s %s", reply.Status, text))',
      '\t}',
      '\treturn text',
      '}',
      '',
      'func check(err error) {',
      '\tif err != nil {',
      '\t\tfmt.Fprintln(os.Stderr, err)',
      '\t\tos.Exit(1)',
      '\t}',
      '}',
      '',
      'func main() {',
      `\turl := ${url}`,
      ...(changes
        ? [
            '\tvar shipment map[string]any',
            '\tcheck(json.Unmarshal(service("GET", url, nil), &shipment))',
            ...changes.map(({ place, value, ifSameAs }) => {
              const at = ([first, ...rest]: Change['place']) => {
                const deeper = rest.map((part) =>
                  typeof part === 'number' ? `.([]any)[${part}]` : `.(map[string]any)[${json(part)}]`,
                )
                return `shipment[${json(first)}]${deeper.join('')}`
              }
              const set = `${at(place)} = ${json(value)}`
              if (!ifSameAs) return `\t${set}`
              const now = at(place)
              return `\tif ${now} == nil || ${now} == "" || ${now} == ${at(ifSameAs)} {\n\t\t${set}\n\t}`
            }),
            `\tfor _, name := range []string{${SERVER.map((name) => json(name)).join(', ')}} {`,
            '\t\tdelete(shipment, name)',
            '\t}',
            '\tvehicles, _ := shipment["vehicles"].([]any)',
            '\tfor _, vehicle := range vehicles {',
            `\t\tfor _, name := range []string{${SERVER_OF_VEHICLE.map((name) => json(name)).join(', ')}} {`,
            '\t\t\tdelete(vehicle.(map[string]any), name)',
            '\t\t}',
            '\t}',
            '\tbody, err := json.Marshal(shipment)',
            '\tcheck(err)',
            `\tfmt.Printf("%s\\n", service("${method}", url, body))`,
          ]
        : [`\tfmt.Printf("%s\\n", service("${method}", url, ${sent}))`]),
      '}',
    ]
  },

  java(parts) {
    const { method, path, body, changes, bearer } = parts
    const url = `System.getenv("SERVICE_URL") + ${pathIn(path, '+', 'URLEncoder.encode(args[0], StandardCharsets.UTF_8)')}`
    const sent = body === undefined ? 'null' : `"""\n${json(body).replaceAll('\\', '\\\\')}"""`
    return [
      ...comments('//', parts),
      ...(changes
        ? [
            '// Needs jackson-databind: Java has no JSON of its own.',
            'import com.fasterxml.jackson.databind.*;',
            'import com.fasterxml.jackson.databind.node.*;',
          ]
        : []),
      'import java.net.*;',
      'import java.net.http.*;',
      'import java.nio.charset.StandardCharsets;',
      'import java.time.Duration;',
      'import java.util.*;',
      '',
      'class Call {',
      '    static final HttpClient client = HttpClient.newHttpClient();',
      '',
      '    static String service(String method, String url, String body) throws Exception {',
      ...(bearer
        ? ['        String authorization = "Bearer " + System.getenv("SERVICE_TOKEN");']
        : [
            '        String credential = System.getenv("SERVICE_ID") + ":" + System.getenv("SERVICE_SECRET");',
            '        String authorization = "Basic " + Base64.getEncoder().encodeToString(credential.getBytes(StandardCharsets.UTF_8));',
          ]),
      '        HttpRequest request = HttpRequest.newBuilder(URI.create(url))',
      `            .timeout(Duration.ofSeconds(${TIMEOUT_S}))`,
      '            .header("Authorization", authorization)',
      '            .header("Content-Type", "application/json")',
      '            .method(method, body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body))',
      '            .build();',
      '        HttpResponse<String> reply = client.send(request, HttpResponse.BodyHandlers.ofString());',
      '        if (reply.statusCode() < 200 || reply.statusCode() > 299) throw new RuntimeException(reply.statusCode() + " " + reply.body());',
      '        return reply.body();',
      '    }',
      '',
      '    public static void main(String[] args) throws Exception {',
      `        String url = ${url};`,
      ...(changes
        ? [
            '        ObjectMapper mapper = new ObjectMapper();',
            '        ObjectNode shipment = (ObjectNode) mapper.readTree(service("GET", url, null));',
            ...changes.map(({ place, value, ifSameAs }) => {
              const owner = place
                .slice(0, -1)
                .map((part) => (typeof part === 'number' ? `.get(${part})` : `.get(${json(part)})`))
              const now = (of: Change['place']) => `shipment.at(${json(`/${of.join('/')}`)}).asText("")`
              const guard = ifSameAs ? `if (${now(place)}.isEmpty() || ${now(place)}.equals(${now(ifSameAs)})) ` : ''
              return `        ${guard}((ObjectNode) shipment${owner.join('')}).put(${json(place.at(-1))}, ${json(value)});`
            }),
            `        shipment.remove(List.of(${SERVER.map((name) => json(name)).join(', ')}));`,
            `        for (JsonNode vehicle : shipment.path("vehicles")) ((ObjectNode) vehicle).remove(List.of(${SERVER_OF_VEHICLE.map((name) => json(name)).join(', ')}));`,
            `        System.out.println(service("${method}", url, mapper.writeValueAsString(shipment)));`,
          ]
        : [`        System.out.println(service("${method}", url, ${sent}));`]),
      '    }',
      '}',
    ]
  },

  csharp(parts) {
    const { method, path, body, changes, bearer } = parts
    const url = `Environment.GetEnvironmentVariable("SERVICE_URL") + ${pathIn(path, '+', 'Uri.EscapeDataString(args[0])')}`
    return [
      ...comments('//', parts),
      'using System.Net.Http.Headers;',
      'using System.Text;',
      ...(changes ? ['using System.Text.Json.Nodes;'] : []),
      '',
      `var client = new HttpClient { Timeout = TimeSpan.FromSeconds(${TIMEOUT_S}) };`,
      ...(bearer
        ? [
            'client.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", Environment.GetEnvironmentVariable("SERVICE_TOKEN"));',
          ]
        : [
            'var credential = Environment.GetEnvironmentVariable("SERVICE_ID") + ":" + Environment.GetEnvironmentVariable("SERVICE_SECRET");',
            'client.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Basic", Convert.ToBase64String(Encoding.UTF8.GetBytes(credential)));',
          ]),
      '',
      'async Task<string> Service(string method, string url, string? body = null)',
      '{',
      '    var request = new HttpRequestMessage(new HttpMethod(method), url);',
      '    if (body != null) request.Content = new StringContent(body, Encoding.UTF8, "application/json");',
      '    var reply = await client.SendAsync(request);',
      '    var text = await reply.Content.ReadAsStringAsync();',
      '    if (!reply.IsSuccessStatusCode) throw new Exception($"{(int)reply.StatusCode} {text}");',
      '    return text;',
      '}',
      '',
      `var url = ${url};`,
      ...(changes
        ? [
            'var shipment = JsonNode.Parse(await Service("GET", url))!.AsObject();',
            ...changes.map(({ place, value, ifSameAs }) => {
              const at = (of: Change['place']) => `shipment${of.map((part) => `[${json(part)}]`).join('!')}`
              const guard = ifSameAs
                ? `if (string.IsNullOrEmpty((string?)${at(place)}) || (string?)${at(place)} == (string?)${at(ifSameAs)}) `
                : ''
              return `${guard}${at(place)} = ${json(value)};`
            }),
            `foreach (var name in new[] { ${SERVER.map((name) => json(name)).join(', ')} }) shipment.Remove(name);`,
            'foreach (var vehicle in shipment["vehicles"]?.AsArray() ?? new JsonArray())',
            `    foreach (var name in new[] { ${SERVER_OF_VEHICLE.map((name) => json(name)).join(', ')} }) vehicle!.AsObject().Remove(name);`,
            `Console.WriteLine(await Service("${method}", url, shipment.ToJsonString()));`,
          ]
        : [
            `Console.WriteLine(await Service("${method}", url${body === undefined ? '' : `, """\n${json(body)}\n"""`}));`,
          ]),
    ]
  },
}

const shell = (text: string) => (/^[\w./~-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)
