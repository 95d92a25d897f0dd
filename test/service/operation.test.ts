/** Promise: calls are counted by operation, not by id (contract, section 11). */

import { expect, test } from 'vitest'
import { operationOf } from '../../src/service/exchange.ts'

test.each([
  ['POST', '/v2/quote', 'POST /v2/quote'],
  ['GET', '/v2/quote?pickup=10314', 'GET /v2/quote'],
  ['GET', '/v2/quote/q-1', 'GET /v2/quote/{id}'],
  ['PUT', '/v2/quote/q-1?x=1', 'PUT /v2/quote/{id}'],
  ['POST', '/v2/quote/q-1/approve', 'POST /v2/quote/{id}/approve'],
  ['POST', '/v2/quote/q-1/approve?x=1', 'POST /v2/quote/{id}/approve'],
  ['POST', '/v2/shipments', 'POST /v2/shipments'],
  ['POST', '/v2/shipment', 'POST /v2/shipments'],
  ['GET', '/v2/shipments?reference=R-1', 'GET /v2/shipments'],
  ['DELETE', '/v2/shipment/s-1', 'DELETE /v2/shipments/{id}'],
  ['PUT', '/v2/shipments/s-1?x=1', 'PUT /v2/shipments/{id}'],
  ['GET', '/getShipment.php', 'GET *.php'],
  ['POST', '/quotes/createShipment.PHP?x=1', 'POST *.php'],
])('%s %s is counted as %s', (method, path, operation) => expect(operationOf(method, path)).toBe(operation))

test.each([
  ['PATCH', '/getShipment.php'],
  ['GET', '/getShipment.phps'],
  ['GET', '/v2/quotes'],
  ['GET', '/x/v2/quote'],
  ['GET', '/v2/quote/q-1/refuse'],
  ['GET', '/v2/quote/q-1/approve/now'],
  ['GET', '/v2/shipments/s-1/notes'],
  ['GET', '/x/v2/shipments'],
  ['GET', '/v2/shipmentss'],
  ['POST', '/oauth2/token'],
  ['GET', '/'],
])('%s %s is one of the others', (method, path) => expect(operationOf(method, path)).toBe('other'))
