/** Promise: a version-2 call is printed as a program (contract, section 8). */

import { expect, test } from 'vitest'
import { snippet } from '../../src/operator/pages/snippets.ts'

/** Debian has no compiler for C#; test/debian/snippets.test.ts runs the other languages. */
test('an update in C#', () => {
  const url = 'https://service.example.com/v2/shipments/{shipment_id of R-1}'
  const code = snippet('csharp', {
    method: 'PUT',
    url,
    over: `GET ${url}`,
    headers: { authorization: 'Bearer ***' },
    body: { delivery: { contact_name: 'Sam "S" Example' }, vehicles: [{ year: 2024 }] },
  })
  expect(code).toMatchInlineSnapshot(`
    "// PUT /v2/shipments/{shipment_id}. SERVICE_URL is the service's address; SERVICE_TOKEN is from POST /oauth2/token.
    // The first argument is the shipment_id that version 2 gave, not your own number.
    // PUT replaces the whole shipment, so it is read, changed, and sent without the fields that only the service sets.
    // If there are several vehicles, this changes the first one; use the index of the one that you mean.
    using System.Net.Http.Headers;
    using System.Text;
    using System.Text.Json.Nodes;

    var client = new HttpClient { Timeout = TimeSpan.FromSeconds(30) };
    client.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", Environment.GetEnvironmentVariable("SERVICE_TOKEN"));

    async Task<string> Service(string method, string url, string? body = null)
    {
        var request = new HttpRequestMessage(new HttpMethod(method), url);
        if (body != null) request.Content = new StringContent(body, Encoding.UTF8, "application/json");
        var reply = await client.SendAsync(request);
        var text = await reply.Content.ReadAsStringAsync();
        if (!reply.IsSuccessStatusCode) throw new Exception($"{(int)reply.StatusCode} {text}");
        return text;
    }

    if (args.Length == 0 || args[0] == "")
    {
        Console.Error.WriteLine("Usage: give the shipment_id as the first argument.");
        Environment.Exit(64);
    }
    var url = Environment.GetEnvironmentVariable("SERVICE_URL") + "/v2/shipments/" + Uri.EscapeDataString(args[0]);
    var shipment = JsonNode.Parse(await Service("GET", url))!.AsObject();
    if (shipment["id"] == null) throw new Exception("The reply is no shipment.");
    shipment["delivery"]!["contact_name"] = "Sam \\"S\\" Example";
    shipment["vehicles"]![0]!["year"] = 2024;
    foreach (var name in new[] { "id", "number", "status", "price", "distance", "distance_meters", "documents" }) shipment.Remove(name);
    foreach (var vehicle in shipment["vehicles"]?.AsArray() ?? new JsonArray())
        foreach (var name in new[] { "weight", "height", "width", "length", "photos" }) vehicle!.AsObject().Remove(name);
    Console.WriteLine(await Service("PUT", url, shipment.ToJsonString()));
    "
  `)
})

test('a cancellation says what happens if it is repeated', () => {
  const url = 'https://service.example.com/v2/shipments/{shipment_id of WTS-1}'
  const code = snippet('csharp', { method: 'DELETE', url, headers: { authorization: 'Basic ***' } })
  expect(code).toContain('The service may refuse to cancel a shipment twice')
})
